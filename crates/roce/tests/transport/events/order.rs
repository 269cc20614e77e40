//! Errors are told once, in the order in which they happened, and each with the queue pair that it is about.
//!
//! Rule: event-request-error: a request that a reliable responder finds invalid is told, once.
//! Rule: event-access-error: a request that violates access rights is told, once.
//! Rule: event-fatal: a failure of our own memory under a message of the peer is told, once.

use rdmalab_roce::Event;
use rdmalab_verbs::{CompletionStatus, QueuePairType, ReceiveRequest, Sge, State};

use crate::script::*;

/// Posts a receive whose memory may not be written.
fn bad_receive(t: &mut Script) {
    let elements = [Sge { key: 0, ..t.side.sge(0, 100) }];
    let receive = ReceiveRequest { id: 7, elements: &elements };
    match t.side.shared {
        Some(shared) => t.side.context.post_shared_receive(shared, &receive),
        None => {
            let Side { endpoint, context, queue_pair, .. } = &mut t.side;
            endpoint.post_receive(context, *queue_pair, &receive)
        }
    }
    .unwrap();
}

#[test]
fn reliable_kinds_tell_what_the_peer_did() {
    for kind in [QueuePairType::Rc, QueuePairType::XrcTarget] {
        let cases = [
            (write_only(0, 0, 8).key(0), Event::AccessError as fn(_) -> _),
            (send_middle(0, 1024), Event::RequestError as fn(_) -> _),
        ];
        for (request, event) in cases {
            let mut t = Script::of(kind);
            t.deliver(request);
            t.expect_event(event);
            t.deliver(write_only(0, 0, 8).key(0));
            t.modify_state(State::Err);
            t.expect_no_event();
            t.take_lines();
        }
    }
}

#[test]
fn every_kind_that_receives_tells_a_failure_of_its_own() {
    for kind in [QueuePairType::Rc, QueuePairType::Uc, QueuePairType::Ud, QueuePairType::XrcTarget] {
        let mut t = Script::of(kind);
        bad_receive(&mut t);
        t.deliver(send_only(0, 8));
        t.expect_event(Event::Fatal);
        t.expect_no_event();
        t.expect_state(State::Err);
        t.expect_completion(7, CompletionStatus::LocalProtectionError);
        t.take_lines();
    }
}

#[test]
fn unreliable_kinds_tell_nothing_of_what_the_peer_did() {
    let mut t = Script::of(QueuePairType::Uc);
    for request in [write_only(0, 0, 8).key(0), send_middle(1, 1024), send_only(9, 8)] {
        t.deliver(request);
    }
    t.expect_no_event();
}

#[test]
fn the_first_packet_establishes_communication_before_it_does_any_harm() {
    let mut t = Script::in_state(State::Rtr, Setup { shared: true, ..Setup::default() });
    t.deliver(write_only(0, 0, 8).key(0));
    t.expect("ACKNOWLEDGE psn=0 nak=remote_access_error msn=0");
    t.expect_event(Event::CommunicationEstablished);
    t.expect_event(Event::AccessError);
    t.expect_event(Event::LastReceiveReached);
    t.expect_no_event();
}
