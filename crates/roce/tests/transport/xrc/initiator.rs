//! What an XRC initiator sends, and what it takes for an answer.
//!
//! Rule: xrc-extended-header: each request packet of an extended reliable connection names a shared receive queue of
//! the peer, behind the base header.
//! Rule: xrc-responses-understood: an initiator takes responses that name none for its answers.
//! Rule: xrc-initiator-reliable: an initiator waits, retries and completes as a reliable connection does.

use rdmalab_roce::{Discard, Event, RetryCause};
use rdmalab_verbs::{CompletionKind, CompletionStatus, SharedReceiveQueueId, State, Target};
use rdmalab_wire::{NakCode, Transport};

use super::initiator;
use crate::script::*;

#[test]
fn every_packet_of_a_message_names_the_queue() {
    let mut t = initiator();
    t.post(send(2500));
    t.post(write_imm(1025, 7));
    t.expect("XRC SEND_FIRST psn=0 srq=0x333 len=1024");
    t.expect("XRC SEND_MIDDLE psn=1 srq=0x333 len=1024");
    t.expect("XRC SEND_LAST psn=2 srq=0x333 len=452 ackreq");
    t.expect("XRC WRITE_FIRST psn=3 srq=0x333 va=0x200000 rkey=0x200 dmalen=1025 len=1024");
    t.expect("XRC WRITE_LAST_IMM psn=4 srq=0x333 len=1 imm=0x00000007 ackreq");
    t.deliver(ack(4).msn(2));
    t.expect_done(0);
    t.expect_done(1);
}

#[test]
fn each_request_names_a_queue_of_its_own() {
    let mut t = initiator();
    for number in [1, 0xff_ffff] {
        t.post(send(1).to(Target::Xrc(SharedReceiveQueueId::from_number(number))));
    }
    t.expect("XRC SEND_ONLY psn=0 srq=0x1 len=1 ackreq");
    t.expect("XRC SEND_ONLY psn=1 srq=0xffffff len=1 ackreq");
    t.deliver(ack(1).msn(2));
    t.expect_done(0);
    t.expect_done(1);
}

#[test]
fn reads_and_atomics_name_one_too_and_their_responses_do_not() {
    let mut t = initiator();
    t.post(read(1500));
    t.post(fetch_add(1).at(2000));
    t.post(compare_swap(1, 2).at(3000));
    t.expect("XRC READ_REQUEST psn=0 srq=0x333 va=0x200000 rkey=0x200 dmalen=1500 ackreq");
    t.expect("XRC FETCH_ADD psn=2 srq=0x333 va=0x200000 rkey=0x200 add=0x1 ackreq");
    t.expect("XRC COMPARE_SWAP psn=3 srq=0x333 va=0x200000 rkey=0x200 swap=0x2 compare=0x1 ackreq");
    t.deliver(read_response_first(0, 1024).msn(1));
    t.deliver(read_response_last(1, 476).msn(1));
    t.deliver(atomic_ack(2, 5).msn(2));
    t.deliver(atomic_ack(3, 6).msn(3));
    assert_eq!(t.expect_done(0).kind, CompletionKind::RdmaRead);
    t.expect_done(1);
    t.expect_done(2);
    t.expect_bytes(0, &[pattern(0, 1024), pattern(1, 476)].concat());
    t.expect_bytes(2000, &5_u64.to_ne_bytes());
}

#[test]
fn what_is_sent_again_names_the_queue_again() {
    let mut t = initiator();
    t.post(send(2048));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(sequence_nak(1));
    t.expect_retry(1, RetryCause::SequenceError);
    t.expect("XRC SEND_LAST psn=1 srq=0x333 len=1024 ackreq");
    t.deliver(ack(1).msn(1));
    t.expect_done(0);
}

#[test]
fn a_target_that_is_not_ready_is_asked_again() {
    let mut t = initiator();
    t.post(send(1));
    t.expect("XRC SEND_ONLY psn=0 srq=0x333 len=1 ackreq");
    t.deliver(rnr_nak(0, 1));
    t.expect_nothing();
    t.advance(100 * MICROSECOND);
    t.expect("XRC SEND_ONLY psn=0 srq=0x333 len=1 ackreq");
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
}

#[test]
fn an_unknown_queue_at_the_peer_ends_the_connection() {
    let mut t = initiator();
    t.post(send(1));
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(nak(0, NakCode::InvalidRequest));
    t.expect_completion(0, CompletionStatus::RemoteInvalidRequest);
    t.expect_flushed([1]);
    t.expect_state(State::Err);
}

#[test]
fn silence_is_given_up_after_all_retries() {
    let mut t = initiator();
    t.post(send(1));
    t.expect("XRC SEND_ONLY psn=0 srq=0x333 len=1 ackreq");
    t.advance(10_000 * MILLISECOND);
    assert_eq!(t.take_lines().len(), 7);
    t.expect_completion(0, CompletionStatus::RetryExceeded);
}

#[test]
fn requests_and_packets_of_reliable_connections_are_none_of_its_business() {
    let mut t = initiator();
    t.deliver(send_only(0, 8).over(xrceth(SharedReceiveQueueId::from_number(1))));
    t.expect_discard(Discard::Opcode);
    t.post(send(1));
    t.expect("XRC SEND_ONLY psn=0 srq=0x333 len=1 ackreq");
    t.deliver(ack(0).msn(1).over(Transport::Rc));
    t.expect_discard(Discard::Opcode);
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
    t.expect_nothing();
    assert!(!matches!(t.side.endpoint.poll_event(), Some(Event::CommunicationEstablished(_))));
}
