//! A completion queue that is full, and what becomes of its queue pairs.
//!
//! Rule: event-completion-queue-overrun: a completion that finds its queue full is lost, and that is told once.
//! Rule: cq-overrun-ends-queue-pairs: all queue pairs that send or receive into a completion queue that has overrun go
//! into ERR, and each tells a fatal error.
//! Rule: cq-overrun-takes-no-more: nothing is put into a queue that has overrun; what was in it can be taken out.
//! Rule: cq-overrun-needs-new-queues: a queue pair whose completion queue has overrun can be reset and nothing more.
//!
//! Read in NVIDIA's public "RDMA Aware Networks Programming" (events IBV_EVENT_CQ_ERR and IBV_EVENT_QP_FATAL,
//! <https://docs.nvidia.com/networking/display/RDMAAwareProgrammingv17/Events>) and in T. Shanley's "InfiniBand Network
//! Architecture", affiliated asynchronous errors.

use rdmalab_roce::{Discard, Event, QueuePairConfig};
use rdmalab_verbs::{
    Attributes, Capabilities, CompletionQueueId, ContextEvent, ModifyError, QueuePairType, State,
};

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

#[track_caller]
fn expect_overrun(t: &mut Script, queue: CompletionQueueId) {
    assert_eq!(t.side.context.poll_event(), Some(ContextEvent::CompletionQueueOverrun(queue)));
    assert_eq!(t.side.context.poll_event(), None);
}

#[test]
fn what_does_not_fit_is_lost_and_told_once_and_the_queue_pair_ends() {
    let (mut t, small) = with_room_for(2, QueuePairType::Uc);
    (0..5).for_each(|n| assert_eq!(t.receive(8), 100 + n));
    t.deliver(send_only(0, 0));
    t.deliver(send_only(1, 0));
    t.deliver(send_only(2, 0));
    expect_overrun(&mut t, small);
    t.expect_state(State::Err);
    t.expect_event(Event::Fatal);
    t.expect_no_event();
    t.deliver(send_only(3, 0));
    t.expect_discard(Discard::State);
    // What was in it is there. The two receives that were left are flushed, and told to nobody.
    t.expect_received(100, 0);
    t.expect_received(101, 0);
    t.expect_no_completion();
}

#[test]
fn a_reliable_connection_answers_what_it_has_done_and_nothing_more() {
    let (mut t, small) = with_room_for(1, QueuePairType::Rc);
    for _ in 0..3 {
        t.receive(8);
    }
    for psn in 0..3 {
        t.deliver(send_only(psn, 8));
    }
    assert_eq!(t.take_lines(), ["ACKNOWLEDGE psn=1 ack msn=2"]);
    t.expect_received(100, 8);
    t.expect_state(State::Err);
    t.expect_event(Event::Fatal);
    t.expect_discard(Discard::State);
    expect_overrun(&mut t, small);
}

#[test]
fn a_send_that_finds_no_room_for_its_completion_ends_the_queue_pair() {
    for kind in [QueuePairType::Rc, QueuePairType::Uc] {
        let (mut t, small) = with_room_for(1, kind);
        (0..3).for_each(|n| assert_eq!(t.post(send(1)), n));
        t.take_lines();
        if kind == QueuePairType::Rc {
            t.deliver(ack(2).msn(3));
        }
        t.expect_done(0);
        t.expect_state(State::Err);
        t.expect_event(Event::Fatal);
        expect_overrun(&mut t, small);
        t.expect_nothing();
    }
}

#[test]
fn an_overrun_by_flushes_ends_the_other_queue_pairs_too() {
    let (mut t, small) = with_room_for(1, QueuePairType::Rc);
    let Side { endpoint, context, domain, .. } = &mut t.side;
    let own = context.create_completion_queue(8).unwrap();
    let config = QueuePairConfig::new(QueuePairType::Rc, *domain, small, Capabilities::default());
    let only_sends = QueuePairConfig { receive_queue: own, ..config };
    let only_receives = QueuePairConfig { send_queue: own, ..config };
    let neither = QueuePairConfig { send_queue: own, receive_queue: own, ..config };
    let others = [only_sends, only_receives, neither]
        .map(|config| endpoint.create_queue_pair(context, &config).unwrap());
    let init = Attributes {
        state: Some(State::Init),
        partition_index: Some(0),
        access: Some(rdmalab_verbs::Access::empty()),
        ..Attributes::default()
    };
    for other in others {
        endpoint.modify(context, other, &init).unwrap();
    }
    t.receive(8);
    t.receive(8);
    t.modify_state(State::Err);
    t.expect_flushed([100]);
    let states = others.map(|other| t.side.endpoint.state(other).unwrap());
    assert_eq!(states, [State::Err, State::Err, State::Init]);
    // The first was in ERR before.
    t.expect_event(|_| Event::Fatal(others[0]));
    t.expect_event(|_| Event::Fatal(others[1]));
    t.expect_no_event();
    expect_overrun(&mut t, small);
}

#[test]
fn queue_pairs_of_an_overrun_queue_can_only_be_reset_or_ended() {
    let (mut t, small) = with_room_for(1, QueuePairType::Uc);
    t.receive(8);
    t.receive(8);
    t.deliver(send_only(0, 8));
    t.deliver(send_only(1, 8));
    t.expect_event(Event::Fatal);
    expect_overrun(&mut t, small);
    t.expect_received(100, 8);
    t.modify_state(State::Reset);
    let init = Attributes {
        state: Some(State::Init),
        partition_index: Some(0),
        access: Some(rdmalab_verbs::Access::empty()),
        ..Attributes::default()
    };
    assert_eq!(t.try_modify(init), Err(ModifyError::CompletionQueueOverrun));
    t.expect_state(State::Reset);
    let Side { endpoint, context, queue_pair, .. } = &mut t.side;
    endpoint.destroy_queue_pair(context, *queue_pair).unwrap();
    context.destroy_completion_queue(small).unwrap();
}
