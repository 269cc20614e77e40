//! Completion queues that are armed, and what their queue pairs do.
//!
//! Rule: cq-notify-solicited-bit: A receive is solicited if its message's last packet has the bit set, which its sender
//! asked for; completions of requests never are, unless they fail.

use rdmalab_verbs::{CompletionStatus, ContextEvent, NotifyOn, QueuePairType, State};

use crate::script::*;

/// Arms the queue of a script's completions.
fn arm(t: &mut Script, on: NotifyOn) {
    t.side.context.arm_completion_queue(t.side.completions, on).unwrap();
}

#[track_caller]
fn expect_told(t: &mut Script, is_told: bool) {
    let event = is_told.then_some(ContextEvent::Completion(t.side.completions));
    assert_eq!(t.side.context.poll_event(), event);
    assert_eq!(t.side.context.poll_event(), None);
}

#[test]
fn a_message_with_the_solicited_bit_is_told_to_who_waits_for_those() {
    for kind in [QueuePairType::Rc, QueuePairType::Uc, QueuePairType::Ud] {
        let mut t = Script::of(kind);
        (0..3).for_each(|n| assert_eq!(t.receive(1100), 100 + n));
        arm(&mut t, NotifyOn::Solicited);
        t.deliver(send_only(0, 8));
        expect_told(&mut t, false);
        t.deliver(send_only(1, 8).solicited());
        expect_told(&mut t, true);
        t.deliver(send_only(2, 8).solicited());
        expect_told(&mut t, false);
        t.take_packets();
        assert_eq!(t.take_completions().len(), 3, "{kind}");
    }
}

#[test]
fn a_write_with_immediate_data_may_be_solicited_and_a_plain_one_tells_nobody() {
    let mut t = Script::new();
    t.receive(0);
    arm(&mut t, NotifyOn::Any);
    t.deliver(write_only(0, 0, 8));
    expect_told(&mut t, false);
    arm(&mut t, NotifyOn::Solicited);
    t.deliver(write_only_imm(1, 0, 8, 1).solicited());
    expect_told(&mut t, true);
    t.take_packets();
    t.take_completions();
}

#[test]
fn a_request_that_succeeds_is_not_solicited_and_one_that_fails_is() {
    let mut t = Script::new();
    arm(&mut t, NotifyOn::Solicited);
    t.post(send(1).solicited());
    t.expect("SEND_ONLY psn=0 len=1 solicited ackreq");
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
    expect_told(&mut t, false);
    t.post(send(1));
    t.take_lines();
    t.modify_state(State::Err);
    t.expect_completion(1, CompletionStatus::WorkRequestFlushed);
    expect_told(&mut t, true);
}
