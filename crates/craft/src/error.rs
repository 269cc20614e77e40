//! What is wrong with a description: which entry, which line, what, and what to do.

use core::fmt;
use std::borrow::Cow;

use crate::output::OutputError;
use crate::spec::Place;

/// Most characters of a value that an error repeats.
const MOST_OF_A_VALUE: usize = 100;
/// Most characters of a message. The lists of what there is are shorter.
const MOST_OF_A_MESSAGE: usize = 1500;

/// The text, its middle left out if it is too long to be repeated in an error.
pub(crate) fn clipped(text: &str) -> Cow<'_, str> {
    shortened(text, MOST_OF_A_VALUE)
}

/// At most so many characters of a text: of a longer one what it begins and what it ends with.
fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    let half = most / 2;
    let (Some((begins, _)), Some((ends, _))) =
        (text.char_indices().nth(half), text.char_indices().rev().nth(half.saturating_sub(1)))
    else {
        return Cow::Borrowed(text);
    };
    match (text.get(..begins), text.get(ends..)) {
        (Some(first), Some(last)) if text.char_indices().nth(most).is_some() => {
            Cow::Owned(format!("{first}…{last}"))
        }
        _ => Cow::Borrowed(text),
    }
}

/// The names that could have been meant, twenty at most.
pub(crate) fn there_are<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.take(20).map(clipped).collect();
    if names.is_empty() { "there are none".to_owned() } else { format!("there are: {}", names.join(", ")) }
}

/// What the TOML parser says, with what stands where it says it.
fn parser_says(text: &str, error: &toml::de::Error) -> String {
    // A value without spaces is one word; one with spaces is cut with the message.
    let words: Vec<_> = error.message().split(' ').map(clipped).collect();
    let words = words.join(" ");
    let message = shortened(&words, MOST_OF_A_MESSAGE);
    let Some((before, after)) = error.span().and_then(|span| text.split_at_checked(span.start)) else {
        return message.into_owned();
    };
    let line = before.matches('\n').count() + 1;
    let begins = before.rfind('\n').map_or(0, |end| end + 1);
    let front = before.get(begins..).unwrap_or_default();
    let rest = after.lines().next().unwrap_or_default();
    if front.len().saturating_add(rest.len()) <= MOST_OF_A_VALUE && message == error.message() {
        return error.to_string().trim_end().to_owned();
    }
    let column = front.chars().count() + 1;
    // What is missing at a line's end is missing behind what stands there.
    let (place, here) = if rest.is_empty() { ("behind", front) } else { ("at", rest) };
    let here = clipped(here);
    format!("TOML parse error at line {line}, column {column}, {place}: {here}\n{}", message.trim_end())
}

/// Why nothing, or no more, can be made of a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    place: Option<Place>,
    what: String,
}

impl SpecError {
    fn new(place: Option<Place>, what: &str) -> Self {
        SpecError { place, what: shortened(what, MOST_OF_A_MESSAGE + 2 * MOST_OF_A_VALUE).into_owned() }
    }

    /// Of the description as a whole.
    pub(crate) fn whole(what: impl fmt::Display) -> Self {
        Self::new(None, &what.to_string())
    }

    /// Of one entry.
    pub(crate) fn at(place: Place, what: impl fmt::Display) -> Self {
        Self::new(Some(place), &what.to_string())
    }

    /// What the TOML parser says: its line and column, with the entry that the line is of.
    pub(crate) fn toml(text: &str, error: &toml::de::Error) -> Self {
        let before = error.span().and_then(|span| text.get(..span.start.saturating_add(1).min(text.len())));
        let heads = |kind| {
            let head = format!("[[{kind}");
            let lines = before.unwrap_or_default().lines();
            let numbered = lines.enumerate().filter(|(_, line)| line.trim_start().starts_with(&head));
            let (last, count) = numbered.fold((None, 0), |(_, count), (line, _)| (Some(line), count + 1));
            last.map(|line| Place { kind, number: count, line: line + 1 })
        };
        let place = ["packet", "conversation", "stream"].into_iter().filter_map(heads).max_by_key(|p| p.line);
        Self::new(place, &parser_says(text, error))
    }

    /// The entry, if it is of one.
    pub fn place(&self) -> Option<Place> {
        self.place
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Place { kind, number, line }) = self.place {
            write!(f, "{kind} {number} (line {line}): ")?;
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for SpecError {}

/// Why crafting stopped.
#[derive(Debug)]
pub enum CraftError {
    /// The description is wrong.
    Spec(SpecError),
    /// A packet could not be handed on, though nothing is wrong with it.
    Output(OutputError),
}

impl fmt::Display for CraftError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CraftError::Spec(error) => error.fmt(f),
            CraftError::Output(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CraftError {}

impl From<SpecError> for CraftError {
    fn from(error: SpecError) -> Self {
        CraftError::Spec(error)
    }
}

impl From<OutputError> for CraftError {
    fn from(error: OutputError) -> Self {
        CraftError::Output(error)
    }
}
