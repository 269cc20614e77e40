//! Implied NAK: an answer beyond a READ or atomic that has not got its response shows that the response was lost.
//!
//! Rule: rc-implied-nak: An answer beyond a READ or atomic that lacks its response shows that the response
//! was lost; the requester goes back to it, and completes nothing behind it.
//! Rule: rc-implied-nak-fatal: A NAK beyond a lost response is an implied NAK first: the READ in front of it
//! is asked for again, and fails for want of an answer if the peer is in error by then.

use rdmalab_roce::RetryCause;
use rdmalab_verbs::{CompletionStatus, State};
use rdmalab_wire::NakCode;

use crate::script::*;

const TIMEOUT: u64 = 4_096 << 14;

#[test]
fn an_acknowledgement_beyond_a_read_asks_for_the_read_again() {
    let mut t = Script::new();
    t.post(write(1));
    t.post(read(3000));
    t.post(write(1));
    assert_eq!(t.take_lines().len(), 3);
    t.deliver(ack(4).msn(3));
    t.expect_retry(1, RetryCause::ImpliedNak);
    t.expect_done(0);
    t.expect("READ_REQUEST psn=1 va=0x200000 rkey=0x200 dmalen=3000 ackreq");
    t.expect("WRITE_ONLY psn=4 va=0x200000 rkey=0x200 dmalen=1 len=1 ackreq");
    assert_eq!(t.counters().implied_nak, 1);
}

#[test]
fn a_response_beyond_another_asks_for_the_one_in_front() {
    let mut t = Script::new();
    t.post(read(1));
    t.post(read(2).at(100));
    t.post(fetch_add(1).at(200));
    assert_eq!(t.take_lines().len(), 3);
    t.deliver(read_response_only(1, 2).msn(2));
    t.expect_no_completion();
    t.expect("READ_REQUEST psn=0 va=0x200000 rkey=0x200 dmalen=1 ackreq");
    t.expect("READ_REQUEST psn=1 va=0x200000 rkey=0x200 dmalen=2 ackreq");
    t.expect("FETCH_ADD psn=2 va=0x200000 rkey=0x200 add=0x1 ackreq");
    // What was sent before the loss was noticed still arrives, and is no reason to go back once more.
    t.deliver(atomic_ack(2, 5).msn(3));
    t.expect_nothing();
    t.deliver(read_response_only(0, 1).msn(3));
    t.deliver(read_response_only(1, 2).msn(3));
    t.deliver(atomic_ack(2, 5).msn(3));
    t.expect_done(0);
    t.expect_done(1);
    t.expect_done(2);
}

#[test]
fn a_response_packet_that_is_missing_in_the_middle_is_asked_for() {
    let mut t = Script::new();
    t.post(read(4096));
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(read_response_first(0, 1024).msn(1));
    t.deliver(read_response_middle(2, 1024));
    t.expect("READ_REQUEST psn=1 va=0x200400 rkey=0x200 dmalen=3072 ackreq");
}

#[test]
fn a_lost_atomic_response_is_noticed_by_an_acknowledgement_behind_it() {
    let mut t = Script::new();
    t.post(compare_swap(1, 2));
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(ack(1).msn(2));
    t.expect("COMPARE_SWAP psn=0 va=0x200000 rkey=0x200 swap=0x2 compare=0x1 ackreq");
    t.expect("SEND_ONLY psn=1 len=1 ackreq");
}

#[test]
fn a_sequence_nak_beyond_a_lost_response_goes_back_to_the_response() {
    let mut t = Script::new();
    t.post(read(1));
    t.post(send(1));
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 3);
    t.deliver(sequence_nak(1).msn(1));
    t.expect_retry(0, RetryCause::ImpliedNak);
    t.expect("READ_REQUEST psn=0 va=0x200000 rkey=0x200 dmalen=1 ackreq");
    t.expect("SEND_ONLY psn=1 len=1 ackreq");
    t.expect("SEND_ONLY psn=2 len=1 ackreq");
}

#[test]
fn an_rnr_nak_beyond_a_lost_response_goes_back_to_the_response() {
    let mut t = Script::new();
    t.post(read(1));
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(rnr_nak(1, 1).msn(1));
    t.expect_retry(0, RetryCause::ImpliedNak);
    t.expect("READ_REQUEST psn=0 va=0x200000 rkey=0x200 dmalen=1 ackreq");
    t.expect("SEND_ONLY psn=1 len=1 ackreq");
}

#[test]
fn only_the_first_implied_nak_goes_back_at_once_and_later_ones_wait_for_the_timer() {
    let mut t = Script::new();
    t.post(read(1));
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(ack(1).msn(2));
    assert_eq!(t.take_lines().len(), 2);
    for _ in 0..5 {
        t.deliver(ack(1).msn(2));
        t.expect_nothing();
    }
    assert_eq!(t.counters().implied_nak, 1);
    t.advance(TIMEOUT);
    assert_eq!(t.counters().local_ack_timeout, 1);
    t.expect("READ_REQUEST psn=0 va=0x200000 rkey=0x200 dmalen=1 ackreq");
    t.expect("SEND_ONLY psn=1 len=1 ackreq");
}

#[test]
fn an_implied_nak_takes_one_from_the_retry_count() {
    let mut t = Script::with(Setup { retry_count: 0, ..Setup::default() });
    t.post(read(1));
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(ack(1).msn(2));
    t.expect_completion(0, CompletionStatus::RetryExceeded);
    t.expect_flushed([1]);
    t.expect_state(State::Err);

    let mut t = Script::with(Setup { retry_count: 1, ..Setup::default() });
    t.post(read(1));
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(ack(1).msn(2));
    assert_eq!(t.take_lines().len(), 2);
    t.advance(TIMEOUT);
    t.expect_completion(0, CompletionStatus::RetryExceeded);
    t.expect_flushed([1]);
}

#[test]
fn each_lost_response_of_several_is_asked_for_when_its_turn_comes() {
    let mut t = Script::with(Setup { retry_count: 1, ..Setup::default() });
    for n in 0..3 {
        t.post(read(1).at(n));
    }
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 4);
    for psn in 0..3 {
        t.deliver(ack(3).msn(4));
        assert_eq!(t.take_lines().len(), 4 - psn as usize);
        t.deliver(read_response_only(psn, 1).msn(4));
        t.expect_done(psn.into());
    }
    t.deliver(ack(3).msn(4));
    t.expect_done(3);
}

#[test]
fn a_fatal_nak_beyond_a_lost_response_asks_for_the_response_first() {
    for code in [NakCode::InvalidRequest, NakCode::RemoteAccessError, NakCode::RemoteOperationalError] {
        let mut t = Script::new();
        t.post(read(1));
        t.post(write(1));
        assert_eq!(t.take_lines().len(), 2);
        t.deliver(nak(1, code).msn(1));
        t.expect_retry(0, RetryCause::ImpliedNak);
        t.expect_no_completion();
        t.expect("READ_REQUEST psn=0 va=0x200000 rkey=0x200 dmalen=1 ackreq");
        t.expect("WRITE_ONLY psn=1 va=0x200000 rkey=0x200 dmalen=1 len=1 ackreq");
        // A peer that answers all the same: the READ is done and the WRITE is not.
        t.deliver(read_response_only(0, 1).msn(1));
        t.expect_done(0);
        t.deliver(nak(1, code).msn(1));
        let status = match code {
            NakCode::InvalidRequest => CompletionStatus::RemoteInvalidRequest,
            NakCode::RemoteAccessError => CompletionStatus::RemoteAccessError,
            _ => CompletionStatus::RemoteOperationError,
        };
        t.expect_completion(1, status);
    }
}

#[test]
fn a_read_whose_peer_went_into_error_behind_it_fails_for_want_of_an_answer() {
    let mut t = Script::with(Setup { retry_count: 2, ..Setup::default() });
    t.post(read(1));
    t.post(write(1));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(nak(1, NakCode::RemoteAccessError).msn(1));
    assert_eq!(t.take_lines().len(), 2);
    // It says nothing any more. The READ was not at fault, so its status says what is known of it: nothing.
    t.advance(TIMEOUT);
    assert_eq!(t.take_lines().len(), 2);
    t.advance(TIMEOUT);
    t.expect_completion(0, CompletionStatus::RetryExceeded);
    t.expect_flushed([1]);
    t.expect_state(State::Err);
}
