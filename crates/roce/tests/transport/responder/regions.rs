//! A region that goes away while a message is under way.
//!
//! Rule: key-in-flight: A region that goes while a message is under way refuses what is still to come; a READ
//! response ends with a NAK in place of its next packet.

use rdmalab_roce::Event;
use rdmalab_verbs::State;

use crate::script::*;

#[test]
fn a_region_that_goes_during_a_read_response_gives_a_nak_in_place_of_the_next_packet() {
    let mut t = Script::with(Setup { reads: 4, ..Setup::default() });
    t.deliver(read_request(0, 0, 100 * 1024));
    t.deliver(read_request(100, 0, 8));
    let Side { endpoint, context, .. } = &mut t.side;
    let mut batch = rdmalab_roce::Batch::new(3, rdmalab_wire::PathMtu::M4096, 0);
    endpoint.poll(context, 0, &mut batch);
    assert_eq!(batch.len(), 3);
    context.deregister(KEY.value()).unwrap();
    t.expect("ACKNOWLEDGE psn=3 nak=remote_access_error msn=2");
    t.expect_nothing();
    t.expect_state(State::Err);
    t.expect_event(Event::AccessError);
    t.expect_no_event();
}

#[test]
fn a_region_that_goes_before_the_response_gives_a_nak_at_its_first_packet() {
    let mut t = Script::new();
    t.receive(1);
    t.post(send(1));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    t.deliver(read_request(0, 0, 3000));
    t.side.context.deregister(KEY.value()).unwrap();
    t.expect("ACKNOWLEDGE psn=0 nak=remote_access_error msn=1");
    t.expect_state(State::Err);
    t.expect_flushed([0, 100]);
}

#[test]
fn a_region_that_goes_during_a_write_refuses_the_next_packet() {
    let mut t = Script::new();
    t.deliver(write_first(0, 0, 3000, 1024));
    t.deliver(write_middle(1, 1024));
    t.side.context.deregister(KEY.value()).unwrap();
    t.deliver(write_last(2, 952));
    t.expect("ACKNOWLEDGE psn=2 nak=remote_access_error msn=0");
    t.expect_bytes(0, &[pattern(0, 1024), pattern(1, 1024)].concat());
    t.expect_untouched(2048);
    t.expect_state(State::Err);
    t.expect_event(Event::AccessError);
}

#[test]
fn an_atomic_that_was_carried_out_is_answered_even_if_its_region_goes() {
    let mut t = Script::new();
    t.deliver(fetch_add_request(0, 0, 1));
    t.side.context.deregister(KEY.value()).unwrap();
    t.expect("ATOMIC_ACKNOWLEDGE psn=0 ack msn=1 original=0x0");
    t.deliver(fetch_add_request(0, 0, 1));
    t.expect("ATOMIC_ACKNOWLEDGE psn=0 ack msn=1 original=0x0");
}
