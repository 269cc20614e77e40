//! The texts: that there is one for everything, that each can be told from the others, and that each has the shape of a
//! paragraph.

use std::collections::BTreeSet;

use rdmalab_explain::{all, finding, named, opcode, state, syndrome};
use rdmalab_lint::RULES;
use rdmalab_verbs::State;
use rdmalab_wire::{Opcode, Syndrome};

#[test]
fn names_are_there_once_and_are_no_names_of_rules() {
    let mut names = BTreeSet::new();
    for explanation in all() {
        assert!(names.insert(explanation.name), "{} is there twice", explanation.name);
        assert_eq!(named(explanation.name), Some(explanation));
        let is_plain =
            explanation.name.chars().all(|c| c.is_ascii_lowercase() || c == '-' || c.is_ascii_digit());
        assert!(is_plain, "{}", explanation.name);
    }
    for rule in RULES {
        assert!(names.insert(rule.name), "the rule {} has the name of an explanation", rule.name);
    }
    assert_eq!(named("no-such-thing"), None);
}

#[test]
fn titles_are_short_and_texts_are_paragraphs_with_a_source() {
    for explanation in all() {
        let name = explanation.name;
        let title = explanation.title.chars().count();
        assert!((4..=90).contains(&title), "{name}: the title has {title} characters");
        assert!(!explanation.title.ends_with('.'), "{name}: a title is no sentence");
        let text = explanation.text;
        assert!((80..=700).contains(&text.chars().count()), "{name}: {} characters", text.chars().count());
        assert!(text.starts_with(char::is_uppercase) && text.ends_with('.'), "{name}: {text}");
        assert!(!text.contains("  ") && !text.contains('\n'), "{name}: {text}");
        assert!(explanation.source.len() > 5 && !explanation.source.ends_with('.'), "{name}");
    }
}

#[test]
fn every_opcode_that_exists_is_explained() {
    for code in 0..=255 {
        let code = Opcode(code);
        let Some(row) = code.row() else {
            assert_eq!(opcode(code), None, "{code}");
            continue;
        };
        // Reliable datagrams, which nobody has built, have one of their own.
        assert!(opcode(code).is_some() || row.name == "RESYNC", "{code}");
    }
}

#[test]
fn every_syndrome_state_and_rule_is_explained() {
    for byte in 0..=255 {
        let text = syndrome(Syndrome::from_byte(byte));
        let is_reserved = matches!(Syndrome::from_byte(byte), Syndrome::Reserved(_));
        assert!(!is_reserved || text.name == "syndrome-reserved", "{byte:#04x}: {}", text.name);
    }
    let states: BTreeSet<&str> = State::ALL.into_iter().map(|each| state(each).name).collect();
    assert_eq!(states.len(), State::ALL.len());
    for each in State::ALL {
        assert!(state(each).title.starts_with(&each.to_string()), "{each}");
    }
    for rule in RULES {
        assert_eq!(finding(rule.id).text, rule.explanation);
    }
}
