//! Which shared receive queues a peer may name.
//!
//! Rule: xrc-unknown-queue: a request that names a shared receive queue that does not exist, is not one for XRC, or is
//! one of another XRC domain, is an invalid request.

use rdmalab_roce::{Discard, Event};
use rdmalab_verbs::{CompletionStatus, SharedReceiveQueueConfig, SharedReceiveQueueId, State};

use super::{queue, target};
use crate::script::*;

/// The request names this queue and is refused.
#[track_caller]
fn expect_refused(t: &mut Script, named: SharedReceiveQueueId) {
    t.deliver(send_only(0, 8).over(xrceth(named)));
    t.expect("XRC ACKNOWLEDGE psn=0 nak=invalid_request msn=0");
    t.expect_event(Event::RequestError);
    t.expect_no_event();
    t.expect_state(State::Err);
    t.expect_no_completion();
    t.expect_untouched(0);
}

#[test]
fn a_queue_that_does_not_exist_is_an_invalid_request() {
    for number in [0, 1, 0xff_ffff] {
        let mut t = target();
        t.receive(8);
        expect_refused(&mut t, SharedReceiveQueueId::from_number(number));
    }
}

#[test]
fn a_queue_of_another_xrc_domain_is_an_invalid_request() {
    let mut t = target();
    let other = t.side.context.allocate_xrc_domain().unwrap();
    let (domain, completions) = (t.side.domain, t.side.completions);
    let foreign = queue(&mut t, domain, other, completions);
    expect_refused(&mut t, foreign);
}

#[test]
fn a_queue_that_is_not_for_xrc_is_an_invalid_request() {
    let mut t = target();
    let config = SharedReceiveQueueConfig::default();
    let plain = t.side.context.create_shared_receive_queue(t.side.domain, &config).unwrap();
    expect_refused(&mut t, plain);
}

#[test]
fn a_queue_that_is_gone_is_an_invalid_request() {
    let mut t = target();
    let named = t.side.shared.unwrap();
    t.side.context.destroy_shared_receive_queue(named).unwrap();
    expect_refused(&mut t, named);
}

#[test]
fn what_consumes_no_receive_must_name_a_queue_all_the_same() {
    for request in [write_only(0, 0, 8), read_request(0, 0, 8), fetch_add_request(0, 0, 1)] {
        let mut t = target();
        t.deliver(request.over(xrceth(SharedReceiveQueueId::from_number(1))));
        t.expect("XRC ACKNOWLEDGE psn=0 nak=invalid_request msn=0");
        t.expect_state(State::Err);
        t.expect_untouched(0);
    }
}

#[test]
fn a_gap_is_told_before_the_queue_is_looked_at() {
    let mut t = target();
    t.deliver(send_only(1, 8).over(xrceth(SharedReceiveQueueId::from_number(1))));
    t.expect("XRC ACKNOWLEDGE psn=0 nak=psn_sequence_error msn=0");
    t.expect_state(State::Rts);
}

#[test]
fn a_duplicate_is_acknowledged_whatever_queue_it_names() {
    let mut t = target();
    t.receive(8);
    t.deliver(send_only(0, 8));
    t.expect("XRC ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_received(100, 8);
    t.deliver(send_only(0, 8).over(xrceth(SharedReceiveQueueId::from_number(1))));
    t.expect("XRC ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_state(State::Rts);
}

#[test]
fn a_queue_that_goes_within_a_message_ends_the_connection() {
    let mut t = target();
    t.receive(4096);
    t.deliver(send_first(0, 1024));
    let named = t.side.shared.unwrap();
    t.side.context.destroy_shared_receive_queue(named).unwrap();
    t.deliver(send_last(1, 8).over(xrceth(named)));
    t.expect("XRC ACKNOWLEDGE psn=1 nak=invalid_request msn=0");
    t.expect_completion(100, CompletionStatus::RemoteInvalidRequest);
    t.expect_state(State::Err);
}

#[test]
fn requests_of_one_connection_fill_several_queues() {
    let mut t = target();
    let (domain, completions, xrc) = (t.side.domain, t.side.completions, t.side.xrc_domain.unwrap());
    let second = queue(&mut t, domain, xrc, completions);
    t.receive_at(0, 8);
    let elements = [t.side.sge(1000, 8)];
    let receive = rdmalab_verbs::ReceiveRequest { id: 7, elements: &elements };
    t.side.context.post_shared_receive(second, &receive).unwrap();
    t.deliver(send_only(0, 8).over(xrceth(second)));
    t.deliver(send_only(1, 8));
    t.expect("XRC ACKNOWLEDGE psn=1 ack msn=2");
    t.expect_received(7, 8);
    t.expect_received(100, 8);
    t.expect_bytes(1000, &pattern(0, 8));
    t.expect_bytes(0, &pattern(1, 8));
    assert_eq!(t.counters().discarded(Discard::Opcode), 0);
}
