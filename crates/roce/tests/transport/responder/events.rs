//! Asynchronous events that a responder raises, each once.
//!
//! Rule: event-comm-est: The first packet that comes in RTR tells that communication is established.
//! Rule: event-responder-error: A request that ends the connection raises one event, for access or for the
//! request.

use rdmalab_roce::Event;
use rdmalab_verbs::State;

use crate::script::*;

#[test]
fn the_first_packet_in_rtr_tells_that_communication_is_established() {
    let mut t = Script::in_state(State::Rtr, Setup::default());
    t.expect_no_event();
    t.deliver(write_only(0, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_event(Event::CommunicationEstablished);
    t.deliver(write_only(1, 0, 8));
    t.expect("ACKNOWLEDGE psn=1 ack msn=2");
    t.expect_no_event();
}

#[test]
fn in_rts_communication_is_known_to_be_established() {
    let mut t = Script::new();
    t.deliver(write_only(0, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_no_event();
}

#[test]
fn a_packet_that_is_not_sound_establishes_nothing() {
    let mut t = Script::in_state(State::Rtr, Setup::default());
    let mut bytes = t.encode(&write_only(0, 0, 8));
    *bytes.last_mut().unwrap() ^= 1;
    t.deliver_bytes(&bytes);
    t.expect_no_event();
    t.expect_nothing();
}

#[test]
fn a_remote_access_error_is_told() {
    let mut t = Script::new();
    t.deliver(write_only(0, 0, 8).key(0));
    t.expect("ACKNOWLEDGE psn=0 nak=remote_access_error msn=0");
    t.expect_event(Event::AccessError);
    t.expect_no_event();
}

#[test]
fn an_invalid_request_is_told() {
    let mut t = Script::new();
    t.deliver(send_middle(0, 1024));
    t.expect("ACKNOWLEDGE psn=0 nak=invalid_request msn=0");
    t.expect_event(Event::RequestError);
    t.expect_no_event();
}

#[test]
fn nothing_is_told_of_what_can_be_recovered() {
    let mut t = Script::new();
    t.deliver(write_only(3, 0, 8));
    t.deliver(send_only(0, 8));
    t.deliver(write_only(0xff_ffff, 0, 8));
    assert!(!t.take_lines().is_empty());
    t.expect_no_event();
}

#[test]
fn after_an_error_packets_are_dropped_and_nothing_more_is_told() {
    let mut t = Script::new();
    t.deliver(write_only(0, 0, 8).key(0));
    t.expect("ACKNOWLEDGE psn=0 nak=remote_access_error msn=0");
    t.expect_event(Event::AccessError);
    for packet in [write_only(0, 0, 8), write_only(1, 0, 8), read_request(0, 0, 8)] {
        t.deliver(packet);
        t.expect_discard(rdmalab_roce::Discard::State);
    }
    t.expect_nothing();
    t.expect_no_event();
}

#[test]
fn a_nak_that_is_due_goes_out_behind_the_answers_before_it() {
    let mut t = Script::new();
    t.side.fill(0, 8, 1);
    t.deliver(read_request(0, 0, 8));
    t.deliver(write_only(1, 64, 8));
    t.deliver(fetch_add_request(2, 128, 1));
    t.deliver(write_only(3, 0, 8).key(0));
    t.expect("READ_RESPONSE_ONLY psn=0 ack msn=1 len=8");
    t.expect("ACKNOWLEDGE psn=1 ack msn=2");
    t.expect("ATOMIC_ACKNOWLEDGE psn=2 ack msn=3 original=0x0");
    t.expect("ACKNOWLEDGE psn=3 nak=remote_access_error msn=3");
}

#[test]
fn events_that_nobody_takes_are_counted_and_not_kept() {
    let mut t = Script::new();
    for _ in 0..3000 {
        t.modify_state(State::Sqd);
        t.modify_state(State::Rts);
    }
    let kept = std::iter::from_fn(|| t.side.endpoint.poll_event()).count();
    assert_eq!(kept + t.counters().lost_events as usize, 3000);
    assert!(kept <= 1024);
}
