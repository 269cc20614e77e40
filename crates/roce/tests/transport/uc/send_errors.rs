//! A request of an unreliable connection that fails here stops the send queue, not the queue pair.
//!
//! Rule: uc-sqe: a local error of a send request brings an unreliable queue pair into SQE: the request completes in
//! error, those behind it are flushed, nothing more is sent.
//! Rule: uc-sqe-receives: in SQE, receiving goes on.
//! Rule: uc-sqe-rts: from SQE the application may go back to RTS and send again.

use rdmalab_roce::Batch;
use rdmalab_verbs::{CompletionStatus, Sge, State};
use rdmalab_wire::PathMtu;

use super::uc;
use crate::script::*;

const PROTECTION: CompletionStatus = CompletionStatus::LocalProtectionError;

fn bad(t: &Script) -> Sge {
    Sge { key: 0, ..t.side.sge(0, 8) }
}

#[test]
fn a_bad_element_stops_the_send_queue_and_flushes_what_is_behind() {
    let mut t = uc();
    t.post(send(1));
    let element = bad(&t);
    t.post(write(0).in_elements(&[element]));
    t.post(send(1));
    t.post(send(1).unsignaled());
    t.expect("UC SEND_ONLY psn=0 len=1");
    t.expect_done(0);
    t.expect_completion(1, PROTECTION);
    t.expect_flushed([2, 3]);
    t.expect_state(State::Sqe);
    t.expect_nothing();
    t.expect_no_event();
}

#[test]
fn nothing_is_sent_of_a_message_of_which_any_element_is_bad() {
    let mut t = uc();
    let elements = [t.side.sge(0, 2048), bad(&t)];
    t.post(send(0).in_elements(&elements));
    t.expect_completion(0, PROTECTION);
    t.expect_nothing();
}

#[test]
fn in_sqe_receiving_goes_on() {
    let mut t = uc();
    t.receive(2048);
    t.deliver(send_first(0, 1024));
    let element = bad(&t);
    t.post(send(0).in_elements(&[element]));
    t.expect_completion(0, PROTECTION);
    t.expect_state(State::Sqe);
    t.deliver(send_last(1, 1));
    t.expect_received(100, 1025);
    t.receive(8);
    t.deliver(send_only(2, 8));
    t.expect_received(101, 8);
}

#[test]
fn in_sqe_new_requests_are_flushed() {
    let mut t = uc();
    let element = bad(&t);
    t.post(send(0).in_elements(&[element]));
    t.expect_completion(0, PROTECTION);
    t.post(send(1));
    t.expect_flushed([1]);
    t.expect_nothing();
}

#[test]
fn back_in_rts_it_sends_with_the_next_psn() {
    let mut t = uc();
    t.post(send(3000));
    let element = bad(&t);
    t.post(send(0).in_elements(&[element]));
    assert_eq!(t.take_lines().len(), 3);
    t.expect_done(0);
    t.expect_completion(1, PROTECTION);
    t.modify_state(State::Rts);
    t.post(send(5));
    t.expect("UC SEND_ONLY psn=3 len=5");
    t.expect_done(2);
}

#[test]
fn a_region_that_goes_within_a_message_ends_it_where_it_is() {
    let mut t = uc();
    t.post(send(3000));
    let mut batch = Batch::new(1, PathMtu::M4096, 0);
    let Side { endpoint, context, .. } = &mut t.side;
    endpoint.poll(context, 0, &mut batch);
    context.deregister(KEY.value()).unwrap();
    t.expect_completion(0, PROTECTION);
    t.expect_state(State::Sqe);
    t.expect_nothing();
    let memory = t.side.memory.clone();
    let key = t.side.context.register(t.side.domain, BASE, memory, rdmalab_verbs::Access::FULL).unwrap();
    t.modify_state(State::Rts);
    t.post(send(0).in_elements(&[Sge { key, ..t.side.sge(0, 4) }]));
    t.expect("UC SEND_ONLY psn=1 len=4");
    t.expect_done(1);
}

#[test]
fn from_sqe_everything_may_be_given_up() {
    for (state, flushed) in [(State::Err, Some(100)), (State::Reset, None)] {
        let mut t = uc();
        t.receive(8);
        let element = bad(&t);
        t.post(send(0).in_elements(&[element]));
        t.expect_completion(0, PROTECTION);
        t.modify_state(state);
        t.expect_flushed(flushed);
        t.expect_state(state);
    }
}
