//! A completion queue that is full.
//!
//! Rule: event-completion-queue-overrun: a completion that finds its queue full is lost, and that is told once.

use rdmalab_roce::QueuePairConfig;
use rdmalab_verbs::{Capabilities, CompletionQueueId, ContextEvent, QueuePairType, State};

use crate::script::*;

/// A script whose queue pair completes into a queue with room for so many.
fn with_room_for(entries: u32, kind: QueuePairType) -> (Script, CompletionQueueId) {
    let setup = Setup { kind, ..Setup::default() };
    let mut t = Script::in_state(State::Reset, setup);
    let Side { endpoint, context, domain, .. } = &mut t.side;
    let small = context.create_completion_queue(entries).unwrap();
    let config = QueuePairConfig::new(kind, *domain, small, Capabilities::default());
    t.side.queue_pair = endpoint.create_queue_pair(context, &config).unwrap();
    t.side.completions = small;
    t.go_to(State::Rts);
    (t, small)
}

#[test]
fn what_does_not_fit_is_lost_and_told_once() {
    let (mut t, small) = with_room_for(2, QueuePairType::Uc);
    let Side { endpoint, context, queue_pair, .. } = &mut t.side;
    for id in 0..5 {
        let receive = rdmalab_verbs::ReceiveRequest { id, elements: &[] };
        endpoint.post_receive(context, *queue_pair, &receive).unwrap();
    }
    for psn in 0..4 {
        t.deliver(send_only(psn, 0));
    }
    assert_eq!(t.side.context.poll_event(), Some(ContextEvent::CompletionQueueOverrun(small)));
    assert_eq!(t.side.context.poll_event(), None);
    t.expect_received(0, 0);
    t.expect_received(1, 0);
    t.expect_no_completion();
    // There is room again: the queue goes on, and what was lost stays lost.
    t.deliver(send_only(4, 0));
    t.expect_received(4, 0);
    t.expect_no_event();
}

#[test]
fn a_reliable_connection_goes_on_as_far_as_the_peer_can_see() {
    let (mut t, small) = with_room_for(1, QueuePairType::Rc);
    for _ in 0..3 {
        t.receive(8);
    }
    for psn in 0..3 {
        t.deliver(send_only(psn, 8));
    }
    assert_eq!(t.take_lines(), ["ACKNOWLEDGE psn=2 ack msn=3"]);
    t.expect_received(100, 8);
    t.expect_state(State::Rts);
    assert_eq!(t.side.context.poll_event(), Some(ContextEvent::CompletionQueueOverrun(small)));
}
