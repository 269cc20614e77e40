//! Requests of the peer that an unreliable connection does not carry out, and of which it says nothing.
//!
//! Rule: uc-invalid-dropped: what a reliable connection would refuse by a NAK, an unreliable one drops in silence, and
//! stays as it is.

use rdmalab_roce::Discard;
use rdmalab_verbs::{Access, QueuePairType, State};
use rdmalab_wire::Transport;

use super::uc;
use crate::script::*;

/// Delivers a request that is not carried out, and shows that the connection goes on.
#[track_caller]
fn expect_refused(t: &mut Script, request: Incoming) {
    let psn = request.bth.psn.value();
    t.deliver(request);
    t.expect_discard(Discard::Refused);
    t.expect_untouched(0);
    t.expect_nothing();
    t.expect_no_event();
    t.expect_state(State::Rts);
    t.receive_at(MEMORY - 8, 8);
    t.deliver(send_only(psn + 1, 8));
    t.expect_received(100, 8);
}

#[test]
fn a_write_that_the_queue_pair_does_not_allow_is_dropped() {
    let setup = Setup { kind: QueuePairType::Uc, access: Access::REMOTE_READ, ..Setup::default() };
    expect_refused(&mut Script::with(setup), write_only(0, 0, 8));
}

#[test]
fn a_write_with_a_wrong_key_or_outside_of_the_region_is_dropped() {
    expect_refused(&mut uc(), write_only(0, 0, 8).key(0));
    expect_refused(&mut uc(), write_only(0, 0, 8).address(BASE - 1));
    expect_refused(&mut uc(), write_only(0, MEMORY - 7, 8));
}

#[test]
fn a_write_through_a_key_without_the_right_is_dropped() {
    let mut t = uc();
    let memory = t.side.memory.clone();
    let key = t.side.context.register(t.side.domain, BASE, memory, Access::REMOTE_READ).unwrap();
    expect_refused(&mut t, write_only(0, 0, 8).key(key));
}

#[test]
fn a_packet_whose_length_does_not_fit_its_place_is_dropped() {
    let mut t = uc();
    t.receive(4096);
    t.deliver(send_first(0, 1023));
    t.expect_discard(Discard::Refused);
    t.deliver(send_only(1, 1025));
    t.expect_discard(Discard::Refused);
    t.deliver(send_first(2, 1024));
    t.deliver(send_last(3, 0));
    t.expect_discard(Discard::Refused);
    t.deliver(send_last(4, 1));
    t.expect_discard(Discard::OutOfSequence);
    t.expect_no_completion();
}

#[test]
fn a_write_whose_packets_do_not_add_up_to_its_length_is_dropped() {
    let mut t = uc();
    t.receive(0);
    t.deliver(write_first(0, 0, 2000, 1024));
    t.deliver(write_last_imm(1, 975, 1));
    t.expect_discard(Discard::Refused);
    t.deliver(write_only_imm(2, 4096, 8, 1).payload(&[1; 7]));
    t.expect_discard(Discard::Refused);
    t.expect_untouched(1024);
    t.expect_no_completion();
}

#[test]
fn a_packet_of_another_kind_within_a_message_ends_the_message() {
    let mut t = uc();
    t.receive(4096);
    t.deliver(send_first(0, 1024));
    t.deliver(write_last(1, 8));
    t.expect_discard(Discard::Refused);
    t.deliver(send_last(2, 8));
    t.expect_discard(Discard::OutOfSequence);
    t.expect_no_completion();
}

#[test]
fn a_region_that_goes_within_a_write_takes_the_rest_of_it() {
    let mut t = uc();
    t.deliver(write_first(0, 0, 2000, 1024));
    t.side.context.deregister(KEY.value()).unwrap();
    t.deliver(write_last(1, 976));
    t.expect_discard(Discard::Refused);
    t.expect_bytes(0, &pattern(0, 1024));
    t.expect_untouched(1024);
    t.expect_state(State::Rts);
}

#[test]
fn packets_of_other_transports_are_dropped() {
    let mut t = uc();
    t.receive(8);
    t.deliver(send_only(0, 8).over(Transport::Rc));
    t.expect_discard(Discard::Opcode);
    t.deliver(ack(0).over(Transport::Rc));
    t.expect_discard(Discard::Opcode);
    t.deliver(send_only(0, 8).over(deth(QUEUE_KEY, PEER_QUEUE_PAIR)));
    t.expect_discard(Discard::Opcode);
    t.expect_no_completion();
}
