//! The rules that the tests prove, and those that are known and proven by none.
//!
//! A test file says in its head which rules of the transport it proves, in lines of the form
//!
//! ```text
//! //! Rule: <id>: <one sentence>
//! ```
//!
//! which may go on in the lines below. `RULES-NOT-COVERED.md` beside this folder has the others. To read both:
//!
//! ```text
//! cargo test -p rdmalab-roce --test rules -- --nocapture
//! ```

mod collect;
mod listing;
mod not_covered;
mod rule;

use std::collections::BTreeMap;

use listing::Listing;
use rule::Rule;

/// Files with tests that prove no rule of their own, and what they prove instead. What has no test in it is harness, and
/// needs no excuse.
const NO_RULE: [(&str, &str); 5] = [
    ("roce/tests/allocation.rs", "the engine allocates nothing in steady state"),
    ("roce/tests/known_answers/", "our answers and requests are those of real peers in captures"),
    ("roce/tests/size.rs", "what a queue pair costs in memory"),
    ("roce/tests/rules/", "this program itself"),
    ("verbs/tests/verbs/memory.rs", "both kinds of application memory against a plain vector"),
];

fn is_excused(file: &str) -> bool {
    NO_RULE.iter().any(|(excused, _)| file.starts_with(excused))
}

#[test]
fn the_rules_are_listed_and_each_is_well_formed() {
    let listing = Listing::of_the_repository();
    println!("{listing}");
    assert!(listing.faults.is_empty(), "\n{}", listing.faults.join("\n"));
    assert!(listing.files.len() > 50, "the test files were not found");
    assert!(!listing.not_covered.is_empty(), "the rules without tests were not found");
}

#[test]
fn no_id_is_there_twice() {
    let listing = Listing::of_the_repository();
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for rule in listing.rules() {
        places.entry(&rule.id).or_default().push(rule.place.clone());
    }
    places.retain(|_, places| places.len() > 1);
    assert!(places.is_empty(), "these ids are there more than once: {places:#?}");
}

#[test]
fn every_file_with_tests_says_which_rule_it_proves() {
    let listing = Listing::of_the_repository();
    let silent: Vec<&str> = listing
        .files
        .iter()
        .filter(|file| file.tests > 0 && file.rules.is_empty() && !listing.speaks_for(file))
        .map(|file| file.name.as_str())
        .filter(|name| !is_excused(name))
        .collect();
    assert!(silent.is_empty(), "without a line `//! Rule: <id>: <sentence>`: {silent:#?}");
}

#[test]
fn every_rule_stands_where_there_are_tests() {
    let listing = Listing::of_the_repository();
    let idle: Vec<&str> = listing
        .files
        .iter()
        .filter(|file| !file.rules.is_empty() && file.tests == 0 && !file.is_program && !file.is_head)
        .map(|file| file.name.as_str())
        .collect();
    assert!(idle.is_empty(), "these files name rules and have no tests: {idle:#?}");
}

#[test]
fn every_excuse_is_for_a_file_that_is_there() {
    let listing = Listing::of_the_repository();
    for (excused, _) in NO_RULE {
        let is_there = listing.files.iter().any(|file| file.name.starts_with(excused));
        assert!(is_there, "{excused} is not there");
    }
}

#[test]
fn malformed_lines_are_found() {
    for (head, fault) in [
        ("//! Rule: rc-good: A good one.\n", None),
        ("//! Rule: rc-good: A good one, that goes on\n//! in the next line.\n//!\n//! Not here", None),
        ("//! Rule: rc-Bad: A sentence.\n", Some("kebab-case")),
        ("//! Rule: -rc: A sentence.\n", Some("kebab-case")),
        ("//! Rule: xx-good: A sentence.\n", Some("begins with none of")),
        ("//! Rule: rc-good\n", Some("no sentence")),
        ("//! Rule: rc-good:\n", Some("no sentence")),
        ("//! Rule: rc-good: No sentence\n", Some("does not end with a full stop")),
        ("//! Rule: rc-good: As §9.7 says.\n", Some("section")),
        ("//! rule: rc-good: A sentence.\n", Some("not of the form")),
        ("//! Rules: rc-good: A sentence.\n", Some("not of the form")),
        ("// Rule: rc-good: A sentence.\n", Some("not of the form")),
    ] {
        let mut faults = Vec::new();
        let rules = rule::in_head("file.rs", head, &mut faults);
        match fault {
            None => assert!(faults.is_empty() && rules.len() == 1, "{head}: {faults:?}"),
            Some(fault) => assert!(faults.iter().any(|told| told.contains(fault)), "{head}: {faults:?}"),
        }
    }
    let mut faults = Vec::new();
    let text =
        "| id | rule | why |\n|---|---|---|\n| `rc-one` | A rule. | Because. |\n| `rc-two` | A rule. |\n";
    let found = not_covered::parse("file.md", text, &mut faults);
    assert_eq!((found.len(), faults.len()), (1, 1), "{faults:?}");
}

#[test]
fn a_rule_goes_on_until_an_empty_line_or_the_next_rule() {
    let head = "//! Head.\n//!\n//! Rule: rc-one: The first\n//! one.\n//! Rule: uc-two: The second.\n//!\n//! Text.\nuse x;\n";
    let rules = rule::in_head("file.rs", head, &mut Vec::new());
    let pairs: Vec<(&str, &str)> =
        rules.iter().map(|Rule { id, sentence, .. }| (&**id, &**sentence)).collect();
    assert_eq!(pairs, [("rc-one", "The first one."), ("uc-two", "The second.")]);
}
