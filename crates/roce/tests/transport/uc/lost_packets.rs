//! Packets of an unreliable connection that are lost, repeated or late.
//!
//! Rule: uc-loss-drops-message: a packet that is missing takes its whole message with it.
//! Rule: uc-resynchronizes: the next message begins with the next FIRST or ONLY packet, whatever its PSN.
//! Rule: uc-loss-keeps-receive: a SEND that is dropped leaves the receive that it had taken to the next one.

use rdmalab_roce::Discard;

use super::uc;
use crate::script::*;

#[test]
fn messages_without_a_gap_arrive() {
    let mut t = uc();
    t.receive(4096);
    t.receive_at(4096, 4096);
    t.deliver(send_first(0, 1024));
    t.deliver(send_middle(1, 1024));
    t.deliver(send_last_imm(2, 10, 7));
    t.deliver(send_only(3, 5));
    let received = t.expect_received(100, 2058);
    assert_eq!(received.immediate.map(|data| data.0), Some([0, 0, 0, 7]));
    t.expect_received(101, 5);
    t.expect_bytes(0, &[pattern(0, 1024), pattern(1, 1024), pattern(2, 10)].concat());
    t.expect_bytes(4096, &pattern(3, 5));
}

#[test]
fn whichever_packet_of_a_message_is_lost_the_message_is_dropped_and_the_next_arrives() {
    for lost in 0..3 {
        let mut t = uc();
        t.receive(4096);
        let message = [send_first(0, 1024), send_middle(1, 1024), send_last(2, 10)];
        for (number, packet) in message.into_iter().enumerate() {
            if number != lost {
                t.deliver(packet);
            }
        }
        t.expect_no_completion();
        t.deliver(send_first(3, 1024));
        t.deliver(send_last(4, 20));
        t.expect_received(100, 1044);
        t.expect_bytes(0, &[pattern(3, 1024), pattern(4, 20)].concat());
        assert_eq!(t.counters().out_of_seq_request, 1, "{lost} was lost");
    }
}

#[test]
fn packets_behind_a_gap_are_dropped_until_a_message_begins() {
    let mut t = uc();
    t.receive(8192);
    t.deliver(send_first(0, 1024));
    t.deliver(send_middle(2, 1024));
    t.expect_discard(Discard::OutOfSequence);
    t.deliver(send_middle(3, 1024));
    t.expect_discard(Discard::OutOfSequence);
    t.deliver(send_last(4, 1));
    t.expect_discard(Discard::OutOfSequence);
    t.expect_no_completion();
    t.deliver(send_only(5, 1));
    t.expect_received(100, 1);
}

#[test]
fn a_message_may_begin_at_any_psn() {
    let mut t = uc();
    for (at, psn) in [(0, 0x12_3456), (1, 0xff_ffff), (2, 0), (3, 0x80_0000), (4, 7)] {
        t.receive_at(at * 8, 8);
        t.deliver(send_only(psn, 8));
        t.expect_received(100 + at as u64, 8);
        t.expect_bytes(at * 8, &pattern(psn, 8));
    }
    assert_eq!(t.counters().out_of_seq_request, 4, "0 follows 0xffffff, the others follow nothing");
}

#[test]
fn a_packet_that_comes_twice_breaks_its_message() {
    let mut t = uc();
    t.receive(4096);
    t.deliver(send_first(0, 1024));
    t.deliver(send_middle(1, 1024));
    t.deliver(send_middle(1, 1024));
    t.expect_discard(Discard::OutOfSequence);
    t.deliver(send_last(2, 1));
    t.expect_discard(Discard::OutOfSequence);
    t.expect_no_completion();
}

#[test]
fn a_message_that_comes_twice_is_two_messages() {
    let mut t = uc();
    t.receive(8);
    t.receive(8);
    t.deliver(send_only(0, 8));
    t.deliver(send_only(0, 8));
    t.expect_received(100, 8);
    t.expect_received(101, 8);
}

#[test]
fn a_message_that_begins_within_another_ends_that_one() {
    let mut t = uc();
    t.receive(4096);
    t.deliver(send_first(0, 1024));
    t.deliver(send_first(1, 1024));
    t.deliver(send_last(2, 1));
    t.expect_received(100, 1025);
    t.expect_bytes(0, &[pattern(1, 1024), pattern(2, 1)].concat());
}

#[test]
fn a_gap_within_a_write_leaves_what_came_before_it_and_nothing_more() {
    let mut t = uc();
    t.deliver(write_first(0, 0, 3000, 1024));
    t.deliver(write_last(2, 952));
    t.expect_discard(Discard::OutOfSequence);
    t.expect_bytes(0, &pattern(0, 1024));
    t.expect_untouched(1024);
    t.deliver(write_only(3, 4096, 8));
    t.expect_bytes(4096, &pattern(3, 8));
}

#[test]
fn a_gap_before_the_immediate_data_of_a_write_takes_no_receive() {
    let mut t = uc();
    t.receive(0);
    t.deliver(write_first(0, 0, 3000, 1024));
    t.deliver(write_last_imm(2, 952, 1));
    t.expect_discard(Discard::OutOfSequence);
    t.expect_no_completion();
    t.deliver(write_only_imm(3, 0, 8, 2));
    t.expect_received(100, 8);
}
