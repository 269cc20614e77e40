//! SQD: the send queue has come to rest.
//!
//! Rule: event-send-queue-drained: in SQD, once everything that was begun is done, that is told, once.

use rdmalab_roce::Event;
use rdmalab_verbs::{QueuePairType, State};

use crate::script::*;

#[test]
fn with_nothing_begun_it_is_told_at_once_and_once() {
    for kind in QueuePairType::ALL {
        let mut t = Script::of(kind);
        t.modify_state(State::Sqd);
        t.expect_event(Event::SendQueueDrained);
        t.modify_state(State::Sqd);
        t.expect_no_event();
        t.modify_state(State::Rts);
        t.modify_state(State::Sqd);
        t.expect_event(Event::SendQueueDrained);
        t.expect_no_event();
    }
}

#[test]
fn reliable_kinds_wait_for_the_peer() {
    for kind in [QueuePairType::Rc, QueuePairType::XrcInitiator] {
        let mut t = Script::of(kind);
        t.post(send(1));
        assert_eq!(t.take_lines().len(), 1);
        t.modify_state(State::Sqd);
        t.expect_no_event();
        t.deliver(ack(0).msn(1));
        t.expect_done(0);
        t.expect_event(Event::SendQueueDrained);
        t.expect_no_event();
    }
}

#[test]
fn what_was_not_begun_does_not_matter() {
    for kind in [QueuePairType::Rc, QueuePairType::Uc, QueuePairType::Ud, QueuePairType::XrcInitiator] {
        let mut t = Script::of(kind);
        t.modify_state(State::Sqd);
        t.expect_event(Event::SendQueueDrained);
        t.post(send(1));
        t.expect_nothing();
        t.expect_no_event();
        t.modify_state(State::Reset);
    }
}
