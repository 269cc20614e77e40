//! The order of opcodes within and between messages, and operations that are not there: NAK invalid request.
//!
//! Rule: rc-reserved-opcode: A reserved opcode of its transport is answered by a NAK invalid request
//! (Shanley, InfiniBand Network Architecture, table 17-7, as on
//! https://blogtechexpert.com/view/book/InfiniBand+Network+Architecture-EB0321117654_151.html).
//! Rule: rc-opcode-order: A message goes on with its own kind and ends before another begins; anything else
//! is an invalid request.
//! Rule: qp-access-flags: An operation that the queue pair's access flags do not allow is an invalid request.

use rdmalab_roce::Discard;
use rdmalab_verbs::{Access, CompletionStatus, State};
use rdmalab_wire::{Body, Feth, Ieth, RKey, Reth, Transport};

use super::expect_fatal;
use crate::script::*;

fn begins(psn: u32) -> Vec<Incoming> {
    vec![
        send_first(psn, 1024),
        send_only(psn, 8),
        send_only_imm(psn, 8, 1),
        write_first(psn, 0, 2000, 1024),
        write_only(psn, 0, 8),
        write_only_imm(psn, 0, 8, 1),
        read_request(psn, 0, 8),
        compare_swap_request(psn, 0, 0, 0),
        fetch_add_request(psn, 0, 0),
    ]
}

fn send_goes_on(psn: u32) -> Vec<Incoming> {
    vec![send_middle(psn, 1024), send_last(psn, 8), send_last_imm(psn, 8, 1)]
}

fn write_goes_on(psn: u32) -> Vec<Incoming> {
    vec![write_middle(psn, 1024), write_last(psn, 8), write_last_imm(psn, 8, 1)]
}

#[test]
fn a_message_does_not_begin_in_its_middle() {
    for packet in [send_goes_on(0), write_goes_on(0)].concat() {
        let mut t = Script::new();
        expect_fatal(&mut t, packet, "ACKNOWLEDGE psn=0 nak=invalid_request msn=0");
        t.expect_untouched(0);
    }
}

#[test]
fn after_a_message_its_kind_does_not_go_on() {
    for packet in [send_goes_on(1), write_goes_on(1)].concat() {
        let mut t = Script::new();
        t.deliver(write_only(0, 0, 8));
        t.expect("ACKNOWLEDGE psn=0 ack msn=1");
        expect_fatal(&mut t, packet, "ACKNOWLEDGE psn=1 nak=invalid_request msn=1");
    }
}

#[test]
fn nothing_else_begins_within_a_send() {
    for packet in [begins(1), write_goes_on(1)].concat() {
        let mut t = Script::new();
        t.receive(4096);
        t.receive(4096);
        t.deliver(send_first(0, 1024));
        expect_fatal(&mut t, packet, "ACKNOWLEDGE psn=1 nak=invalid_request msn=0");
        t.expect_completion(100, CompletionStatus::RemoteInvalidRequest);
        t.expect_flushed([101]);
    }
}

#[test]
fn nothing_else_begins_within_a_write() {
    for packet in [begins(1), send_goes_on(1)].concat() {
        let mut t = Script::new();
        t.receive(4096);
        t.deliver(write_first(0, 0, 4000, 1024));
        expect_fatal(&mut t, packet, "ACKNOWLEDGE psn=1 nak=invalid_request msn=0");
        t.expect_flushed([100]);
    }
}

#[test]
fn an_ordinary_region_cannot_be_invalidated_by_a_send() {
    let key = Ieth { key: RKey::new(KEY.value()) };
    let mut t = Script::new();
    t.receive(10);
    expect_fatal(
        &mut t,
        packet(0, Body::SendOnlyInv(key)).payload(&[1, 2, 3]),
        "ACKNOWLEDGE psn=0 nak=remote_access_error msn=0",
    );
    t.expect_completion(100, CompletionStatus::RemoteAccessError);
    assert!(t.side.context.region(KEY.value()).is_some());

    let mut t = Script::new();
    t.receive(4096);
    t.deliver(send_first(0, 1024));
    expect_fatal(
        &mut t,
        packet(1, Body::SendLastInv(key)).payload(&[1, 2, 3]),
        "ACKNOWLEDGE psn=1 nak=remote_access_error msn=0",
    );
    t.expect_completion(100, CompletionStatus::RemoteAccessError);
}

#[test]
fn a_flush_that_asks_for_no_placement_is_an_invalid_request() {
    let reth = Reth { virtual_address: 0, key: RKey::new(KEY.value()), length: 8 };
    let mut t = Script::new();
    let request = packet(0, Body::Flush(Feth::default(), reth));
    expect_fatal(&mut t, request, "ACKNOWLEDGE psn=0 nak=invalid_request msn=0");
    t.expect_untouched(0);
}

#[test]
fn an_operation_that_the_queue_pair_does_not_allow_is_an_invalid_request() {
    let cases = [
        (Access::REMOTE_WRITE, write_only(0, 0, 8)),
        (Access::REMOTE_WRITE, write_only(0, 0, 0)),
        (Access::REMOTE_WRITE, write_first(0, 0, 2000, 1024)),
        (Access::REMOTE_WRITE, write_only_imm(0, 0, 8, 1)),
        (Access::REMOTE_READ, read_request(0, 0, 8)),
        (Access::REMOTE_READ, read_request(0, 0, 0)),
        (Access::REMOTE_ATOMIC, fetch_add_request(0, 0, 1)),
        (Access::REMOTE_ATOMIC, compare_swap_request(0, 0, 0, 1)),
    ];
    for (missing, packet) in cases {
        let mut t = Script::with(Setup { access: Access::FULL - missing, ..Setup::default() });
        expect_fatal(&mut t, packet, "ACKNOWLEDGE psn=0 nak=invalid_request msn=0");
        t.expect_untouched(0);
    }
}

#[test]
fn sends_need_no_access_flag_of_the_queue_pair() {
    let mut t = Script::with(Setup { access: Access::empty(), ..Setup::default() });
    t.receive(10);
    t.deliver(send_only(0, 10));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_received(100, 10);
}

#[test]
fn packets_of_another_transport_are_dropped() {
    let mut t = Script::new();
    t.receive(10);
    t.deliver(send_only(0, 8).over(Transport::Uc));
    t.expect_discard(Discard::Opcode);
    t.expect_state(State::Rts);
    t.expect_nothing();
}

/// A packet with another opcode.
fn with_opcode(t: &Script, psn: u32, opcode: u8) -> Vec<u8> {
    let mut bytes = t.encode(&send_only(psn, 8));
    bytes[28] = opcode;
    with_right_icrc(bytes)
}

#[test]
fn a_reserved_opcode_of_the_transport_is_an_invalid_request() {
    for opcode in [0x15, 0x18, 0x19, 0x1a, 0x1b, 0x1e, 0x1f] {
        let mut t = Script::new();
        t.receive(8);
        let bytes = with_opcode(&t, 0, opcode);
        t.deliver_bytes(&bytes);
        t.expect("ACKNOWLEDGE psn=0 nak=invalid_request msn=0");
        t.expect_state(State::Err);
        t.expect_flushed([100]);

        let mut t = Script::new();
        t.receive(4096);
        t.deliver(send_first(0, 1024));
        let bytes = with_opcode(&t, 1, opcode);
        t.deliver_bytes(&bytes);
        t.expect("ACKNOWLEDGE psn=1 nak=invalid_request msn=0");
        t.expect_completion(100, CompletionStatus::RemoteInvalidRequest);
    }
}

#[test]
fn a_reserved_opcode_in_front_of_or_behind_the_expected_psn_is_dropped() {
    for psn in [4, 6] {
        let mut t = Script::from_psn(5);
        let bytes = with_opcode(&t, psn, 0x1f);
        t.deliver_bytes(&bytes);
        t.expect_discard(Discard::Opcode);
        t.expect_state(State::Rts);
        t.expect_nothing();
    }
}

#[test]
fn opcodes_of_no_transport_are_dropped() {
    for opcode in [0x80, 0x82, 0xa4, 0xc0, 0xff] {
        let mut t = Script::new();
        let bytes = with_opcode(&t, 0, opcode);
        t.deliver_bytes(&bytes);
        t.expect_discard(Discard::Opcode);
        t.expect_state(State::Rts);
        t.expect_nothing();
    }
}
