//! The first packet of the peer.
//!
//! Rule: event-communication-established: the first packet that a connected queue pair takes in RTR is told, once.

use rdmalab_roce::Event;
use rdmalab_verbs::{QueuePairType, State};

use crate::script::*;

#[test]
fn every_connected_queue_pair_that_receives_tells_it_once() {
    for kind in [QueuePairType::Rc, QueuePairType::Uc, QueuePairType::XrcTarget] {
        let mut t = Script::in_state(State::Rtr, Setup { kind, ..Setup::default() });
        t.expect_no_event();
        t.deliver(write_only(0, 0, 8));
        t.expect_event(Event::CommunicationEstablished);
        t.deliver(write_only(1, 0, 8));
        t.expect_no_event();
        t.take_lines();
    }
}

#[test]
fn a_datagram_establishes_nothing() {
    let mut t = Script::in_state(State::Rtr, Setup { kind: QueuePairType::Ud, ..Setup::default() });
    t.receive(100);
    t.deliver(send_only(0, 8));
    t.expect_received(100, 48);
    t.expect_no_event();
}

#[test]
fn a_packet_of_somebody_else_establishes_nothing() {
    let mut t = Script::in_state(State::Rtr, Setup::default());
    let bytes = t.encode_between(crate::side::address(3), t.side.address, &write_only(0, 0, 8));
    t.deliver_bytes(&bytes);
    t.deliver(write_only(0, 0, 8).partition(0x8001));
    t.expect_no_event();
}

#[test]
fn after_a_reset_it_is_told_again() {
    let mut t = Script::in_state(State::Rtr, Setup::default());
    for _ in 0..2 {
        t.deliver(write_only(0, 0, 8));
        t.expect("ACKNOWLEDGE psn=0 ack msn=1");
        t.expect_event(Event::CommunicationEstablished);
        t.modify_state(State::Reset);
        t.go_to(State::Rtr);
    }
}
