//! End-to-end credits that a responder grants: how many receives are posted.
//!
//! Rule: credit-grant: Every acknowledgement and response says by a code of the table how many receives are
//! posted, at most as many as there are.
//! Rule: credit-shared-receive-queue: A queue pair with a shared receive queue grants no credits: it says
//! "none" (31).
//! Rule: credit-unsolicited: A peer that was told of no credits gets an acknowledgement when a receive is
//! posted.

use rdmalab_verbs::State;

use crate::script::*;

fn granting() -> Script {
    Script::with(Setup { profile: CREDITS, ..Setup::default() })
}

#[test]
fn the_code_is_the_largest_of_the_table_that_does_not_promise_too_much() {
    let table = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256];
    for receives in 0..=256_usize {
        let mut t = granting();
        for _ in 0..receives {
            t.receive(0);
        }
        let code = table.iter().rposition(|&credits| credits <= receives).unwrap();
        t.deliver(write_only(0, 0, 8));
        t.expect(&format!("ACKNOWLEDGE psn=0 ack credits={code} msn=1"));
    }
}

#[test]
fn a_receive_that_is_used_is_a_credit_less_and_a_message_more() {
    let mut t = granting();
    for _ in 0..3 {
        t.receive(8);
    }
    for n in 0..3 {
        t.deliver(send_only(n, 8));
        t.expect(&format!("ACKNOWLEDGE psn={n} ack credits={} msn={}", 2 - n, n + 1));
        t.expect_received(100 + u64::from(n), 8);
    }
}

#[test]
fn a_message_under_way_still_counts_its_receive() {
    let mut t = granting();
    t.receive(4096);
    t.deliver(send_first(0, 1024).ackreq());
    // The message is not among those complete, so its receive is among those promised.
    t.expect("ACKNOWLEDGE psn=0 ack credits=1 msn=0");
    t.deliver(send_last(1, 8));
    t.expect("ACKNOWLEDGE psn=1 ack credits=0 msn=1");
    t.expect_received(100, 1032);
}

#[test]
fn every_answer_that_has_room_for_them_brings_credits() {
    let mut t = granting();
    t.receive(8);
    t.deliver(read_request(0, 0, 3000));
    t.expect("READ_RESPONSE_FIRST psn=0 ack credits=1 msn=1 len=1024");
    t.expect("READ_RESPONSE_MIDDLE psn=1 len=1024");
    t.expect("READ_RESPONSE_LAST psn=2 ack credits=1 msn=1 len=952");
    t.deliver(fetch_add_request(3, 0, 1));
    t.expect("ATOMIC_ACKNOWLEDGE psn=3 ack credits=1 msn=2 original=0x0");
    t.deliver(flush_request(4, 0, 8, 1));
    t.expect("READ_RESPONSE_ONLY psn=4 ack credits=1 msn=3 len=0");
    t.deliver(read_request(5, 0, 0));
    t.expect("READ_RESPONSE_ONLY psn=5 ack credits=1 msn=4 len=0");
}

#[test]
fn credits_are_those_of_the_time_when_the_answer_leaves() {
    let mut t = granting();
    t.deliver(write_only(0, 0, 8));
    t.receive(8);
    t.receive(8);
    t.expect("ACKNOWLEDGE psn=0 ack credits=2 msn=1");
    t.expect_nothing();
}

#[test]
fn a_shared_receive_queue_promises_nothing() {
    let mut t = Script::with(Setup { profile: CREDITS, shared: true, ..Setup::default() });
    t.deliver(write_only(0, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    for _ in 0..3 {
        t.receive(8);
    }
    t.expect_nothing();
    t.deliver(send_only(1, 8));
    t.expect("ACKNOWLEDGE psn=1 ack msn=2");
    t.expect_received(100, 8);
}

#[test]
fn a_receive_posted_for_a_peer_without_credits_is_told_at_once_and_only_the_first() {
    let mut t = granting();
    t.deliver(write_only(0, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack credits=0 msn=1");
    t.receive(8);
    t.expect("ACKNOWLEDGE psn=0 ack credits=1 msn=1");
    t.receive(8);
    t.expect_nothing();
}

#[test]
fn receives_posted_together_are_told_together() {
    let mut t = granting();
    t.deliver(write_only(0, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack credits=0 msn=1");
    for _ in 0..8 {
        t.receive(8);
    }
    t.expect("ACKNOWLEDGE psn=0 ack credits=6 msn=1");
    t.expect_nothing();
}

#[test]
fn a_peer_that_was_told_nothing_yet_or_that_has_credits_is_not_told() {
    let mut t = Script::in_state(State::Init, Setup { profile: CREDITS, ..Setup::default() });
    t.receive(8);
    t.expect_nothing();
    let mut t = granting();
    t.receive(8);
    t.receive(8);
    t.expect_nothing();
    t.deliver(send_only(0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack credits=1 msn=1");
    t.expect_received(100, 8);
    t.receive(8);
    t.expect_nothing();
}

#[test]
fn a_peer_that_is_waiting_out_an_rnr_nak_is_told_what_it_may_send() {
    let mut t = granting();
    t.deliver(send_only(0, 8));
    t.expect("ACKNOWLEDGE psn=0 rnr=12 msn=0");
    t.receive(8);
    // All before the packet that waits.
    t.expect("ACKNOWLEDGE psn=16777215 ack credits=1 msn=0");
    t.deliver(send_only(0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack credits=0 msn=1");
    t.expect_received(100, 8);
}

#[test]
fn nothing_is_told_in_err_and_after_a_reset_everything_is_forgotten() {
    let mut t = granting();
    t.deliver(write_only(0, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack credits=0 msn=1");
    t.modify_state(State::Err);
    t.receive(8);
    t.expect_flushed([100]);
    t.expect_nothing();
    t.modify_state(State::Reset);
    t.reconnect(Setup { profile: CREDITS, ..Setup::default() });
    t.receive(8);
    t.expect_nothing();
}
