//! What is wrong with a description: which entry, which line, what, and what to do.

use core::fmt;

use crate::output::OutputError;
use crate::spec::Place;

/// Why nothing, or no more, can be made of a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    place: Option<Place>,
    what: String,
}

impl SpecError {
    /// Of the description as a whole.
    pub(crate) fn whole(what: impl fmt::Display) -> Self {
        SpecError { place: None, what: what.to_string() }
    }

    /// Of one entry.
    pub(crate) fn at(place: Place, what: impl fmt::Display) -> Self {
        SpecError { place: Some(place), what: what.to_string() }
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
        SpecError { place, what: error.to_string().trim_end().to_owned() }
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
