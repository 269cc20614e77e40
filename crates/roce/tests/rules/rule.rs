//! One rule, and how it is found in the head of a file.

/// What ids begin with, and what that means.
pub const PREFIXES: [(&str, &str); 14] = [
    ("rc", "reliable connections"),
    ("uc", "unreliable connections"),
    ("ud", "unreliable datagrams"),
    ("rd", "reliable datagrams"),
    ("xrc", "extended reliable connections"),
    ("srq", "shared receive queues"),
    ("mw", "memory windows"),
    ("key", "keys and memory regions"),
    ("qp", "queue pairs of all kinds"),
    ("cq", "completion queues"),
    ("credit", "end-to-end credits"),
    ("cc", "congestion control"),
    ("event", "asynchronous events"),
    ("port", "ports"),
];

/// A rule of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub id: String,
    pub sentence: String,
    /// File and line.
    pub place: String,
}

impl Rule {
    /// What its id begins with.
    pub fn prefix(&self) -> &str {
        self.id.split('-').next().unwrap_or_default()
    }

    /// Tells what is wrong with it.
    pub fn check(&self, faults: &mut Vec<String>) {
        let Self { id, sentence, place } = self;
        let mut fault = |what: &str| faults.push(format!("{place}: {id}: {what}"));
        let is_word = |word: &str| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        if !id.split('-').all(is_word) || !id.contains('-') {
            fault("the id is not kebab-case");
        }
        if !PREFIXES.iter().any(|(prefix, _)| *prefix == self.prefix()) {
            fault(&format!("the id begins with none of {:?}", PREFIXES.map(|(prefix, _)| prefix)));
        }
        if sentence.is_empty() {
            fault("there is no sentence");
        } else if !sentence.ends_with('.') {
            fault("the sentence does not end with a full stop");
        }
        if sentence.contains('§') {
            fault("name the rule in words, not by a section");
        }
    }
}

/// The rules that the head of a file names: its comment lines before anything else.
pub fn in_head(file: &str, text: &str, faults: &mut Vec<String>) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    let mut goes_on = false;
    for (number, line) in (1..).zip(text.lines()) {
        let place = format!("{file}:{number}");
        let Some(comment) = line.strip_prefix("//") else {
            if line.trim().is_empty() { continue } else { break }
        };
        let words = comment.trim_start_matches(['!', '/']).trim();
        let is_rule = words
            .to_ascii_lowercase()
            .split(':')
            .next()
            .is_some_and(|word| matches!(word.trim_end(), "rule" | "rules"));
        if is_rule && !line.starts_with("//! Rule: ") {
            faults.push(format!("{place}: not of the form `//! Rule: <id>: <sentence>`: {line}"));
            goes_on = false;
        } else if let Some(rule) = words.strip_prefix("Rule: ") {
            let (id, sentence) = rule.split_once(':').unwrap_or((rule, ""));
            let (id, sentence) = (id.trim().to_owned(), sentence.trim().to_owned());
            rules.push(Rule { id, sentence, place });
            goes_on = true;
        } else if words.is_empty() {
            goes_on = false;
        } else if let Some(rule) = rules.last_mut().filter(|_| goes_on) {
            rule.sentence.push(' ');
            rule.sentence.push_str(words);
        }
    }
    rules.iter().for_each(|rule| rule.check(faults));
    rules
}
