//! Requests that come again.
//!
//! Rule: xrc-duplicate: a repeated request of an extended reliable connection is acknowledged or replayed, never
//! carried out again.

use rdmalab_roce::Discard;

use super::target;
use crate::script::*;

#[test]
fn a_repeated_send_takes_no_second_receive() {
    let mut t = target();
    t.receive(8);
    t.receive(8);
    t.deliver(send_only(0, 8));
    t.expect("XRC ACKNOWLEDGE psn=0 ack msn=1");
    t.deliver(send_only(0, 8));
    t.expect("XRC ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_received(100, 8);
    t.expect_no_completion();
    assert_eq!(t.counters().duplicate_request, 1);
}

#[test]
fn a_repeated_atomic_gets_the_value_that_it_got() {
    let mut t = target();
    for _ in 0..3 {
        t.deliver(fetch_add_request(0, 0, 1));
        t.expect("XRC ATOMIC_ACKNOWLEDGE psn=0 ack msn=1 original=0x0");
    }
    t.expect_bytes(0, &1_u64.to_ne_bytes());
}

#[test]
fn a_repeated_read_is_answered_from_where_it_begins() {
    let mut t = target();
    t.side.fill(0, 3000, 1);
    t.deliver(read_request(0, 0, 3000));
    assert_eq!(t.take_lines().len(), 3);
    t.deliver(read_request(1, 1024, 1976));
    t.expect("XRC READ_RESPONSE_FIRST psn=1 ack msn=1 len=1024");
    t.expect("XRC READ_RESPONSE_LAST psn=2 ack msn=1 len=952");
}

#[test]
fn an_atomic_that_is_not_the_same_is_not_replayed() {
    let mut t = target();
    t.deliver(fetch_add_request(0, 0, 1));
    t.expect("XRC ATOMIC_ACKNOWLEDGE psn=0 ack msn=1 original=0x0");
    t.deliver(fetch_add_request(0, 0, 2));
    t.expect_discard(Discard::NotReplayed);
    t.expect_nothing();
}
