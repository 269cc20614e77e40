//! Acknowledgements: only for those who ask, and one for many where they can be answered together.
//!
//! Rule: rc-ack-on-request: A responder acknowledges what asks for it, and may answer for many requests at
//! once.

use crate::script::*;

fn silent(mut packet: Incoming) -> Incoming {
    packet.bth.ack_request = false;
    packet
}

#[test]
fn a_request_that_does_not_ask_is_carried_out_and_not_acknowledged() {
    let mut t = Script::new();
    t.receive(10);
    t.deliver(silent(write_only(0, 4096, 8)));
    t.deliver(silent(send_only(1, 4)));
    t.expect_nothing();
    t.expect_bytes(4096, &pattern(0, 8));
    t.expect_received(100, 4);
    t.deliver(write_only(2, 4096, 8));
    t.expect("ACKNOWLEDGE psn=2 ack msn=3");
}

#[test]
fn requests_that_arrive_together_are_acknowledged_together() {
    let mut t = Script::new();
    for psn in 0..10 {
        t.deliver(write_only(psn, 0, 8));
    }
    t.expect("ACKNOWLEDGE psn=9 ack msn=10");
    t.expect_nothing();
}

#[test]
fn a_packet_in_the_midst_of_a_message_may_ask() {
    let mut t = Script::new();
    t.deliver(write_first(0, 0, 3000, 1024).ackreq());
    t.expect("ACKNOWLEDGE psn=0 ack msn=0");
    t.deliver(write_middle(1, 1024));
    t.expect_nothing();
    t.deliver(write_last(2, 952));
    t.expect("ACKNOWLEDGE psn=2 ack msn=1");
}

#[test]
fn a_response_with_data_is_an_acknowledgement_too() {
    let mut t = Script::new();
    t.deliver(silent(write_only(0, 0, 8)));
    t.deliver(read_request(1, 0, 8));
    t.expect("READ_RESPONSE_ONLY psn=1 ack msn=2 len=8");
}

#[test]
fn reads_and_atomics_are_answered_whether_they_ask_or_not() {
    let mut t = Script::new();
    t.deliver(silent(read_request(0, 0, 8)));
    t.deliver(silent(fetch_add_request(1, 0, 1)));
    t.expect("READ_RESPONSE_ONLY psn=0 ack msn=1 len=8");
    t.expect("ATOMIC_ACKNOWLEDGE psn=1 ack msn=2 original=0x0");
}

#[test]
fn no_credits_are_handed_out() {
    let mut t = Script::new();
    t.receive(1);
    t.deliver(send_only(0, 1));
    // A line with credits would say `credits=`.
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_received(100, 1);
}
