//! NAKs that end the connection: the request they name fails with their status, and everything behind it is flushed.
//!
//! Rule: rc-fatal-nak: A NAK for an invalid request, a remote access error or a remote operational error ends
//! its request with that status, completes what is before it and flushes what is behind.

use rdmalab_verbs::{CompletionStatus, State};
use rdmalab_wire::{NakCode, Syndrome};

use crate::script::*;

const FATAL: [(NakCode, CompletionStatus); 3] = [
    (NakCode::InvalidRequest, CompletionStatus::RemoteInvalidRequest),
    (NakCode::RemoteAccessError, CompletionStatus::RemoteAccessError),
    (NakCode::RemoteOperationalError, CompletionStatus::RemoteOperationError),
];

#[test]
fn a_fatal_nak_completes_what_is_before_it_fails_its_own_and_flushes_the_rest_in_order() {
    for (code, status) in FATAL {
        let mut t = Script::new();
        t.post(send(1));
        t.post(write(2000));
        t.post(send(1));
        t.post(read(1));
        t.receive(1);
        t.receive(1);
        assert_eq!(t.take_lines().len(), 5);
        t.deliver(nak(1, code).msn(1));
        t.expect_done(0);
        t.expect_completion(1, status);
        t.expect_flushed([2, 3, 100, 101]);
        t.expect_state(State::Err);
        t.expect_nothing();
        assert_eq!(t.until_timeout(), None);
    }
}

#[test]
fn a_fatal_nak_names_its_request_by_any_of_its_packets() {
    for psn in 1..=3 {
        let mut t = Script::new();
        t.post(send(1));
        t.post(write(3000));
        t.post(send(1));
        assert_eq!(t.take_lines().len(), 5);
        t.deliver(nak(psn, NakCode::RemoteAccessError).msn(1));
        t.expect_done(0);
        t.expect_completion(1, CompletionStatus::RemoteAccessError);
        t.expect_flushed([2]);
    }
}

#[test]
fn unsignaled_requests_tell_when_they_fail_or_are_flushed() {
    let mut t = Script::new();
    t.post(send(1).unsignaled());
    t.post(send(1).unsignaled());
    t.post(send(1).unsignaled());
    assert_eq!(t.take_lines().len(), 3);
    t.deliver(nak(1, NakCode::InvalidRequest).msn(1));
    t.expect_completion(1, CompletionStatus::RemoteInvalidRequest);
    t.expect_flushed([2]);
}

#[test]
fn a_nak_in_the_midst_of_a_read_response_fails_the_read() {
    let mut t = Script::new();
    t.post(read(3000));
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(read_response_first(0, 1024).msn(1));
    t.deliver(nak(1, NakCode::RemoteAccessError).msn(1));
    t.expect_completion(0, CompletionStatus::RemoteAccessError);
    t.expect_flushed([1]);
    t.expect_state(State::Err);
}

#[test]
fn a_fatal_nak_for_an_atomic_fails_the_atomic() {
    let mut t = Script::new();
    t.post(fetch_add(1));
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(nak(0, NakCode::InvalidRequest));
    t.expect_completion(0, CompletionStatus::RemoteInvalidRequest);
}

#[test]
fn requests_not_yet_started_are_flushed_with_those_that_were() {
    let mut t = Script::new();
    for _ in 0..3 {
        t.post(send(1));
    }
    t.post(send(1).fenced());
    t.post(read(1));
    t.post(send(1).fenced());
    assert_eq!(t.take_lines().len(), 5, "the last waits for the READ");
    t.deliver(nak(0, NakCode::RemoteOperationalError));
    t.expect_completion(0, CompletionStatus::RemoteOperationError);
    t.expect_flushed(1..=5);
}

#[test]
fn what_is_posted_after_the_error_is_flushed_at_once() {
    let mut t = Script::new();
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(nak(0, NakCode::InvalidRequest));
    t.expect_completion(0, CompletionStatus::RemoteInvalidRequest);
    t.post(send(1));
    t.expect_flushed([1]);
    t.receive(1);
    t.expect_flushed([100]);
    t.expect_nothing();
}

#[test]
fn answers_that_arrive_after_the_error_are_dropped() {
    let mut t = Script::new();
    t.post(send(1));
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(nak(0, NakCode::InvalidRequest));
    t.expect_completion(0, CompletionStatus::RemoteInvalidRequest);
    t.expect_flushed([1]);
    t.deliver(ack(1).msn(2));
    t.expect_discard(rdmalab_roce::Discard::State);
}

#[test]
fn syndromes_without_a_meaning_are_dropped() {
    let mut t = Script::new();
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 1);
    for syndrome in [Syndrome::Reserved(0x40), Syndrome::Reserved(0x9f), Syndrome::Nak(NakCode::Unknown(17))]
    {
        t.deliver(ack(0).syndrome(syndrome));
        t.expect_discard(rdmalab_roce::Discard::Malformed);
    }
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
}
