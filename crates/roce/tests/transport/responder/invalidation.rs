//! SEND with invalidate: the peer ends one of our keys together with its message.
//!
//! Rule: rc-send-invalidate-effect: A SEND with invalidate ends the key it names before its receive
//! completes, and the completion carries the key.
//! Rule: rc-send-invalidate-refused: A SEND that names a key which the peer may not invalidate is answered by
//! a NAK remote access error, and its receive ends with that error.

use rdmalab_roce::Event;
use rdmalab_verbs::{Access, CompletionStatus, Placement, State, WindowType};
use rdmalab_wire::RKey;

use super::expect_fatal;
use crate::script::*;

/// A key that a SEND may invalidate.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Window,
    Region,
}

const KINDS: [Kind; 2] = [Kind::Window, Kind::Region];

#[track_caller]
fn make(t: &mut Script, kind: Kind, access: Access) -> u32 {
    match kind {
        Kind::Window => t.bound_window(WindowType::Two, access),
        Kind::Region => t.mapped_region(access | Access::LOCAL_WRITE),
    }
}

#[test]
fn the_completion_carries_the_key_that_was_invalidated() {
    for kind in KINDS {
        let mut t = Script::new();
        let key = make(&mut t, kind, REMOTE_ACCESS);
        t.receive(100);
        t.deliver(write_only(0, 4096, 8).key(key));
        t.deliver(send_only_inv(1, 10, key).solicited());
        t.expect("ACKNOWLEDGE psn=1 ack msn=2");
        let done = t.expect_received(100, 10);
        assert_eq!((done.invalidated, done.immediate, done.solicited), (Some(RKey::new(key)), None, true));
        t.expect_bytes(0, &pattern(1, 10));
        t.deliver(write_only(2, 4096, 8).key(key));
        t.expect("ACKNOWLEDGE psn=2 nak=remote_access_error msn=2");
        t.expect_bytes(4096, &pattern(0, 8));
    }
}

#[test]
fn a_long_send_invalidates_with_its_last_packet_and_not_before() {
    for kind in KINDS {
        let mut t = Script::new();
        let key = make(&mut t, kind, REMOTE_ACCESS);
        t.receive(4096);
        t.deliver(send_first(0, 1024));
        t.deliver(send_middle(1, 1024));
        t.expect_nothing();
        assert!(t.side.context.check_remote(&t.accessor(), RKey::new(key), BASE, 8, REMOTE_ACCESS).is_ok());
        t.deliver(send_last_inv(2, 5, key));
        t.expect("ACKNOWLEDGE psn=2 ack msn=1");
        assert_eq!(t.expect_received(100, 2053).invalidated, Some(RKey::new(key)));
        t.deliver(read_request(3, 0, 8).key(key));
        t.expect("ACKNOWLEDGE psn=3 nak=remote_access_error msn=1");
    }
}

#[test]
fn the_ordinary_completion_carries_no_key() {
    let mut t = Script::new();
    t.receive(100);
    t.deliver(send_only(0, 10));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    assert_eq!(t.expect_received(100, 10).invalidated, None);
}

#[test]
fn a_repeated_send_does_not_invalidate_again() {
    let mut t = Script::new();
    let key = t.bound_window(WindowType::Two, REMOTE_ACCESS);
    t.receive(100);
    t.receive(100);
    t.deliver(send_only_inv(0, 10, key));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_received(100, 10);
    t.post(bind(key, key, 0, 64, REMOTE_ACCESS));
    t.expect_done(1);
    t.deliver(send_only_inv(0, 10, key));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.deliver(write_only(1, 0, 8).key(key));
    t.expect("ACKNOWLEDGE psn=1 ack msn=2");
}

#[test]
fn without_a_receive_nothing_is_invalidated_yet() {
    let mut t = Script::new();
    let key = t.bound_window(WindowType::Two, REMOTE_ACCESS);
    t.deliver(send_only_inv(0, 10, key));
    t.expect("ACKNOWLEDGE psn=0 rnr=12 msn=0");
    t.receive(100);
    t.deliver(send_only_inv(0, 10, key));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_received(100, 10);
}

/// Sends an invalidation that must be refused.
#[track_caller]
fn expect_refused(mut t: Script, key: u32) {
    t.receive(100);
    expect_fatal(&mut t, send_only_inv(0, 10, key), "ACKNOWLEDGE psn=0 nak=remote_access_error msn=0");
    t.expect_completion(100, CompletionStatus::RemoteAccessError);
    t.expect_event(Event::AccessError);
    t.expect_untouched(0);
}

#[test]
fn a_key_that_is_stale_foreign_or_ordinary_is_refused() {
    // Nothing has this key.
    expect_refused(Script::new(), 0x77_7700);
    // An ordinary region is not to be ended by a peer.
    expect_refused(Script::new(), KEY.value());
    // The key before the binding, and after an invalidation.
    for kind in KINDS {
        let mut t = Script::new();
        let key = make(&mut t, kind, REMOTE_ACCESS);
        expect_refused(t, key - 1);
        let mut t = Script::new();
        let key = make(&mut t, kind, REMOTE_ACCESS);
        let id = t.post(local_invalidate(key));
        t.expect_done(id);
        expect_refused(t, key);
    }
    // A window of type 1 is ended by binding it.
    let mut t = Script::new();
    let key = t.bound_window(WindowType::One, REMOTE_ACCESS);
    expect_refused(t, key);
    // A window and a fast region that were never used.
    let mut t = Script::new();
    let key = t.window(WindowType::Two);
    expect_refused(t, key);
    let mut t = Script::new();
    let key = t.fast_region();
    expect_refused(t, key);
}

#[test]
fn a_fast_region_without_a_remote_right_is_none_of_the_peers_business() {
    let mut t = Script::new();
    let key = t.mapped_region(Access::LOCAL_WRITE);
    expect_refused(t, key);
}

#[test]
fn a_fast_region_with_windows_bound_to_it_is_refused() {
    let mut t = Script::new();
    let region = t.mapped_region(Access::FULL);
    let window = t.window(WindowType::Two);
    let id = t.post(bind_to(region, window, window + 1, BASE, 8, REMOTE_ACCESS));
    t.expect_done(id);
    expect_refused(t, region);
}

#[test]
fn a_refused_key_at_the_end_of_a_long_send_ends_the_connection_there() {
    let mut t = Script::new();
    t.receive(4096);
    t.receive(8);
    t.deliver(send_first(0, 1024));
    t.deliver(send_last_inv(1, 5, KEY.value()));
    t.expect("ACKNOWLEDGE psn=1 nak=remote_access_error msn=0");
    t.expect_completion(100, CompletionStatus::RemoteAccessError);
    t.expect_flushed([101]);
    t.expect_state(State::Err);
}

#[test]
fn an_invalidation_does_not_disturb_the_read_before_it_that_has_been_answered() {
    let mut t = Script::new();
    let key = t.bound_window(WindowType::Two, REMOTE_ACCESS);
    t.receive(100);
    t.deliver(read_request(0, 0, 8).key(key));
    t.expect("READ_RESPONSE_ONLY psn=0 ack msn=1 len=8");
    t.deliver(send_only_inv(1, 0, key));
    t.expect("ACKNOWLEDGE psn=1 ack msn=2");
    t.expect_received(100, 0);
    // Its data cannot be read anew.
    t.deliver(read_request(0, 0, 8).key(key));
    t.expect_nothing();
    t.expect_discard(rdmalab_roce::Discard::NotReplayed);
    t.expect_state(State::Rts);
}

#[test]
fn a_peers_invalidation_makes_the_key_free_to_be_bound_again() {
    let mut t = Script::new();
    let key = t.bound_window(WindowType::Two, REMOTE_ACCESS);
    t.receive(100);
    t.deliver(send_only_inv(0, 0, key));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_received(100, 0);
    let id = t.post(bind(key, key + 1, 64, 8, REMOTE_ACCESS));
    t.expect_done(id);
    t.deliver(flush_request(1, 64, 8, Placement::GLOBAL.bits()).key(key + 1));
    t.expect("ACKNOWLEDGE psn=1 nak=remote_access_error msn=1");
}
