//! How many READs and atomics a responder answers at once.

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
    t.expect_state(rdmalab_verbs::State::Err);
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
