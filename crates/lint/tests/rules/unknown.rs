//! What a capture leaves open is said, not guessed.

use rdmalab_craft::wire::{Msn, Psn, TransportKind};
use rdmalab_lint::{Reason, Report, RuleId, Severity};

use super::conversations::{AGAIN_FROM_THE_FIRST, ORDINARY, READ_AGAIN, READS_AT_ONCE, RECURRING, SENDS};
use super::frames;
use super::talk::{judge, talk};

/// A queue pair's number recurs, without connection management, its PSNs a little further on: that is no loss.
#[test]
fn another_conversation_of_the_same_queue_pairs_is_told_by_its_messages_counted_anew() {
    let mut conversation = talk(RECURRING);
    let report = judge(&conversation);
    assert_eq!(report.count_of(RuleId::AckUnseen), 0, "{report}");
    assert_eq!(report.count(Severity::Suspicious) + report.count(Severity::Violation), 0, "{report}");
    assert_eq!(report.flows[0].stats.conversations, 1, "{report}");
    assert_eq!(report.flows[0].stats.operations.count(), 4, "{report}");
    // One that goes on counting is the same, and its requests are missing.
    for (at, msn) in [(5, 400), (6, 401)] {
        conversation[at].packet.headers.aeth.as_mut().unwrap().msn = Msn::new(msn);
    }
    let report = judge(&conversation);
    assert_eq!(report.count_of(RuleId::AckUnseen), 1, "{report}");
    assert_eq!(report.flows[0].stats.conversations, 0, "{report}");
}

#[track_caller]
fn finds_nothing(report: &Report) {
    assert!(report.findings.is_empty(), "{report}");
    assert!(report.flows[0].reasons.has(Reason::Recurring), "{report}");
}

/// The same numbers from the beginning again, but not the same packets.
#[test]
fn another_conversation_with_the_same_psns_is_no_repetition() {
    let mut conversation = talk(AGAIN_FROM_THE_FIRST);
    let report = judge(&conversation);
    finds_nothing(&report);
    let stats = &report.flows[0].stats;
    assert_eq!((stats.conversations, stats.operations.count()), (1, 4), "{report}");
    assert_eq!(stats.repeated.iter().sum::<u64>(), 0, "{report}");
    // Without the first acknowledgement nothing tells the two apart: the responder had counted as far before.
    conversation.remove(7);
    let report = judge(&conversation);
    finds_nothing(&report);
    assert_eq!(report.flows[0].stats.conversations, 0, "{report}");
    // Neither does a capture that ends.
    conversation.truncate(7);
    finds_nothing(&judge(&conversation));
}

#[test]
fn what_comes_again_from_the_middle_and_is_counted_on_is_a_repetition() {
    let mut conversation = talk(AGAIN_FROM_THE_FIRST);
    conversation.remove(4);
    conversation[6].packet.headers.aeth.as_mut().unwrap().msn = Msn::new(3);
    let report = judge(&conversation);
    assert_eq!(report.count_of(RuleId::RepeatPayload), 2, "{report}");
    assert_eq!(report.flows[0].stats.conversations, 0, "{report}");
}

/// An acknowledgement that others have overtaken counts fewer messages than they do. It meets a requester that went back.
#[test]
fn regression_an_answer_that_was_overtaken_begins_no_conversation() {
    let mut conversation = talk(
        r#"
        packet = [
            { opcode = "RC_SEND_ONLY", bth = { psn = 100 }, payload = { length = 8 } },
            { opcode = "RC_SEND_ONLY", bth = { psn = 101 }, payload = { length = 8 } },
            { opcode = "RC_SEND_ONLY", bth = { psn = 102 }, payload = { length = 8 } },
            { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 102 }, aeth = { msn = 3 } },
            { opcode = "RC_SEND_ONLY", bth = { psn = 101 }, payload = { length = 8 }, time = 2_000_000 },
            { opcode = "RC_SEND_ONLY", bth = { psn = 102 }, payload = { length = 8 } },
            { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 101 }, aeth = { msn = 1 } },
        ]
        "#,
    );
    let counts = |conversation: &[_]| {
        let report = judge(conversation);
        let stats = &report.flows[0].stats;
        (stats.conversations, stats.repeated.iter().sum::<u64>())
    };
    assert_eq!(counts(&conversation), (0, 2));
    // Much later it would be another one, of which this is the first message.
    for packet in &mut conversation[4..] {
        packet.time += 2_000_000_000;
    }
    assert_eq!(counts(&conversation), (1, 0));
}

/// Of a READ's answer the place of capture may have missed who asked for it.
#[test]
fn an_answer_that_nobody_asked_for_may_lack_its_request() {
    let mut conversation = talk(READ_AGAIN);
    conversation.remove(4);
    let report = judge(&conversation);
    assert_eq!(report.count(Severity::Violation), 0, "{report}");
    assert_eq!(report.count_of(RuleId::AckUnseen), 1, "{report}");
    // The path MTU is not known until the answer comes: by that it is another READ's.
    let report = judge(&talk(
        r#"
        packet = [
            { opcode = "RC_READ_REQUEST", reth = { length = 20_000 } },
            { opcode = "RC_READ_RESPONSE_MIDDLE", reply = true, bth = { psn = 78 }, payload = { length = 1024 } },
        ]
        "#,
    ));
    assert_eq!(report.count(Severity::Violation), 0, "{report}");
}

/// One READ is there, and answers to others: by the smallest path MTU it takes 79 PSNs.
#[test]
fn regression_answers_to_missing_requests_are_not_those_of_a_long_read() {
    let of_reads = r#"
        { opcode = "RC_READ_RESPONSE_LAST", reply = true, bth = { psn = 19 }, aeth = { msn = 1 }, payload = { length = 544 } },
        { opcode = "RC_READ_RESPONSE_LAST", reply = true, bth = { psn = 78 }, aeth = { msn = 4 }, payload = { length = 544 } },
    "#;
    let of_an_atomic =
        r#"{ opcode = "RC_ATOMIC_ACKNOWLEDGE", reply = true, bth = { psn = 20 }, aeth = { msn = 2 } }"#;
    for answers in [of_reads, of_an_atomic] {
        let request = r#"{ opcode = "RC_READ_REQUEST", reth = { length = 20_000 } }"#;
        let report = judge(&talk(&format!("packet = [{request}, {answers}]")));
        assert_eq!(report.count(Severity::Violation), 0, "{report}");
    }
}

/// A request that nobody answered, as far as the capture goes, and much later another one with its number.
#[test]
fn regression_what_was_not_answered_may_come_again_in_another_conversation() {
    let mut conversation = talk(AGAIN_FROM_THE_FIRST);
    conversation.drain(1..4);
    let report = judge(&conversation);
    assert_eq!(report.count(Severity::Violation), 0, "{report}");
    // Nor does the order in the capture tell which of the two was first.
    let turned = [conversation[1].clone(), conversation[0].clone()];
    assert_eq!(judge(&turned).count(Severity::Violation), 0);
    // Without connection management, but at once: nobody makes queue pairs anew in a millisecond.
    conversation[1].time = conversation[0].time + 1_000_000;
    assert_eq!(judge(&conversation[..2]).count_of(RuleId::RepeatHeader), 1);
}

/// It is as old as the one of the first packet.
#[test]
fn regression_acknowledgements_out_of_order_by_the_captures_times_do_not_go_back() {
    let mut conversation = talk(SENDS);
    conversation[5].packet.bth.psn = Psn::new(0);
    assert_eq!(judge(&conversation).count_of(RuleId::AckBack), 1);
    conversation[5].time = conversation[3].time;
    assert_eq!(judge(&conversation).count_of(RuleId::AckBack), 0);
}

/// What asks for the READ's rest, in front of the SENDs that come again, is not in the capture.
#[test]
fn a_repetition_may_begin_with_the_rest_of_a_read_that_the_capture_missed() {
    let report = judge(&talk(
        r#"
        packet = [
            { opcode = "RC_READ_REQUEST", reth = { length = 4000 } },
            { opcode = "RC_READ_RESPONSE_FIRST", reply = true, bth = { psn = 0 }, aeth = { msn = 1 }, payload = { length = 1024 } },
            { opcode = "RC_SEND_ONLY", bth = { psn = 4 }, payload = { length = 8 } },
            { opcode = "RC_SEND_ONLY", bth = { psn = 5 }, payload = { length = 8 } },
            { opcode = "RC_SEND_ONLY", bth = { psn = 4 }, payload = { length = 8 }, time = 100_000_000 },
            { opcode = "RC_SEND_ONLY", bth = { psn = 5 }, payload = { length = 8 } },
            { opcode = "RC_READ_RESPONSE_MIDDLE", reply = true, bth = { psn = 1 }, payload = { length = 1024 } },
            { opcode = "RC_READ_RESPONSE_MIDDLE", reply = true, bth = { psn = 2 }, payload = { length = 1024 } },
            { opcode = "RC_READ_RESPONSE_LAST", reply = true, bth = { psn = 3 }, aeth = { msn = 3 }, payload = { length = 928 } },
            { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 5 }, aeth = { msn = 3 } },
        ]
        "#,
    ));
    assert!(report.findings.is_empty(), "{report}");
    assert!(report.flows[0].reasons.has(Reason::LostAhead), "{report}");
}

/// rxe answers the rest of a READ with MIDDLE; what asks for it may be all that the capture has of the READ.
#[test]
fn the_first_read_may_be_the_rest_of_one() {
    let mut conversation = talk(READ_AGAIN);
    conversation.drain(..4);
    let first = &mut conversation[1].packet;
    (first.opcode, first.headers.aeth) = (TransportKind::Rc.opcode(0x0e), None);
    let report = judge(&conversation);
    assert_eq!(report.count(Severity::Violation), 0, "{report}");
    assert!(report.flows[0].reasons.has(Reason::BegunBefore), "{report}");
}

/// What stands behind its answer by the capture's own times.
#[test]
fn of_packets_out_of_order_it_is_not_judged_what_was_under_way_at_once() {
    let mut conversation = talk(READS_AT_ONCE);
    conversation[1].change_mad(24 + 24, 0);
    assert!(judge(&conversation).count_of(RuleId::Outstanding) > 0);
    let time = conversation[3].time;
    conversation[3].time = conversation[4].time + 1;
    conversation[4].time = time;
    let report = judge(&conversation);
    assert_eq!(report.count_of(RuleId::Outstanding), 0, "{report}");
    assert!(report.flows.iter().any(|flow| flow.reasons.has(Reason::Reordered)), "{report}");
}

/// By the capture's own times, a packet is not where it belongs: what was sent between may be behind.
#[test]
fn of_packets_out_of_order_it_is_not_judged_how_many_messages_there_were() {
    let mut conversation = talk(SENDS);
    conversation[4].packet.headers.aeth.as_mut().unwrap().msn = Msn::new(7);
    assert!(judge(&conversation).count_of(RuleId::Msn) > 0);
    conversation[2].time = conversation[3].time;
    conversation[1].time = conversation[3].time + 1;
    let report = judge(&conversation);
    assert_eq!(report.count_of(RuleId::Msn), 0, "{report}");
    assert!(report.flows[0].reasons.has(Reason::Reordered), "{report}");
}

/// Behind REQ and REP messages are counted from none on: it is the first wrong number that is found, not the next right one.
#[test]
fn messages_are_counted_from_the_beginning_where_that_is_known() {
    let mut conversation = talk(ORDINARY);
    let first = conversation.iter().position(|said| said.packet.headers.aeth.is_some()).unwrap();
    let aeth = conversation[first].packet.headers.aeth.as_mut().unwrap();
    aeth.msn = aeth.msn.next();
    let report = judge(&conversation);
    assert_eq!(report.count_of(RuleId::Msn), 1, "{report}");
    assert_eq!(report.findings[0].frames, [first as u64 + 1], "{report}");
}

/// A pause for a priority, and frames without a tag; or one that is for nobody whom the capture shows.
#[test]
fn whom_a_pause_stops_need_not_be_known() {
    let mut frames = frames::paused(0xffff);
    for frame in &mut frames[1..] {
        frame.drain(12..16);
    }
    let report = frames::judge(&frames);
    assert!(report.findings.is_empty(), "{report}");
    assert!(report.reasons.has(Reason::PauseUnknown), "{report}");
    let report = frames::judge(&frames[..1]);
    assert!(report.reasons.has(Reason::PauseUnknown), "{report}");
}

#[test]
fn reliable_datagrams_are_not_judged() {
    let report = judge(&talk(r#"packet = [{ opcode = "RD_SEND_ONLY", payload = { length = 8 } }]"#));
    assert!(report.flows[0].reasons.has(Reason::ReliableDatagrams), "{report}");
    assert_eq!(report.flows[0].stats.operations.count(), 0, "{report}");
    assert_eq!(report.count(Severity::Violation), 0, "{report}");
}

/// Behind a REJ of either side its queue pairs are not used, one packet that was under way aside.
#[test]
fn packets_of_a_rejected_connection_are_found() {
    for (at, sides) in [(1, 1), (2, 2)] {
        let mut conversation = talk(
            r#"
            conversation = [
                { operation = "connect" },
                { operation = "write", bytes = 64 },
                { operation = "send", reply = true, bytes = 64 },
                { operation = "send", reply = true, bytes = 64 },
            ]
            "#,
        );
        let clean = judge(&conversation);
        assert!(clean.findings.is_empty(), "{clean}");
        conversation[at].change_mad(17, 0x12);
        let report = judge(&conversation);
        assert_eq!(report.count_of(RuleId::CmRejected), sides, "{report}");
        // Later, their numbers may be those of others.
        let mut late = conversation.clone();
        late[at + 1..].iter_mut().for_each(|said| said.time += 1_000_000_000);
        let of_queue_pairs = if at == 1 { 0 } else { sides - 2 };
        let report = judge(&late);
        assert_eq!(report.count_of(RuleId::CmRejected), of_queue_pairs, "{report}");
        // Where nothing is sent behind the next packet, there is nothing to find.
        conversation.truncate(at + 2);
        assert_eq!(judge(&conversation).count_of(RuleId::CmRejected), 0, "{report}");
        // Another call with the same queue pairs begins anew.
        let mut again = conversation;
        again.extend(talk(
            "conversation = [{ operation = \"connect\" }, { operation = \"write\", bytes = 64 }]",
        ));
        for said in &mut again[at + 2..at + 5] {
            said.change_mad(24, 0x77);
            said.change_mad(28, 0x77);
        }
        again[at + 2].change_mad(28, 0);
        let report = judge(&again);
        assert_eq!(report.count_of(RuleId::CmRejected), 0, "{report}");
    }
}

/// The example of `craft` agrees with itself on where each side begins.
#[test]
fn the_example_of_conversations_begins_as_agreed() {
    let conversation = talk(include_str!("../../../craft/specs/conversations.toml"));
    // In front of the packets that are wrong on purpose.
    let report = judge(&conversation[..47]);
    assert_eq!(report.totals.cm_messages, 3, "{report}");
    assert!(report.findings.is_empty(), "{report}");
}

/// A message of connection management is sent: it is no answer to a Get.
#[test]
fn messages_of_connection_management_are_sent() {
    let mut conversation = talk(super::conversations::CALLED_TWICE);
    assert_eq!(judge(&conversation).count_of(RuleId::CmForm), 0);
    conversation[1].change_mad(3, 0x81);
    assert_eq!(judge(&conversation).count_of(RuleId::CmForm), 1);
}

/// Which of two answers is wrong that do not fit each other, nobody can tell; it is one finding, with the frame of the wrong one among
/// those that prove it.
#[test]
fn one_wrong_count_is_one_finding_that_names_it() {
    let conversation = format!(
        "packet = [{}{}]",
        "{ opcode = \"RC_SEND_ONLY\", payload = { length = 8 } },".repeat(6),
        (0..6)
            .map(|psn| format!(
                "{{ opcode = \"RC_ACKNOWLEDGE\", reply = true, bth = {{ psn = {psn} }}, aeth = {{ msn = {} }} }},",
                psn + 1
            ))
            .collect::<String>()
    );
    let sound = talk(&conversation);
    assert!(judge(&sound).findings.is_empty());
    for at in 6..12 {
        for msn in [(at as u32 - 5).wrapping_sub(1), at as u32 - 4] {
            let mut told = sound.clone();
            told[at].packet.headers.aeth.as_mut().unwrap().msn = Msn::new(msn);
            let report = judge(&told);
            // One too many is possible, as an acknowledgement may be sent again when more is complete; one too few is not, once
            // answers on both sides say so.
            let is_told = msn < at as u32 - 5 && (7..11).contains(&at);
            let violations = report.count_of(RuleId::Msn);
            assert!(violations <= 1 && (violations == 1 || !is_told), "{at}, {msn}: {report}");
            for finding in report.findings.iter().filter(|finding| finding.rule == RuleId::Msn) {
                assert!(finding.frames.contains(&(at as u64 + 1)), "{at}, {msn}: {report}");
            }
        }
    }
}

#[test]
fn each_read_that_is_acknowledged_in_the_place_of_being_answered_is_told() {
    let conversation = format!(
        "packet = [{}]",
        (0..5)
            .map(|psn| format!(
                "{{ opcode = \"RC_READ_REQUEST\", reth = {{ length = 8 }}, bth = {{ psn = {psn} }} }},
                 {{ opcode = \"RC_ACKNOWLEDGE\", reply = true, bth = {{ psn = {psn} }}, aeth = {{ msn = {} }} }},",
                psn + 1
            ))
            .collect::<String>()
    );
    let report = judge(&talk(&conversation));
    assert_eq!(report.count_of(RuleId::AckRead), 5, "{report}");
    assert_eq!(report.count(Severity::Violation), 0, "{report}");
}

/// A READ takes as many PSNs as its answer has packets.
#[test]
fn a_read_that_was_lost_in_front_counts_once_when_it_comes_again() {
    let read = |psn| {
        format!("{{ opcode = \"RC_READ_REQUEST\", bth = {{ psn = {psn} }}, reth = {{ length = 2500 }} }},")
    };
    let answer = |psn: u32, name: &str, length: u32, msn: u32| {
        let aeth = if name == "MIDDLE" { String::new() } else { format!("aeth = {{ msn = {msn} }},") };
        format!(
            "{{ opcode = \"RC_READ_RESPONSE_{name}\", reply = true, bth = {{ psn = {psn} }}, {aeth} payload = {{ length = {length} }} }},"
        )
    };
    let whole = |psn, msn| {
        answer(psn, "FIRST", 1024, msn)
            + &answer(psn + 1, "MIDDLE", 1024, msn)
            + &answer(psn + 2, "LAST", 452, msn)
    };
    let nak = "{ opcode = \"RC_ACKNOWLEDGE\", reply = true, bth = { psn = 3 }, aeth = { syndrome = \"nak=psn_sequence_error\", msn = 1 } },";
    let conversation =
        [read(0), whole(0, 1), read(6), nak.to_owned(), read(3), read(6), whole(3, 2), whole(6, 3)];
    let report = judge(&talk(&format!("packet = [{}]", conversation.concat())));
    assert_eq!(report.flows[0].stats.lost_ahead, 3, "{report}");
    assert_eq!(report.count(Severity::Violation), 0, "{report}");
}
