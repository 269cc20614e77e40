//! Completion queues, and what keeps the objects that a queue pair uses.
//!
//! Rule: cq-order: Completions come out in the order in which they were added.
//! Rule: cq-notify: A completion queue that is armed tells once of the next completion, or of the next that is solicited
//! or failed, and is disarmed by that.
//! Rule: cq-notify-new-only: What was in a queue when it was armed is not told of.
//! Rule: cq-notify-any-wins: A queue that is armed for all completions stays so when it is armed for solicited ones.
//! Rule: cq-overrun-told: A completion that finds its queue full is lost, and that is told once for each queue.

use rdmalab_verbs::{
    Attachment, Completion, CompletionKind, CompletionStatus, Context, ContextEvent, Limits, NoSuchObject,
    NotifyOn, RemoveError, SharedReceiveQueueConfig,
};

fn completion(id: u64) -> Completion {
    Completion { id, ..Completion::default() }
}

#[test]
fn completions_come_out_in_order_and_the_default_is_a_success() {
    let mut context = Context::default();
    let queue = context.create_completion_queue(2).unwrap();
    context.complete(queue, completion(1));
    context.complete(queue, completion(2));
    assert_eq!(context.completions_waiting(queue), 2);
    let first = context.poll_completion(queue).unwrap();
    assert_eq!((first.id, first.status, first.kind), (1, CompletionStatus::Success, CompletionKind::Send));
    assert_eq!(context.poll_completion(queue).unwrap().id, 2);
    assert_eq!(context.poll_completion(queue), None);
}

#[test]
fn an_overrun_is_told_once_for_each_queue() {
    let mut context = Context::default();
    let queues = [0, 1].map(|_| context.create_completion_queue(1).unwrap());
    for _ in 0..5 {
        for queue in queues {
            context.complete(queue, completion(1));
        }
    }
    assert_eq!(context.poll_event(), Some(ContextEvent::CompletionQueueOverrun(queues[0])));
    assert_eq!(context.poll_event(), Some(ContextEvent::CompletionQueueOverrun(queues[1])));
    for queue in queues {
        assert!(context.is_overrun(queue));
        context.poll_completion(queue).unwrap();
        context.complete(queue, completion(2));
        context.complete(queue, completion(3));
    }
    assert_eq!(context.poll_event(), None);
}

#[test]
fn a_queue_that_is_gone_has_no_events() {
    let mut context = Context::default();
    let [gone, left] = [0, 1].map(|_| context.create_completion_queue(1).unwrap());
    for queue in [gone, left, gone, left] {
        context.complete(queue, completion(1));
    }
    context.destroy_completion_queue(gone).unwrap();
    assert_eq!(context.poll_event(), Some(ContextEvent::CompletionQueueOverrun(left)));
    assert_eq!(context.poll_event(), None);
    context.complete(gone, completion(2));
    assert_eq!((context.poll_event(), context.poll_completion(gone)), (None, None));
}

#[test]
fn the_limits_of_completion_queues_hold() {
    let limits = Limits { completion_queues: 1, completion_queue_entries: 8, ..Limits::default() };
    let mut context = Context::new(limits);
    assert_eq!(context.create_completion_queue(9).unwrap_err().limit, 8);
    context.create_completion_queue(8).unwrap();
    assert_eq!(context.create_completion_queue(1).unwrap_err().limit, 1);
}

#[test]
fn what_a_queue_pair_uses_stays_until_it_is_detached() {
    let mut context = Context::default();
    let domain = context.allocate_protection_domain().unwrap();
    let xrc_domain = context.allocate_xrc_domain().unwrap();
    let completions = context.create_completion_queue(1).unwrap();
    let config = SharedReceiveQueueConfig::default();
    let shared = context.create_shared_receive_queue(domain, &config).unwrap();
    let attachment = Attachment {
        protection_domain: Some(domain),
        send_queue: Some(completions),
        receive_queue: Some(completions),
        shared: Some(shared),
        xrc_domain: Some(xrc_domain),
    };
    context.attach(&attachment).unwrap();
    let in_use = |users| Err(RemoveError::InUse { users });
    assert_eq!(context.deallocate_protection_domain(domain), in_use(2), "the queue pair and the queue");
    assert_eq!(context.deallocate_xrc_domain(xrc_domain), in_use(1));
    assert_eq!(context.destroy_completion_queue(completions), in_use(2), "for sends and for receives");
    assert_eq!(context.destroy_shared_receive_queue(shared), in_use(1));
    context.detach(&attachment);
    assert_eq!(context.destroy_shared_receive_queue(shared), Ok(()));
    assert_eq!(context.deallocate_protection_domain(domain), Ok(()));
    assert_eq!(context.deallocate_xrc_domain(xrc_domain), Ok(()));
    assert_eq!(context.destroy_completion_queue(completions), Ok(()));
}

#[test]
fn nothing_is_attached_where_one_object_is_missing() {
    let mut context = Context::default();
    let domain = context.allocate_protection_domain().unwrap();
    let kept = context.create_completion_queue(1).unwrap();
    let gone = context.create_completion_queue(1).unwrap();
    context.destroy_completion_queue(gone).unwrap();
    let attachment = Attachment {
        protection_domain: Some(domain),
        send_queue: Some(kept),
        receive_queue: Some(gone),
        ..Attachment::default()
    };
    assert_eq!(context.attach(&attachment), Err(NoSuchObject));
    assert_eq!(context.destroy_completion_queue(kept), Ok(()));
    assert_eq!(context.deallocate_protection_domain(domain), Ok(()));
}

#[test]
fn a_queue_pair_that_uses_nothing_attaches_to_nothing() {
    let mut context = Context::default();
    assert_eq!(context.attach(&Attachment::default()), Ok(()));
}

fn solicited(id: u64) -> Completion {
    Completion { solicited: true, kind: CompletionKind::Receive, ..completion(id) }
}

fn failed(id: u64) -> Completion {
    Completion { status: CompletionStatus::WorkRequestFlushed, ..completion(id) }
}

#[test]
fn an_armed_queue_tells_of_the_next_completion_once() {
    for next in [completion(1), solicited(1), failed(1)] {
        let mut context = Context::default();
        let queue = context.create_completion_queue(8).unwrap();
        context.complete(queue, next);
        assert_eq!(context.poll_event(), None, "not armed");
        context.arm_completion_queue(queue, NotifyOn::Any).unwrap();
        assert_eq!(context.poll_event(), None, "it was there before");
        context.complete(queue, next);
        context.complete(queue, next);
        assert_eq!(context.poll_event(), Some(ContextEvent::Completion(queue)));
        context.complete(queue, next);
        assert_eq!(context.poll_event(), None, "disarmed");
        assert_eq!(context.completions_waiting(queue), 4);
    }
}

#[test]
fn a_queue_armed_for_solicited_completions_passes_over_the_others() {
    for (event, tells) in [(completion(1), false), (solicited(1), true), (failed(1), true)] {
        let mut context = Context::default();
        let queue = context.create_completion_queue(8).unwrap();
        context.arm_completion_queue(queue, NotifyOn::Solicited).unwrap();
        context.complete(queue, completion(0));
        context.complete(queue, event);
        assert_eq!(context.poll_event(), tells.then_some(ContextEvent::Completion(queue)), "{event:?}");
        context.complete(queue, solicited(2));
        assert_eq!(context.poll_event().is_some(), !tells, "armed until it has told");
    }
}

#[test]
fn arming_for_all_completions_wins_whichever_comes_first() {
    for order in [[NotifyOn::Any, NotifyOn::Solicited], [NotifyOn::Solicited, NotifyOn::Any]] {
        let mut context = Context::default();
        let queue = context.create_completion_queue(8).unwrap();
        for on in order {
            context.arm_completion_queue(queue, on).unwrap();
        }
        context.complete(queue, completion(1));
        context.complete(queue, completion(2));
        assert_eq!(context.poll_event(), Some(ContextEvent::Completion(queue)), "{order:?}");
        assert_eq!(context.poll_event(), None, "armed twice before it told is armed once");
    }
}

#[test]
fn each_time_it_is_armed_it_tells_once_even_if_nobody_takes_the_events_out() {
    let mut context = Context::default();
    let queues = [0, 1].map(|_| context.create_completion_queue(8).unwrap());
    for _ in 0..3 {
        for queue in queues {
            context.arm_completion_queue(queue, NotifyOn::Any).unwrap();
            context.complete(queue, completion(1));
        }
    }
    let told: Vec<_> = std::iter::from_fn(|| context.poll_event()).collect();
    assert_eq!(told.len(), 6);
    for queue in queues {
        assert_eq!(told.iter().filter(|event| **event == ContextEvent::Completion(queue)).count(), 3);
    }
}

#[test]
fn events_of_armed_queues_and_the_others_can_be_taken_out_apart() {
    let mut context = Context::default();
    let queue = context.create_completion_queue(1).unwrap();
    context.arm_completion_queue(queue, NotifyOn::Any).unwrap();
    context.complete(queue, completion(1));
    assert!(!context.has_asynchronous_events());
    assert_eq!(context.poll_asynchronous_event(), None);
    context.complete(queue, completion(2));
    assert!(context.has_asynchronous_events());
    assert_eq!(context.poll_completion_event(), Some(queue));
    assert_eq!(context.poll_completion_event(), None);
    assert_eq!(context.poll_asynchronous_event(), Some(ContextEvent::CompletionQueueOverrun(queue)));
    assert!(!context.has_asynchronous_events());
    // Events that are due besides wait for their turn.
    let queue = context.create_completion_queue(4).unwrap();
    for _ in 0..2 {
        context.arm_completion_queue(queue, NotifyOn::Any).unwrap();
        context.complete(queue, completion(1));
    }
    let told: Vec<_> = std::iter::from_fn(|| context.poll_completion_event()).collect();
    assert_eq!(told, [queue, queue]);
}

#[test]
fn a_completion_that_is_lost_is_told_as_lost_and_leaves_the_queue_armed_for_ever() {
    let mut context = Context::default();
    let queue = context.create_completion_queue(1).unwrap();
    context.complete(queue, completion(1));
    context.arm_completion_queue(queue, NotifyOn::Any).unwrap();
    context.complete(queue, completion(2));
    assert_eq!(context.poll_event(), Some(ContextEvent::CompletionQueueOverrun(queue)));
    context.poll_completion(queue).unwrap();
    context.complete(queue, completion(3));
    assert_eq!((context.poll_event(), context.poll_completion(queue)), (None, None));
}

#[test]
fn a_queue_that_is_gone_cannot_be_armed_and_tells_nothing() {
    let mut context = Context::default();
    let queue = context.create_completion_queue(4).unwrap();
    for _ in 0..2 {
        context.arm_completion_queue(queue, NotifyOn::Any).unwrap();
        context.complete(queue, completion(1));
    }
    context.destroy_completion_queue(queue).unwrap();
    assert_eq!(context.poll_event(), None);
    assert_eq!(context.arm_completion_queue(queue, NotifyOn::Any), Err(NoSuchObject));
}

#[test]
fn a_watched_queue_is_told_of_once_and_only_of_what_comes_later() {
    let mut context = Context::default();
    let queue = context.create_completion_queue(4).unwrap();
    let other = context.create_completion_queue(4).unwrap();
    context.complete(queue, completion(1));
    assert_eq!(context.poll_stirred(), None, "nobody watches");
    context.watch_completion_queue(queue).unwrap();
    assert_eq!(context.poll_stirred(), None, "it was there before");
    context.complete(other, completion(2));
    assert_eq!(context.poll_stirred(), None, "it went elsewhere");
    for id in 3..6 {
        context.complete(queue, completion(id));
    }
    assert_eq!(context.poll_stirred(), Some(queue));
    assert_eq!(context.poll_stirred(), None);
    // It is the application's business whether it is armed.
    assert_eq!(context.poll_completion_event(), None);
    context.watch_completion_queue(queue).unwrap();
    while context.poll_completion(queue).is_some() {}
    context.complete(queue, completion(7));
    context.destroy_completion_queue(queue).unwrap();
    assert_eq!(context.poll_stirred(), None, "it is gone");
    assert!(context.watch_completion_queue(queue).is_err());
}
