//! Requests that come again: acknowledged, never carried out a second time.
//!
//! Rule: rc-duplicate: A SEND or WRITE that comes again is acknowledged and not carried out again, and takes
//! no receive.

use crate::script::*;

#[test]
fn a_repeated_send_is_acknowledged_and_takes_no_receive() {
    let mut t = Script::new();
    t.receive(10);
    t.receive(10);
    t.deliver(send_only(0, 10));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_received(100, 10);
    for _ in 0..3 {
        t.deliver(send_only(0, 10));
        t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    }
    t.expect_no_completion();
    assert_eq!(t.counters().duplicate_request, 3);
}

#[test]
fn a_repeated_write_does_not_write_again() {
    let mut t = Script::new();
    t.deliver(write_only(0, 0, 8));
    t.deliver(write_only(1, 0, 8));
    t.deliver(write_only(0, 0, 8));
    t.expect("ACKNOWLEDGE psn=1 ack msn=2");
    t.expect_bytes(0, &pattern(1, 8));
}

#[test]
fn a_repeated_write_with_immediate_completes_no_second_receive() {
    let mut t = Script::new();
    t.receive(10);
    t.receive(10);
    t.deliver(write_only_imm(0, 0, 8, 5));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_received(100, 8);
    t.deliver(write_only_imm(0, 0, 8, 5));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
}

#[test]
fn a_duplicate_is_answered_with_the_newest_acknowledgement() {
    let mut t = Script::new();
    for psn in 0..5 {
        t.deliver(write_only(psn, 0, 8));
    }
    t.expect("ACKNOWLEDGE psn=4 ack msn=5");
    t.deliver(write_only(1, 0, 8));
    t.expect("ACKNOWLEDGE psn=4 ack msn=5");
}

#[test]
fn a_duplicate_within_an_unfinished_message_that_asks_is_acknowledged_up_to_where_it_came() {
    let mut t = Script::new();
    t.receive(4096);
    t.deliver(send_first(0, 1024));
    t.deliver(send_middle(1, 1024));
    t.deliver(send_first(0, 1024).ackreq());
    t.expect("ACKNOWLEDGE psn=1 ack msn=0");
    t.deliver(send_last(2, 10));
    t.expect("ACKNOWLEDGE psn=2 ack msn=1");
    t.expect_received(100, 2058);
}

#[test]
fn a_duplicate_that_does_not_ask_is_not_acknowledged() {
    let mut t = Script::new();
    t.receive(4096);
    t.deliver(send_first(0, 1024));
    t.deliver(send_middle(1, 1024));
    t.deliver(send_first(0, 1024));
    t.deliver(send_middle(1, 1024));
    t.expect_nothing();
    t.deliver(send_last(2, 10));
    t.expect("ACKNOWLEDGE psn=2 ack msn=1");
    t.expect_received(100, 2058);
}

#[test]
fn a_whole_message_that_comes_again_is_placed_once() {
    let mut t = Script::new();
    let message = [write_first(0, 0, 2500, 1024), write_middle(1, 1024), write_last(2, 452)];
    for packet in message.clone() {
        t.deliver(packet);
    }
    t.expect("ACKNOWLEDGE psn=2 ack msn=1");
    t.side.fill(0, 2500, 77);
    let expected = t.side.bytes(0, 2500);
    for packet in message {
        t.deliver(packet);
    }
    t.expect("ACKNOWLEDGE psn=2 ack msn=1");
    t.expect_bytes(0, &expected);
}

#[test]
fn duplicates_are_answered_while_no_receive_is_there() {
    let mut t = Script::new();
    t.receive(10);
    t.deliver(send_only(0, 1));
    t.deliver(send_only(1, 1));
    t.expect("ACKNOWLEDGE psn=1 rnr=12 msn=1");
    t.expect_received(100, 1);
    t.deliver(send_only(0, 1));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
}

#[test]
fn the_oldest_possible_duplicate_is_half_of_all_psns_away() {
    let mut t = Script::from_psn(0x80_0000);
    t.deliver(write_only(0, 0, 8));
    t.expect("ACKNOWLEDGE psn=8388607 ack msn=0");
    t.expect_untouched(0);
}

#[test]
fn a_duplicate_is_not_judged_by_its_key() {
    let mut t = Script::new();
    t.deliver(write_only(0, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.side.context.deregister(KEY.value()).unwrap();
    t.deliver(write_only(0, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_state(rdmalab_verbs::State::Rts);
}
