//! In which order responses were sent: their identifications say it, or nothing does.

use rdmalab_craft::wire::{Carrier, Msn};
use rdmalab_lint::{Report, RuleId, Severity};

use super::conversations::COUNTED;
use super::talk::{Said, judge, number, talk};

/// The conversation in which two READs are answered the other way round, and how the responses are numbered from there on.
fn turned_round(number_on: fn(usize, u16) -> u16) -> Report {
    let mut talk = talk(COUNTED);
    talk.swap(12, 13);
    number(&mut talk);
    let change = |(at, said): (usize, &mut Said)| {
        if let Carrier::RoceV2Ipv4(ip, _) = &mut said.packet.carrier {
            ip.identification = number_on(at, ip.identification);
        }
    };
    talk.iter_mut().enumerate().for_each(change);
    judge(&talk)
}

#[test]
fn an_answer_that_was_sent_behind_a_later_one_may_have_been_asked_for_again() {
    // Another packet was sent between, which the capture does not have: perhaps the answer that was lost.
    let report = turned_round(|at, identification| identification + if at >= 12 { 1 } else { 0 });
    assert_eq!(report.count_of(RuleId::AckUnseen), 1, "{report}");
    assert_eq!((report.count(Severity::Violation), report.findings.len()), (0, 1), "{report}");
}

#[test]
fn without_identifications_that_count_nothing_says_which_answer_was_sent_first() {
    let numberings: [fn(usize, u16) -> u16; 3] = [
        |_, _| 0,
        |at, _| (at as u16).wrapping_mul(40_503) | 64,
        // Two that changed places on the way.
        |at, identification| match at {
            12 => identification + 1,
            13 => identification - 1,
            _ => identification,
        },
    ];
    for (index, numbering) in numberings.into_iter().enumerate() {
        let report = turned_round(numbering);
        assert_eq!(report.findings.len(), 0, "{index}: {report}");
    }
}

/// Four atomics, of which the answers to the second and the fourth are lost behind the responder's place of capture, as is what asks for the
/// fourth again. When the answers to the second and the third come again, and that to a fifth, the fourth has long been answered.
#[test]
fn an_answer_that_was_lost_between_two_equal_ones_was_not_passed_over() {
    let ask = |psn: u32, time: u64| {
        format!(
            r#"{{ opcode = "RC_FETCH_ADD", bth = {{ psn = {psn} }}, atomic_eth = {{ swap_or_add = 1 }}, time = {time} }},"#
        )
    };
    let answer = |psn: u32, msn: u32, time: u64| {
        format!(
            r#"{{ opcode = "RC_ATOMIC_ACKNOWLEDGE", reply = true, bth = {{ psn = {psn} }}, aeth = {{ msn = {msn} }}, atomic_ack_eth = {{ original = {psn} }}, time = {time} }},"#
        )
    };
    let packets = [
        ask(0, 0),
        ask(1, 1_000),
        ask(2, 2_000),
        ask(3, 3_000),
        answer(0, 1, 4_000),
        answer(2, 3, 6_000),
        ask(1, 10_000),
        ask(2, 11_000),
        ask(4, 12_000),
        answer(1, 4, 13_000),
        answer(2, 4, 14_000),
        answer(4, 5, 15_000),
    ];
    let mut talk = talk(&format!("packet = [{}]", packets.concat()));
    // The responder's, in the order in which it sent them.
    let identifications = [(4, 100), (5, 102), (9, 104), (10, 105), (11, 106)];
    for (at, identification) in identifications {
        let Carrier::RoceV2Ipv4(ip, _) = &mut talk[at].packet.carrier else { panic!("IPv4") };
        ip.identification = identification;
    }
    let report = judge(&talk);
    assert_eq!(report.count(Severity::Violation), 0, "{report}");
    assert_eq!(report.count_of(RuleId::AnswerOrder), 0, "{report}");
}

/// An acknowledgement that comes so late that what it acknowledges is no longer kept.
#[test]
fn a_message_count_of_long_ago_is_not_compared() {
    let mut packets = String::new();
    let acknowledged = |psn: u32, time: u64| {
        format!(
            r#"{{ opcode = "RC_ACKNOWLEDGE", reply = true, bth = {{ psn = {psn} }}, aeth = {{ msn = {} }}, time = {time} }},"#,
            psn + 1
        )
    };
    for (psn, time) in (0..400).zip((0..).step_by(1_000)) {
        packets += &format!(
            r#"{{ opcode = "RC_SEND_ONLY", bth = {{ psn = {psn}, ack_request = true }}, payload = {{ length = 8 }}, time = {time} }},"#
        );
        if psn != 10 {
            packets += &acknowledged(psn, time + 500);
        }
    }
    packets += &acknowledged(10, 20_000_000);
    let mut talk = talk(&format!("packet = [{packets}]"));
    // It was sent where it ought to have come.
    let late = talk.len() - 1;
    let sent = match &talk[20].packet.carrier {
        Carrier::RoceV2Ipv4(ip, _) => ip.identification,
        _ => panic!("IPv4"),
    };
    if let Carrier::RoceV2Ipv4(ip, _) = &mut talk[late].packet.carrier {
        ip.identification = sent;
    }
    let report = judge(&talk);
    assert_eq!(report.count(Severity::Violation), 0, "{report}");
}

/// An MSN that fits no count is told of once, whatever is sent behind it.
#[test]
fn one_wrong_count_is_one_finding() {
    for (at, msn) in [(9, 3), (9, 7), (12, 3), (12, 9), (13, 5), (13, 9), (15, 12)] {
        let mut talk = talk(COUNTED);
        talk[at].packet.headers.aeth.as_mut().unwrap().msn = Msn::new(msn);
        let report = judge(&talk);
        assert_eq!((report.count_of(RuleId::Msn), report.findings.len()), (1, 1), "{at} {msn}: {report}");
    }
}

/// A piece of one send that stands directly behind itself, later than most doubles do, is one packet: sent again, it would begin a send.
#[test]
fn a_piece_of_a_send_directly_behind_itself_is_one_packet() {
    let send = |opcode: &str, psn: u32, time: u64| {
        format!(
            r#"{{ opcode = "RC_SEND_{opcode}", bth = {{ psn = {psn} }}, payload = {{ length = {} }}, time = {time} }},"#,
            if opcode == "LAST" { 8 } else { 1024 }
        )
    };
    let answer = r#"{ opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 2 }, aeth = { msn = 1 }, time = 100_000 },"#;
    let packets = [
        send("FIRST", 0, 0),
        send("MIDDLE", 1, 1_000),
        send("MIDDLE", 1, 65_000),
        send("LAST", 2, 66_000),
        answer.to_owned(),
    ];
    let numbered = |identifications: [u16; 4]| {
        let mut talk = talk(&format!("packet = [{}]", packets.concat()));
        for (said, identification) in talk.iter_mut().zip(identifications) {
            let Carrier::RoceV2Ipv4(ip, _) = &mut said.packet.carrier else { panic!("IPv4") };
            ip.identification = identification;
        }
        let report = judge(&talk);
        let stats = report.flows[0].stats.clone();
        (stats.duplicates, stats.repeated.iter().sum::<u64>())
    };
    assert_eq!(numbered([54, 55, 55, 56]), (1, 0));
    // Another one that says the same was sent again.
    assert_eq!(numbered([54, 55, 0, 1]), (0, 1));
}
