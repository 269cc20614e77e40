//! An unreliable connection answers nothing.
//!
//! Rule: uc-never-answers: no packet of an unreliable connection is ever answered, not even one that asks for it.

use rdmalab_roce::{Discard, Event};
use rdmalab_verbs::{QueuePairType, State};
use rdmalab_wire::Transport;

use super::uc;
use crate::script::*;

#[test]
fn neither_messages_nor_gaps_nor_faults_are_answered() {
    let mut t = uc();
    t.receive(8);
    for packet in [
        send_only(0, 8),
        send_only(0, 8),
        send_only(9, 8),
        write_only(10, 0, 8),
        write_only(11, 0, 8).key(0),
        send_middle(12, 1024),
        send_only(13, 1),
    ] {
        t.deliver(packet.ackreq().over(Transport::Uc));
        t.expect_nothing();
    }
    t.expect_received(100, 8);
    assert_eq!(t.until_timeout(), None);
}

#[test]
fn an_opcode_that_unreliable_connections_do_not_have_is_dropped() {
    let mut t = uc();
    let mut bytes = t.encode(&send_only(0, 8));
    // READ REQUEST, in the numbers of this transport.
    bytes[28] = 0x2c;
    t.deliver_bytes(&with_right_icrc(bytes));
    t.expect_discard(Discard::Opcode);
    t.expect_nothing();
}

#[test]
fn the_first_packet_in_rtr_establishes_communication() {
    let setup = Setup { kind: QueuePairType::Uc, ..Setup::default() };
    let mut t = Script::in_state(State::Rtr, setup);
    t.deliver(write_only(0, 0, 8));
    t.expect_event(Event::CommunicationEstablished);
    t.deliver(write_only(1, 0, 8));
    t.expect_no_event();
    t.expect_nothing();
}

#[test]
fn packets_in_a_state_that_does_not_receive_are_dropped() {
    for state in [State::Reset, State::Init, State::Err] {
        let mut t = Script::in_state(state, Setup { kind: QueuePairType::Uc, ..Setup::default() });
        t.deliver(write_only(0, 0, 8));
        t.expect_discard(Discard::State);
        t.expect_untouched(0);
    }
}
