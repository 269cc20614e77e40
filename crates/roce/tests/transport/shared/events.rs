//! A queue pair that takes no more receives from its shared queue.
//!
//! Rule: srq-last-wqe: a queue pair with a shared receive queue that comes into ERR tells, once and after what brought
//! it there, that it takes no more receives.

use rdmalab_roce::Event;
use rdmalab_verbs::{QueuePairType, State};

use super::{KINDS, sharing};
use crate::script::*;

#[test]
fn it_is_told_when_the_application_orders_err() {
    for kind in KINDS {
        let mut t = sharing(kind);
        t.modify_state(State::Err);
        t.expect_event(Event::LastReceiveReached);
        t.modify_state(State::Err);
        t.expect_no_event();
    }
}

#[test]
fn it_is_told_behind_the_error_of_the_peer() {
    let mut t = sharing(QueuePairType::Rc);
    t.deliver(write_only(0, 0, 8).key(0));
    t.expect("ACKNOWLEDGE psn=0 nak=remote_access_error msn=0");
    t.expect_event(Event::AccessError);
    t.expect_event(Event::LastReceiveReached);
    t.modify_state(State::Err);
    t.expect_no_event();
}

#[test]
fn it_is_told_when_a_request_of_its_own_fails() {
    let mut t = sharing(QueuePairType::Rc);
    t.post(send(1));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    t.deliver(nak(0, rdmalab_wire::NakCode::RemoteOperationalError));
    t.expect_completion(0, rdmalab_verbs::CompletionStatus::RemoteOperationError);
    t.expect_event(Event::LastReceiveReached);
    t.expect_no_event();
}

#[test]
fn it_is_told_again_when_the_queue_pair_has_been_used_again() {
    let mut t = sharing(QueuePairType::Rc);
    for _ in 0..2 {
        t.modify_state(State::Err);
        t.expect_event(Event::LastReceiveReached);
        t.expect_no_event();
        t.modify_state(State::Reset);
        t.go_to(State::Rts);
    }
}

#[test]
fn a_queue_pair_with_receives_of_its_own_tells_nothing_of_the_kind() {
    let mut t = Script::new();
    t.modify_state(State::Err);
    t.expect_no_event();
}
