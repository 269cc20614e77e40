//! Queue pairs take receives from a shared queue in the order in which their messages begin.
//!
//! Rule: srq-in-order: receives of a shared queue are taken in the order in which they were posted, by whichever queue
//! pair has a message.
//! Rule: srq-message-keeps-receive: a message of several packets keeps the receive that it began with, whatever other
//! queue pairs take meanwhile.
//! Rule: srq-protection-domain: the elements of a shared queue's receives lie in the queue's protection domain, whatever
//! that of the queue pair is.

use std::sync::Arc;

use rdmalab_verbs::{
    Access, CompletionStatus, HeapMemory, Memory, QueuePairType, ReceiveRequest, Sge,
    SharedReceiveQueueConfig,
};

use super::{KINDS, extra, setup, sharing};
use crate::script::*;

#[test]
fn two_queue_pairs_take_turns() {
    for kind in KINDS {
        let mut t = sharing(kind);
        let first = t.side.queue_pair;
        let second = t.side.connect_another(&setup(kind), peer(), PEER_QUEUE_PAIR);
        for place in 0..4 {
            t.receive_at(place * 100, 8 + extra(kind));
        }
        for psn in 0..2 {
            t.deliver(send_only(psn, 8).to(second));
            t.deliver(send_only(psn, 8));
        }
        for (id, number) in [(100, second), (101, first), (102, second), (103, first)] {
            t.expect_completion_of(number, id, CompletionStatus::Success);
        }
        let answers = if kind == QueuePairType::Rc { 2 } else { 0 };
        assert_eq!(t.take_lines().len(), answers, "{kind}");
    }
}

#[test]
fn long_messages_of_two_queue_pairs_each_keep_their_receive() {
    for kind in [QueuePairType::Rc, QueuePairType::Uc] {
        let mut t = sharing(kind);
        let first = t.side.queue_pair;
        let second = t.side.connect_another(&setup(kind), peer(), PEER_QUEUE_PAIR);
        t.receive_at(0, 4096);
        t.receive_at(8192, 4096);
        t.receive_at(16384, 4096);
        t.deliver(send_first(0, 1024));
        t.deliver(send_first(0, 1024).payload(&[7; 1024]).to(second));
        t.deliver(send_last(1, 10).payload(&[8; 10]).to(second));
        t.deliver(send_only(2, 5).payload(&[9; 5]).to(second));
        t.deliver(send_last(1, 20));
        for (number, id, length) in [(second, 101, 1034), (second, 102, 5), (first, 100, 1044)] {
            let received = t.expect_completion_of(number, id, CompletionStatus::Success);
            assert_eq!(received.length, length);
        }
        t.expect_bytes(0, &[pattern(0, 1024), pattern(1, 20)].concat());
        t.expect_bytes(8192, &[vec![7; 1024], vec![8; 10]].concat());
        t.expect_bytes(16384, &[9; 5]);
        t.take_lines();
    }
}

#[test]
fn a_write_with_immediate_takes_its_receive_when_it_ends() {
    for kind in [QueuePairType::Rc, QueuePairType::Uc] {
        let mut t = sharing(kind);
        let second = t.side.connect_another(&setup(kind), peer(), PEER_QUEUE_PAIR);
        t.receive(0);
        t.receive(0);
        t.deliver(write_first(0, 0, 1032, 1024));
        t.deliver(write_only_imm(0, 4096, 8, 1).to(second));
        t.deliver(write_last_imm(1, 8, 2));
        t.expect_completion_of(second, 100, CompletionStatus::Success);
        t.expect_received(101, 1032);
        t.take_lines();
    }
}

#[test]
fn a_broken_message_of_an_unreliable_connection_keeps_its_receive_for_the_next() {
    let mut t = sharing(QueuePairType::Uc);
    let second = t.side.connect_another(&setup(QueuePairType::Uc), peer(), PEER_QUEUE_PAIR);
    t.receive_at(0, 4096);
    t.receive_at(8192, 4096);
    t.deliver(send_first(0, 1024));
    t.deliver(send_last(2, 8));
    t.deliver(send_only(0, 8).to(second));
    t.expect_completion_of(second, 101, CompletionStatus::Success);
    t.deliver(send_only(3, 9));
    t.expect_received(100, 9);
    t.expect_bytes(0, &pattern(3, 9));
}

#[test]
fn receives_lie_in_the_domain_of_the_shared_queue() {
    for kind in KINDS {
        let mut t = sharing(kind);
        let context = &mut t.side.context;
        let domain = context.allocate_protection_domain().unwrap();
        let memory = Arc::new(HeapMemory::new(4096));
        let key = context.register(domain, 0, memory.clone(), Access::LOCAL_WRITE).unwrap();
        let config = SharedReceiveQueueConfig { max_requests: 4, max_elements: 1, ..Default::default() };
        let queue = context.create_shared_receive_queue(domain, &config).unwrap();
        let element = Sge { address: 0, length: 1024, key };
        let request = ReceiveRequest { id: 7, elements: &[element] };
        context.post_shared_receive(queue, &request).unwrap();
        t.side.shared = Some(queue);
        let second = t.side.connect_another(&setup(kind), peer(), PEER_QUEUE_PAIR);
        t.deliver(send_only(0, 8).to(second));
        t.expect_completion_of(second, 7, CompletionStatus::Success);
        let mut found = [0; 8];
        memory.read(extra(kind), &mut found).unwrap();
        assert_eq!(found, *pattern(0, 8));
        t.take_lines();
    }
}
