//! Where messages of an extended reliable connection are told of.
//!
//! Rule: xrc-completion-queue: a message completes into the completion queue of the shared receive queue that it
//! filled, under the number of the target that received it.

use rdmalab_verbs::{CompletionKind, CompletionStatus, ReceiveRequest, Sge, State};

use super::{queue, target};
use crate::script::*;

#[test]
fn it_is_the_queues_completion_queue_and_the_targets_number() {
    let mut t = target();
    let own = t.side.context.create_completion_queue(16).unwrap();
    let (domain, xrc) = (t.side.domain, t.side.xrc_domain.unwrap());
    let named = queue(&mut t, domain, xrc, own);
    let elements = [t.side.sge(0, 8)];
    for id in [7, 8] {
        t.side.context.post_shared_receive(named, &ReceiveRequest { id, elements: &elements }).unwrap();
    }
    t.deliver(send_only(0, 8).over(xrceth(named)));
    t.deliver(write_only_imm(1, 0, 4, 1).over(xrceth(named)));
    t.expect("XRC ACKNOWLEDGE psn=1 ack msn=2");
    t.expect_no_completion();
    let first = t.side.context.poll_completion(own).unwrap();
    assert_eq!((first.id, first.status, first.length), (7, CompletionStatus::Success, 8));
    assert_eq!((first.kind, first.queue_pair), (CompletionKind::Receive, t.side.queue_pair));
    let second = t.side.context.poll_completion(own).unwrap();
    assert_eq!((second.id, second.kind), (8, CompletionKind::ReceiveRdmaWithImmediate));
    assert_eq!(t.side.context.poll_completion(own), None);
}

#[test]
fn a_receive_that_a_message_had_taken_is_flushed_there_when_the_target_fails() {
    let mut t = target();
    let own = t.side.context.create_completion_queue(16).unwrap();
    let (domain, xrc) = (t.side.domain, t.side.xrc_domain.unwrap());
    let named = queue(&mut t, domain, xrc, own);
    let elements = [t.side.sge(0, 4096)];
    for id in [7, 8] {
        t.side.context.post_shared_receive(named, &ReceiveRequest { id, elements: &elements }).unwrap();
    }
    t.deliver(send_first(0, 1024).over(xrceth(named)));
    t.modify_state(State::Err);
    let flushed = t.side.context.poll_completion(own).unwrap();
    assert_eq!((flushed.id, flushed.status), (7, CompletionStatus::WorkRequestFlushed));
    assert_eq!(t.side.context.poll_completion(own), None);
    assert_eq!(t.side.context.shared_receive_queue(named).unwrap().len(), 1);
}

#[test]
fn a_bad_receive_fails_there_and_ends_the_target() {
    let mut t = target();
    let named = t.side.shared.unwrap();
    let bad = [Sge { key: 0, ..t.side.sge(0, 8) }];
    t.side.context.post_shared_receive(named, &ReceiveRequest { id: 7, elements: &bad }).unwrap();
    t.deliver(send_only(0, 8));
    t.expect("XRC ACKNOWLEDGE psn=0 nak=remote_operational_error msn=0");
    t.expect_completion(7, CompletionStatus::LocalProtectionError);
    t.expect_state(State::Err);
}
