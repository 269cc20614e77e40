//! Packets of another transport among those of a conversation, which the queue pair drops.

use rdmalab_craft::wire::{PKey, Psn, TransportKind};
use rdmalab_lint::{RuleId, Severity};

use super::conversations::SENDS;
use super::talk::{judge, talk};

/// It has a PSN that was, and nothing in common with who had it.
#[test]
fn a_packet_of_another_transport_is_none_of_the_conversation() {
    let mut conversation = talk(SENDS);
    let mut other = conversation[0].clone();
    other.packet.opcode = TransportKind::Uc.opcode(0x04);
    other.packet.bth.psn = Psn::new(1);
    other.change_payload();
    other.time = conversation[2].time + 100_000;
    conversation.insert(3, other);
    // Whatever comes behind an acknowledgement.
    let last = conversation[2].clone();
    conversation.push(last);
    conversation[7].packet.bth.psn = Psn::new(3);
    let report = judge(&conversation);
    let [flow] = &report.flows[..] else { panic!("{report}") };
    assert_eq!((flow.transport, flow.stats.requests), (TransportKind::Rc, 4), "{report}");
    assert_eq!(report.findings.len() as u64, report.count_of(RuleId::Transport), "{report}");
    assert_eq!(report.count_of(RuleId::Transport), 1, "{report}");
}

/// Several are another conversation's, which the number was given to.
#[test]
fn packets_of_another_transport_are_another_conversations() {
    let mut conversation = talk(SENDS);
    let sends = conversation.clone();
    for (psn, send) in sends.iter().take(3).enumerate() {
        let mut send = send.clone();
        send.packet.opcode = TransportKind::Uc.opcode(0x04);
        send.packet.bth.psn = Psn::new(psn as u32);
        conversation.push(send);
    }
    let report = judge(&conversation);
    assert_eq!(report.count(Severity::Violation) + report.count(Severity::Suspicious), 0, "{report}");
    assert_eq!(report.flows[0].stats.conversations, 1, "{report}");
    assert_eq!(report.flows[0].transport, TransportKind::Uc, "{report}");
}

#[test]
fn datagrams_are_no_longer_than_the_longest_path_mtu() {
    for (length, count) in [(4096, 0), (4097, 1), (5000, 1)] {
        let spec = format!(r#"packet = [{{ opcode = "UD_SEND_ONLY", payload = {{ length = {length} }} }}]"#);
        assert_eq!(judge(&talk(&spec)).count_of(RuleId::PathMtu), count, "{length}");
    }
}

/// Nothing is sent again over an unreliable connection.
#[test]
fn a_psn_of_an_unreliable_connection_is_used_once() {
    let of = |second: &str| {
        judge(&talk(&format!(
            r#"packet = [
                {{ opcode = "UC_SEND_ONLY", bth = {{ psn = 5 }}, payload = {{ length = 8 }} }},
                {{ opcode = "UC_SEND_ONLY", bth = {{ psn = 6 }}, payload = {{ length = 8 }} }},
                {{ opcode = "UC_SEND_ONLY", bth = {{ psn = 5 }}, {second} }},
                {{ opcode = "UC_SEND_ONLY", bth = {{ psn = 7 }}, payload = {{ length = 8 }} }},
            ]"#
        )))
    };
    // One that the network doubled.
    assert!(of("payload = { length = 8 }").findings.is_empty());
    let report = of("payload = { length = 8, count = 9 }");
    assert_eq!((report.count_of(RuleId::RepeatPayload), report.findings.len()), (1, 1), "{report}");
    let report = of("payload = { length = 12 }");
    assert_eq!((report.count_of(RuleId::RepeatHeader), report.findings.len()), (1, 1), "{report}");
    // Another connection.
    assert!(of("payload = { length = 12 }, time = 100_000_000").findings.is_empty());
}

#[test]
fn limited_members_of_a_partition_do_not_hear_each_other() {
    let of = |asks: u16, answers: u16| {
        let mut talk = talk(SENDS);
        for (at, said) in talk.iter_mut().enumerate() {
            said.packet.bth.partition_key = PKey::new(if at < 3 { asks } else { answers });
        }
        judge(&talk)
    };
    for (asks, answers, count) in
        [(0x7fff, 0xffff, 0), (0xffff, 0x7fff, 0), (0xffff, 0xffff, 0), (0x7fff, 0x7fff, 1)]
    {
        let report = of(asks, answers);
        assert_eq!(report.count_of(RuleId::PartitionKey), count, "{asks:#x} {answers:#x}: {report}");
        assert_eq!(report.findings.len() as u64, count, "{report}");
    }
}
