//! When a window's key works: for whom, from when, and until when.
//!
//! Rule: mw-type-2-queue-pair: A window of type 2B works for the queue pair that bound it and for no other; a
//! window of type 1 for every one of its protection domain.
//! Rule: key-stale: A key that is gone, was changed or was invalidated never gives access again.
//! Rule: mw-in-flight: A window that ends while a message through it is under way refuses what is still to
//! come.

use rdmalab_roce::Event;
use rdmalab_verbs::{Access, Accessor, RemoveError, State, WindowBinding, WindowType};
use rdmalab_wire::RKey;

use super::expect_fatal;
use crate::script::*;

const REFUSED: &str = "ACKNOWLEDGE psn=0 nak=remote_access_error msn=0";
const KINDS: [WindowType; 2] = [WindowType::One, WindowType::Two];

#[test]
fn a_window_that_was_never_bound_gives_access_to_nothing() {
    for kind in KINDS {
        let mut t = Script::new();
        let key = t.window(kind);
        expect_fatal(&mut t, write_only(0, 0, 8).key(key), REFUSED);
        t.expect_untouched(0);
    }
}

#[test]
fn after_a_binding_only_the_new_key_works() {
    for kind in KINDS {
        let mut t = Script::new();
        let key = t.bound_window(kind, REMOTE_ACCESS);
        t.deliver(write_only(0, 0, 8).key(key));
        t.expect("ACKNOWLEDGE psn=0 ack msn=1");
        t.deliver(write_only(1, 0, 8).key(key - 1));
        t.expect("ACKNOWLEDGE psn=1 nak=remote_access_error msn=1");
    }
}

#[test]
fn a_window_of_type_1_that_is_bound_elsewhere_works_there_only() {
    let mut t = Script::new();
    let key = t.bound_window(WindowType::One, REMOTE_ACCESS);
    t.post(bind(key, key + 1, 4096, 64, Access::REMOTE_READ));
    t.expect_done(1);
    t.deliver(read_request(0, 4096, 64).key(key + 1));
    t.expect("READ_RESPONSE_ONLY psn=0 ack msn=1 len=64");
    t.deliver(read_request(1, 0, 64).key(key));
    t.expect("ACKNOWLEDGE psn=1 nak=remote_access_error msn=1");
}

#[test]
fn a_window_of_type_1_that_is_unbound_works_nowhere() {
    let mut t = Script::new();
    let key = t.bound_window(WindowType::One, REMOTE_ACCESS);
    t.post(bind(key, key + 1, 0, 0, Access::empty()));
    t.expect_done(1);
    for stale in [key, key + 1] {
        assert!(t.side.context.check_remote_key(&t.accessor(), RKey::new(stale), Access::empty()).is_err());
    }
    expect_fatal(&mut t, read_request(0, 0, 64).key(key + 1), REFUSED);
}

#[test]
fn an_invalidated_window_works_no_more_until_it_is_bound_again() {
    let mut t = Script::new();
    let key = t.bound_window(WindowType::Two, REMOTE_ACCESS);
    t.post(local_invalidate(key));
    t.expect_done(1);
    t.post(bind(key, key, 0, 64, REMOTE_ACCESS));
    t.expect_done(2);
    t.deliver(write_only(0, 0, 64).key(key));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.post(local_invalidate(key));
    t.expect_done(3);
    t.deliver(write_only(1, 0, 64).key(key));
    t.expect("ACKNOWLEDGE psn=1 nak=remote_access_error msn=1");
}

#[test]
fn a_deallocated_window_works_no_more_and_its_key_comes_never_back() {
    for kind in KINDS {
        let mut t = Script::new();
        let key = t.bound_window(kind, REMOTE_ACCESS);
        t.side.context.deallocate_window(RKey::new(key)).unwrap();
        for _ in 0..100 {
            let other = t.bound_window(kind, REMOTE_ACCESS);
            assert_ne!(other, key);
            t.side.context.deallocate_window(RKey::new(other)).unwrap();
        }
        t.deliver(write_only(0, 0, 8).key(key));
        t.expect(REFUSED);
    }
}

#[test]
fn a_region_stays_while_windows_are_bound_to_it_and_then_goes_with_its_key() {
    for kind in KINDS {
        let mut t = Script::new();
        let key = t.bound_window(kind, REMOTE_ACCESS);
        assert_eq!(t.side.context.deregister(KEY.value()), Err(RemoveError::InUse { users: 1 }));
        t.deliver(write_only(0, 0, 8).key(key));
        t.expect("ACKNOWLEDGE psn=0 ack msn=1");
        t.side.context.deallocate_window(RKey::new(key)).unwrap();
        t.side.context.deregister(KEY.value()).unwrap();
        t.deliver(write_only(1, 0, 8).key(key));
        t.expect("ACKNOWLEDGE psn=1 nak=remote_access_error msn=1");
    }
}

#[test]
fn a_window_of_type_2_works_for_its_queue_pair_only() {
    let mut t = Script::new();
    let key = t.bound_window(WindowType::Two, REMOTE_ACCESS);
    let other = t.another_queue_pair();
    t.deliver(write_only(0, 0, 8).key(key).to(other));
    t.expect(REFUSED);
    assert_eq!(t.side.endpoint.state(other), Some(State::Err));
    t.expect_untouched(0);
    assert_eq!(t.side.endpoint.poll_event(), Some(Event::AccessError(other)));
    t.deliver(write_only(0, 0, 8).key(key));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
}

#[test]
fn a_window_of_type_1_works_for_every_queue_pair_of_its_domain() {
    let mut t = Script::new();
    let key = t.bound_window(WindowType::One, REMOTE_ACCESS);
    let other = t.another_queue_pair();
    t.deliver(write_only(0, 0, 8).key(key).to(other));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_bytes(0, &pattern(0, 8));
}

#[test]
fn a_window_of_type_2_is_invalidated_by_the_peer_of_its_queue_pair_only() {
    let mut t = Script::new();
    let key = t.bound_window(WindowType::Two, REMOTE_ACCESS);
    let other = t.another_queue_pair();
    let elements = [t.side.sge(0, 8)];
    let receive = rdmalab_verbs::ReceiveRequest { id: 7, elements: &elements };
    let Side { endpoint, context, .. } = &mut t.side;
    endpoint.post_receive(context, other, &receive).unwrap();
    t.deliver(send_only_inv(0, 8, key).to(other));
    t.expect(REFUSED);
    assert_eq!(t.take_completions().len(), 1);
    t.expect_untouched(0);
    t.deliver(write_only(0, 0, 8).key(key));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
}

#[test]
fn a_window_that_ends_during_a_write_refuses_the_next_packet() {
    let mut t = Script::new();
    let key = t.bound_window(WindowType::Two, REMOTE_ACCESS);
    t.deliver(write_first(0, 0, 3000, 1024).key(key));
    t.deliver(write_middle(1, 1024));
    t.post(local_invalidate(key));
    t.expect_done(1);
    t.deliver(write_last(2, 952));
    t.expect("ACKNOWLEDGE psn=2 nak=remote_access_error msn=0");
    t.expect_bytes(0, &[pattern(0, 1024), pattern(1, 1024)].concat());
    t.expect_untouched(2048);
    t.expect_event(Event::AccessError);
}

#[test]
fn a_window_that_ends_before_a_read_is_answered_gives_a_nak_in_its_place() {
    for kind in KINDS {
        let mut t = Script::new();
        let key = t.bound_window(kind, REMOTE_ACCESS);
        t.deliver(read_request(0, 0, 3000).key(key));
        t.side.context.deallocate_window(RKey::new(key)).unwrap();
        t.expect("ACKNOWLEDGE psn=0 nak=remote_access_error msn=1");
        t.expect_state(State::Err);
    }
}

#[test]
fn a_window_bound_anew_during_a_write_does_not_take_its_rest() {
    let mut t = Script::new();
    let key = t.bound_window(WindowType::One, REMOTE_ACCESS);
    t.deliver(write_first(0, 0, 2000, 1024).key(key));
    t.post(bind(key, key + 1, 0, MEMORY as u64, REMOTE_ACCESS));
    t.expect_done(1);
    t.deliver(write_last(1, 976));
    t.expect("ACKNOWLEDGE psn=1 nak=remote_access_error msn=0");
    t.expect_untouched(1024);
}

#[test]
fn a_window_of_another_protection_domain_is_refused() {
    for kind in KINDS {
        let mut t = Script::new();
        let queue_pair = t.accessor().queue_pair;
        let memory = t.side.memory.clone();
        let context = &mut t.side.context;
        let other = context.allocate_protection_domain().unwrap();
        let region = context.register(other, BASE, memory, Access::FULL).unwrap();
        let window = context.allocate_window(other, kind).unwrap();
        let accessor = Accessor { protection_domain: other, queue_pair };
        let (address, length, access) = (BASE, 64, REMOTE_ACCESS);
        let key = RKey::new(window.value() + 1);
        let binding = WindowBinding { window, key, region, address, length, access };
        context.bind_window(&accessor, &binding).unwrap();
        expect_fatal(&mut t, write_only(0, 0, 8).key(key.value()), REFUSED);
        t.expect_untouched(0);
    }
}
