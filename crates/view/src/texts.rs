//! Short texts that come again and again, each kept once.

use std::collections::HashMap;
use std::hash::Hash;

/// Values by number, each once, in the order in which they came first.
#[derive(Debug)]
pub(crate) struct Distinct<T> {
    numbers: HashMap<T, u32>,
    pub all: Vec<T>,
}

impl<T> Default for Distinct<T> {
    fn default() -> Self {
        Distinct { numbers: HashMap::new(), all: Vec::new() }
    }
}

impl<T: Eq + Hash + Clone> Distinct<T> {
    /// The number of a value that is there.
    pub(crate) fn find(&self, value: &T) -> Option<u32> {
        self.numbers.get(value).copied()
    }

    /// The number of a value.
    pub(crate) fn number<Q>(&mut self, value: &Q) -> u32
    where
        T: std::borrow::Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = T> + ?Sized,
    {
        if let Some(number) = self.numbers.get(value) {
            return *number;
        }
        // There are fewer than packets.
        let number = self.all.len() as u32;
        self.all.push(value.to_owned());
        self.numbers.insert(value.to_owned(), number);
        number
    }
}

/// Longest line that is kept, in bytes.
const LONGEST: usize = 4096;

/// The lines of all packets, one behind the other.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// Each with its end.
    pub text: String,
    ends: Vec<usize>,
}

impl Lines {
    pub(crate) fn push(&mut self, line: &str) {
        let end = if line.len() > LONGEST { line.floor_char_boundary(LONGEST) } else { line.len() };
        self.text.push_str(line.get(..end).unwrap_or_default());
        if end < line.len() {
            self.text.push('…');
        }
        self.text.push('\n');
        self.ends.push(self.text.len());
    }

    /// One of them, without its end.
    pub(crate) fn line(&self, index: usize) -> &str {
        let start = index.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        let range = start.zip(self.ends.get(index)).and_then(|(start, end)| self.text.get(start..end - 1));
        range.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_and_long_ones_are_cut() {
        let mut lines = Lines::default();
        lines.push("one");
        lines.push("");
        lines.push(&"ä".repeat(LONGEST));
        assert_eq!((lines.line(0), lines.line(1)), ("one", ""));
        assert_eq!(lines.line(2).chars().count(), LONGEST / 2 + 1);
        assert_eq!(lines.line(3), "");
    }

    #[test]
    fn what_comes_again_has_the_same_number() {
        let mut texts = Distinct::<String>::default();
        assert_eq!(["a", "b", "a"].map(|text| texts.number(text)), [0, 1, 0]);
        assert_eq!(texts.all, ["a", "b"]);
    }
}
