//! Conversations that are right, as a capture shows them once in a while: nothing of them is a violation, and rows are true.

use rdmalab_craft::wire::{Carrier, Psn};
use rdmalab_lint::{Report, RuleId, Severity};

use super::talk::{Said, judge, talk};

/// From one microsecond to the next.
const STEP: u64 = 1_000;

#[track_caller]
fn violates_nothing(talk: &[Said]) -> Report {
    let report = judge(talk);
    assert_eq!(report.count(Severity::Violation), 0, "{report}");
    report
}

/// A connection, SENDs with their answers, and its end.
fn connected() -> Vec<Said> {
    talk(
        r#"
        conversation = [
            { operation = "connect" },
            { operation = "send", bytes = 64, repeat = 20 },
            { operation = "disconnect" },
        ]
        "#,
    )
}

/// The first packet is not in the capture; the second was lost behind it, as were the first answers.
#[test]
fn regression_a_request_that_was_in_front_of_the_capture_makes_messages_count_from_there() {
    violates_nothing(&talk(
        r#"
        packet = [
            { opcode = "RC_SEND_ONLY", bth = { psn = 101 }, payload = { length = 64 } },
            { opcode = "RC_SEND_ONLY", bth = { psn = 102 }, payload = { length = 64 } },
            { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 100 }, aeth = { msn = 1 }, time = 5_000 },
            { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 101 }, aeth = { msn = 1, syndrome = 0x60 } },
            { opcode = "RC_SEND_ONLY", bth = { psn = 100 }, payload = { length = 64 }, time = 1_000_000 },
            { opcode = "RC_SEND_ONLY", bth = { psn = 101 }, payload = { length = 64 } },
            { opcode = "RC_SEND_ONLY", bth = { psn = 102 }, payload = { length = 64 } },
            { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 100 }, aeth = { msn = 1 }, time = 1_005_000 },
            { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 101 }, aeth = { msn = 2 } },
            { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 102 }, aeth = { msn = 3 } },
        ]
        "#,
    ));
}

/// A READ that the capture has only when the network doubles it: those behind it were answered long ago.
#[test]
fn regression_reads_that_were_answered_are_not_under_way() {
    let mut talk = talk(
        r#"
        interval = 30_000
        conversation = [{ operation = "connect" }, { operation = "read", bytes = 64, repeat = 6 }]
        "#,
    );
    let mut reads = (0..talk.len()).filter(|at| talk[*at].packet.opcode.0 == 0x0c);
    let at = reads.nth(1).unwrap();
    let (request, answer) = (talk.remove(at), talk[at].clone());
    let end = talk.iter().rposition(|said| said.packet.opcode.0 == 0x10).unwrap();
    let time = talk[end].time + 700 * STEP;
    talk.truncate(end + 1);
    for (said, later) in [(request, 0), (answer, 10 * STEP)] {
        talk.push(Said { time: time + later, ..said });
    }
    // Nor do identifications say that it is late.
    for said in &mut talk {
        let Carrier::RoceV2Ipv4(ip, _) = &mut said.packet.carrier else { panic!("{:?}", said.packet) };
        ip.identification = 0;
    }
    violates_nothing(&talk);
}

#[test]
fn regression_a_question_for_a_service_may_have_the_number_of_an_earlier_one() {
    violates_nothing(&talk(
        r#"
        host.a = { ip = "10.0.0.1" }
        host.b = { ip = "10.0.0.2" }
        flow.f = { from = "a", to = "b", transport = "UD", from_qpn = 1, to_qpn = 1, queue_key = 0x80010000 }
        packet = [
            { flow = "f", opcode = "UD_SEND_ONLY", mad = { message = "SIDR_REQ", transaction_id = 0x1000000001, request_id = 1, partition_key = 0xffff, service_id = 0x1061c06 } },
            { flow = "f", reply = true, opcode = "UD_SEND_ONLY", mad = { message = "SIDR_REP", transaction_id = 0x1000000001, request_id = 1, qpn = 77, service_id = 0x1061c06 } },
            { flow = "f", opcode = "UD_SEND_ONLY", time = 100_000_000_000, mad = { message = "SIDR_REQ", transaction_id = 0x2000000001, request_id = 1, partition_key = 0xffff, service_id = 0x1061c07 } },
            { flow = "f", reply = true, opcode = "UD_SEND_ONLY", mad = { message = "SIDR_REP", transaction_id = 0x2000000001, request_id = 1, qpn = 78, service_id = 0x1061c07 } },
        ]
        "#,
    ));
}

/// Communication IDs and queue pairs are used again, and the second REQ is not in the capture.
#[test]
fn regression_a_connection_that_is_over_has_no_further_answers() {
    let mut talk = connected();
    let end = talk.last().unwrap().time;
    let mut again = connected();
    again.remove(0);
    for said in &mut again {
        said.time += end + 2_000_000 * STEP;
        if said.packet.opcode.0 == 0x64 {
            // Another transaction.
            said.change_mad(8, 0x77);
        }
    }
    talk.extend(again);
    violates_nothing(&talk);
}

/// The first REP is not in the capture, and the RTU was lost: it comes again behind data.
#[test]
fn regression_a_reply_that_comes_again_begins_nothing() {
    let mut talk = connected();
    let (reply, ready) = (talk.remove(1), talk.remove(1));
    let behind = 20;
    let time = talk[behind].time;
    talk.splice(behind..behind, [Said { time, ..reply }, Said { time, ..ready }]);
    let report = violates_nothing(&talk);
    assert_eq!(report.count_of(RuleId::MissingRequests) + report.count_of(RuleId::AckUnseen), 0, "{report}");
    assert_eq!(report.flows[0].stats.lost_ahead, 0, "{report}");
}

#[test]
fn regression_a_packet_of_another_transport_is_found_among_datagrams() {
    let datagram = r#"{ opcode = "UD_SEND_ONLY", deth = { source = 9 }, payload = { length = 6 } }"#;
    let odd = r#"{ opcode = "RC_SEND_ONLY", bth = { psn = 3 }, payload = { length = 6 } }"#;
    let all = [datagram, datagram, datagram, odd, datagram, datagram].join(",");
    let report = judge(&talk(&format!("packet = [{all}]")));
    assert_eq!(report.count_of(RuleId::Transport), 1, "{report}");
    assert_eq!(report.flows[0].stats.operations.count(), 5, "{report}");
    assert_eq!(report.flows[0].stats.conversations, 0, "{report}");
}

/// A SEND and the first packet of a READ's answer are not in the capture: the next one counts no messages.
#[test]
fn regression_an_answer_that_counts_no_messages_begins_no_conversation() {
    let mut talk = talk(
        r#"
        conversation = [
            { operation = "connect" },
            { operation = "send", bytes = 64 },
            { operation = "send", bytes = 64, acknowledge = false, repeat = 4 },
            { operation = "read", bytes = 4096 },
            { operation = "send", bytes = 64, repeat = 3 },
        ]
        "#,
    );
    let lost = |said: &Said| {
        let packet = &said.packet;
        packet.opcode.0 == 0x0d || (packet.opcode.0 == 0x04 && packet.bth.psn == Psn::new(3))
    };
    let before = talk.len();
    talk.retain(|said| !lost(said));
    assert_eq!(before - talk.len(), 2);
    let report = violates_nothing(&talk);
    assert!(report.flows.iter().all(|flow| flow.stats.conversations == 0), "{report}");
}

/// A queue pair's number is used again, with the same PSNs, to talk with another queue pair of the same host.
#[test]
fn regression_behind_a_refusal_for_good_an_answer_is_of_who_asks_now() {
    let report = violates_nothing(&talk(
        r#"
        host.a = { ip = "10.0.0.1" }
        host.b = { ip = "10.0.0.2" }
        flow.one = { from = "a", to = "b", from_qpn = 0xcd, to_qpn = 0x12e }
        flow.other = { from = "a", to = "b", from_qpn = 0xcd, to_qpn = 0x132 }
        packet = [
            { flow = "one", opcode = "RC_READ_REQUEST", bth = { psn = 200 }, reth = { length = 33 } },
            { flow = "one", reply = true, opcode = "RC_ACKNOWLEDGE", bth = { psn = 200 }, aeth = { syndrome = 0x62, msn = 0 } },
            { flow = "other", opcode = "RC_SEND_ONLY", bth = { psn = 200 }, payload = { length = 1 }, time = 600_000_000 },
            { flow = "other", opcode = "RC_READ_REQUEST", bth = { psn = 201 }, reth = { length = 33 } },
            { flow = "other", reply = true, opcode = "RC_ACKNOWLEDGE", bth = { psn = 200 }, aeth = { msn = 1 } },
            { flow = "other", reply = true, opcode = "RC_ACKNOWLEDGE", bth = { psn = 201 }, aeth = { syndrome = 0x62, msn = 1 } },
        ]
        "#,
    ));
    assert_eq!(report.flows.iter().map(|flow| flow.stats.operations.count()).sum::<u64>(), 1, "{report}");
}
