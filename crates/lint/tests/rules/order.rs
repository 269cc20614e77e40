//! In which order responses were sent: their identifications say it, or nothing does.

use rdmalab_craft::wire::Carrier;
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
