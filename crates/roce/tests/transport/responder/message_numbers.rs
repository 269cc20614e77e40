//! The MSN counts request messages: each when it is complete, a READ when it is accepted.
//!
//! Rule: rc-msn: Every answer carries the number of messages complete; a READ counts when it is accepted.

use crate::script::*;

#[test]
fn each_complete_message_counts_one() {
    let mut t = Script::new();
    t.receive(5000);
    t.receive(5000);
    t.deliver(send_first(0, 1024).ackreq());
    t.expect("ACKNOWLEDGE psn=0 ack msn=0");
    t.deliver(send_last(1, 1));
    t.expect("ACKNOWLEDGE psn=1 ack msn=1");
    t.expect_received(100, 1025);
    t.deliver(write_only(2, 0, 0));
    t.expect("ACKNOWLEDGE psn=2 ack msn=2");
    t.deliver(write_only_imm(3, 0, 8, 1));
    t.expect("ACKNOWLEDGE psn=3 ack msn=3");
    t.expect_received(101, 8);
    t.deliver(fetch_add_request(4, 8192, 1));
    t.expect("ATOMIC_ACKNOWLEDGE psn=4 ack msn=4 original=0x0");
}

#[test]
fn a_read_counts_when_it_is_accepted_and_its_response_keeps_that_number() {
    let mut t = Script::new();
    t.deliver(read_request(0, 0, 3000));
    t.deliver(write_only(3, 4096, 8));
    t.deliver(read_request(4, 0, 8));
    t.expect("READ_RESPONSE_FIRST psn=0 ack msn=1 len=1024");
    t.expect("READ_RESPONSE_MIDDLE psn=1 len=1024");
    t.expect("READ_RESPONSE_LAST psn=2 ack msn=1 len=952");
    t.expect("ACKNOWLEDGE psn=3 ack msn=2");
    t.expect("READ_RESPONSE_ONLY psn=4 ack msn=3 len=8");
}

#[test]
fn duplicates_do_not_count_and_carry_the_present_number() {
    let mut t = Script::new();
    t.deliver(write_only(0, 0, 8));
    t.deliver(write_only(1, 0, 8));
    t.expect("ACKNOWLEDGE psn=1 ack msn=2");
    t.deliver(write_only(0, 0, 8));
    t.expect("ACKNOWLEDGE psn=1 ack msn=2");
    t.deliver(write_only(2, 0, 8));
    t.expect("ACKNOWLEDGE psn=2 ack msn=3");
}

#[test]
fn naks_carry_the_number_of_the_last_complete_message() {
    let mut t = Script::new();
    t.deliver(write_only(0, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.deliver(write_only(5, 0, 8));
    t.expect("ACKNOWLEDGE psn=1 nak=psn_sequence_error msn=1");
    t.deliver(send_only(1, 8));
    t.expect("ACKNOWLEDGE psn=1 rnr=12 msn=1");
    t.deliver(write_only(1, 0, 8).key(0));
    t.expect("ACKNOWLEDGE psn=1 nak=remote_access_error msn=1");
}

#[test]
fn the_number_begins_at_zero_for_each_connection() {
    let mut t = Script::new();
    t.deliver(write_only(0, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.modify_state(rdmalab_verbs::State::Reset);
    t.reconnect(Setup { first_psn: 9, ..Setup::default() });
    t.deliver(write_only(9, 0, 8));
    t.expect("ACKNOWLEDGE psn=9 ack msn=1");
}
