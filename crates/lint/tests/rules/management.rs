//! Management datagrams that name another connection than their own, or have something where nothing is to be.

use rdmalab_craft::wire::{QKey, Qpn};
use rdmalab_lint::{Report, RuleId};

use super::conversations::{FOUND, ORDINARY};
use super::talk::{judge, talk};

/// Packets of the ordinary conversation.
const REP: usize = 1;
const RTU: usize = 2;
const DREQ: usize = 21;
const DREP: usize = 22;
/// Bytes of a management datagram: the last one of the fields of its header, and of the communication IDs, the sender's first.
const STATUS: usize = 5;
const CLASS_SPECIFIC: usize = 7;
const TRANSACTION: usize = 15;
const RESERVED: usize = 19;
const MODIFIER: usize = 23;
const LOCAL: usize = 27;
const REMOTE: usize = 31;

/// What is found when one byte of a datagram is another one.
fn changed(conversation: &str, packet: usize, byte: usize) -> Report {
    let mut conversation = talk(conversation);
    let clean = judge(&conversation);
    assert!(clean.findings.is_empty(), "{clean}");
    conversation[packet].change_mad(byte, 0xee);
    judge(&conversation)
}

/// By the other ID and the transaction it is known which connection is meant. A DREQ begins a transaction.
#[test]
fn messages_that_name_another_connection_are_found() {
    let wrong = [
        (REP, REMOTE),
        (RTU, LOCAL),
        (RTU, REMOTE),
        (DREQ, REMOTE),
        (DREP, LOCAL),
        (DREP, REMOTE),
        (REP, TRANSACTION),
        (RTU, TRANSACTION),
        (DREP, TRANSACTION),
    ];
    for (packet, byte) in wrong {
        let report = changed(ORDINARY, packet, byte);
        assert!(report.count_of(RuleId::CmAnswer) > 0, "packet {packet} byte {byte}: {report}");
    }
}

/// Of a connection that the capture does not have, nothing is known.
#[test]
fn messages_of_a_connection_that_the_capture_missed_are_not_taken_for_another_ones() {
    let mut conversation = talk(ORDINARY);
    for byte in [LOCAL, REMOTE, TRANSACTION] {
        conversation[DREP].change_mad(byte, 0xee);
    }
    let report = judge(&conversation);
    assert_eq!(report.count_of(RuleId::CmAnswer), 0, "{report}");
}

#[test]
fn what_has_no_meaning_in_a_header_is_zero() {
    for byte in [STATUS, CLASS_SPECIFIC, MODIFIER] {
        let report = changed(ORDINARY, DREQ, byte);
        assert_eq!(report.count_of(RuleId::CmForm), 1, "byte {byte}: {report}");
    }
    let report = changed(ORDINARY, DREQ, RESERVED);
    assert_eq!(report.count_of(RuleId::ReservedBits), 1, "{report}");
}

/// An answer of another class says by its status what became of the question.
#[test]
fn what_answers_has_a_status() {
    for (method, count) in [(0x01, 1), (0x81, 0)] {
        let mut conversation = talk(ORDINARY);
        conversation.truncate(1);
        conversation[0].change_mad(1, 0x04);
        conversation[0].change_mad(3, method);
        conversation[0].change_mad(STATUS, 0x0c);
        let report = judge(&conversation);
        assert_eq!(report.count_of(RuleId::CmForm), count, "method {method:#x}: {report}");
    }
}

#[test]
fn an_answer_about_a_service_is_of_the_request() {
    let report = changed(FOUND, 1, LOCAL);
    assert_eq!(report.count_of(RuleId::CmService), 1, "{report}");
}

/// Every general services interface has the same one; the interface for subnet management has none.
#[test]
fn the_queue_key_of_general_services_is_not_that_of_subnet_management() {
    for (queue_pair, count) in [(Qpn::GSI, 1), (Qpn::new(0), 0)] {
        let mut conversation = talk(ORDINARY);
        conversation.truncate(1);
        conversation[0].packet.bth.destination = queue_pair;
        conversation[0].packet.headers.deth.as_mut().unwrap().queue_key = QKey::new(0);
        let report = judge(&conversation);
        assert_eq!(report.count_of(RuleId::CmForm), count, "{queue_pair}: {report}");
    }
}

/// Where nothing told the key, one that comes alone among others is odd; one that stays is another program's.
#[test]
fn one_queue_key_among_others_is_found() {
    let mut conversation = talk(FOUND);
    conversation.drain(..2);
    let last = conversation[2].clone();
    conversation.push(last);
    assert!(judge(&conversation).findings.is_empty());
    let key = |said: &mut super::talk::Said| {
        said.packet.headers.deth.as_mut().unwrap().queue_key = QKey::new(8);
    };
    key(&mut conversation[1]);
    assert_eq!(judge(&conversation).count_of(RuleId::QueueKey), 1);
    conversation[2..].iter_mut().for_each(key);
    assert_eq!(judge(&conversation).count_of(RuleId::QueueKey), 0);
}
