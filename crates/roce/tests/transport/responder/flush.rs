//! FLUSH: answered when what came before it has reached its placement.
//!
//! Rule: rc-flush-answer: A FLUSH is answered by a READ RESPONSE ONLY without data, in the order of the
//! requests, and counts one message.
//! Rule: rc-flush-rights: A FLUSH needs the right to its placement of the queue pair (else NAK invalid
//! request) and of the key (else NAK remote access error).
//! Rule: rc-flush-outstanding: A FLUSH counts against the READs and atomics that may be outstanding.
//! Rule: rc-flush-duplicate: A repeated FLUSH is answered again, once it is forgotten not at all.

use rdmalab_roce::Discard;
use rdmalab_verbs::{Access, WindowType};
use rdmalab_wire::{Body, Feth, RKey, Reth};

use super::expect_fatal;
use crate::script::*;

const GLOBAL: u8 = Feth::GLOBAL_VISIBILITY;
const PERSISTENT: u8 = Feth::PERSISTENCE;
const INVALID: &str = "ACKNOWLEDGE psn=0 nak=invalid_request msn=0";
const REFUSED: &str = "ACKNOWLEDGE psn=0 nak=remote_access_error msn=0";

/// The rights that a placement needs.
const NEEDED: [(u8, Access); 3] = [
    (GLOBAL, Access::FLUSH_GLOBAL),
    (PERSISTENT, Access::FLUSH_PERSISTENT),
    (GLOBAL | PERSISTENT, Access::FLUSH_GLOBAL.union(Access::FLUSH_PERSISTENT)),
];

#[test]
fn a_flush_is_answered_without_data() {
    for (placement, _) in NEEDED {
        for request in [flush_request(0, 0, 4000, placement), flush_region_request(0, placement)] {
            let mut t = Script::new();
            t.deliver(request);
            t.expect("READ_RESPONSE_ONLY psn=0 ack msn=1 len=0");
            t.deliver(write_only(1, 0, 8));
            t.expect("ACKNOWLEDGE psn=1 ack msn=2");
        }
    }
}

#[test]
fn a_flush_answers_in_its_turn_behind_the_writes_that_it_covers() {
    let mut t = Script::new();
    t.deliver(write_only(0, 0, 8));
    t.deliver(flush_request(1, 0, 8, GLOBAL));
    t.deliver(read_request(2, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect("READ_RESPONSE_ONLY psn=1 ack msn=2 len=0");
    t.expect("READ_RESPONSE_ONLY psn=2 ack msn=3 len=8");
    assert_eq!(t.payload(), pattern(0, 8));
}

#[test]
fn a_right_that_the_queue_pair_lacks_is_an_invalid_request() {
    for (placement, needed) in NEEDED {
        for missing in needed {
            for request in [flush_request(0, 0, 8, placement), flush_region_request(0, placement)] {
                let mut t = Script::with(Setup { access: Access::FULL - missing, ..Setup::default() });
                expect_fatal(&mut t, request, INVALID);
            }
        }
    }
}

#[test]
fn a_right_that_the_region_lacks_is_an_access_error() {
    for (placement, needed) in NEEDED {
        for missing in needed {
            for request in [flush_request(0, 0, 8, placement), flush_region_request(0, placement)] {
                let mut t = Script::new();
                let memory = t.side.memory.clone();
                let key =
                    t.side.context.register(t.side.domain, BASE, memory, Access::FULL - missing).unwrap();
                expect_fatal(&mut t, request.key(key), REFUSED);
            }
        }
    }
}

#[test]
fn a_right_that_the_window_lacks_is_an_access_error() {
    for kind in [WindowType::One, WindowType::Two] {
        for (placement, needed) in NEEDED {
            for missing in needed {
                for request in [flush_request(0, 0, 8, placement), flush_region_request(0, placement)] {
                    let mut t = Script::new();
                    let key = t.bound_window(kind, Access::REMOTE - missing);
                    expect_fatal(&mut t, request.key(key), REFUSED);
                }
            }
        }
    }
}

#[test]
fn the_right_to_flush_is_all_that_a_flush_needs() {
    for (placement, needed) in NEEDED {
        for request in [flush_request(0, 0, 8, placement), flush_region_request(0, placement)] {
            let mut t = Script::with(Setup { access: needed, ..Setup::default() });
            let memory = t.side.memory.clone();
            let key = t.side.context.register(t.side.domain, BASE, memory, needed).unwrap();
            t.deliver(request.key(key));
            t.expect("READ_RESPONSE_ONLY psn=0 ack msn=1 len=0");
        }
    }
}

#[test]
fn a_range_must_lie_inside_the_region_and_a_region_needs_none() {
    let outside = [(MEMORY, 1), (MEMORY - 7, 8), (0, MEMORY as u32 + 1)];
    for (offset, length) in outside {
        expect_fatal(&mut Script::new(), flush_request(0, offset, length, GLOBAL), REFUSED);
    }
    let mut t = Script::new();
    expect_fatal(&mut t, flush_request(0, 0, 8, GLOBAL).address(u64::MAX - 3), REFUSED);
    // Address and length of a whole region are of no account.
    let mut t = Script::new();
    let feth = Feth { reserved: 0, selectivity: Feth::REGION, placement: GLOBAL };
    let reth = Reth { virtual_address: u64::MAX, key: KEY, length: u32::MAX };
    t.deliver(packet(0, Body::Flush(feth, reth)).ackreq());
    t.expect("READ_RESPONSE_ONLY psn=0 ack msn=1 len=0");
    t.deliver(flush_request(1, 0, MEMORY as u32, GLOBAL));
    t.expect("READ_RESPONSE_ONLY psn=1 ack msn=2 len=0");
}

#[test]
fn a_key_that_names_nothing_is_refused() {
    for key in [0, KEY.value() + 1] {
        for request in [flush_request(0, 0, 8, GLOBAL), flush_region_request(0, GLOBAL)] {
            expect_fatal(&mut Script::new(), request.key(key), REFUSED);
        }
    }
}

#[test]
fn a_selectivity_or_placement_that_does_not_exist_is_an_invalid_request() {
    for (selectivity, placement) in [(2, GLOBAL), (3, GLOBAL), (0, 0), (1, 0), (0, 4), (1, 8), (0, 12)] {
        let feth = Feth { reserved: 0, selectivity, placement };
        let reth = Reth { virtual_address: BASE, key: RKey::new(KEY.value()), length: 8 };
        expect_fatal(&mut Script::new(), packet(0, Body::Flush(feth, reth)), INVALID);
    }
}

#[test]
fn reserved_bits_of_the_placement_do_not_matter_beside_one_that_exists() {
    let mut t = Script::new();
    t.deliver(flush_request(0, 0, 8, GLOBAL | 4));
    t.expect("READ_RESPONSE_ONLY psn=0 ack msn=1 len=0");
}

#[test]
fn more_flushes_at_once_than_agreed_are_an_invalid_request() {
    let mut t = Script::with(Setup { reads: 2, ..Setup::default() });
    t.deliver(flush_request(0, 0, 8, GLOBAL));
    t.deliver(read_request(1, 0, 8));
    t.deliver(flush_request(2, 0, 8, GLOBAL));
    t.expect("READ_RESPONSE_ONLY psn=0 ack msn=1 len=0");
    t.expect("READ_RESPONSE_ONLY psn=1 ack msn=2 len=8");
    t.expect("ACKNOWLEDGE psn=2 nak=invalid_request msn=2");
    t.expect_state(rdmalab_verbs::State::Err);
}

#[test]
fn a_flush_within_a_message_is_an_invalid_request() {
    let mut t = Script::new();
    t.deliver(write_first(0, 0, 2000, 1024));
    expect_fatal(&mut t, flush_request(1, 0, 8, GLOBAL), "ACKNOWLEDGE psn=1 nak=invalid_request msn=0");
}

#[test]
fn a_repeated_flush_is_answered_again() {
    let mut t = Script::new();
    for request in [flush_request(0, 0, 8, GLOBAL), flush_region_request(1, PERSISTENT)] {
        t.deliver(request.clone());
        assert_eq!(t.take_lines().len(), 1);
        let psn = request.bth.psn;
        t.deliver(request);
        t.expect(&format!("READ_RESPONSE_ONLY psn={psn} ack msn={} len=0", psn.value() + 1));
    }
    // As the newest message says, whatever is repeated.
    t.deliver(flush_request(0, 0, 8, GLOBAL));
    t.expect("READ_RESPONSE_ONLY psn=0 ack msn=2 len=0");
    assert_eq!(t.counters().duplicate_request, 3);
}

#[test]
fn a_repeated_flush_is_not_judged_anew() {
    let mut t = Script::new();
    t.deliver(flush_request(0, 0, 8, GLOBAL));
    t.expect("READ_RESPONSE_ONLY psn=0 ack msn=1 len=0");
    t.side.context.deregister(KEY.value()).unwrap();
    t.deliver(flush_request(0, 0, 8, GLOBAL));
    t.expect("READ_RESPONSE_ONLY psn=0 ack msn=1 len=0");
}

#[test]
fn a_flush_that_is_repeated_before_it_is_answered_is_answered_once() {
    let mut t = Script::new();
    t.deliver(flush_request(0, 0, 8, GLOBAL));
    t.deliver(flush_request(0, 0, 8, GLOBAL));
    t.expect("READ_RESPONSE_ONLY psn=0 ack msn=1 len=0");
    t.expect_nothing();
}

#[test]
fn a_repeated_flush_that_is_forgotten_is_dropped() {
    let mut t = Script::with(Setup { reads: 2, ..Setup::default() });
    for psn in 0..3 {
        t.deliver(flush_request(psn, 0, 8, GLOBAL));
        assert_eq!(t.take_lines().len(), 1);
    }
    t.deliver(flush_request(0, 0, 8, GLOBAL));
    t.expect_nothing();
    t.expect_discard(Discard::NotReplayed);
    t.deliver(flush_request(1, 0, 8, GLOBAL));
    t.expect("READ_RESPONSE_ONLY psn=1 ack msn=3 len=0");
}

#[test]
fn a_repeated_flush_that_is_not_the_same_is_dropped() {
    let others = [
        flush_request(0, 0, 8, PERSISTENT),
        flush_request(0, 8, 8, GLOBAL),
        flush_request(0, 0, 9, GLOBAL),
        flush_request(0, 0, 8, GLOBAL).key(1),
        flush_region_request(0, GLOBAL),
        read_request(0, 0, 8),
        fetch_add_request(0, 0, 1),
        atomic_write_request(0, 0, 1),
    ];
    for other in others {
        let mut t = Script::new();
        t.deliver(flush_request(0, 0, 8, GLOBAL));
        assert_eq!(t.take_lines().len(), 1);
        t.deliver(other);
        t.expect_nothing();
        t.expect_discard(Discard::NotReplayed);
        t.expect_untouched(0);
    }
}
