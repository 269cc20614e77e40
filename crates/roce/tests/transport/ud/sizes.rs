//! Datagrams that are too long, and receives that are too small.
//!
//! Rule: ud-mtu: a datagram is at most as long as the port's MTU allows; a longer one is refused when it is posted.
//! Rule: ud-receive-too-small: a datagram that with its network header is longer than the receive is dropped in
//! silence, and the receive waits for the next one.
//! Rule: ud-no-receive: a datagram that finds no receive is dropped in silence.

use rdmalab_roce::{Discard, EndpointConfig};
use rdmalab_verbs::{PostError, State};
use rdmalab_wire::PathMtu;

use super::{AREA, setup, ud};
use crate::script::*;

#[test]
fn a_datagram_is_as_long_as_the_ports_mtu_and_no_longer() {
    let mut t = ud();
    t.post(send(4096));
    t.expect("UD SEND_ONLY psn=0 qkey=0x11111111 src=0x000080 len=4096");
    t.expect_done(0);
    assert_eq!(t.try_post(send(4097)), Err(PostError::TooLong { length: 4097, limit: 4096 }));
    t.expect_nothing();
}

#[test]
fn a_port_with_a_smaller_mtu_sends_and_takes_shorter_datagrams() {
    let mut t = Script::in_state(State::Reset, setup());
    t.side.move_to(EndpointConfig::new(vec![t.side.address], PathMtu::M1024));
    t.go_to(State::Rts);
    assert_eq!(t.try_post(send(1025)), Err(PostError::TooLong { length: 1025, limit: 1024 }));
    t.receive(4096);
    t.deliver(send_only(0, 1025));
    t.expect_discard(Discard::Refused);
    t.deliver(send_only(0, 1024));
    t.expect_received(100, AREA + 1024);
}

#[test]
fn without_a_receive_a_datagram_is_dropped() {
    let mut t = ud();
    t.deliver(send_only(0, 8));
    t.expect_discard(Discard::NoReceive);
    t.expect_nothing();
    t.receive(100);
    t.deliver(send_only(0, 8));
    t.expect_received(100, AREA + 8);
}

#[test]
fn the_receive_needs_room_for_the_header_too() {
    let mut t = ud();
    t.receive(47);
    t.deliver(send_only(0, 8));
    t.expect_discard(Discard::ReceiveTooSmall);
    t.expect_untouched(0);
    t.expect_state(State::Rts);
    t.deliver(send_only(0, 7));
    t.expect_received(100, AREA + 7);
}

#[test]
fn a_receive_without_room_for_the_header_takes_no_datagram_at_all() {
    let mut t = ud();
    t.receive(39);
    t.deliver(send_only(0, 0));
    t.expect_discard(Discard::ReceiveTooSmall);
    t.expect_untouched(0);
    t.modify_state(State::Err);
    t.expect_flushed([100]);
}
