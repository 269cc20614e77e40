//! SENDs and WRITEs with immediate of an unreliable connection that find no receive, or one that does not fit.
//!
//! Rule: uc-no-receive: a message that finds no receive is dropped in silence.
//! Rule: uc-receive-too-small: a SEND that is longer than the receive is dropped in silence, and the receive waits for
//! the next one.
//! Rule: uc-bad-receive: a receive whose own memory may not be written ends in error, and the queue pair with it.

use rdmalab_roce::{Discard, Event};
use rdmalab_verbs::{CompletionStatus, ReceiveRequest, Sge, State};

use super::uc;
use crate::script::*;

#[test]
fn a_send_without_a_receive_is_dropped_whole() {
    let mut t = uc();
    t.deliver(send_first(0, 1024));
    t.expect_discard(Discard::NoReceive);
    t.receive(4096);
    t.deliver(send_middle(1, 1024));
    t.expect_discard(Discard::OutOfSequence);
    t.deliver(send_last(2, 1));
    t.expect_discard(Discard::OutOfSequence);
    t.expect_untouched(0);
    t.deliver(send_only(3, 8));
    t.expect_received(100, 8);
    t.expect_state(State::Rts);
}

#[test]
fn a_write_with_immediate_without_a_receive_is_dropped_where_it_needs_one() {
    let mut t = uc();
    t.deliver(write_only_imm(0, 0, 8, 1));
    t.expect_discard(Discard::NoReceive);
    t.expect_untouched(0);
    t.deliver(write_first(1, 0, 1032, 1024));
    t.deliver(write_last_imm(2, 8, 1));
    t.expect_discard(Discard::NoReceive);
    t.expect_untouched(1024);
    t.receive(0);
    t.deliver(write_only_imm(3, 0, 8, 1));
    t.expect_received(100, 8);
}

#[test]
fn a_send_that_is_longer_than_the_receive_is_dropped_and_the_receive_is_kept() {
    let mut t = uc();
    t.receive(8);
    t.deliver(send_only(0, 9));
    t.expect_discard(Discard::Refused);
    t.expect_untouched(0);
    t.deliver(send_only(1, 8));
    t.expect_received(100, 8);
    t.expect_state(State::Rts);
}

#[test]
fn a_long_send_is_dropped_where_it_grows_beyond_the_receive() {
    let mut t = uc();
    t.receive(1030);
    t.deliver(send_first(0, 1024));
    t.deliver(send_middle(1, 1024));
    t.expect_discard(Discard::Refused);
    t.deliver(send_last(2, 1));
    t.expect_discard(Discard::OutOfSequence);
    t.expect_untouched(1024);
    t.deliver(send_only(3, 2));
    t.expect_received(100, 2);
}

#[test]
fn a_receive_with_a_bad_element_ends_the_queue_pair_without_a_word_to_the_peer() {
    let mut t = uc();
    let bad = Sge { key: 0, ..t.side.sge(0, 8) };
    let Side { endpoint, context, queue_pair, .. } = &mut t.side;
    endpoint.post_receive(context, *queue_pair, &ReceiveRequest { id: 7, elements: &[bad] }).unwrap();
    t.receive(8);
    t.deliver(send_only(0, 8));
    t.expect_completion(7, CompletionStatus::LocalProtectionError);
    t.expect_flushed([100]);
    t.expect_state(State::Err);
    t.expect_event(Event::Fatal);
    t.expect_no_event();
    t.expect_nothing();
}

#[test]
fn a_receive_that_a_broken_message_had_taken_is_flushed_once() {
    let mut t = uc();
    t.receive(4096);
    t.receive(4096);
    t.deliver(send_first(0, 1024));
    t.deliver(send_last(2, 1));
    t.modify_state(State::Err);
    t.expect_flushed([100, 101]);
}
