//! The rules that no test proves, from a table in Markdown: id, sentence, why not.

use super::rule::Rule;

/// A rule without a test.
pub struct NotCovered {
    pub rule: Rule,
    /// Why there is none.
    pub why: String,
}

/// Reads all tables of the text.
pub fn parse(file: &str, text: &str, faults: &mut Vec<String>) -> Vec<NotCovered> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let place = format!("{file}:{number}");
        if !line.starts_with("| `") {
            // A head, the line below it, or text.
            continue;
        }
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [id, sentence, why] = cells[..] else {
            faults.push(format!("{place}: not of the form | `id` | rule | why not |: {line}"));
            continue;
        };
        let rule =
            Rule { id: id.trim_matches('`').to_owned(), sentence: sentence.to_owned(), place: place.clone() };
        rule.check(faults);
        if why.is_empty() {
            faults.push(format!("{place}: {id}: it does not say why there is no test"));
        }
        found.push(NotCovered { rule, why: why.to_owned() });
    }
    found
}
