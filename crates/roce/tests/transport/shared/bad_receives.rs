//! A receive of a shared queue whose memory may not be written.
//!
//! Rule: srq-bad-receive: a bad receive of a shared queue ends the queue pair whose message took it, and no other.

use rdmalab_roce::Event;
use rdmalab_verbs::{CompletionStatus, QueuePairType, ReceiveRequest, Sge, State};

use super::{KINDS, extra, setup, sharing};
use crate::script::*;

#[test]
fn it_ends_the_queue_pair_that_took_it_and_no_other() {
    for kind in KINDS {
        let mut t = sharing(kind);
        let second = t.side.connect_another(&setup(kind), peer(), PEER_QUEUE_PAIR);
        let bad = [Sge { key: 0, ..t.side.sge(0, 100) }];
        let receive = ReceiveRequest { id: 7, elements: &bad };
        t.side.context.post_shared_receive(t.side.shared.unwrap(), &receive).unwrap();
        t.receive(8 + extra(kind));
        t.deliver(send_only(0, 8));
        t.expect_completion(7, CompletionStatus::LocalProtectionError);
        t.expect_state(State::Err);
        t.expect_event(Event::Fatal);
        t.expect_event(Event::LastReceiveReached);
        t.expect_no_event();
        t.deliver(send_only(0, 8).to(second));
        t.expect_completion_of(second, 100, CompletionStatus::Success);
        t.take_lines();
    }
}

#[test]
fn a_receive_that_is_too_short_ends_a_reliable_connection_and_no_other() {
    let mut t = sharing(QueuePairType::Rc);
    let second = t.side.connect_another(&setup(QueuePairType::Rc), peer(), PEER_QUEUE_PAIR);
    t.receive(7);
    t.receive(8);
    t.deliver(send_only(0, 8));
    t.expect("ACKNOWLEDGE psn=0 nak=invalid_request msn=0");
    t.expect_completion(100, CompletionStatus::LocalLengthError);
    t.expect_event(Event::RequestError);
    t.expect_event(Event::LastReceiveReached);
    t.deliver(send_only(0, 8).to(second));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_completion_of(second, 101, CompletionStatus::Success);
}
