//! Which requests an answer belongs to, when queue pairs' numbers are used again without connection management.

use rdmalab_lint::{Report, Severity};

use super::talk::{judge, talk};

/// A WRITE from one queue pair to another, at a time in milliseconds, and its acknowledgement.
fn write((from, to): (u32, u32), psn: u32, msn: u32, time: u64) -> String {
    format!(
        r#"
        {{ opcode = "RC_WRITE_ONLY", bth = {{ psn = {psn}, ack_request = true, destination = {to} }},
           reth = {{ length = 8 }}, payload = {{ length = 8 }}, time = {} }},
        {{ opcode = "RC_ACKNOWLEDGE", reply = true, bth = {{ psn = {psn}, destination = {from} }},
           aeth = {{ msn = {msn} }}, time = {} }},
        "#,
        time * 1_000_000,
        time * 1_000_000 + 10_000
    )
}

/// What is found in conversations that are nothing but right.
#[track_caller]
fn clean(packets: &[String]) -> Report {
    let report = judge(&talk(&format!("packet = [{}]", packets.concat())));
    assert_eq!(report.count(Severity::Violation) + report.count(Severity::Suspicious), 0, "{report}");
    assert_eq!(report.totals.unpaired, 0, "{report}");
    report
}

/// How many answers the requests of each flow that has any got.
fn answers(report: &Report) -> Vec<(u64, u64)> {
    let stats = report.flows.iter().map(|flow| (flow.stats.requests, flow.stats.responses));
    stats.filter(|(requests, _)| *requests > 0).collect()
}

#[test]
fn regression_a_queue_pair_that_is_asked_by_another_one_later_answers_that_one() {
    let one = (0x11, 0x12);
    let other = (0x13, 0x12);
    let report = clean(&[
        write(one, 100, 1, 0),
        write(one, 101, 2, 1),
        write(other, 5_000_100, 1, 2_000),
        write(other, 5_000_101, 2, 2_001),
    ]);
    // One flow, as both ask the same queue pair.
    assert_eq!(answers(&report), [(4, 4)], "{report}");
    assert_eq!(report.flows[0].stats.conversations, 1, "{report}");
}

#[test]
fn regression_a_queue_pair_that_asks_another_one_later_is_answered_by_that_one() {
    let one = (0x11, 0x12);
    let other = (0x11, 0x14);
    let report = clean(&[
        write(one, 100, 1, 0),
        write(one, 101, 2, 1),
        write(other, 5_000_100, 1, 2_000),
        write(other, 5_000_101, 2, 2_001),
    ]);
    assert_eq!(answers(&report), [(2, 2), (2, 2)], "{report}");
}

/// It had only been asked before, so that nobody knows of any requests of its own.
#[test]
fn regression_a_queue_pair_that_was_only_asked_may_ask_another_one_later() {
    let turned = |packets: String| {
        packets
            .replace("RC_WRITE_ONLY\",", "RC_WRITE_ONLY\", reply = true,")
            .replace("RC_ACKNOWLEDGE\", reply = true,", "RC_ACKNOWLEDGE\",")
    };
    let report = clean(&[
        turned(write((0x12, 0x11), 100, 1, 0)),
        turned(write((0x12, 0x11), 101, 2, 1)),
        write((0x11, 0x14), 5_000_100, 1, 2_000),
        write((0x11, 0x14), 5_000_101, 2, 2_001),
    ]);
    assert_eq!(answers(&report), [(2, 2), (2, 2)], "{report}");
}
