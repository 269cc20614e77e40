//! A READ that is repeated asks only for what has not arrived, and takes the answer in whatever form peers give it.
//!
//! Rule: rc-read-partial-retry: A READ that is asked for again asks for what is missing: PSN, address and
//! length move by the responses that arrived.

use crate::script::*;

/// A READ of 4000 bytes, of which `arrived` packets came before the timer ran out.
fn interrupted(arrived: u32) -> Script {
    let mut t = Script::with(Setup { timeout: 1, ..Setup::default() });
    t.post(read(4000).at(8192));
    t.expect("READ_REQUEST psn=0 va=0x200000 rkey=0x200 dmalen=4000 ackreq");
    if arrived > 0 {
        t.deliver(read_response_first(0, 1024).msn(1));
    }
    for psn in 1..arrived {
        t.deliver(read_response_middle(psn, 1024));
    }
    t.advance(8_192);
    t
}

#[track_caller]
fn expect_whole(mut t: Script) {
    t.expect_done(0);
    let expected = [pattern(0, 1024), pattern(1, 1024), pattern(2, 1024), pattern(3, 928)].concat();
    assert_eq!(t.side.bytes(8192, 4000), expected);
}

#[test]
fn a_read_of_which_nothing_came_is_repeated_as_it_was() {
    let mut t = interrupted(0);
    t.expect("READ_REQUEST psn=0 va=0x200000 rkey=0x200 dmalen=4000 ackreq");
    t.deliver(read_response_first(0, 1024).msn(1));
    t.deliver(read_response_middle(1, 1024));
    t.deliver(read_response_middle(2, 1024));
    t.deliver(read_response_last(3, 928).msn(1));
    expect_whole(t);
}

#[test]
fn a_repeated_read_asks_for_the_rest_at_the_next_psn() {
    for (arrived, line) in [
        (1, "READ_REQUEST psn=1 va=0x200400 rkey=0x200 dmalen=2976 ackreq"),
        (2, "READ_REQUEST psn=2 va=0x200800 rkey=0x200 dmalen=1952 ackreq"),
        (3, "READ_REQUEST psn=3 va=0x200c00 rkey=0x200 dmalen=928 ackreq"),
    ] {
        interrupted(arrived).expect(line);
    }
}

#[test]
fn the_answer_to_a_shortened_read_may_begin_with_first_or_only() {
    let mut t = interrupted(2);
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(read_response_first(2, 1024).msn(1));
    t.deliver(read_response_last(3, 928).msn(1));
    expect_whole(t);

    let mut t = interrupted(3);
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(read_response_only(3, 928).msn(1));
    expect_whole(t);
}

#[test]
fn the_answer_to_a_shortened_read_may_begin_with_middle_or_last_as_linux_rxe_has_it() {
    let mut t = interrupted(2);
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(read_response_middle(2, 1024));
    t.deliver(read_response_last(3, 928).msn(1));
    expect_whole(t);

    let mut t = interrupted(3);
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(read_response_last(3, 928).msn(1));
    expect_whole(t);
}

#[test]
fn the_rest_of_the_first_answer_counts_even_after_the_repeat() {
    let mut t = interrupted(2);
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(read_response_middle(2, 1024));
    // Now the answer to the repeat begins, with a packet that has just been had.
    t.deliver(read_response_first(2, 1024).msn(1));
    t.expect_discard(rdmalab_roce::Discard::UnexpectedResponse);
    t.deliver(read_response_last(3, 928).msn(1));
    expect_whole(t);
}

#[test]
fn a_read_interrupted_again_and_again_gets_ever_shorter() {
    let mut t = interrupted(1);
    t.expect("READ_REQUEST psn=1 va=0x200400 rkey=0x200 dmalen=2976 ackreq");
    t.deliver(read_response_first(1, 1024).msn(1));
    t.advance(8_192);
    t.expect("READ_REQUEST psn=2 va=0x200800 rkey=0x200 dmalen=1952 ackreq");
    t.deliver(read_response_first(2, 1024).msn(1));
    t.advance(8_192);
    t.expect("READ_REQUEST psn=3 va=0x200c00 rkey=0x200 dmalen=928 ackreq");
    t.deliver(read_response_only(3, 928).msn(1));
    expect_whole(t);
}

#[test]
fn progress_within_a_read_makes_the_retry_count_whole_again() {
    let mut t = Script::with(Setup { timeout: 1, retry_count: 1, ..Setup::default() });
    t.post(read(10 * 1024));
    assert_eq!(t.take_lines().len(), 1);
    for psn in 0..9 {
        t.deliver(read_response_first(psn, 1024).msn(1));
        t.advance(8_192);
        assert_eq!(t.take_lines().len(), 1);
    }
    t.deliver(read_response_only(9, 1024).msn(1));
    t.expect_done(0);
}

#[test]
fn the_data_of_a_repeated_response_lands_where_the_first_would_have() {
    let mut t = Script::with(Setup { timeout: 1, ..Setup::default() });
    let pieces = [t.side.sge(0, 1000), t.side.sge(4096, 1048)];
    t.post(read(0).in_elements(&pieces));
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(read_response_first(0, 1024).msn(1));
    t.advance(8_192);
    t.expect("READ_REQUEST psn=1 va=0x200400 rkey=0x200 dmalen=1024 ackreq");
    t.deliver(read_response_only(1, 1024).msn(1));
    t.expect_done(0);
    let found = [t.side.bytes(0, 1000), t.side.bytes(4096, 1048)].concat();
    assert_eq!(found, [pattern(0, 1024), pattern(1, 1024)].concat());
}
