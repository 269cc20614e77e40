//! A message is cut at the path MTU, and nowhere else; its first and last packets carry what belongs to the message.
//!
//! Rule: rc-segmentation: A message is cut at the path MTU: FIRST and MIDDLE packets are full, LAST and ONLY
//! carry the rest, and what belongs to the message rides on its first or last packet.
//! Rule: rc-read-psns: A READ takes as many PSNs as its response has packets, and at least one.

use rdmalab_verbs::Sge;
use rdmalab_wire::PathMtu;

use crate::script::*;

const EVERY_MTU: [PathMtu; 5] =
    [PathMtu::M256, PathMtu::M512, PathMtu::M1024, PathMtu::M2048, PathMtu::M4096];

#[test]
fn a_send_is_cut_at_the_path_mtu() {
    for path_mtu in EVERY_MTU {
        let mtu = path_mtu.bytes();
        for length in [0, 1, mtu - 1, mtu] {
            let mut t = Script::with_mtu(path_mtu);
            t.post(send(length));
            t.expect(&format!("SEND_ONLY psn=0 len={length} ackreq"));
        }
        for tail in [1, mtu - 1, mtu] {
            let mut t = Script::with_mtu(path_mtu);
            t.post(send(mtu + tail));
            t.expect(&format!("SEND_FIRST psn=0 len={mtu}"));
            t.expect(&format!("SEND_LAST psn=1 len={tail} ackreq"));
        }
        let mut t = Script::with_mtu(path_mtu);
        t.post(send(2 * mtu + 1));
        t.expect(&format!("SEND_FIRST psn=0 len={mtu}"));
        t.expect(&format!("SEND_MIDDLE psn=1 len={mtu}"));
        t.expect("SEND_LAST psn=2 len=1 ackreq");
    }
}

#[test]
fn only_the_first_packet_of_a_write_says_where_it_goes() {
    for path_mtu in EVERY_MTU {
        let mtu = path_mtu.bytes();
        let to = "va=0x200000 rkey=0x200";
        for length in [0, 1, mtu - 1, mtu] {
            let mut t = Script::with_mtu(path_mtu);
            t.post(write(length));
            t.expect(&format!("WRITE_ONLY psn=0 {to} dmalen={length} len={length} ackreq"));
        }
        for tail in [1, mtu - 1, mtu] {
            let mut t = Script::with_mtu(path_mtu);
            t.post(write(mtu + tail));
            t.expect(&format!("WRITE_FIRST psn=0 {to} dmalen={} len={mtu}", mtu + tail));
            t.expect(&format!("WRITE_LAST psn=1 len={tail} ackreq"));
        }
        let mut t = Script::with_mtu(path_mtu);
        t.post(write(3 * mtu));
        t.expect(&format!("WRITE_FIRST psn=0 {to} dmalen={} len={mtu}", 3 * mtu));
        t.expect(&format!("WRITE_MIDDLE psn=1 len={mtu}"));
        t.expect(&format!("WRITE_LAST psn=2 len={mtu} ackreq"));
    }
}

#[test]
fn a_read_takes_as_many_psns_as_its_response_has_packets() {
    for path_mtu in EVERY_MTU {
        let mtu = path_mtu.bytes();
        for (length, next) in
            [(0, 1), (1, 1), (mtu - 1, 1), (mtu, 1), (mtu + 1, 2), (2 * mtu, 2), (2 * mtu + 1, 3)]
        {
            let mut t = Script::with_mtu(path_mtu);
            t.post(read(length));
            t.post(send(0));
            t.expect(&format!("READ_REQUEST psn=0 va=0x200000 rkey=0x200 dmalen={length} ackreq"));
            t.expect(&format!("SEND_ONLY psn={next} len=0 ackreq"));
        }
    }
}

#[test]
fn atomics_take_one_psn_and_carry_their_operands() {
    let mut t = Script::new();
    t.post(compare_swap(0x11, 0x22));
    t.post(fetch_add(0x33));
    t.post(send(0));
    t.expect("COMPARE_SWAP psn=0 va=0x200000 rkey=0x200 swap=0x22 compare=0x11 ackreq");
    t.expect("FETCH_ADD psn=1 va=0x200000 rkey=0x200 add=0x33 ackreq");
    t.expect("SEND_ONLY psn=2 len=0 ackreq");
}

#[test]
fn immediate_data_rides_on_the_last_packet() {
    let mut t = Script::new();
    t.post(send_imm(4, 0xdead_beef));
    t.expect("SEND_ONLY_IMM psn=0 len=4 imm=0xdeadbeef ackreq");
    t.post(send_imm(0, 1));
    t.expect("SEND_ONLY_IMM psn=1 len=0 imm=0x00000001 ackreq");
    t.post(send_imm(2048, 2));
    t.expect("SEND_FIRST psn=2 len=1024");
    t.expect("SEND_LAST_IMM psn=3 len=1024 imm=0x00000002 ackreq");
    t.post(write_imm(8, 3));
    t.expect("WRITE_ONLY_IMM psn=4 va=0x200000 rkey=0x200 dmalen=8 len=8 imm=0x00000003 ackreq");
    t.post(write_imm(1025, 4));
    t.expect("WRITE_FIRST psn=5 va=0x200000 rkey=0x200 dmalen=1025 len=1024");
    t.expect("WRITE_LAST_IMM psn=6 len=1 imm=0x00000004 ackreq");
}

#[test]
fn the_solicited_bit_is_set_on_the_last_packet_of_what_completes_a_receive() {
    let mut t = Script::new();
    t.post(send(2000).solicited());
    t.expect("SEND_FIRST psn=0 len=1024");
    t.expect("SEND_LAST psn=1 len=976 solicited ackreq");
    t.post(write_imm(1, 5).solicited());
    t.expect("WRITE_ONLY_IMM psn=2 va=0x200000 rkey=0x200 dmalen=1 len=1 imm=0x00000005 solicited ackreq");
    t.post(write(1).solicited());
    t.expect("WRITE_ONLY psn=3 va=0x200000 rkey=0x200 dmalen=1 len=1 ackreq");
    t.post(read(1).solicited());
    t.expect("READ_REQUEST psn=4 va=0x200000 rkey=0x200 dmalen=1 ackreq");
}

#[test]
fn elements_are_gathered_in_order_across_packet_boundaries() {
    let mut t = Script::with_mtu(PathMtu::M256);
    t.side.fill(0, MEMORY, 3);
    let pieces = [t.side.sge(1000, 255), t.side.sge(50, 0), t.side.sge(7, 2), t.side.sge(5000, 256)];
    t.post(send(0).in_elements(&pieces));
    let mut found = Vec::new();
    t.expect("SEND_FIRST psn=0 len=256");
    found.extend(t.payload());
    t.expect("SEND_MIDDLE psn=1 len=256");
    found.extend(t.payload());
    t.expect("SEND_LAST psn=2 len=1 ackreq");
    found.extend(t.payload());
    let expected = [t.side.bytes(1000, 255), t.side.bytes(7, 2), t.side.bytes(5000, 256)].concat();
    assert_eq!(found, expected);
}

#[test]
fn a_request_without_elements_is_an_empty_message() {
    let mut t = Script::new();
    t.post(send(0).in_elements(&[]));
    t.expect("SEND_ONLY psn=0 len=0 ackreq");
    t.post(write(0).in_elements(&[]));
    t.expect("WRITE_ONLY psn=1 va=0x200000 rkey=0x200 dmalen=0 len=0 ackreq");
}

#[test]
fn an_empty_message_asks_nothing_of_its_local_key() {
    let mut t = Script::new();
    let nowhere = Sge { address: 0, length: 0, key: 0xffff_ffff };
    t.post(send(0).in_elements(&[nowhere]));
    t.expect("SEND_ONLY psn=0 len=0 ackreq");
    t.post(read(0).in_elements(&[nowhere]));
    t.expect("READ_REQUEST psn=1 va=0x200000 rkey=0x200 dmalen=0 ackreq");
    t.deliver(ack(0).msn(1));
    t.deliver(read_response_only(1, 0).msn(2));
    t.expect_done(0);
    t.expect_done(1);
}

#[test]
fn a_message_longer_than_two_to_the_31_is_refused_when_it_is_posted() {
    let mut t = Script::with_mtu(PathMtu::M4096);
    let piece = |length| Sge { address: BASE, length, key: KEY.value() };
    let refused = t.try_post(send(0).in_elements(&[piece(1 << 31), piece(1)]));
    assert_eq!(refused, Err(rdmalab_verbs::PostError::TooLong { length: (1 << 31) + 1, limit: 1 << 31 }));
}
