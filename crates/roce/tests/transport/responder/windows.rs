//! What a peer may reach through a memory window: its range, with its rights.
//!
//! Rule: mw-range: Through a window a peer reaches the bytes that the window was bound to and no others,
//! whatever the region's key would give.
//! Rule: mw-rights: Through a window a peer has the rights of the window, not those of the region.
//! Rule: mw-zero-based: The addresses of a zero-based window of type 2 count from 0 at its first byte.

use rdmalab_verbs::{Access, State, WindowType};

use super::expect_fatal;
use crate::script::*;

const REFUSED: &str = "ACKNOWLEDGE psn=0 nak=remote_access_error msn=0";
const KINDS: [WindowType; 2] = [WindowType::One, WindowType::Two];

/// A window on 64 bytes at offset 256, with these rights.
#[track_caller]
fn small_window(t: &mut Script, kind: WindowType, access: Access) -> u32 {
    let window = t.window(kind);
    let id = t.post(bind(window, window + 1, 256, 64, access));
    t.expect_done(id);
    window + 1
}

/// One request of each kind on the eight bytes at an offset, and the right that it needs.
fn requests(psn: u32, offset: usize) -> Vec<(Incoming, Access)> {
    vec![
        (write_only(psn, offset, 8), Access::REMOTE_WRITE),
        (write_only_imm(psn, offset, 8, 1), Access::REMOTE_WRITE),
        (read_request(psn, offset, 8), Access::REMOTE_READ),
        (fetch_add_request(psn, offset, 1), Access::REMOTE_ATOMIC),
        (compare_swap_request(psn, offset, 0, 1), Access::REMOTE_ATOMIC),
        (atomic_write_request(psn, offset, 1), Access::REMOTE_WRITE),
        (flush_request(psn, offset, 8, 1), Access::FLUSH_GLOBAL),
        (flush_request(psn, offset, 8, 2), Access::FLUSH_PERSISTENT),
    ]
}

#[test]
fn a_window_is_reached_from_its_first_byte_to_its_last() {
    for kind in KINDS {
        for offset in [256, 312] {
            for (request, _) in requests(0, offset) {
                let mut t = Script::new();
                let key = small_window(&mut t, kind, Access::REMOTE);
                t.receive(0);
                t.deliver(request.key(key));
                assert_eq!(t.take_lines().len(), 1);
                t.expect_state(State::Rts);
                t.expect_untouched(320);
                t.take_completions();
            }
        }
    }
}

#[test]
fn bytes_in_front_of_and_behind_a_window_are_refused() {
    for kind in KINDS {
        for offset in [0, 248, 320, 4096] {
            for (request, _) in requests(0, offset) {
                let mut t = Script::new();
                let key = small_window(&mut t, kind, Access::REMOTE);
                t.receive(0);
                expect_fatal(&mut t, request.key(key), REFUSED);
                t.expect_flushed([100]);
                t.expect_untouched(0);
            }
        }
        // One byte too many, where alignment does not come first.
        for (offset, length) in [(255, 8), (313, 8), (256, 65)] {
            for request in [write_only(0, offset, length), read_request(0, offset, length as u32)] {
                let mut t = Script::new();
                let key = small_window(&mut t, kind, Access::REMOTE);
                expect_fatal(&mut t, request.key(key), REFUSED);
                t.expect_untouched(0);
            }
        }
    }
}

#[test]
fn a_right_that_the_window_lacks_is_refused_though_the_region_has_it() {
    for kind in KINDS {
        for (request, right) in requests(0, 256) {
            let mut t = Script::new();
            let key = small_window(&mut t, kind, Access::REMOTE - right);
            t.receive(0);
            expect_fatal(&mut t, request.key(key), REFUSED);
            t.expect_flushed([100]);
            t.expect_untouched(0);
        }
    }
}

#[test]
fn a_window_needs_no_other_right_than_the_one_used() {
    for kind in KINDS {
        for (request, right) in requests(0, 256) {
            let mut t = Script::new();
            let key = small_window(&mut t, kind, right);
            t.receive(0);
            t.deliver(request.key(key));
            assert_eq!(t.take_lines().len(), 1);
            t.expect_state(State::Rts);
            t.take_completions();
        }
    }
}

#[test]
fn a_window_may_give_what_the_region_itself_does_not() {
    for kind in KINDS {
        let mut t = Script::new();
        let memory = t.side.memory.clone();
        let access = Access::LOCAL_WRITE | Access::MW_BIND;
        let region = t.side.context.register(t.side.domain, BASE, memory, access).unwrap();
        let window = t.window(kind);
        t.post(bind_to(region, window, window + 1, BASE, 64, REMOTE_ACCESS));
        t.expect_done(0);
        t.deliver(write_only(0, 0, 64).key(window + 1));
        t.expect("ACKNOWLEDGE psn=0 ack msn=1");
        t.expect_bytes(0, &pattern(0, 64));
        t.deliver(write_only(1, 0, 64).key(region));
        t.expect("ACKNOWLEDGE psn=1 nak=remote_access_error msn=1");
    }
}

#[test]
fn the_queue_pair_must_allow_the_operation_as_well() {
    for kind in KINDS {
        let mut t = Script::with(Setup { access: Access::FULL - Access::REMOTE_WRITE, ..Setup::default() });
        let key = small_window(&mut t, kind, Access::REMOTE);
        let invalid = "ACKNOWLEDGE psn=0 nak=invalid_request msn=0";
        expect_fatal(&mut t, write_only(0, 256, 8).key(key), invalid);
    }
}

#[test]
fn the_addresses_of_a_zero_based_window_count_from_its_first_byte() {
    let mut t = Script::new();
    let key = small_window(&mut t, WindowType::Two, REMOTE_ACCESS | Access::ZERO_BASED);
    t.deliver(write_only(0, 0, 64).key(key).address(0));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_bytes(256, &pattern(0, 64));
    t.deliver(read_request(1, 0, 8).key(key).address(56));
    t.expect("READ_RESPONSE_ONLY psn=1 ack msn=2 len=8");
    assert_eq!(t.payload(), pattern(0, 64)[56..]);
    t.deliver(read_request(2, 256, 8).key(key));
    t.expect("ACKNOWLEDGE psn=2 nak=remote_access_error msn=2");
}

#[test]
fn a_long_write_through_a_window_answers_for_all_of_its_bytes_at_first() {
    for kind in KINDS {
        let mut t = Script::new();
        let window = t.window(kind);
        t.post(bind(window, window + 1, 1000, 3000, REMOTE_ACCESS));
        t.expect_done(0);
        t.deliver(write_first(0, 1000, 3000, 1024).key(window + 1));
        t.deliver(write_middle(1, 1024));
        t.deliver(write_last(2, 952));
        t.expect("ACKNOWLEDGE psn=2 ack msn=1");
        t.deliver(write_first(3, 1001, 3000, 1024).key(window + 1));
        t.expect("ACKNOWLEDGE psn=3 nak=remote_access_error msn=1");
        t.expect_bytes(1000, &pattern(0, 1024));
        t.expect_untouched(4000);
    }
}

#[test]
fn several_windows_on_one_region_keep_to_themselves() {
    let mut t = Script::new();
    let reads = t.bound_window(WindowType::One, Access::REMOTE_READ);
    let writes = t.bound_window(WindowType::Two, Access::REMOTE_WRITE);
    t.deliver(write_only(0, 0, 8).key(writes));
    t.deliver(read_request(1, 0, 8).key(reads));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect("READ_RESPONSE_ONLY psn=1 ack msn=2 len=8");
    assert_eq!(t.payload(), pattern(0, 8));
    t.deliver(read_request(2, 0, 8).key(writes));
    t.expect("ACKNOWLEDGE psn=2 nak=remote_access_error msn=2");
}
