//! A shared receive queue whose completion queue is full.
//!
//! Rule: xrc-overrun-ends-targets: a target whose peer names a shared receive queue goes into ERR when the completion
//! queue of that has overrun, and tells a fatal error; targets that do not use it go on.

use rdmalab_roce::Event;
use rdmalab_verbs::{CompletionQueueId, ContextEvent, ReceiveRequest, SharedReceiveQueueId, State};

use super::{queue, setup, target};
use crate::script::*;

/// A shared receive queue that completes into a queue with room for one, with so many receives.
fn small_queue(t: &mut Script, receives: u64) -> (SharedReceiveQueueId, CompletionQueueId) {
    let small = t.side.context.create_completion_queue(1).unwrap();
    let (domain, xrc_domain) = (t.side.domain, t.side.xrc_domain.unwrap());
    let named = queue(t, domain, xrc_domain, small);
    for id in 0..receives {
        let request = ReceiveRequest { id, elements: &[t.side.sge(0, 8)] };
        t.side.context.post_shared_receive(named, &request).unwrap();
    }
    (named, small)
}

#[test]
fn a_target_that_loses_a_completion_ends_and_answers_what_it_has_done() {
    let mut t = target();
    let (named, small) = small_queue(&mut t, 3);
    t.deliver(send_only(0, 8).over(xrceth(named)));
    t.expect("XRC ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_state(State::Rts);
    t.deliver(send_only(1, 8).over(xrceth(named)));
    t.expect("XRC ACKNOWLEDGE psn=1 ack msn=2");
    t.expect_state(State::Err);
    t.expect_event(Event::Fatal);
    t.expect_no_event();
    assert_eq!(t.side.context.poll_event(), Some(ContextEvent::CompletionQueueOverrun(small)));
    assert_eq!(t.side.context.poll_completion(small).map(|one| one.id), Some(0));
    assert_eq!(t.side.context.poll_completion(small), None);
}

#[test]
fn a_target_whose_peer_names_other_queues_goes_on_until_it_names_that_one() {
    let mut t = target();
    let (named, _) = small_queue(&mut t, 2);
    let other = t.side.connect_another(&setup(), peer(), PEER_QUEUE_PAIR);
    for psn in 0..2 {
        t.deliver(send_only(psn, 8).over(xrceth(named)));
    }
    t.take_packets();
    t.expect_event(Event::Fatal);
    t.receive(8);
    t.deliver(send_only(0, 8).over(xrceth(t.side.shared.unwrap())).to(other));
    t.take_packets();
    assert_eq!(t.take_completions().len(), 1);
    assert_eq!(t.side.endpoint.state(other), Some(State::Rts));
    t.deliver(write_only(1, 0, 8).over(xrceth(named)).to(other));
    t.take_packets();
    assert_eq!(t.side.endpoint.state(other), Some(State::Err));
    t.expect_event(|_| Event::Fatal(other));
}
