//! Where a requester may go back to, though the capture shows that it was answered for more.

use rdmalab_lint::{Cause, Report, Severity};

use super::talk::{judge, talk};

/// Looks at a description's packets.
#[track_caller]
fn finds_no_fault(packets: &str) -> Report {
    let report = judge(&talk(&format!("packet = [{packets}]")));
    assert_eq!(report.count(Severity::Violation) + report.count(Severity::Suspicious), 0, "{report}");
    report
}

fn read(psn: u32, time: u64) -> String {
    format!(
        r#"{{ opcode = "RC_READ_REQUEST", bth = {{ psn = {psn} }}, reth = {{ length = 8 }}, time = {time} }},"#
    )
}

fn answer(psn: u32, msn: u32, time: u64) -> String {
    format!(
        r#"{{ opcode = "RC_READ_RESPONSE_ONLY", reply = true, bth = {{ psn = {psn} }}, aeth = {{ msn = {msn} }}, payload = {{ length = 8 }}, time = {time} }},"#
    )
}

/// A program that has no turn for long: all answers are in the capture, and its timer is what it looks at first.
#[test]
fn regression_a_hundred_answers_may_not_have_been_heard() {
    const READS: u32 = 100;
    let times = |from: u64| (0..READS).zip((0..).map(move |step| from + 1_000 * step));
    let asked: String = times(0).map(|(psn, time)| read(psn, time)).collect();
    let answered: String = times(1_000_000).map(|(psn, time)| answer(psn, psn + 1, time)).collect();
    let again: String = times(100_000_000).map(|(psn, time)| read(psn, time)).collect();
    let answered_again: String = times(101_000_000).map(|(psn, time)| answer(psn, READS, time)).collect();
    let report = finds_no_fault(&[asked, answered, again, answered_again].concat());
    let stats = &report.flows[0].stats;
    assert_eq!(stats.repeated[Cause::Timeout as usize], u64::from(READS), "{report}");
    assert_eq!(stats.timeouts_answered, 1, "{report}");
}

/// The first packet in the capture has overtaken all in front of it: what asks for them names a PSN that the capture has not had.
#[test]
fn regression_a_nak_may_ask_for_what_is_in_front_of_the_first_request() {
    let write = |psn: u32, time: u64| {
        format!(
            r#"{{ opcode = "RC_WRITE_ONLY", bth = {{ psn = {psn}, ack_request = true }}, reth = {{ length = 8 }}, payload = {{ length = 8 }}, time = {time} }},"#
        )
    };
    let nak = r#"{ opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 82 }, aeth = { syndrome = 0x60, msn = 0 }, time = 20_000 },"#;
    let acknowledged = r#"{ opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 101 }, aeth = { msn = 20 }, time = 7_500_000 },"#;
    let again: String = (82..102).map(|psn| write(psn, 7_000_000 + 1_000 * u64::from(psn))).collect();
    let report = finds_no_fault(&[&write(100, 0), nak, &again, acknowledged].concat());
    let stats = &report.flows[0].stats;
    assert_eq!((stats.naks, stats.returns[Cause::Nak as usize]), (1, 1), "{report}");
}
