//! Counters that users of Linux' rxe look for, and when they count here.
//!
//! Rule: port-counts-retries: completer_retry_err counts each time that a requester goes back to send again, whatever made
//! it, but not when the receiver was not ready.
//! Rule: port-counts-deferred-acknowledgements: ack_deferred counts acknowledgements that were left to a later one.
//! Rule: port-counts-send-errors: send_err counts packets that could not be sent for want of their memory or their way.
//! Rule: port-counts-messages: rdma_sends counts SENDs that are done, rdma_recvs receives that messages used up.
//! Rule: qp-counts-served: a queue pair counts the peer's requests that it has carried out, each once, with their bytes.

use rdmalab_roce::Served;
use rdmalab_verbs::{CompletionStatus, QueuePairType, Sge, State};
use rdmalab_wire::NakCode;

use crate::script::*;

fn counts(t: &Script) -> [u64; 5] {
    let counters = t.counters();
    [
        counters.completer_retry_err,
        counters.ack_deferred,
        counters.send_err,
        counters.rdma_sends,
        counters.rdma_recvs,
    ]
}

#[test]
fn a_timeout_a_gap_and_a_lost_response_count_as_a_retry_each() {
    let mut t = Script::with(Setup { timeout: 1, ..Setup::default() });
    t.post(write(1));
    t.post(read(1));
    t.post(write(1));
    assert_eq!(t.take_lines().len(), 3);
    t.advance(8_192);
    assert_eq!((t.take_lines().len(), counts(&t)[0]), (3, 1), "a timeout");
    t.deliver(sequence_nak(0));
    assert_eq!((t.take_lines().len(), counts(&t)[0]), (3, 2), "a gap");
    t.deliver(ack(2).msn(3));
    assert_eq!((t.take_lines().len(), counts(&t)[0]), (2, 3), "a lost response");
    t.expect_done(0);
}

#[test]
fn a_receiver_that_is_not_ready_makes_no_retry_count() {
    let mut t = Script::new();
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(rnr_nak(0, 1));
    t.advance(10 * MICROSECOND);
    assert_eq!(t.take_lines().len(), 1);
    assert_eq!((counts(&t)[0], t.counters().rcvd_rnr_err), (0, 1));
}

#[test]
fn a_retry_that_is_one_too_many_is_counted_as_exceeded_only() {
    let mut t = Script::with(Setup { timeout: 1, retry_count: 1, ..Setup::default() });
    t.post(write(1));
    for _ in 0..2 {
        assert_eq!(t.take_lines().len(), 1);
        t.advance(8_192);
    }
    t.expect_completion(0, CompletionStatus::RetryExceeded);
    assert_eq!((counts(&t)[0], t.counters().retry_exceeded_err), (1, 1));
}

#[test]
fn acknowledgements_that_a_later_one_takes_the_place_of_are_counted() {
    let mut t = Script::new();
    for psn in 0..10 {
        t.deliver(write_only(psn, 0, 8));
    }
    t.expect("ACKNOWLEDGE psn=9 ack msn=10");
    assert_eq!(counts(&t)[1], 9);
    t.deliver(write_only(10, 0, 8));
    t.expect("ACKNOWLEDGE psn=10 ack msn=11");
    assert_eq!(counts(&t)[1], 9, "one by itself is left to nobody");
}

#[test]
fn an_acknowledgement_in_front_of_a_nak_was_left_to_it() {
    let mut t = Script::new();
    t.deliver(write_only(0, 0, 8));
    t.deliver(write_only(2, 0, 8));
    t.expect("ACKNOWLEDGE psn=1 nak=psn_sequence_error msn=1");
    assert_eq!(counts(&t)[1], 1);
}

#[test]
fn a_packet_without_its_memory_is_a_send_error_of_every_service() {
    for kind in [QueuePairType::Rc, QueuePairType::Uc, QueuePairType::Ud] {
        let mut t = Script::of(kind);
        let bad = Sge { key: 0, ..t.side.sge(0, 8) };
        t.post(send(1));
        t.post(send(0).in_elements(&[bad]));
        assert_eq!(t.take_lines().len(), 1);
        if kind == QueuePairType::Rc {
            t.deliver(ack(0).msn(1));
        }
        t.expect_nothing();
        t.expect_done(0);
        t.expect_completion(1, CompletionStatus::LocalProtectionError);
        assert_eq!(counts(&t)[2..4], [1, 1], "{kind}");
    }
}

#[test]
fn a_response_whose_region_is_gone_is_a_send_error() {
    let mut t = Script::new();
    t.deliver(read_request(0, 0, 8));
    t.side.context.deregister(KEY.value()).unwrap();
    t.expect("ACKNOWLEDGE psn=0 nak=remote_access_error msn=1");
    t.expect_state(State::Err);
    t.expect_event(rdmalab_roce::Event::AccessError);
    assert_eq!(counts(&t)[2], 1);
}

#[test]
fn a_request_that_fails_at_the_peer_or_without_a_packet_is_no_send_error() {
    let mut t = Script::new();
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(nak(0, NakCode::InvalidRequest));
    t.expect_completion(0, CompletionStatus::RemoteInvalidRequest);
    let mut other = Script::new();
    other.post(local_invalidate(1));
    other.expect_completion(0, CompletionStatus::LocalQueuePairOperationError);
    assert_eq!((counts(&t), counts(&other)), ([0; 5], [0; 5]));
}

#[test]
fn sends_of_all_kinds_count_when_they_are_done_and_nothing_else_does() {
    let mut t = Script::new();
    t.post(send(1).unsignaled());
    t.post(send_imm(2000, 1));
    t.post(send_inv(1, 1));
    t.post(write(1));
    t.post(write_imm(1, 1));
    assert_eq!((t.take_lines().len(), counts(&t)[3]), (6, 0), "sent, not done");
    t.deliver(ack(2).msn(2));
    assert_eq!(counts(&t)[3], 2);
    t.deliver(ack(5).msn(5));
    assert_eq!(counts(&t)[3], 3);
    t.take_completions();

    let mut unreliable = Script::of(QueuePairType::Uc);
    unreliable.post(send(2000));
    unreliable.post(write_imm(1, 1));
    assert_eq!((unreliable.take_lines().len(), counts(&unreliable)[3]), (3, 1));
    unreliable.take_completions();
}

#[test]
fn receives_count_once_for_each_message_that_uses_one_up() {
    for kind in [QueuePairType::Rc, QueuePairType::Uc] {
        let mut t = Script::of(kind);
        t.receive(4096);
        t.receive(4096);
        t.deliver(send_first(0, 1024));
        assert_eq!(counts(&t)[4], 0, "not whole");
        t.deliver(send_last(1, 1));
        assert_eq!(counts(&t)[4], 1, "{kind}");
        t.deliver(write_only(2, 0, 8));
        t.deliver(write_only_imm(3, 0, 8, 1));
        assert_eq!(counts(&t)[4], 2, "{kind}");
        t.take_packets();
        t.take_completions();
    }
    let mut datagrams = Script::of(QueuePairType::Ud);
    datagrams.receive(100);
    datagrams.deliver(send_only(0, 8));
    datagrams.deliver(send_only(1, 8));
    assert_eq!(counts(&datagrams)[4], 1, "the second finds no receive");
    datagrams.take_completions();
}

#[test]
fn what_ends_in_error_counts_neither_as_sent_nor_as_received() {
    let mut t = Script::new();
    t.receive(4);
    t.deliver(send_only(0, 8));
    t.expect("ACKNOWLEDGE psn=0 nak=invalid_request msn=0");
    t.expect_completion(100, CompletionStatus::LocalLengthError);
    t.expect_event(rdmalab_roce::Event::RequestError);
    assert_eq!(counts(&t)[3..], [0, 0]);
}

/// Messages and bytes that were carried out.
fn served(t: &Script) -> (u64, u64) {
    let Served { messages, bytes } = t.side.endpoint.served(t.side.queue_pair).unwrap();
    (messages, bytes)
}

#[test]
fn what_the_peer_asked_for_counts_once_with_its_bytes_though_nothing_completes() {
    let mut t = Script::new();
    t.deliver(write_first(0, 0, 1500, 1024));
    assert_eq!(served(&t), (0, 0), "not whole");
    t.deliver(write_last(1, 476));
    assert_eq!(served(&t), (1, 1500));
    t.deliver(write_last(1, 476));
    t.deliver(write_only(5, 0, 8));
    assert_eq!(served(&t), (1, 1500), "repeated, and behind a gap");
    t.deliver(read_request(2, 0, 3000));
    t.deliver(fetch_add_request(5, 0, 1));
    t.deliver(flush_request(6, 0, 8, 1));
    t.deliver(atomic_write_request(7, 0, 1));
    assert_eq!(served(&t), (5, 1500 + 3000 + 8 + 8));
    t.deliver(read_request(2, 0, 3000));
    assert_eq!(served(&t), (5, 1500 + 3000 + 8 + 8), "replayed");
    t.take_packets();
}

#[test]
fn what_unreliable_peers_bring_counts_when_it_came_whole() {
    let mut t = Script::of(QueuePairType::Uc);
    t.deliver(write_first(0, 0, 1500, 1024));
    t.deliver(write_last(2, 476));
    assert_eq!(served(&t), (0, 0), "a packet is lost");
    t.deliver(write_only(3, 0, 8));
    t.receive(100);
    t.deliver(send_only(4, 20));
    t.deliver(send_only(5, 20));
    assert_eq!(served(&t), (2, 28), "the last finds no receive");
    t.take_completions();
    let mut datagrams = Script::of(QueuePairType::Ud);
    datagrams.receive(100);
    datagrams.deliver(send_only(0, 8));
    datagrams.deliver(send_only(1, 8));
    assert_eq!(served(&datagrams), (1, 8));
    datagrams.take_completions();
}
