//! Regions that are registered by work in the send queue, and windows on them.
//!
//! Rule: key-fast-registration: A fast-registration region gives access to what it is mapped to, under the
//! key of its last registration, until that is invalidated.
//! Rule: mw-on-fast-region: A window on a fast-registration region keeps the region from being invalidated,
//! and reaches only its mapping.

use rdmalab_verbs::{Access, CompletionStatus, State, WindowType};

use super::expect_fatal;
use crate::script::*;

const REFUSED: &str = "ACKNOWLEDGE psn=0 nak=remote_access_error msn=0";

#[test]
fn a_region_without_a_mapping_gives_access_to_nothing() {
    let mut t = Script::new();
    let key = t.fast_region();
    expect_fatal(&mut t, write_only(0, 0, 8).key(key), REFUSED);
    t.expect_untouched(0);
}

#[test]
fn a_mapping_is_reached_from_its_first_byte_to_its_last() {
    for (offset, fits) in [(255, false), (256, true), (312, true), (313, false)] {
        let mut t = Script::new();
        let key = t.fast_region();
        t.post(fast_register(key, key + 1, 256, 64, Access::FULL));
        t.expect_done(0);
        t.deliver(write_only(0, offset, 8).key(key + 1));
        if fits {
            t.expect("ACKNOWLEDGE psn=0 ack msn=1");
            t.expect_bytes(offset, &pattern(0, 8));
        } else {
            t.expect(REFUSED);
            t.expect_untouched(0);
        }
    }
}

#[test]
fn a_mapping_gives_the_rights_of_its_registration() {
    for (request, right) in [
        (write_only(0, 0, 8), Access::REMOTE_WRITE),
        (read_request(0, 0, 8), Access::REMOTE_READ),
        (fetch_add_request(0, 0, 1), Access::REMOTE_ATOMIC),
        (flush_request(0, 0, 8, 1), Access::FLUSH_GLOBAL),
        (atomic_write_request(0, 0, 1), Access::REMOTE_WRITE),
    ] {
        let mut t = Script::new();
        let key = t.mapped_region(Access::LOCAL_WRITE | right);
        t.deliver(request.clone().key(key));
        assert_eq!(t.take_lines().len(), 1);
        t.expect_state(State::Rts);
        let mut t = Script::new();
        let key = t.mapped_region(Access::FULL - right);
        expect_fatal(&mut t, request.key(key), REFUSED);
    }
}

#[test]
fn a_region_that_is_registered_anew_works_under_its_new_key_and_there_only() {
    let mut t = Script::new();
    let first = t.mapped_region(Access::FULL);
    t.deliver(write_only(0, 0, 8).key(first));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.post(local_invalidate(first));
    t.post(fast_register(first, first + 1, 4096, 64, Access::FULL));
    t.expect_done(1);
    t.expect_done(2);
    t.deliver(write_only(1, 4096, 64).key(first + 1));
    t.expect("ACKNOWLEDGE psn=1 ack msn=2");
    t.expect_bytes(4096, &pattern(1, 64));
    t.deliver(write_only(2, 4096, 8).key(first));
    t.expect("ACKNOWLEDGE psn=2 nak=remote_access_error msn=2");
}

#[test]
fn an_invalidated_region_gives_access_to_nothing() {
    let mut t = Script::new();
    let key = t.mapped_region(Access::FULL);
    t.post(local_invalidate(key));
    t.expect_done(1);
    expect_fatal(&mut t, read_request(0, 0, 8).key(key), REFUSED);
}

#[test]
fn a_region_that_is_invalidated_during_a_write_refuses_the_next_packet() {
    let mut t = Script::new();
    let key = t.mapped_region(Access::FULL);
    t.deliver(write_first(0, 0, 2000, 1024).key(key));
    t.post(local_invalidate(key));
    t.expect_done(1);
    t.deliver(write_last(1, 976));
    t.expect("ACKNOWLEDGE psn=1 nak=remote_access_error msn=0");
    t.expect_untouched(1024);
}

#[test]
fn a_fast_region_is_a_place_for_receives_too() {
    let mut t = Script::new();
    let key = t.mapped_region(Access::LOCAL_WRITE);
    let element = rdmalab_verbs::Sge { key, ..t.side.sge(512, 16) };
    t.post(send(0).in_elements(&[element]));
    t.expect("SEND_ONLY psn=0 len=16 ackreq");
    t.post(local_invalidate(key));
    t.expect_nothing();
    // What was sent may have to be sent again, and is read from memory again.
    t.deliver(sequence_nak(0));
    t.expect_completion(1, CompletionStatus::LocalProtectionError);
    t.expect_flushed([2]);
}

#[test]
fn a_window_on_a_fast_region_reaches_the_mapping_alone() {
    let mut t = Script::new();
    let region = t.fast_region();
    t.post(fast_register(region, region + 1, 256, 64, Access::FULL));
    t.expect_done(0);
    let window = t.window(WindowType::Two);
    t.post(bind_to(region + 1, window, window + 1, BASE + 256, 64, REMOTE_ACCESS));
    t.expect_done(1);
    t.deliver(write_only(0, 256, 64).key(window + 1));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_bytes(256, &pattern(0, 64));
    t.deliver(read_request(1, 320, 1).key(window + 1));
    t.expect("ACKNOWLEDGE psn=1 nak=remote_access_error msn=1");
}

#[test]
fn a_window_must_lie_inside_the_mapping_of_a_fast_region() {
    let mut t = Script::new();
    let region = t.fast_region();
    t.post(fast_register(region, region + 1, 256, 64, Access::FULL));
    t.expect_done(0);
    let window = t.window(WindowType::Two);
    t.post(bind_to(region + 1, window, window + 1, BASE + 256, 65, REMOTE_ACCESS));
    t.expect_completion(1, CompletionStatus::MemoryWindowBindError);
}

#[test]
fn a_region_is_free_to_be_invalidated_after_its_windows() {
    let mut t = Script::new();
    let region = t.mapped_region(Access::FULL);
    let window = t.window(WindowType::Two);
    t.post(bind_to(region, window, window + 1, BASE, 64, REMOTE_ACCESS));
    t.post(local_invalidate(window + 1));
    t.post(local_invalidate(region));
    for id in 1..4 {
        t.expect_done(id);
    }
    expect_fatal(&mut t, write_only(0, 0, 8).key(window + 1), REFUSED);
}
