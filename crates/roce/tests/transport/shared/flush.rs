//! What becomes of receives of a shared queue when a queue pair goes into ERR.
//!
//! Rule: srq-flush: a queue pair that goes into ERR flushes the receive that it had taken, and leaves those in the
//! shared queue alone.

use rdmalab_verbs::{CompletionStatus, QueuePairType, State};

use super::{KINDS, extra, setup, sharing};
use crate::script::*;

#[test]
fn receives_that_nobody_took_stay_for_the_others() {
    for kind in KINDS {
        let mut t = sharing(kind);
        let second = t.side.connect_another(&setup(kind), peer(), PEER_QUEUE_PAIR);
        t.receive(8 + extra(kind));
        t.modify_state(State::Err);
        t.expect_no_completion();
        t.deliver(send_only(0, 8).to(second));
        t.expect_completion_of(second, 100, CompletionStatus::Success);
        t.take_lines();
    }
}

#[test]
fn the_receive_of_a_message_in_progress_is_flushed() {
    for kind in [QueuePairType::Rc, QueuePairType::Uc] {
        let mut t = sharing(kind);
        t.receive(4096);
        t.receive(4096);
        t.deliver(send_first(0, 1024));
        t.modify_state(State::Err);
        t.expect_flushed([100]);
        t.expect_no_completion();
        assert_eq!(t.side.context.shared_receive_queue(t.side.shared.unwrap()).unwrap().len(), 1);
    }
}

#[test]
fn a_receive_that_was_too_small_for_a_datagram_is_flushed_too() {
    let mut t = sharing(QueuePairType::Ud);
    t.receive(8);
    t.receive(48);
    t.deliver(send_only(0, 8));
    t.expect_discard(rdmalab_roce::Discard::ReceiveTooSmall);
    t.modify_state(State::Err);
    t.expect_flushed([100]);
}

#[test]
fn a_reset_forgets_the_message_in_progress_without_a_completion() {
    let mut t = sharing(QueuePairType::Rc);
    t.receive(4096);
    t.receive_at(8192, 4096);
    t.deliver(send_first(0, 1024));
    t.modify_state(State::Reset);
    t.expect_no_completion();
    t.go_to(State::Rts);
    t.deliver(send_only(0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_received(101, 8);
}
