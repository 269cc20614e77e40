//! What an XRC target does with requests.
//!
//! Rule: xrc-target-reliable: a target carries out SEND, RDMA WRITE, RDMA READ and atomics, and acknowledges, as a
//! reliable connection does.
//! Rule: xrc-responses-plain: responses of a target name no shared receive queue.

use rdmalab_roce::{Discard, Event};
use rdmalab_verbs::{QueuePairType, State};
use rdmalab_wire::{Datagram, Packet, Transport};

use super::target;
use crate::script::*;

#[test]
fn a_send_fills_a_receive_of_the_named_queue() {
    let mut t = target();
    t.receive(4096);
    t.deliver(send_first(0, 1024));
    t.deliver(send_middle(1, 1024));
    t.deliver(send_last_imm(2, 10, 7));
    t.expect("XRC ACKNOWLEDGE psn=2 ack msn=1");
    let received = t.expect_received(100, 2058);
    assert_eq!(received.immediate.map(|data| data.0), Some([0, 0, 0, 7]));
    t.expect_bytes(0, &[pattern(0, 1024), pattern(1, 1024), pattern(2, 10)].concat());
}

#[test]
fn a_write_lands_and_its_immediate_data_takes_a_receive() {
    let mut t = target();
    t.deliver(write_only(0, 0, 8));
    t.expect("XRC ACKNOWLEDGE psn=0 ack msn=1");
    t.receive(0);
    t.deliver(write_first(1, 100, 1030, 1024));
    t.deliver(write_last_imm(2, 6, 9));
    t.expect("XRC ACKNOWLEDGE psn=2 ack msn=2");
    t.expect_received(100, 1030);
    t.expect_bytes(0, &pattern(0, 8));
    t.expect_bytes(100, &[pattern(1, 1024), pattern(2, 6)].concat());
}

#[test]
fn reads_and_atomics_are_answered_without_the_extended_header() {
    let mut t = target();
    t.side.fill(0, 1500, 1);
    let before = u64::from_ne_bytes(t.side.bytes(0, 8).try_into().unwrap());
    t.deliver(read_request(0, 0, 1500));
    t.deliver(fetch_add_request(2, 0, 1));
    t.expect("XRC READ_RESPONSE_FIRST psn=0 ack msn=1 len=1024");
    assert_eq!(t.payload()[1..], t.side.bytes(1, 1023));
    t.expect("XRC READ_RESPONSE_LAST psn=1 ack msn=1 len=476");
    t.expect(&format!("XRC ATOMIC_ACKNOWLEDGE psn=2 ack msn=2 original={before:#x}"));
    t.deliver(compare_swap_request(3, 0, before + 1, 5));
    let packets = t.take_packets();
    let packet = Packet::parse(Datagram::parse(&packets[0]).unwrap().ib).unwrap();
    assert_eq!(packet.transport, Transport::Xrc(None));
    t.expect_bytes(0, &5_u64.to_ne_bytes());
}

#[test]
fn a_gap_is_told_once() {
    let mut t = target();
    t.receive(8);
    t.deliver(send_only(1, 8));
    t.expect("XRC ACKNOWLEDGE psn=0 nak=psn_sequence_error msn=0");
    t.deliver(send_only(2, 8));
    t.expect_discard(Discard::OutOfSequence);
    t.deliver(send_only(0, 8));
    t.expect("XRC ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_received(100, 8);
}

#[test]
fn a_violation_of_rights_ends_it() {
    let mut t = target();
    t.receive(8);
    t.deliver(write_only(0, 0, 8).key(0));
    t.expect("XRC ACKNOWLEDGE psn=0 nak=remote_access_error msn=0");
    t.expect_state(State::Err);
    t.expect_event(Event::AccessError);
    t.expect_no_event();
    // The receive is the shared queue's, which has nothing to do with it.
    t.expect_no_completion();
}

#[test]
fn communication_is_established_by_the_first_packet() {
    let setup = Setup { kind: QueuePairType::XrcTarget, ..Setup::default() };
    let mut t = Script::in_state(State::Rtr, setup);
    t.deliver(write_only(0, 0, 8));
    t.expect("XRC ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_event(Event::CommunicationEstablished);
}

#[test]
fn packets_of_reliable_connections_and_responses_are_dropped() {
    let mut t = target();
    t.deliver(write_only(0, 0, 8).over(Transport::Rc));
    t.expect_discard(Discard::Opcode);
    t.deliver(ack(0));
    t.expect_discard(Discard::Opcode);
    t.expect_nothing();
    t.expect_untouched(0);
}
