//! The expected PSN wraps at 2^24 like any other.
//!
//! Rule: rc-psn-wrap-responder: The expected PSN wraps at 2^24; half of all PSNs in front of it are
//! duplicates.

use crate::script::*;

#[test]
fn messages_are_taken_across_the_wrap() {
    let mut t = Script::from_psn(0xff_ffff);
    t.receive(4096);
    t.deliver(send_first(0xff_ffff, 1024));
    t.deliver(send_middle(0, 1024));
    t.deliver(send_last(1, 8));
    t.expect("ACKNOWLEDGE psn=1 ack msn=1");
    t.expect_received(100, 2056);
}

#[test]
fn a_read_whose_response_wraps_is_answered_and_replayed() {
    let mut t = Script::from_psn(0xff_fffe);
    t.deliver(read_request(0xff_fffe, 0, 4000));
    t.expect("READ_RESPONSE_FIRST psn=16777214 ack msn=1 len=1024");
    t.expect("READ_RESPONSE_MIDDLE psn=16777215 len=1024");
    t.expect("READ_RESPONSE_MIDDLE psn=0 len=1024");
    t.expect("READ_RESPONSE_LAST psn=1 ack msn=1 len=928");
    t.deliver(write_only(2, 0, 8));
    t.expect("ACKNOWLEDGE psn=2 ack msn=2");
    t.deliver(read_request(0xff_ffff, 1024, 2976));
    t.expect("READ_RESPONSE_FIRST psn=16777215 ack msn=2 len=1024");
    t.expect("READ_RESPONSE_MIDDLE psn=0 len=1024");
    t.expect("READ_RESPONSE_LAST psn=1 ack msn=2 len=928");
    t.deliver(read_request(0, 2048, 1952));
    t.expect("READ_RESPONSE_FIRST psn=0 ack msn=2 len=1024");
    t.expect("READ_RESPONSE_LAST psn=1 ack msn=2 len=928");
}

#[test]
fn a_gap_across_the_wrap_is_told_with_the_psn_in_front_of_it() {
    let mut t = Script::from_psn(0xff_ffff);
    t.deliver(write_only(0, 0, 8));
    t.expect("ACKNOWLEDGE psn=16777215 nak=psn_sequence_error msn=0");
}

#[test]
fn a_duplicate_from_in_front_of_the_wrap_is_one() {
    let mut t = Script::from_psn(0xff_ffff);
    t.deliver(write_only(0xff_ffff, 0, 8));
    t.deliver(write_only(0, 0, 8));
    t.deliver(write_only(0xff_ffff, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack msn=2");
    t.expect_bytes(0, &pattern(0, 8));
}

#[test]
fn a_remembered_atomic_is_found_across_the_wrap() {
    let mut t = Script::from_psn(0xff_ffff);
    t.deliver(fetch_add_request(0xff_ffff, 0, 5));
    t.deliver(fetch_add_request(0, 0, 5));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(fetch_add_request(0xff_ffff, 0, 5));
    t.expect("ATOMIC_ACKNOWLEDGE psn=16777215 ack msn=2 original=0x0");
}
