//! Responses that cannot be right: the oldest request fails with a bad response, and the queue pair with it.
//!
//! Rule: rc-bad-response: A response of the wrong kind, length or place fails the request with
//! IBV_WC_BAD_RESP_ERR and puts the queue pair into ERR.

use rdmalab_verbs::{CompletionStatus, State};
use rdmalab_wire::{NakCode, Syndrome};

use crate::script::*;

/// Delivers responses to one request, of which only the last is bad.
#[track_caller]
fn expect_bad(work: Work, responses: &[Incoming]) {
    let mut t = Script::new();
    t.post(work);
    t.post(send(1));
    t.receive(1);
    assert_eq!(t.take_lines().len(), 2);
    for response in responses {
        t.expect_state(State::Rts);
        t.deliver(response.clone());
    }
    t.expect_completion(0, CompletionStatus::BadResponse);
    t.expect_flushed([1, 100]);
    t.expect_state(State::Err);
    t.expect_nothing();
}

#[test]
fn a_read_response_of_the_wrong_length_is_bad() {
    expect_bad(read(100), &[read_response_only(0, 99)]);
    expect_bad(read(100), &[read_response_only(0, 101)]);
    expect_bad(read(100), &[read_response_only(0, 0)]);
    expect_bad(read(0), &[read_response_only(0, 1)]);
    expect_bad(read(3000), &[read_response_first(0, 1023)]);
    expect_bad(read(3000), &[read_response_first(0, 1028)]);
    expect_bad(read(3000), &[read_response_first(0, 0)]);
    expect_bad(read(3000), &[read_response_first(0, 1024), read_response_middle(1, 512)]);
    let begun = [read_response_first(0, 1024), read_response_middle(1, 1024)];
    for length in [0, 951, 953, 1024] {
        expect_bad(read(3000), &[&begun[..], &[read_response_last(2, length)]].concat());
    }
}

#[test]
fn a_read_response_that_begins_in_its_middle_is_bad() {
    expect_bad(read(3000), &[read_response_middle(0, 1024)]);
    expect_bad(read(100), &[read_response_last(0, 100)]);
}

#[test]
fn a_read_response_that_begins_twice_is_bad() {
    expect_bad(read(3000), &[read_response_first(0, 1024), read_response_first(1, 1024)]);
    expect_bad(read(2000), &[read_response_first(0, 1024), read_response_only(1, 976)]);
}

#[test]
fn a_read_response_that_ends_too_early_or_too_late_is_bad() {
    expect_bad(read(3000), &[read_response_only(0, 1024)]);
    expect_bad(read(3000), &[read_response_first(0, 1024), read_response_last(1, 1024)]);
    expect_bad(read(2048), &[read_response_first(0, 1024), read_response_middle(1, 1024)]);
    expect_bad(read(1024), &[read_response_first(0, 1024)]);
}

#[test]
fn a_response_with_data_to_a_request_without_is_bad() {
    expect_bad(send(1), &[read_response_only(0, 1)]);
    expect_bad(write(1), &[read_response_only(0, 1)]);
    expect_bad(write(1), &[atomic_ack(0, 1)]);
}

#[test]
fn the_response_to_an_atomic_is_no_answer_to_a_read_nor_the_other_way_round() {
    expect_bad(read(8), &[atomic_ack(0, 1)]);
    expect_bad(fetch_add(1), &[read_response_only(0, 8)]);
    expect_bad(compare_swap(1, 2), &[read_response_only(0, 8)]);
}

#[test]
fn a_response_with_data_that_says_no_is_bad() {
    let no =
        [Syndrome::Nak(NakCode::RemoteAccessError), Syndrome::RnrNak { timer: 1 }, Syndrome::Reserved(0x9f)];
    for syndrome in no {
        expect_bad(read(8), &[read_response_only(0, 8).syndrome(syndrome)]);
        expect_bad(read(1032), &[read_response_first(0, 1024).syndrome(syndrome)]);
        expect_bad(fetch_add(1), &[atomic_ack(0, 1).syndrome(syndrome)]);
    }
}

#[test]
fn nothing_of_a_bad_response_reaches_memory() {
    let mut t = Script::new();
    t.post(read(100));
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(read_response_only(0, 104));
    t.expect_completion(0, CompletionStatus::BadResponse);
    assert_eq!(t.side.bytes(0, 104), [0; 104]);
}
