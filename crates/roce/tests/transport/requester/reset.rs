//! RESET forgets everything without completions, and a queue pair that is used again is not disturbed by packets of its
//! former life.
//!
//! Rule: qp-reset: RESET drops all requests and receives without completions.
//! Rule: qp-reuse: A queue pair that is used again is not disturbed by packets of its former life.
//! Rule: qp-flush: In ERR all requests and receives end with IBV_WC_WR_FLUSH_ERR, in order.

use rdmalab_roce::Discard;
use rdmalab_verbs::{PostError, State};
use rdmalab_wire::NakCode;

use crate::script::*;

#[test]
fn reset_forgets_requests_without_completions() {
    let mut t = Script::new();
    t.post(send(2000));
    t.post(read(1));
    t.receive(10);
    assert_eq!(t.take_lines().len(), 3);
    t.modify_state(State::Reset);
    t.expect_nothing();
    t.expect_no_completion();
    assert_eq!(t.until_timeout(), None);
    for answer in [ack(1), read_response_only(2, 1)] {
        t.deliver(answer);
        t.expect_discard(Discard::State);
    }
}

#[test]
fn reset_during_an_rnr_wait_ends_the_wait() {
    let mut t = Script::new();
    t.post(send(1));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    t.deliver(rnr_nak(0, 0));
    t.modify_state(State::Reset);
    assert_eq!(t.until_timeout(), None);
    t.reconnect(Setup { first_psn: 50, ..Setup::default() });
    t.post(send(1));
    t.expect("SEND_ONLY psn=50 len=1 ackreq");
}

#[test]
fn a_reused_queue_pair_begins_with_its_new_psns_and_a_whole_send_queue() {
    let mut t = Script::new();
    while t.try_post(send(1)).is_ok() {}
    assert_eq!(t.take_lines().len(), 128);
    t.modify_state(State::Reset);
    t.reconnect(Setup { first_psn: 0x1000, ..Setup::default() });
    let id = t.post(read(2000));
    t.post(send(1));
    t.expect("READ_REQUEST psn=4096 va=0x200000 rkey=0x200 dmalen=2000 ackreq");
    t.expect("SEND_ONLY psn=4098 len=1 ackreq");
    t.deliver(read_response_first(0x1000, 1024).msn(1));
    t.deliver(read_response_last(0x1001, 976).msn(1));
    t.expect_done(id);
}

#[test]
fn answers_to_the_former_life_are_dropped() {
    let mut t = Script::new();
    t.post(send(1));
    t.post(read(2000));
    assert_eq!(t.take_lines().len(), 2);
    t.modify_state(State::Reset);
    t.reconnect(Setup { first_psn: 0x1000, ..Setup::default() });
    let id = t.post(send(1));
    t.expect("SEND_ONLY psn=4096 len=1 ackreq");
    for answer in [
        ack(0),
        sequence_nak(1),
        rnr_nak(0, 1),
        nak(0, NakCode::InvalidRequest),
        read_response_first(1, 1024),
    ] {
        t.deliver(answer);
        t.expect_discard(Discard::UnexpectedResponse);
    }
    t.expect_nothing();
    t.deliver(ack(0x1000).msn(1));
    t.expect_done(id);
}

#[test]
fn requests_of_the_former_life_change_nothing() {
    let mut t = Script::new();
    t.receive(4000);
    t.deliver(send_first(0, 1024));
    t.modify_state(State::Reset);
    t.reconnect(Setup { first_psn: 0x1000, ..Setup::default() });
    t.receive(4000);
    t.expect_untouched(1024);
    // They lie in front of the expected PSN: duplicates, which are acknowledged and not carried out.
    t.deliver(send_middle(1, 1024).ackreq());
    t.expect("ACKNOWLEDGE psn=4095 ack msn=0");
    t.deliver(write_only(2, 2048, 8));
    t.expect("ACKNOWLEDGE psn=4095 ack msn=0");
    t.deliver(read_request(3, 0, 8));
    t.deliver(fetch_add_request(4, 4096, 1));
    t.expect_nothing();
    t.expect_untouched(1024);
    t.deliver(send_only(0x1000, 5));
    t.expect("ACKNOWLEDGE psn=4096 ack msn=1");
    t.expect_received(101, 5);
}

#[test]
fn requests_of_a_former_life_that_lie_ahead_are_one_gap() {
    let mut t = Script::from_psn(0x1000);
    t.modify_state(State::Reset);
    t.reconnect(Setup::default());
    t.deliver(write_only(0x1001, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 nak=psn_sequence_error msn=0");
    t.deliver(write_only(0x1002, 0, 8));
    t.expect_nothing();
    t.expect_untouched(0);
}

#[test]
fn posting_needs_a_state_that_takes_requests() {
    for state in [State::Reset, State::Init, State::Rtr] {
        let mut t = Script::in_state(state, Setup::default());
        assert_eq!(t.try_post(send(1)), Err(PostError::WrongState(state)));
    }
    let mut t = Script::in_state(State::Reset, Setup::default());
    assert_eq!(t.side.receive(1, 0, 1), Err(PostError::WrongState(State::Reset)));
    for state in [State::Init, State::Rtr, State::Rts, State::Sqd] {
        Script::in_state(state, Setup::default()).receive(1);
    }
}

#[test]
fn requests_posted_in_err_are_flushed() {
    let mut t = Script::in_state(State::Err, Setup::default());
    t.post(send(1));
    t.expect_flushed([0]);
    t.receive(1);
    t.expect_flushed([100]);
}

#[test]
fn going_to_err_by_order_flushes_both_queues_in_order() {
    let mut t = Script::new();
    t.post(send(1));
    t.post(read(1));
    t.receive(1);
    t.receive(1);
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(write_only(0, 0, 1));
    t.modify_state(State::Err);
    t.expect_flushed([0, 1, 100, 101]);
    t.expect_nothing();
    assert_eq!(t.until_timeout(), None);
}

#[test]
fn a_destroyed_queue_pair_is_unknown() {
    let mut t = Script::new();
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 1);
    let Side { endpoint, context, queue_pair, .. } = &mut t.side;
    endpoint.destroy_queue_pair(context, *queue_pair).unwrap();
    t.deliver(ack(0));
    t.expect_discard(Discard::UnknownQueuePair);
    assert_eq!(t.until_timeout(), None);
    assert_eq!(t.try_post(send(1)), Err(PostError::NoSuchQueue));
}

#[test]
fn reads_that_were_not_answered_before_a_reset_do_not_count_afterwards() {
    let mut t = Script::with(Setup { reads: 1, ..Setup::default() });
    t.deliver(read_request(0, 0, 8));
    t.modify_state(State::Reset);
    t.expect_nothing();
    t.reconnect(Setup { reads: 1, ..Setup::default() });
    t.deliver(read_request(0, 0, 8));
    t.expect("READ_RESPONSE_ONLY psn=0 ack msn=1 len=8");
}

#[test]
fn what_was_remembered_before_a_reset_is_forgotten() {
    let mut t = Script::from_psn(100);
    t.deliver(fetch_add_request(100, 0, 1));
    assert_eq!(t.take_lines().len(), 1);
    t.modify_state(State::Reset);
    t.reconnect(Setup { first_psn: 101, ..Setup::default() });
    t.deliver(fetch_add_request(100, 0, 1));
    t.expect_discard(Discard::NotReplayed);
    t.expect_nothing();
    t.expect_bytes(0, &1u64.to_ne_bytes());
}

#[test]
fn a_gap_that_was_told_before_a_reset_is_told_anew_afterwards() {
    let mut t = Script::new();
    t.deliver(write_only(1, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 nak=psn_sequence_error msn=0");
    t.modify_state(State::Reset);
    t.reconnect(Setup::default());
    t.deliver(write_only(1, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 nak=psn_sequence_error msn=0");
}

#[test]
fn a_message_begun_before_a_reset_does_not_go_on_afterwards() {
    let mut t = Script::new();
    t.receive(4096);
    t.deliver(send_first(0, 1024));
    t.modify_state(State::Reset);
    t.reconnect(Setup { first_psn: 1, ..Setup::default() });
    t.deliver(send_last(1, 8));
    t.expect("ACKNOWLEDGE psn=1 nak=invalid_request msn=0");
}
