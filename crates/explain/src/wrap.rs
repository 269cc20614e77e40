//! Text cut into lines.

/// The lines of a text, none longer than the width unless a single word is.
#[derive(Clone, Debug)]
pub struct Lines<'t> {
    rest: &'t str,
    width: usize,
}

/// Cuts a text into lines of at most `width` characters.
///
/// ```
/// let lines: Vec<&str> = rdmalab_explain::lines("a word and a longer one", 10).collect();
/// assert_eq!(lines, ["a word and", "a longer", "one"]);
/// ```
pub fn lines(text: &str, width: usize) -> Lines<'_> {
    Lines { rest: text.trim(), width }
}

impl<'t> Iterator for Lines<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        if self.rest.is_empty() {
            return None;
        }
        let mut end = 0;
        let mut characters = 0;
        for word in self.rest.split_inclusive(' ') {
            let length = word.trim_end().chars().count();
            if end > 0 && characters + length > self.width {
                break;
            }
            end += word.len();
            characters += word.chars().count();
        }
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(line.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_lost_and_no_line_is_longer_than_the_width_unless_a_word_is() {
        let text = "  The queue pair’s answer: incomprehensibilities, of course, are rare.  ";
        for width in 0..80 {
            let cut: Vec<&str> = lines(text, width).collect();
            assert_eq!(cut.join(" "), text.trim(), "{width}");
            for line in &cut {
                assert!(line.chars().count() <= width || !line.contains(' '), "{width}: {line}");
            }
        }
        assert_eq!(lines("  ", 10).next(), None);
    }
}
