//! The rules of the RFCs that the tests prove, and those that are known and proven by none.
//!
//! A test file says in its head which rules it proves, in lines of the form
//!
//! ```text
//! //! Rule: <id>: <one sentence, with its sections>
//! ```
//!
//! which may go on in the lines below. So do tests of the device, where a rule is for whoever has the clock and TCP's segments.
//! `RULES-NOT-COVERED.md` beside it has the others. To read both:
//!
//! ```text
//! cargo test -p rdmalab-iwarp --test rules -- --nocapture
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What ids begin with. Those of the protocols cite their RFC; what follows from the verbs, or from sense, says so by `qp`,
/// `cq`, `srq` or `iwarp`.
const PREFIXES: [(&str, &str); 7] = [
    ("mpa", "MPA: RFC 5044, RFC 6581"),
    ("ddp", "DDP: RFC 5041"),
    ("rdmap", "RDMAP: RFC 5040, RFC 7306"),
    ("iwarp", "all of it together"),
    ("qp", "queue pairs, from the verbs"),
    ("cq", "completion queues"),
    ("srq", "shared receive queues"),
];

/// Files with tests that prove no rule of the protocol, and what they prove instead.
const NO_RULE: [(&str, &str); 5] = [
    ("allocation.rs", "a stream allocates nothing in steady state"),
    ("known_answers/main.rs", "to what siw says in captures, we say what siw says"),
    ("known_answers/refusals.rs", "what siw ends in captures, we end, for the reasons that are listed"),
    ("known_answers/start_ups.rs", "to the requests of captures we reply as siw, but for what is listed"),
    ("rules.rs", "this program itself"),
];

/// Tests of the device that prove rules.
const OF_DEVICE: [&str; 2] = ["tests/iwarp/virtual_time.rs", "src/iwarp/tests/terminated.rs"];

#[derive(Debug)]
struct Rule {
    id: String,
    sentence: String,
    file: String,
}

struct TestFile {
    name: String,
    has_tests: bool,
    rules: Vec<Rule>,
}

fn files() -> Vec<TestFile> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut paths = Vec::new();
    walk(&folder, &mut paths);
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let name = path.strip_prefix(&folder).unwrap().to_string_lossy().into_owned();
            let text = fs::read_to_string(path).unwrap();
            let has_tests = text.lines().any(|line| line.trim() == "#[test]");
            TestFile { rules: in_head(&name, &text), name, has_tests }
        })
        .collect()
}

/// The rules that the device proves.
fn of_device() -> Vec<Rule> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../device");
    let found = OF_DEVICE.iter().flat_map(|name| {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        assert!(text.lines().any(|line| line.trim() == "#[test]"), "{name}");
        let rules = in_head(&format!("device/{name}"), &text);
        assert!(!rules.is_empty(), "{name} names no rule");
        rules
    });
    found.collect()
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
}

/// The rules that the head of a file names.
fn in_head(file: &str, text: &str) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    let mut goes_on = false;
    for line in text.lines().map_while(|line| line.strip_prefix("//!")) {
        let line = line.trim();
        if let Some(rule) = line.strip_prefix("Rule: ") {
            let (id, sentence) = rule.split_once(": ").unwrap_or((rule, ""));
            rules.push(Rule { id: id.to_owned(), sentence: sentence.to_owned(), file: file.to_owned() });
            goes_on = true;
        } else if line.is_empty() {
            goes_on = false;
        } else if let Some(rule) = rules.last_mut().filter(|_| goes_on) {
            rule.sentence.push(' ');
            rule.sentence.push_str(line);
        }
    }
    rules
}

/// The rows of the tables of rules that no test proves.
fn not_covered() -> Vec<Rule> {
    let text = include_str!("RULES-NOT-COVERED.md");
    text.lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [id, sentence, why] = cells[..] else { panic!("not of three cells: {line}") };
            assert!(!why.is_empty(), "no reason: {line}");
            let file = format!("no test: {why}");
            Rule { id: id.trim_matches('`').to_owned(), sentence: sentence.to_owned(), file }
        })
        .collect()
}

fn prefix(rule: &Rule) -> &str {
    rule.id.split('-').next().unwrap_or_default()
}

#[test]
fn the_rules_are_listed_and_each_is_well_formed() {
    let proven: Vec<Rule> = files().into_iter().flat_map(|file| file.rules).chain(of_device()).collect();
    let others = not_covered();
    println!("{} rules with tests, {} without", proven.len(), others.len());
    for (known, meaning) in PREFIXES {
        println!("\n{known}: {meaning}");
        for rule in proven.iter().chain(&others).filter(|rule| prefix(rule) == known) {
            println!("  {}: {} [{}]", rule.id, rule.sentence, rule.file);
        }
    }
    assert!(proven.len() > 80, "the test files were not found");
    assert!(!others.is_empty(), "the rules without tests were not found");
    for rule in proven.iter().chain(&others) {
        let is_word = |word: &str| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        assert!(rule.id.contains('-') && rule.id.split('-').all(is_word), "not kebab-case: {rule:?}");
        assert!(PREFIXES.iter().any(|(known, _)| *known == prefix(rule)), "an unknown prefix: {rule:?}");
        assert!(rule.sentence.ends_with('.'), "no full stop: {rule:?}");
        let cites = !matches!(prefix(rule), "mpa" | "ddp" | "rdmap") || rule.sentence.contains("RFC ");
        assert!(cites, "cites no RFC: {rule:?}");
    }
}

#[test]
fn no_id_is_there_twice() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for rule in files().into_iter().flat_map(|file| file.rules).chain(of_device()).chain(not_covered()) {
        places.entry(rule.id).or_default().push(rule.file);
    }
    places.retain(|_, places| places.len() > 1);
    assert!(places.is_empty(), "these ids are there more than once: {places:#?}");
}

#[test]
fn every_file_with_tests_says_which_rule_it_proves_and_no_other_does() {
    for file in files() {
        let is_excused = NO_RULE.iter().any(|(excused, _)| *excused == file.name);
        let names_rules = !file.rules.is_empty();
        assert_eq!(file.has_tests && !is_excused, names_rules, "{}", file.name);
    }
}

#[test]
fn a_rule_goes_on_until_an_empty_line_or_the_next_rule() {
    let head = "//! Head.\n//!\n//! Rule: mpa-one: The first\n//! one.\n//! Rule: ddp-two: The second.\n//!\n//! Text.\n";
    let rules: Vec<(String, String)> =
        in_head("file.rs", head).into_iter().map(|rule| (rule.id, rule.sentence)).collect();
    let expected = [("mpa-one", "The first one."), ("ddp-two", "The second.")];
    assert_eq!(rules, expected.map(|(id, sentence)| (id.to_owned(), sentence.to_owned())));
}
