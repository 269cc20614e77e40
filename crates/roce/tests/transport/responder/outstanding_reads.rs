//! How many READs and atomics a responder answers at once.
//!
//! Rule: rc-max-dest-rd-atomic: More READs and atomics at once than the responder was told to take are an
//! invalid request.

use rdmalab_verbs::{Attributes, State};

use super::expect_fatal;
use crate::script::*;

#[test]
fn more_reads_at_once_than_agreed_are_an_invalid_request() {
    let mut t = Script::with(Setup { reads: 2, ..Setup::default() });
    t.deliver(read_request(0, 0, 8));
    t.deliver(fetch_add_request(1, 64, 1));
    t.deliver(read_request(2, 0, 8));
    t.expect("READ_RESPONSE_ONLY psn=0 ack msn=1 len=8");
    t.expect("ATOMIC_ACKNOWLEDGE psn=1 ack msn=2 original=0x0");
    t.expect("ACKNOWLEDGE psn=2 nak=invalid_request msn=2");
    t.expect_state(State::Err);
}

#[test]
fn a_read_that_is_answered_makes_room_for_another() {
    let mut t = Script::with(Setup { reads: 1, ..Setup::default() });
    for psn in 0..5 {
        t.deliver(read_request(psn, 0, 8));
        t.expect(&format!("READ_RESPONSE_ONLY psn={psn} ack msn={} len=8", psn + 1));
    }
}

#[test]
fn where_no_reads_were_agreed_each_is_an_invalid_request() {
    let requests = [read_request(0, 0, 8), fetch_add_request(0, 0, 1), compare_swap_request(0, 0, 0, 1)];
    for request in requests {
        let mut t = Script::with(Setup { reads: 0, ..Setup::default() });
        expect_fatal(&mut t, request, "ACKNOWLEDGE psn=0 nak=invalid_request msn=0");
        t.expect_untouched(0);
    }
}

#[test]
fn acknowledgements_between_them_do_not_count() {
    let mut t = Script::with(Setup { reads: 4, ..Setup::default() });
    for n in 0..4 {
        t.deliver(read_request(2 * n, 0, 8));
        t.deliver(write_only(2 * n + 1, 64, 8));
    }
    let lines = t.take_lines();
    assert_eq!(lines.len(), 8, "{lines:#?}");
    assert_eq!(lines[7], "ACKNOWLEDGE psn=7 ack msn=8");
}

fn allow(reads: u8) -> Attributes {
    Attributes { max_destination_reads: Some(reads), ..Attributes::default() }
}

#[test]
fn a_larger_number_agreed_while_drained_holds_at_once_for_answers_and_for_memory() {
    let mut t = Script::in_state(State::Sqd, Setup { reads: 1, ..Setup::default() });
    t.modify(allow(3));
    for psn in 0..3 {
        t.deliver(fetch_add_request(psn, 0, 1));
    }
    t.expect("ATOMIC_ACKNOWLEDGE psn=0 ack msn=1 original=0x0");
    t.expect("ATOMIC_ACKNOWLEDGE psn=1 ack msn=2 original=0x1");
    t.expect("ATOMIC_ACKNOWLEDGE psn=2 ack msn=3 original=0x2");
    t.deliver(fetch_add_request(0, 0, 1));
    t.expect("ATOMIC_ACKNOWLEDGE psn=0 ack msn=3 original=0x0");
}

#[test]
fn a_changed_number_loses_no_answer_that_is_due() {
    for reads in [0, 1, 128] {
        let mut t = Script::in_state(State::Sqd, Setup { reads: 2, ..Setup::default() });
        t.deliver(read_request(0, 0, 1025));
        t.deliver(fetch_add_request(2, 64, 1));
        t.deliver(write_only(3, 128, 1));
        t.modify(allow(reads));
        t.expect("READ_RESPONSE_FIRST psn=0 ack msn=1 len=1024");
        t.expect("READ_RESPONSE_LAST psn=1 ack msn=1 len=1");
        t.expect("ATOMIC_ACKNOWLEDGE psn=2 ack msn=2 original=0x0");
        t.expect("ACKNOWLEDGE psn=3 ack msn=3");
    }
}

#[test]
fn a_smaller_number_forgets_the_oldest() {
    let mut t = Script::in_state(State::Sqd, Setup { reads: 2, ..Setup::default() });
    t.deliver(fetch_add_request(0, 0, 1));
    t.deliver(fetch_add_request(1, 0, 1));
    assert_eq!(t.take_lines().len(), 2);
    t.modify(allow(1));
    t.deliver(fetch_add_request(0, 0, 1));
    t.expect_discard(rdmalab_roce::Discard::NotReplayed);
    t.deliver(fetch_add_request(1, 0, 1));
    t.expect("ATOMIC_ACKNOWLEDGE psn=1 ack msn=2 original=0x1");
}
