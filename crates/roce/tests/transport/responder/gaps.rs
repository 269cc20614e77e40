//! A packet ahead of the expected PSN: one NAK for each gap, then silence until the gap is filled.
//!
//! Rule: rc-sequence-nak-once: A packet ahead of the expected PSN is answered by one NAK for each gap, which
//! names the expected PSN; then nothing is said until the gap is filled.

use rdmalab_roce::Discard;
use rdmalab_verbs::State;

use crate::script::*;

#[test]
fn a_gap_is_told_once() {
    let mut t = Script::new();
    t.deliver(write_only(0, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.deliver(write_only(2, 100, 8));
    t.expect("ACKNOWLEDGE psn=1 nak=psn_sequence_error msn=1");
    for psn in 3..10 {
        t.deliver(write_only(psn, 100, 8));
        t.expect_discard(Discard::OutOfSequence);
    }
    t.expect_nothing();
    t.expect_untouched(8);
    t.expect_state(State::Rts);
    assert_eq!(t.counters().send_seq_err, 1);
    assert_eq!(t.counters().out_of_seq_request, 8);
}

#[test]
fn after_the_gap_is_filled_the_next_one_is_told_again() {
    let mut t = Script::new();
    t.deliver(write_only(1, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 nak=psn_sequence_error msn=0");
    t.deliver(write_only(0, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.deliver(write_only(2, 0, 8));
    t.expect("ACKNOWLEDGE psn=1 nak=psn_sequence_error msn=1");
}

#[test]
fn a_duplicate_does_not_fill_the_gap() {
    let mut t = Script::new();
    t.deliver(write_only(0, 0, 8));
    t.deliver(write_only(2, 0, 8));
    t.expect("ACKNOWLEDGE psn=1 nak=psn_sequence_error msn=1");
    t.deliver(write_only(0, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.deliver(write_only(2, 0, 8));
    t.expect_nothing();
}

#[test]
fn every_kind_of_request_ahead_is_a_gap_and_none_is_carried_out() {
    let ahead = [
        send_only(5, 8),
        send_middle(5, 8),
        write_only(5, 0, 8),
        write_only_imm(5, 0, 8, 1),
        read_request(5, 0, 8),
        compare_swap_request(5, 0, 0, 1),
        fetch_add_request(5, 0, 1),
    ];
    for request in ahead {
        let mut t = Script::new();
        t.receive(8);
        t.deliver(request);
        t.expect("ACKNOWLEDGE psn=0 nak=psn_sequence_error msn=0");
        t.expect_untouched(0);
    }
}

#[test]
fn a_gap_within_a_message_leaves_what_came_before_it() {
    let mut t = Script::new();
    t.receive(3000);
    t.deliver(send_first(0, 1024));
    t.deliver(send_last(2, 100));
    t.expect("ACKNOWLEDGE psn=1 nak=psn_sequence_error msn=0");
    t.deliver(send_middle(1, 1024));
    t.deliver(send_last(2, 100));
    t.expect("ACKNOWLEDGE psn=2 ack msn=1");
    t.expect_received(100, 2148);
    t.expect_bytes(0, &[pattern(0, 1024), pattern(1, 1024), pattern(2, 100)].concat());
}

#[test]
fn a_nak_says_what_an_acknowledgement_before_it_would_have_said() {
    let mut t = Script::new();
    t.deliver(write_only(0, 0, 8));
    t.deliver(write_only(1, 0, 8));
    t.deliver(write_only(3, 0, 8));
    t.expect("ACKNOWLEDGE psn=2 nak=psn_sequence_error msn=2");
}

#[test]
fn a_nak_goes_out_behind_the_responses_before_it() {
    let mut t = Script::new();
    t.deliver(read_request(0, 0, 2000));
    t.deliver(write_only(3, 0, 8));
    t.expect("READ_RESPONSE_FIRST psn=0 ack msn=1 len=1024");
    t.expect("READ_RESPONSE_LAST psn=1 ack msn=1 len=976");
    t.expect("ACKNOWLEDGE psn=2 nak=psn_sequence_error msn=1");
}

#[test]
fn the_farthest_packet_ahead_is_a_gap_and_the_next_a_duplicate() {
    let mut t = Script::new();
    t.deliver(write_only(0x7f_ffff, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 nak=psn_sequence_error msn=0");
    t.deliver(write_only(0x80_0000, 0, 8));
    t.expect("ACKNOWLEDGE psn=16777215 ack msn=0");
    t.expect_untouched(0);
}
