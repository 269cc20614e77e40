//! Several targets whose messages land in one shared receive queue.
//!
//! Rule: xrc-shared-between-targets: any number of targets of an XRC domain fill one shared receive queue, in the order
//! in which their messages begin; each message keeps the receive that it began with.

use rdmalab_verbs::CompletionStatus;

use super::{setup, target};
use crate::script::*;

#[test]
fn targets_take_turns_at_one_queue() {
    let mut t = target();
    let first = t.side.queue_pair;
    let second = t.side.connect_another(&setup(), peer(), PEER_QUEUE_PAIR);
    for place in 0..4 {
        t.receive_at(place * 100, 8);
    }
    for psn in 0..2 {
        t.deliver(send_only(psn, 8).to(second));
        t.deliver(send_only(psn, 8));
    }
    t.expect("XRC ACKNOWLEDGE psn=1 ack msn=2");
    t.expect("XRC ACKNOWLEDGE psn=1 ack msn=2");
    for (id, number) in [(100, second), (101, first), (102, second), (103, first)] {
        t.expect_completion_of(number, id, CompletionStatus::Success);
    }
}

#[test]
fn long_messages_of_two_targets_each_keep_their_receive() {
    let mut t = target();
    let first = t.side.queue_pair;
    let second = t.side.connect_another(&setup(), peer(), PEER_QUEUE_PAIR);
    t.receive_at(0, 4096);
    t.receive_at(8192, 4096);
    t.deliver(send_first(0, 1024));
    t.deliver(send_first(0, 1024).payload(&[7; 1024]).to(second));
    t.deliver(send_middle(1, 1024));
    t.deliver(send_middle(1, 1024).payload(&[8; 1024]).to(second));
    t.deliver(send_last(2, 10).payload(&[9; 10]).to(second));
    t.deliver(send_last(2, 20));
    t.expect("XRC ACKNOWLEDGE psn=2 ack msn=1");
    t.expect("XRC ACKNOWLEDGE psn=2 ack msn=1");
    let received = t.expect_completion_of(second, 101, CompletionStatus::Success);
    assert_eq!(received.length, 2058);
    let received = t.expect_completion_of(first, 100, CompletionStatus::Success);
    assert_eq!(received.length, 2068);
    t.expect_bytes(0, &[pattern(0, 1024), pattern(1, 1024), pattern(2, 20)].concat());
    t.expect_bytes(8192, &[vec![7; 1024], vec![8; 1024], vec![9; 10]].concat());
}

#[test]
fn a_target_that_fails_leaves_the_others_their_receives() {
    let mut t = target();
    let second = t.side.connect_another(&setup(), peer(), PEER_QUEUE_PAIR);
    t.receive_at(0, 8);
    t.receive_at(100, 8);
    t.deliver(write_only(0, 0, 8).key(0));
    t.expect("XRC ACKNOWLEDGE psn=0 nak=remote_access_error msn=0");
    t.expect_no_completion();
    for (psn, id) in [(0, 100), (1, 101)] {
        t.deliver(send_only(psn, 8).to(second));
        t.expect(&format!("XRC ACKNOWLEDGE psn={psn} ack msn={}", psn + 1));
        t.expect_completion_of(second, id, CompletionStatus::Success);
    }
}
