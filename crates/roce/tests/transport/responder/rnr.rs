//! No receive is posted: the peer is asked to come again, and nothing has happened.
//!
//! Rule: rc-rnr-nak: A SEND, or the last packet of a WRITE with immediate data, that finds no receive is
//! answered by an RNR NAK with the timer that was set, and has not happened.
//! Rule: rc-rnr-first-packet: A long SEND is judged by its first packet alone.

use rdmalab_roce::Discard;
use rdmalab_verbs::{Attributes, State};

use crate::script::*;

#[test]
fn a_send_without_a_receive_gets_an_rnr_nak_with_the_timer_that_was_set() {
    for timer in [0, 1, 12, 31] {
        let mut t = Script::new();
        t.modify(Attributes { min_rnr_timer: Some(timer), ..Attributes::default() });
        t.deliver(send_only(0, 10));
        t.expect(&format!("ACKNOWLEDGE psn=0 rnr={timer} msn=0"));
        t.expect_state(State::Rts);
        assert_eq!(t.counters().send_rnr_err, 1);
    }
}

#[test]
fn the_psn_is_still_expected_after_an_rnr_nak() {
    let mut t = Script::new();
    t.deliver(send_only(0, 10));
    t.expect("ACKNOWLEDGE psn=0 rnr=12 msn=0");
    t.deliver(send_only(0, 10));
    t.expect("ACKNOWLEDGE psn=0 rnr=12 msn=0");
    t.receive(10);
    t.deliver(send_only(0, 10));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_received(100, 10);
    t.expect_bytes(0, &pattern(0, 10));
}

#[test]
fn what_follows_an_rnr_nak_is_dropped_in_silence() {
    let mut t = Script::new();
    t.deliver(send_first(0, 1024));
    t.expect("ACKNOWLEDGE psn=0 rnr=12 msn=0");
    t.receive(4000);
    t.deliver(send_middle(1, 1024));
    t.expect_discard(Discard::OutOfSequence);
    t.deliver(send_last(2, 10));
    t.expect_discard(Discard::OutOfSequence);
    t.expect_nothing();
    t.expect_untouched(0);
    t.deliver(send_first(0, 1024));
    t.deliver(send_last(1, 10));
    t.expect("ACKNOWLEDGE psn=1 ack msn=1");
    t.expect_received(100, 1034);
}

#[test]
fn a_long_send_is_judged_by_its_first_packet_alone() {
    let mut t = Script::new();
    t.receive(4000);
    t.deliver(send_first(0, 1024));
    t.deliver(send_middle(1, 1024));
    t.deliver(send_last(2, 10));
    t.expect("ACKNOWLEDGE psn=2 ack msn=1");
    t.expect_received(100, 2058);
    t.deliver(send_first(3, 1024));
    t.expect("ACKNOWLEDGE psn=3 rnr=12 msn=1");
}

#[test]
fn a_write_with_immediate_is_judged_by_its_last_packet() {
    let mut t = Script::new();
    t.deliver(write_first(0, 0, 2000, 1024));
    t.expect_nothing();
    t.deliver(write_last_imm(1, 976, 7));
    t.expect("ACKNOWLEDGE psn=1 rnr=12 msn=0");
    t.expect_untouched(1024);
    t.receive(0);
    t.deliver(write_last_imm(1, 976, 7));
    t.expect("ACKNOWLEDGE psn=1 ack msn=1");
    t.expect_received(100, 2000);
    t.expect_bytes(0, &[pattern(0, 1024), pattern(1, 976)].concat());
}

#[test]
fn a_short_write_with_immediate_writes_nothing_while_no_receive_is_there() {
    let mut t = Script::new();
    t.deliver(write_only_imm(0, 0, 8, 7));
    t.expect("ACKNOWLEDGE psn=0 rnr=12 msn=0");
    t.expect_untouched(0);
    t.receive(0);
    t.deliver(write_only_imm(0, 0, 8, 7));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_received(100, 8);
    t.expect_bytes(0, &pattern(0, 8));
}

#[test]
fn requests_that_need_no_receive_never_get_an_rnr_nak() {
    let mut t = Script::new();
    t.deliver(write_only(0, 0, 8));
    t.deliver(read_request(1, 0, 8));
    t.deliver(fetch_add_request(2, 64, 1));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect("READ_RESPONSE_ONLY psn=1 ack msn=2 len=8");
    t.expect("ATOMIC_ACKNOWLEDGE psn=2 ack msn=3 original=0x0");
}

#[test]
fn an_rnr_nak_says_what_an_acknowledgement_before_it_would_have_said() {
    let mut t = Script::new();
    t.deliver(write_only(0, 0, 8));
    t.deliver(write_only(1, 0, 8));
    t.deliver(send_only(2, 8));
    t.expect("ACKNOWLEDGE psn=2 rnr=12 msn=2");
}

#[test]
fn rnr_naks_that_nobody_fetches_do_not_pile_up() {
    let mut t = Script::new();
    for _ in 0..10_000 {
        t.deliver(send_only(0, 8));
    }
    let lines = t.take_lines();
    assert_eq!(lines.len(), 1, "the last says it all");
}

#[test]
fn an_acknowledgement_of_less_does_not_take_the_place_of_an_rnr_nak() {
    let mut t = Script::new();
    t.deliver(write_only(0, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.deliver(send_only(1, 8));
    t.deliver(write_only(0, 0, 8));
    t.expect("ACKNOWLEDGE psn=1 rnr=12 msn=1");
}
