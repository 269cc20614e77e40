//! Every rule takes a conversation that is right, and finds fault when one packet of it is changed.

mod broken;
mod cases;
mod clocks;
mod conversations;
mod cut;
mod fragments;
mod frames;
mod management;
mod markers;
mod order;
mod pairs;
mod refused;
mod restarts;
mod seldom;
mod stream;
mod stream_bounds;
mod stream_cases;
mod talk;
mod transports;
mod unknown;
mod words;

use std::collections::BTreeSet;

use cases::{Case, Change, cases};
use rdmalab_craft::wire::Syndrome;
use rdmalab_lint::{RULES, Report, RuleId, Severity, lint};
use stream_cases::{StreamCase, further, stream_cases};
use talk::{Said, judge, number, talk};

fn changed(case: &Case) -> Vec<Said> {
    let mut talk = talk(case.clean);
    match case.change {
        Change::Alter(change) => change(&mut talk[case.packet]),
        Change::Miss => {
            talk.remove(case.packet);
        }
        Change::Unsent => {
            talk.remove(case.packet);
            number(&mut talk);
        }
        Change::Move(to) => {
            let said = talk.remove(case.packet);
            talk.insert(to, said);
        }
        Change::Sent(to) => {
            let said = talk.remove(case.packet);
            talk.insert(to, said);
            number(&mut talk);
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

/// Looks at both reports of a case, and prints its line of the table. Gives what is wrong with it.
fn compare(rule: RuleId, others: &[RuleId], what: &str, clean: &Report, report: &Report) -> Vec<String> {
    let mut wrong = Vec::new();
    if !clean.findings.is_empty() {
        wrong.push(format!("{rule}: the clean conversation is not clean:\n{clean}"));
    }
    let found: BTreeSet<RuleId> = report.findings.iter().map(|finding| finding.rule).collect();
    let also: Vec<String> = found.iter().filter(|also| **also != rule).map(|rule| rule.to_string()).collect();
    println!("{:<18} {what:<62} {}", rule.to_string(), also.join(", "));
    if !found.contains(&rule) {
        wrong.push(format!("{rule}: {what}: not found in\n{report}"));
    }
    if !found.iter().all(|found| *found == rule || others.contains(found)) {
        wrong.push(format!("{rule}: {what}: rules that are not named found\n{report}"));
    }
    if others.iter().any(|other| !found.contains(other)) {
        wrong.push(format!("{rule}: {what}: names rules that are not found\n{report}"));
    }
    wrong
}

fn compare_case(case: &Case) -> Vec<String> {
    let (clean, report) = (judge(&talk(case.clean)), judge(&changed(case)));
    compare(case.rule, case.others, case.what, &clean, &report)
}

fn compare_stream(case: &StreamCase) -> Vec<String> {
    let clean = stream::judge(&(case.clean)());
    compare(case.rule, case.others, case.what, &clean, &stream::judge(&case.changed()))
}

#[test]
fn every_rule_accepts_a_clean_conversation_and_rejects_a_changed_one() {
    let mut wrong = Vec::new();
    println!("{:<18} {:<62} also", "rule", "broken by");
    let (cases, streams) = (cases(), stream_cases());
    wrong.extend(cases.iter().flat_map(compare_case));
    wrong.extend(streams.iter().flat_map(compare_stream));
    let clean = frames::pauses();
    let mut changed = clean.clone();
    changed[1][5] = 2;
    let reports = (frames::judge(&clean), frames::judge(&changed));
    wrong.extend(compare(RuleId::PauseForm, &[], "a PFC frame to another address", &reports.0, &reports.1));
    let (clean, changed) = (frames::paused(0), frames::paused(0xffff));
    let reports = (frames::judge(&clean), frames::judge(&changed));
    wrong.extend(compare(RuleId::PauseHeeded, &[], "the PFC frame stops a priority", &reports.0, &reports.1));
    for rule in RULES {
        let count = cases.iter().filter(|case| case.rule == rule.id).count()
            + streams.iter().filter(|case| case.rule == rule.id).count()
            + usize::from(matches!(rule.id, RuleId::PauseForm | RuleId::PauseHeeded));
        if count != 1 {
            wrong.push(format!("{} has {count} cases", rule.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn reserved_bits_of_extended_headers_are_looked_at() {
    for opcode in ["UD_SEND_ONLY", "RD_SEND_ONLY", "XRC_SEND_ONLY", "RC_FLUSH"] {
        let mut talk = talk(&format!(r#"packet = [{{ opcode = "{opcode}" }}]"#));
        assert_eq!(judge(&talk).count_of(RuleId::ReservedBits), 0, "{opcode}");
        let headers = &mut talk[0].packet.headers;
        match opcode {
            "UD_SEND_ONLY" => headers.deth.as_mut().unwrap().reserved = 1,
            "RD_SEND_ONLY" => headers.rdeth.as_mut().unwrap().reserved = 1,
            "XRC_SEND_ONLY" => headers.xrceth.as_mut().unwrap().reserved = 1,
            _ => headers.feth.as_mut().unwrap().reserved = 1,
        }
        assert_eq!(judge(&talk).count_of(RuleId::ReservedBits), 1, "{opcode}");
    }
}

/// It wakes whoever waits for a completed receive: each last packet of a SEND and of a WRITE with immediate data completes one.
#[test]
fn a_solicited_event_is_asked_for_where_a_receive_completes() {
    let may = ["SEND_LAST", "SEND_LAST_IMM", "SEND_LAST_INV", "SEND_ONLY", "SEND_ONLY_IMM", "SEND_ONLY_INV"];
    let may = may.into_iter().chain(["WRITE_LAST_IMM", "WRITE_ONLY_IMM"]).map(|name| (name, 0));
    let must_not = ["SEND_FIRST", "SEND_MIDDLE", "WRITE_FIRST", "WRITE_MIDDLE", "WRITE_LAST", "WRITE_ONLY"];
    let must_not = must_not.into_iter().chain(["READ_REQUEST", "ACKNOWLEDGE"]).map(|name| (name, 1));
    for (name, count) in may.chain(must_not) {
        let report =
            judge(&talk(&format!(r#"packet = [{{ opcode = "RC_{name}", bth = {{ solicited = true }} }}]"#)));
        assert_eq!(report.count_of(RuleId::SolicitedEvent), count, "{name}: {report}");
    }
}

#[test]
fn codes_of_naks_that_mean_nothing_are_found() {
    for (byte, count) in
        [(0x60, 0), (0x63, 0), (0x64, 0), (0x65, 1), (0x66, 1), (0x70, 1), (0x7f, 1), (0x41, 1)]
    {
        let mut talk = talk(r#"packet = [{ opcode = "RC_ACKNOWLEDGE" }]"#);
        talk[0].packet.headers.aeth.as_mut().unwrap().syndrome = Syndrome::from_byte(byte);
        let report = judge(&talk);
        assert_eq!(report.count_of(RuleId::Syndrome), count, "{byte:#x}: {report}");
    }
}

#[test]
fn conversations_can_be_wrong_in_further_ways() {
    let wrong: Vec<String> = cases::further().iter().flat_map(compare_case).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn streams_can_be_wrong_in_further_ways() {
    let wrong: Vec<String> = further().iter().flat_map(compare_stream).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Who looks for what is judged finds each rule.
#[test]
fn the_page_about_judging_has_every_rule() {
    let page = include_str!("../../../../docs/LINT.md");
    let (_, table) = page.split_once("## Which rules are about what").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    let missing = RULES.iter().filter(|rule| !table.contains(&format!("`{}`", rule.name)));
    assert_eq!(missing.map(|rule| rule.name).collect::<Vec<_>>(), Vec::<&str>::new());
}

/// Segments of TCP may be as small as one byte.
#[test]
fn streams_are_judged_alike_whatever_their_segments_are() {
    for case in stream_cases() {
        let findings = |steps: &[stream::Step], segment| {
            let report = lint(&stream::capture(steps, segment)[..], &mut ()).unwrap();
            report.findings.into_iter().map(|finding| (finding.rule, finding.what)).collect::<Vec<_>>()
        };
        for segment in [1, 7, 100] {
            assert!(findings(&(case.clean)(), segment).is_empty(), "{} {segment}", case.what);
            let changed = case.changed();
            assert_eq!(findings(&changed, segment), findings(&changed, 1460), "{} {segment}", case.what);
        }
    }
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
