//! Every rule takes a conversation that is right, and finds fault when one packet of it is changed.

mod cases;
mod conversations;
mod talk;

use std::collections::BTreeSet;

use cases::{Case, Change, cases};
use rdmalab_lint::{RULES, RuleId, Severity};
use talk::{Said, judge, talk};

/// Rules whose test needs more than a packet changed, each with the file that has it.
const ELSEWHERE: [(RuleId, &str); 1] = [(RuleId::MpaCrc, "iwarp.rs")];

fn changed(case: &Case) -> Vec<Said> {
    let mut talk = talk(case.clean);
    match case.change {
        Change::Alter(change) => change(&mut talk[case.packet]),
        Change::Miss => {
            talk.remove(case.packet);
        }
        Change::Again(later, change) => {
            let mut again = talk[case.packet].clone();
            again.time += 500;
            change(&mut again);
            talk.insert(case.packet + 1 + later, again);
        }
    }
    talk
}

#[test]
fn every_rule_accepts_a_clean_conversation_and_rejects_a_changed_one() {
    let mut wrong = Vec::new();
    println!("{:<18} {:<62} also", "rule", "broken by");
    for case in cases() {
        let clean = judge(&talk(case.clean));
        if !clean.findings.is_empty() {
            wrong.push(format!("{}: the clean conversation is not clean:\n{clean}", case.rule));
        }
        let report = judge(&changed(&case));
        let found: BTreeSet<RuleId> = report.findings.iter().map(|finding| finding.rule).collect();
        let also: Vec<String> =
            found.iter().filter(|rule| **rule != case.rule).map(|rule| rule.to_string()).collect();
        println!("{:<18} {:<62} {}", case.rule.to_string(), case.what, also.join(", "));
        if !found.contains(&case.rule) {
            wrong.push(format!("{}: {}: not found in\n{report}", case.rule, case.what));
        }
        let allowed = |rule: &RuleId| *rule == case.rule || case.others.contains(rule);
        if !found.iter().all(allowed) {
            wrong.push(format!("{}: {}: rules that are not named found\n{report}", case.rule, case.what));
        }
        if case.others.iter().any(|other| !found.contains(other)) {
            wrong.push(format!("{}: {}: names rules that are not found\n{report}", case.rule, case.what));
        }
    }
    for rule in RULES {
        let has_case = cases().iter().any(|case| case.rule == rule.id);
        match ELSEWHERE.iter().find(|(id, _)| *id == rule.id) {
            Some((_, file)) if !has_case => println!("{:<18} see {file}", rule.name),
            None if has_case => {}
            _ => wrong.push(format!("{} has no case, or two", rule.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rules_are_named_once_and_say_all_that_is_to_be_said() {
    let names: BTreeSet<&str> = RULES.iter().map(|rule| rule.name).collect();
    assert_eq!(names.len(), RULES.len());
    for (index, rule) in RULES.iter().enumerate() {
        assert_eq!(rule.id as usize, index);
        assert_eq!(RuleId::named(rule.name), Some(rule.id));
        assert!(rule.sentence.ends_with('.') && rule.explanation.ends_with('.'), "{}", rule.name);
        assert!(rule.source.len() > 5 && rule.evidence.len() > 5, "{}", rule.name);
        assert!(rule.explanation.len() > 60, "{} is not explained", rule.name);
    }
    assert!(RULES.iter().any(|rule| rule.severity == Severity::Note));
}
