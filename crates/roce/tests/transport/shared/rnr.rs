//! An empty shared receive queue, and credits that nobody can promise.
//!
//! Rule: srq-rnr: a message of a reliable connection that finds the shared queue empty is answered by an RNR NAK.
//! Rule: srq-no-credits: a queue pair with a shared receive queue grants no credits.

use rdmalab_roce::Discard;
use rdmalab_verbs::QueuePairType;

use super::{extra, setup, sharing};
use crate::script::*;
use crate::side::CREDITS;

#[test]
fn a_reliable_connection_asks_to_come_again() {
    let mut t = sharing(QueuePairType::Rc);
    t.deliver(send_only(0, 8));
    t.expect("ACKNOWLEDGE psn=0 rnr=12 msn=0");
    t.deliver(write_only_imm(0, 0, 8, 1));
    t.expect("ACKNOWLEDGE psn=0 rnr=12 msn=0");
    t.receive(8);
    t.deliver(send_only(0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_received(100, 8);
}

#[test]
fn another_queue_pair_may_have_taken_the_last_receive() {
    let mut t = sharing(QueuePairType::Rc);
    let second = t.side.connect_another(&setup(QueuePairType::Rc), peer(), PEER_QUEUE_PAIR);
    t.receive(4096);
    t.deliver(send_first(0, 1024));
    t.deliver(send_only(0, 8).to(second));
    t.expect("ACKNOWLEDGE psn=0 rnr=12 msn=0");
    t.deliver(send_last(1, 8));
    t.expect("ACKNOWLEDGE psn=1 ack msn=1");
    t.expect_received(100, 1032);
}

#[test]
fn unreliable_queue_pairs_drop_the_message() {
    for kind in [QueuePairType::Uc, QueuePairType::Ud] {
        let mut t = sharing(kind);
        t.deliver(send_only(0, 8));
        t.expect_discard(Discard::NoReceive);
        t.receive(8 + extra(kind));
        t.deliver(send_only(1, 8));
        t.expect_received(100, 8 + extra(kind) as u32);
    }
}

#[test]
fn acknowledgements_say_that_there_are_no_credits() {
    let mut t = Script::with(Setup { profile: CREDITS, ..setup(QueuePairType::Rc) });
    for _ in 0..5 {
        t.receive(8);
    }
    for psn in 0..5 {
        t.deliver(send_only(psn, 8));
        t.expect(&format!("ACKNOWLEDGE psn={psn} ack msn={}", psn + 1));
        t.expect_received(100 + u64::from(psn), 8);
    }
    t.receive(8);
    t.expect_nothing();
}
