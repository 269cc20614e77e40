//! Which packets the messages of an unreliable connection are made of.
//!
//! Rule: uc-segmentation: a message of an unreliable connection is cut into FIRST, MIDDLE and LAST packets, or is one
//! ONLY, as that of a reliable connection is.
//! Rule: uc-no-ack-request: no packet of an unreliable connection asks for an acknowledgement.

use rdmalab_verbs::QueuePairType;
use rdmalab_wire::{Datagram, Packet, PathMtu};

use super::uc;
use crate::script::*;

#[test]
fn a_short_send_is_one_packet() {
    let mut t = uc();
    t.side.fill(0, 10, 1);
    t.post(send(10));
    t.expect("UC SEND_ONLY psn=0 len=10");
    assert_eq!(t.payload(), t.side.bytes(0, 10));
    t.expect_done(0);
}

#[test]
fn an_empty_message_is_one_packet_without_payload() {
    let mut t = uc();
    t.post(send(0));
    t.post(write(0));
    t.expect("UC SEND_ONLY psn=0 len=0");
    t.expect("UC WRITE_ONLY psn=1 va=0x200000 rkey=0x200 dmalen=0 len=0");
    t.expect_done(0);
    t.expect_done(1);
}

#[test]
fn a_long_send_is_cut_at_the_path_mtu() {
    let mut t = uc();
    t.side.fill(0, 2500, 1);
    t.post(send(2500));
    t.expect("UC SEND_FIRST psn=0 len=1024");
    assert_eq!(t.payload(), t.side.bytes(0, 1024));
    t.expect("UC SEND_MIDDLE psn=1 len=1024");
    assert_eq!(t.payload(), t.side.bytes(1024, 1024));
    t.expect("UC SEND_LAST psn=2 len=452");
    assert_eq!(t.payload(), t.side.bytes(2048, 452));
    t.expect_done(0);
}

#[test]
fn a_long_write_names_its_place_in_the_first_packet_alone() {
    let mut t = uc();
    t.side.fill(0, 2500, 1);
    t.post(write(2500));
    t.expect("UC WRITE_FIRST psn=0 va=0x200000 rkey=0x200 dmalen=2500 len=1024");
    t.expect("UC WRITE_MIDDLE psn=1 len=1024");
    t.expect("UC WRITE_LAST psn=2 len=452");
    assert_eq!(t.payload(), t.side.bytes(2048, 452));
    t.expect_done(0);
}

#[test]
fn immediate_data_goes_with_the_last_packet() {
    let mut t = uc();
    t.post(send_imm(4, 1));
    t.post(send_imm(1025, 2));
    t.post(write_imm(4, 3));
    t.post(write_imm(1025, 4));
    t.expect("UC SEND_ONLY_IMM psn=0 len=4 imm=0x00000001");
    t.expect("UC SEND_FIRST psn=1 len=1024");
    t.expect("UC SEND_LAST_IMM psn=2 len=1 imm=0x00000002");
    t.expect("UC WRITE_ONLY_IMM psn=3 va=0x200000 rkey=0x200 dmalen=4 len=4 imm=0x00000003");
    t.expect("UC WRITE_FIRST psn=4 va=0x200000 rkey=0x200 dmalen=1025 len=1024");
    t.expect("UC WRITE_LAST_IMM psn=5 len=1 imm=0x00000004");
    for id in 0..4 {
        t.expect_done(id);
    }
}

#[test]
fn a_solicited_event_is_asked_for_in_the_last_packet_of_what_consumes_a_receive() {
    let mut t = uc();
    t.post(send(1025).solicited());
    t.post(write(1).solicited());
    t.post(write_imm(1, 1).solicited());
    t.expect("UC SEND_FIRST psn=0 len=1024");
    t.expect("UC SEND_LAST psn=1 len=1 solicited");
    t.expect("UC WRITE_ONLY psn=2 va=0x200000 rkey=0x200 dmalen=1 len=1");
    t.expect("UC WRITE_ONLY_IMM psn=3 va=0x200000 rkey=0x200 dmalen=1 len=1 imm=0x00000001 solicited");
    for id in 0..3 {
        t.expect_done(id);
    }
}

#[test]
fn psns_count_packets_and_wrap() {
    let setup = Setup { kind: QueuePairType::Uc, first_psn: 0xff_fffe, ..Setup::default() };
    let mut t = Script::with(setup);
    t.post(send(3000));
    t.post(send(1));
    t.expect("UC SEND_FIRST psn=16777214 len=1024");
    t.expect("UC SEND_MIDDLE psn=16777215 len=1024");
    t.expect("UC SEND_LAST psn=0 len=952");
    t.expect("UC SEND_ONLY psn=1 len=1");
    t.expect_done(0);
    t.expect_done(1);
}

#[test]
fn nothing_limits_how_many_packets_are_under_way_and_none_asks_for_an_acknowledgement() {
    for mtu in [PathMtu::M256, PathMtu::M4096] {
        let mut t = Script::with(Setup { kind: QueuePairType::Uc, mtu, ..Setup::default() });
        t.post(write(mtu.bytes()));
        t.post(send(MEMORY));
        let packets = t.take_packets();
        assert_eq!(packets.len(), 1 + MEMORY / mtu.bytes());
        for bytes in packets {
            let packet = Packet::parse(Datagram::parse(&bytes).unwrap().ib).unwrap();
            assert!(!packet.bth.ack_request, "{packet}");
        }
        t.expect_done(0);
        t.expect_done(1);
    }
}
