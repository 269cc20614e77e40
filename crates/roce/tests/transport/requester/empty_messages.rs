//! Messages without bytes, of each kind, as their requester sends them.
//!
//! Rule: rc-zero-length: A SEND, WRITE or READ without bytes is one packet, takes one PSN, and is answered
//! like any other.

use crate::script::*;

#[test]
fn each_kind_of_empty_request_is_one_packet() {
    let cases = [
        (send(0), "SEND_ONLY psn=0 len=0 ackreq"),
        (send_imm(0, 5), "SEND_ONLY_IMM psn=0 len=0 imm=0x00000005 ackreq"),
        (send_inv(0, 7), "SEND_ONLY_INV psn=0 len=0 inv=0x7 ackreq"),
        (write(0), "WRITE_ONLY psn=0 va=0x200000 rkey=0x200 dmalen=0 len=0 ackreq"),
        (write_imm(0, 5), "WRITE_ONLY_IMM psn=0 va=0x200000 rkey=0x200 dmalen=0 len=0 imm=0x00000005 ackreq"),
    ];
    for (work, line) in cases {
        for work in [work.clone(), work.in_elements(&[])] {
            let mut t = Script::new();
            t.post(work);
            t.post(send(1));
            t.expect(line);
            t.expect("SEND_ONLY psn=1 len=1 ackreq");
            t.deliver(ack(0).msn(1));
            assert_eq!(t.expect_done(0).length, 0);
            t.deliver(ack(1).msn(2));
            t.expect_done(1);
        }
    }
}

#[test]
fn an_empty_read_is_answered_by_one_empty_response() {
    for work in [read(0), read(0).in_elements(&[])] {
        let mut t = Script::new();
        t.post(work);
        t.post(send(1));
        t.expect("READ_REQUEST psn=0 va=0x200000 rkey=0x200 dmalen=0 ackreq");
        t.expect("SEND_ONLY psn=1 len=1 ackreq");
        t.deliver(read_response_only(0, 0).msn(1));
        assert_eq!(t.expect_done(0).length, 0);
        t.deliver(ack(1).msn(2));
        t.expect_done(1);
    }
}

#[test]
fn elements_without_bytes_are_an_empty_message() {
    let mut t = Script::new();
    let empty = t.side.sge(5, 0);
    t.post(send(0).in_elements(&[empty, empty, empty, empty]));
    t.expect("SEND_ONLY psn=0 len=0 ackreq");
}

#[test]
fn empty_messages_are_repeated_like_others() {
    let mut t = Script::with(Setup { timeout: 1, ..Setup::default() });
    t.post(read(0));
    t.post(write(0));
    assert_eq!(t.take_lines().len(), 2);
    t.advance(8_192);
    t.expect("READ_REQUEST psn=0 va=0x200000 rkey=0x200 dmalen=0 ackreq");
    t.expect("WRITE_ONLY psn=1 va=0x200000 rkey=0x200 dmalen=0 len=0 ackreq");
    t.deliver(read_response_only(0, 0).msn(1));
    t.deliver(ack(1).msn(2));
    t.expect_done(0);
    t.expect_done(1);
}
