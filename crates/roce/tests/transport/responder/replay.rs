//! READs and atomics that come again: answered as before, from what is remembered, or not at all.
//!
//! Rule: rc-read-duplicate: A READ that comes again, whole or its end, is answered again from memory.
//! Rule: rc-atomic-duplicate: An atomic that comes again gets the value that it found and is not carried out
//! again.
//! Rule: rc-duplicate-evicted: A READ or atomic that is not remembered any more, or is not the same, is
//! dropped.

use rdmalab_roce::Discard;
use rdmalab_verbs::{Access, Attributes, State};

use crate::script::*;

#[test]
fn a_repeated_read_is_answered_again() {
    let mut t = Script::new();
    t.deliver(read_request(0, 0, 1500));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(read_request(0, 0, 1500));
    t.expect("READ_RESPONSE_FIRST psn=0 ack msn=1 len=1024");
    t.expect("READ_RESPONSE_LAST psn=1 ack msn=1 len=476");
    t.deliver(write_only(2, 4096, 8));
    t.expect("ACKNOWLEDGE psn=2 ack msn=2");
}

#[test]
fn the_end_of_a_read_is_answered_with_a_response_that_begins() {
    let mut t = Script::new();
    t.side.fill(0, 4000, 1);
    t.deliver(read_request(0, 0, 4000));
    assert_eq!(t.take_lines().len(), 4);
    t.deliver(read_request(2, 2048, 1952));
    t.expect("READ_RESPONSE_FIRST psn=2 ack msn=1 len=1024");
    assert_eq!(t.payload(), t.side.bytes(2048, 1024));
    t.expect("READ_RESPONSE_LAST psn=3 ack msn=1 len=928");
    t.deliver(read_request(3, 3072, 928));
    t.expect("READ_RESPONSE_ONLY psn=3 ack msn=1 len=928");
    assert_eq!(t.payload(), t.side.bytes(3072, 928));
}

#[test]
fn a_read_that_is_repeated_while_its_response_leaves_begins_again_and_is_not_sent_twice() {
    let mut t = Script::with_mtu(rdmalab_wire::PathMtu::M256);
    t.deliver(read_request(0, 0, 256 * 4));
    t.deliver(read_request(0, 0, 256 * 4));
    t.deliver(read_request(1, 256, 256 * 3));
    t.expect("READ_RESPONSE_FIRST psn=1 ack msn=1 len=256");
    t.expect("READ_RESPONSE_MIDDLE psn=2 len=256");
    t.expect("READ_RESPONSE_LAST psn=3 ack msn=1 len=256");
    t.expect_nothing();
}

#[test]
fn a_repeated_atomic_is_answered_with_the_value_it_found_then() {
    let mut t = Script::new();
    t.deliver(fetch_add_request(0, 0, 5));
    t.deliver(fetch_add_request(1, 0, 7));
    t.deliver(compare_swap_request(2, 0, 12, 100));
    assert_eq!(t.take_lines().len(), 3);
    t.deliver(fetch_add_request(0, 0, 5));
    t.expect("ATOMIC_ACKNOWLEDGE psn=0 ack msn=3 original=0x0");
    t.deliver(compare_swap_request(2, 0, 12, 100));
    t.expect("ATOMIC_ACKNOWLEDGE psn=2 ack msn=3 original=0xc");
    t.deliver(fetch_add_request(1, 0, 7));
    t.expect("ATOMIC_ACKNOWLEDGE psn=1 ack msn=3 original=0x5");
    t.expect_bytes(0, &100u64.to_ne_bytes());
}

#[test]
fn an_atomic_that_is_repeated_before_it_is_answered_is_answered_once() {
    let mut t = Script::new();
    t.deliver(fetch_add_request(0, 0, 5));
    t.deliver(fetch_add_request(0, 0, 5));
    t.expect("ATOMIC_ACKNOWLEDGE psn=0 ack msn=1 original=0x0");
    t.expect_nothing();
    t.expect_bytes(0, &5u64.to_ne_bytes());
}

#[test]
fn as_many_are_remembered_as_the_peer_may_have_outstanding() {
    let mut t = Script::with(Setup { reads: 2, ..Setup::default() });
    t.deliver(fetch_add_request(0, 0, 1));
    t.deliver(read_request(1, 64, 8));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(fetch_add_request(2, 0, 1));
    t.expect("ATOMIC_ACKNOWLEDGE psn=2 ack msn=3 original=0x1");
    // The first has been forgotten.
    t.deliver(fetch_add_request(0, 0, 1));
    t.expect_discard(Discard::NotReplayed);
    t.expect_nothing();
    t.expect_bytes(0, &2u64.to_ne_bytes());
    t.deliver(read_request(1, 64, 8));
    t.expect("READ_RESPONSE_ONLY psn=1 ack msn=3 len=8");
    t.deliver(fetch_add_request(2, 0, 1));
    t.expect("ATOMIC_ACKNOWLEDGE psn=2 ack msn=3 original=0x1");
    t.expect_state(State::Rts);
}

#[test]
fn a_replay_does_not_push_others_out_of_memory() {
    let mut t = Script::with(Setup { reads: 2, ..Setup::default() });
    t.deliver(fetch_add_request(0, 0, 1));
    t.deliver(fetch_add_request(1, 0, 1));
    assert_eq!(t.take_lines().len(), 2);
    for _ in 0..5 {
        t.deliver(fetch_add_request(1, 0, 1));
        t.expect("ATOMIC_ACKNOWLEDGE psn=1 ack msn=2 original=0x1");
    }
    t.deliver(fetch_add_request(0, 0, 1));
    t.expect("ATOMIC_ACKNOWLEDGE psn=0 ack msn=2 original=0x0");
}

#[test]
fn a_repeated_read_that_is_not_the_same_is_dropped() {
    let others = [
        read_request(0, 0, 1501),
        read_request(0, 0, 1499),
        read_request(0, 8, 1500),
        read_request(0, 0, 1500).key(0x2000),
        read_request(1, 0, 476),
        read_request(1, 1024, 475),
        read_request(1, 1024, 1500),
        read_request(1, 1023, 476),
        fetch_add_request(0, 0, 1),
        compare_swap_request(1, 0, 0, 1),
    ];
    for other in others {
        let mut t = Script::new();
        t.deliver(read_request(0, 0, 1500));
        assert_eq!(t.take_lines().len(), 2);
        t.deliver(other);
        t.expect_discard(Discard::NotReplayed);
        t.expect_nothing();
        t.expect_untouched(0);
        t.expect_state(State::Rts);
    }
}

#[test]
fn a_repeated_atomic_that_is_not_the_same_is_dropped() {
    let others = [
        fetch_add_request(0, 0, 6),
        fetch_add_request(0, 8, 5),
        fetch_add_request(0, 0, 5).key(0x2000),
        compare_swap_request(0, 0, 0, 5),
        read_request(0, 0, 8),
    ];
    for other in others {
        let mut t = Script::new();
        t.deliver(fetch_add_request(0, 0, 5));
        assert_eq!(t.take_lines().len(), 1);
        t.deliver(other);
        t.expect_discard(Discard::NotReplayed);
        t.expect_nothing();
        t.expect_bytes(0, &5u64.to_ne_bytes());
    }
}

#[test]
fn a_read_at_the_psn_of_a_send_is_no_replay() {
    let mut t = Script::new();
    t.deliver(write_only(0, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.deliver(read_request(0, 0, 8));
    t.expect_discard(Discard::NotReplayed);
    t.expect_nothing();
}

#[test]
fn replays_have_a_limit_and_leave_room_for_new_reads() {
    let mut t = Script::with(Setup { reads: 4, ..Setup::default() });
    for psn in 0..4 {
        t.deliver(read_request(psn, 0, 8));
    }
    assert_eq!(t.take_lines().len(), 4);
    for _ in 0..100 {
        for psn in 0..4 {
            t.deliver(read_request(psn, 0, 8));
        }
    }
    for psn in 4..8 {
        t.deliver(read_request(psn, 0, 8));
    }
    let lines = t.take_lines();
    assert_eq!(lines.len(), 8, "each once: {lines:#?}");
}

#[test]
fn the_memory_is_read_anew_for_a_replay() {
    let mut t = Script::new();
    t.deliver(read_request(0, 0, 8));
    t.expect("READ_RESPONSE_ONLY psn=0 ack msn=1 len=8");
    assert_eq!(t.payload(), [0; 8]);
    t.deliver(write_only(1, 0, 8));
    t.expect("ACKNOWLEDGE psn=1 ack msn=2");
    t.deliver(read_request(0, 0, 8));
    t.expect("READ_RESPONSE_ONLY psn=0 ack msn=2 len=8");
    assert_eq!(t.payload(), pattern(1, 8));
}

#[test]
fn a_replay_whose_region_has_gone_is_dropped_since_the_peer_may_long_have_had_the_data() {
    let mut t = Script::new();
    t.deliver(read_request(0, 0, 8));
    t.expect("READ_RESPONSE_ONLY psn=0 ack msn=1 len=8");
    t.side.context.deregister(KEY.value()).unwrap();
    t.deliver(read_request(0, 0, 8));
    t.expect_nothing();
    t.expect_discard(Discard::NotReplayed);
    t.expect_state(State::Rts);
}

#[test]
fn a_read_is_not_answered_again_after_the_right_to_read_was_taken_away() {
    let mut t = Script::new();
    t.deliver(read_request(0, 0, 8));
    t.expect("READ_RESPONSE_ONLY psn=0 ack msn=1 len=8");
    t.modify(Attributes { access: Some(Access::FULL - Access::REMOTE_READ), ..Attributes::default() });
    t.deliver(read_request(0, 0, 8));
    t.expect_discard(Discard::NotReplayed);
    t.expect_nothing();
}
