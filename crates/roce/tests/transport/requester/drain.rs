//! SQD: what was begun is finished, nothing new is begun, and it is told once when everything is done.
//!
//! Rule: qp-sqd-draining: Until then attributes cannot be changed, and the queue pair cannot go back to RTS; T. Shanley's
//! "InfiniBand Network Architecture" has it that they are changed when the queue pair has paused.
//! Rule: qp-sqd: In SQD, requests that were begun are finished, repeats included, and no new one is begun;
//! the end of that is told once.

use rdmalab_roce::{CongestionControl, Discard, Event};
use rdmalab_verbs::{Attributes, CompletionStatus, ModifyError, Path, QueuePairType, State};
use rdmalab_wire::Datagram;

use crate::script::*;
use crate::side::address;

#[test]
fn an_idle_send_queue_is_drained_at_once() {
    let mut t = Script::new();
    t.modify_state(State::Sqd);
    t.expect_event(Event::SendQueueDrained);
    t.expect_no_event();
}

#[test]
fn what_was_begun_is_finished_and_nothing_new_is_begun() {
    let mut t = Script::new();
    t.post(send(1));
    t.post(read(1));
    assert_eq!(t.take_lines().len(), 2);
    t.modify_state(State::Sqd);
    t.post(send(1));
    t.expect_nothing();
    t.expect_no_event();
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
    t.expect_no_event();
    t.deliver(read_response_only(1, 1).msn(2));
    t.expect_done(1);
    t.expect_event(Event::SendQueueDrained);
    t.expect_nothing();
    t.modify_state(State::Rts);
    t.expect("SEND_ONLY psn=2 len=1 ackreq");
    t.expect_no_event();
}

#[test]
fn a_message_that_was_begun_is_sent_to_its_end() {
    let mut t = Script::with_mtu(rdmalab_wire::PathMtu::M256);
    t.post(write(256 * 129));
    t.post(write(1));
    assert_eq!(t.take_lines().len(), 128, "the window");
    t.modify_state(State::Sqd);
    t.deliver(ack(127));
    t.expect("WRITE_LAST psn=128 len=256 ackreq");
    t.expect_nothing();
    t.deliver(ack(128).msn(1));
    t.expect_done(0);
    t.expect_event(Event::SendQueueDrained);
}

#[test]
fn lost_packets_are_repeated_while_draining() {
    let mut t = Script::with(Setup { timeout: 1, ..Setup::default() });
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 1);
    t.modify_state(State::Sqd);
    t.advance(8_192);
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
    t.expect_event(Event::SendQueueDrained);
}

#[test]
fn an_rnr_wait_goes_on_while_draining() {
    let mut t = Script::new();
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(rnr_nak(0, 1));
    t.modify_state(State::Sqd);
    t.advance(10 * MICROSECOND);
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
}

#[test]
fn a_failure_while_draining_ends_the_connection() {
    let mut t = Script::with(Setup { timeout: 1, retry_count: 0, ..Setup::default() });
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 1);
    t.modify_state(State::Sqd);
    t.post(send(1));
    t.advance(8_192);
    t.expect_completion(0, CompletionStatus::RetryExceeded);
    t.expect_flushed([1]);
    t.expect_state(State::Err);
    t.expect_no_event();
}

#[test]
fn each_drain_is_told() {
    let mut t = Script::new();
    for _ in 0..3 {
        t.modify_state(State::Sqd);
        t.expect_event(Event::SendQueueDrained);
        t.modify_state(State::Rts);
    }
    t.expect_no_event();
}

#[test]
fn requests_of_the_peer_are_answered_while_drained() {
    let mut t = Script::in_state(State::Sqd, Setup::default());
    t.expect_event(Event::SendQueueDrained);
    t.receive(10);
    t.deliver(send_only(0, 5));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_received(100, 5);
}

#[test]
fn attributes_changed_while_drained_hold_afterwards() {
    let mut t = Script::in_state(State::Sqd, Setup::default());
    t.modify(Attributes {
        timeout: Some(1),
        retry_count: Some(0),
        max_reads: Some(1),
        ..Attributes::default()
    });
    t.modify_state(State::Rts);
    t.post(read(1));
    t.post(read(1));
    t.expect("READ_REQUEST psn=0 va=0x200000 rkey=0x200 dmalen=1 ackreq");
    t.expect_nothing();
    t.advance(8_192);
    t.expect_completion(0, CompletionStatus::RetryExceeded);
    t.expect_flushed([1]);
}

#[test]
fn a_path_changed_while_drained_is_the_only_one_afterwards() {
    let mut t = Script::in_state(State::Sqd, Setup::default());
    let moved = Path::new(address(1), address(9));
    t.modify(Attributes { path: Some(moved), ..Attributes::default() });
    t.modify_state(State::Rts);
    t.deliver(write_only(0, 0, 8));
    t.expect_discard(Discard::Address);
    let from_there = t.encode_between(address(9), address(1), &write_only(0, 0, 8));
    t.deliver_bytes(&from_there);
    t.post(send(1));
    let packets = t.take_packets();
    assert_eq!(packets.len(), 2);
    for packet in packets {
        assert_eq!(Datagram::parse(&packet).unwrap().destination, address(9));
    }
}

#[test]
fn while_draining_attributes_stay_and_sending_does_not_go_on() {
    let mut t = Script::with(Setup { reads: 3, ..Setup::default() });
    for n in 0..3 {
        t.post(read(1).at(n));
    }
    assert_eq!(t.take_lines().len(), 3);
    t.modify_state(State::Sqd);
    let fewer = Attributes { max_reads: Some(1), ..Attributes::default() };
    let resume = Attributes { state: Some(State::Rts), ..Attributes::default() };
    for (psn, id) in [(0, 0), (1, 1), (2, 2)] {
        assert_eq!(t.try_modify(fewer), Err(ModifyError::Draining));
        assert_eq!(t.try_modify(resume), Err(ModifyError::Draining));
        assert_eq!(t.try_modify(Attributes::default()), Ok(()), "nothing changes");
        t.expect_state(State::Sqd);
        t.deliver(read_response_only(psn, 1));
        t.expect_done(id);
    }
    t.expect_event(Event::SendQueueDrained);
    t.modify(fewer);
    t.modify(resume);
    t.post(read(1));
    t.post(read(1));
    t.expect("READ_REQUEST psn=3 va=0x200000 rkey=0x200 dmalen=1 ackreq");
    t.expect_nothing();
}

#[test]
fn a_message_half_sent_over_an_unreliable_connection_keeps_attributes_too() {
    let mut t = Script::with(Setup {
        kind: QueuePairType::Uc,
        congestion_control: CongestionControl::Fixed(1_000_000),
        ..Setup::default()
    });
    // More than may leave at once.
    t.post(write(100_000));
    assert!(t.take_lines().len() < 98);
    t.modify_state(State::Sqd);
    let resume = Attributes { state: Some(State::Rts), ..Attributes::default() };
    assert_eq!(t.try_modify(resume), Err(ModifyError::Draining));
    t.advance(1_000 * MILLISECOND);
    while let Some(wait) = t.until_timeout() {
        t.take_lines();
        t.advance(wait);
    }
    t.take_lines();
    t.expect_done(0);
    t.expect_event(Event::SendQueueDrained);
    t.modify(resume);
}

#[test]
fn a_queue_pair_that_is_draining_can_be_ended_or_reset() {
    for state in [State::Err, State::Reset] {
        let mut t = Script::new();
        t.post(send(1));
        assert_eq!(t.take_lines().len(), 1);
        t.modify_state(State::Sqd);
        t.modify_state(state);
        if state == State::Err {
            t.expect_flushed([0]);
        }
        t.expect_state(state);
    }
}

#[test]
fn a_late_answer_does_not_tell_the_drain_again() {
    let mut t = Script::new();
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 1);
    t.modify_state(State::Sqd);
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
    t.expect_event(Event::SendQueueDrained);
    t.deliver(ack(0).msn(1));
    t.expect_no_event();
}
