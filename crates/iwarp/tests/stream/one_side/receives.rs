//! SENDs of the peer, and immediate data.
//!
//! Rule: ddp-untagged-buffer: Each message of queue 0 fills the next receive, in the order of posting (RFC 5041 §5.2,
//! RFC 5040 §5.3).
//! Rule: ddp-no-buffer: A message without a receive is told as without a buffer (RFC 5041 §7).
//! Rule: ddp-send-msn: A segment whose number is not that of the message in progress, or of the next one, is told as out
//! of range (RFC 5041 §7).
//! Rule: ddp-send-offset: A segment that does not go on where its message stands is told as of an invalid message offset
//! (RFC 5041 §7).
//! Rule: ddp-too-long: A message that is longer than its receive is told so, and no byte is placed behind the receive
//! (RFC 5041 §7).
//! Rule: rdmap-solicited: A SEND with solicited event tells so in the completion (RFC 5040 §5.3).
//! Rule: rdmap-invalidate: A SEND with invalidation makes the tag unusable before its receive completes (RFC 5040 §5.3).
//! Rule: rdmap-cannot-invalidate: A tag that cannot be invalidated is told so (RFC 5040 §7).
//! Rule: rdmap-send-one-opcode: All segments of a SEND have one opcode (RFC 5040 §4.3).
//! Rule: rdmap-immediate: Immediate data takes a receive and arrives in its completion (RFC 7306 §6).
//! Rule: srq-iwarp: Receives come from a shared receive queue where the queue pair was made with one.

use rdmalab_verbs::{Access, CompletionKind, CompletionStatus, FastRegistration};
use rdmalab_wire::iwarp::{Opcode, TerminateError};
use rdmalab_wire::{ImmDt, RKey};

use crate::script::*;
use crate::side::{BASE, Setup, pattern};

#[test]
fn sends_fill_the_receives_in_order() {
    for shared in [false, true] {
        let mut t = Script::with(Setup { shared, ..Setup::default() });
        t.side.receive(10, 0, 1000);
        t.side.receive(11, 2000, 1000);
        t.deliver(incoming_send(1, 600).not_last());
        t.deliver(incoming_send(1, 400).mo(600));
        t.deliver(incoming_send(2, 0));
        let done = t.expect_done(10);
        assert_eq!((done.kind, done.length, done.solicited), (CompletionKind::Receive, 1000, false));
        assert_eq!(done.queue_pair, t.side.queue_pair.number());
        assert_eq!(t.expect_done(11).length, 0);
        t.expect_bytes(0, &pattern(1, 600));
        t.expect_bytes(600, &pattern(1, 400));
        t.expect_alive();
    }
}

#[test]
fn a_send_may_be_shorter_than_its_receive_and_lie_in_several_elements() {
    let mut t = Script::new();
    let elements = [t.side.sge(100, 10), t.side.sge(0, 20), t.side.sge(500, 500)];
    let request = rdmalab_verbs::ReceiveRequest { id: 1, elements: &elements };
    t.side.queue_pair.post_receive(&mut t.side.context, &request).unwrap();
    t.deliver(incoming_send(1, 100));
    assert_eq!(t.expect_done(1).length, 100);
    let data = pattern(1, 100);
    t.expect_bytes(100, &data[..10]);
    t.expect_bytes(0, &data[10..30]);
    t.expect_bytes(500, &data[30..]);
}

#[test]
fn a_send_without_a_receive_has_no_buffer() {
    for shared in [false, true] {
        let mut t = Script::with(Setup { shared, ..Setup::default() });
        t.deliver(incoming_send(1, 10));
        t.expect_state(rdmalab_verbs::State::Err);
        t.expect(&format!("RDMAP TERMINATE msn=1 error={} of SEND length=28", TerminateError::DDP_NO_BUFFER));
    }
}

#[test]
fn another_number_than_the_next_is_out_of_range() {
    for msn in [0, 1, 3, u32::MAX] {
        let mut t = Script::new();
        t.side.receive(0, 0, 100);
        t.side.receive(1, 0, 100);
        t.deliver(incoming_send(1, 10));
        t.deliver(incoming_send(msn, 10));
        t.expect_done(0);
        t.expect_terminate(TerminateError::DDP_MSN_RANGE, "SEND length=28");
        t.expect_flushed([1]);
    }
}

#[test]
fn another_number_within_a_message_is_out_of_range() {
    let mut t = Script::new();
    t.side.receive(0, 0, 100);
    t.deliver(incoming_send(1, 10).not_last());
    t.deliver(incoming_send(2, 10));
    t.expect_terminate(TerminateError::DDP_MSN_RANGE, "SEND length=28");
    t.expect_completion(0, CompletionStatus::RemoteInvalidRequest);
}

#[test]
fn an_offset_where_the_message_does_not_stand_is_invalid() {
    for offset in [0, 9, 11, u32::MAX] {
        let mut t = Script::new();
        t.side.receive(0, 0, 100);
        t.deliver(incoming_send(1, 10).not_last());
        t.deliver(incoming_send(1, 10).mo(offset));
        t.expect_terminate(TerminateError::DDP_INVALID_MESSAGE_OFFSET, "SEND length=28");
        t.expect_completion(0, CompletionStatus::RemoteInvalidRequest);
    }
    let mut t = Script::new();
    t.side.receive(0, 0, 100);
    t.deliver(incoming_send(1, 10).mo(1));
    t.expect_terminate(TerminateError::DDP_INVALID_MESSAGE_OFFSET, "SEND length=28");
    t.expect_flushed([0]);
}

#[test]
fn a_message_that_is_too_long_is_told_at_its_first_byte_too_many() {
    for piece in [1000, 1] {
        let mut t = Script::new();
        t.side.receive(7, 0, 15);
        t.deliver(incoming_send(1, 10).not_last());
        let fpdu = t.encode(&incoming_send(1, 6).mo(10));
        fpdu.chunks(piece).for_each(|piece| t.deliver_bytes(piece));
        t.expect_terminate(TerminateError::DDP_MESSAGE_TOO_LONG, "SEND length=24");
        t.expect_completion(7, CompletionStatus::LocalLengthError);
        t.expect_no_completion();
        t.expect_bytes(10, &[0; 10]);
    }
}

#[test]
fn a_receive_whose_memory_is_gone_is_our_own_fault() {
    let mut t = Script::new();
    t.side.receive(7, 0, 15);
    t.side.context.deregister(t.side.key).unwrap();
    t.deliver(incoming_send(1, 10));
    t.expect_terminate(TerminateError::RDMAP_LOCAL_CATASTROPHIC, "");
    t.expect_completion(7, CompletionStatus::LocalProtectionError);
}

#[test]
fn a_solicited_send_says_so_at_its_end() {
    let mut t = Script::new();
    t.side.receive(0, 0, 100);
    t.deliver(incoming_send(1, 10).opcode(Opcode::SEND_SE).not_last());
    t.deliver(incoming_send(1, 10).opcode(Opcode::SEND_SE).mo(10));
    assert!(t.expect_done(0).solicited);
}

#[test]
fn a_message_keeps_its_opcode() {
    let mut t = Script::new();
    t.side.receive(0, 0, 100);
    t.deliver(incoming_send(1, 10).not_last());
    t.deliver(incoming_send(1, 10).opcode(Opcode::SEND_SE).mo(10));
    t.expect_terminate(TerminateError::RDMAP_UNEXPECTED_OPCODE, "SEND_SE length=28");
    t.expect_completion(0, CompletionStatus::RemoteInvalidRequest);
}

fn mapped_region(t: &mut Script) -> u32 {
    let memory = std::sync::Arc::clone(&t.side.memory);
    let region = RKey::new(t.side.context.allocate_fast_region(t.side.domain, memory).unwrap());
    let access = Access::LOCAL_WRITE | Access::REMOTE_WRITE;
    let registration =
        FastRegistration { region, key: region, offset: 0, length: 4096, address: BASE, access };
    t.post(operation(rdmalab_verbs::Operation::FastRegister(registration), 0));
    t.expect_nothing();
    t.expect_done(0);
    region.value()
}

#[test]
fn a_send_with_invalidation_ends_a_key_before_its_receive_completes() {
    for (opcode, solicited) in [(Opcode::SEND_INV, false), (Opcode::SEND_SE_INV, true)] {
        let mut t = Script::new();
        let key = mapped_region(&mut t);
        t.side.receive(7, 0, 100);
        t.deliver(tagged(Opcode::WRITE, key, BASE, &[1; 10]));
        t.deliver(incoming_send(1, 10).opcode(opcode).upper(key).not_last());
        assert!(t.side.context.region(key).is_some(), "only the whole message invalidates");
        t.deliver(incoming_send(1, 10).opcode(opcode).upper(key).mo(10));
        let done = t.expect_done(7);
        assert_eq!((done.invalidated, done.solicited), (Some(RKey::new(key)), solicited));
        t.deliver(tagged(Opcode::WRITE, key, BASE, &[1; 10]));
        t.expect_terminate(TerminateError::DDP_INVALID_STAG, "WRITE length=24");
    }
}

#[test]
fn a_key_that_cannot_be_invalidated_ends_the_connection() {
    let mut t = Script::new();
    t.side.receive(7, 0, 100);
    let key = t.side.key;
    t.deliver(incoming_send(1, 10).opcode(Opcode::SEND_INV).upper(key));
    t.expect_terminate(TerminateError::RDMAP_CANNOT_INVALIDATE, "SEND_INV length=28");
    t.expect_completion(7, CompletionStatus::RemoteAccessError);
    assert!(t.side.context.region(key).is_some());
}

fn immediate(msn: u32) -> Incoming {
    untagged(Opcode::IMMEDIATE, 0, msn, &[1, 2, 3, 4, 0, 0, 0, 0])
}

#[test]
fn immediate_data_completes_a_receive_with_the_length_of_the_write_in_front() {
    let mut t = Script::new();
    (0..5).for_each(|id| t.side.receive(id, 0, 0));
    t.deliver(t.incoming_write(0, 1000).not_last());
    t.deliver(t.incoming_write(1000, 500));
    t.deliver(immediate(1));
    let done = t.expect_done(0);
    assert_eq!((done.kind, done.length), (CompletionKind::ReceiveRdmaWithImmediate, 1500));
    assert_eq!((done.immediate, done.solicited), (Some(ImmDt([1, 2, 3, 4])), false));
    t.deliver(immediate(2).opcode(Opcode::IMMEDIATE_SE));
    let done = t.expect_done(1);
    assert_eq!((done.length, done.solicited), (0, true), "the WRITE was another's");
    t.deliver(t.incoming_write(0, 10));
    t.deliver(t.incoming_read(1, 0, 0));
    t.deliver(immediate(3));
    assert_eq!(t.expect_done(2).length, 0, "something was between");
    t.deliver(t.incoming_write(0, 10));
    t.deliver(t.incoming_write(0, 20));
    t.deliver(immediate(4));
    assert_eq!(t.expect_done(3).length, 20, "the last one");
    t.deliver(t.incoming_write(0, 0));
    t.deliver(immediate(5));
    assert_eq!(t.expect_done(4).length, 0);
    t.expect_alive();
}

#[test]
fn immediate_data_needs_a_receive_and_its_turn() {
    let mut t = Script::new();
    t.deliver(immediate(1));
    t.expect_terminate(TerminateError::DDP_NO_BUFFER, "IMMEDIATE length=26");
    let mut t = Script::new();
    t.side.receive(0, 0, 0);
    t.deliver(immediate(2));
    t.expect_terminate(TerminateError::DDP_MSN_RANGE, "IMMEDIATE length=26");
    let mut t = Script::new();
    t.side.receive(0, 0, 100);
    t.deliver(incoming_send(1, 10).not_last());
    t.deliver(immediate(1));
    t.expect_terminate(TerminateError::RDMAP_UNEXPECTED_OPCODE, "IMMEDIATE length=26");
    t.expect_completion(0, CompletionStatus::RemoteInvalidRequest);
}

#[test]
fn a_shared_queue_takes_the_receives_and_the_last_is_told() {
    let mut t = Script::with(Setup { shared: true, ..Setup::default() });
    t.side.receive(0, 0, 100);
    t.side.receive(1, 0, 100);
    t.deliver(incoming_send(1, 10).not_last());
    let element = [t.side.sge(0, 1)];
    let own = rdmalab_verbs::ReceiveRequest { id: 9, elements: &element };
    let refused = t.side.queue_pair.post_receive(&mut t.side.context, &own);
    assert_eq!(refused, Err(rdmalab_verbs::PostError::SharedReceiveQueue));
    t.abort();
    t.expect_event(rdmalab_iwarp::Event::Reset);
    t.expect_event(rdmalab_iwarp::Event::LastReceiveReached);
    t.expect_flushed([0]);
    let left = t.side.context.shared_receive_queue(t.side.shared.unwrap()).unwrap().len();
    assert_eq!(left, 1, "what this queue pair did not take stays for others");
}

#[test]
fn receives_of_a_shared_queue_lie_in_its_own_domain() {
    let mut t = Script::new();
    let context = &mut t.side.context;
    let other = context.allocate_protection_domain().unwrap();
    let memory = std::sync::Arc::clone(&t.side.memory);
    let key = context.register(other, BASE, memory, Access::LOCAL_WRITE).unwrap();
    let shared = context.create_shared_receive_queue(other, &Default::default()).unwrap();
    let elements = [rdmalab_verbs::Sge { address: BASE, length: 100, key }];
    context
        .post_shared_receive(shared, &rdmalab_verbs::ReceiveRequest { id: 5, elements: &elements })
        .unwrap();
    let config = rdmalab_iwarp::QueuePairConfig {
        shared_receive_queue: Some(shared),
        ..rdmalab_iwarp::QueuePairConfig::new(t.side.domain, t.side.completions, Default::default())
    };
    let identity = rdmalab_iwarp::Identity { number: rdmalab_wire::Qpn::new(3), accessor: 3 };
    let mut queue_pair = rdmalab_iwarp::QueuePair::new(context, identity, &config).unwrap();
    queue_pair.establish(context, &t.setup.negotiated(), &t.setup.stream()).unwrap();
    t.side.queue_pair = queue_pair;
    t.deliver(incoming_send(1, 100));
    assert_eq!(t.expect_done(5).length, 100);
    t.expect_bytes(0, &pattern(1, 100));
}
