//! Queue keys: what datagrams must carry to be received.
//!
//! Rule: ud-queue-key: a datagram whose queue key is not the receiving queue pair's is dropped in silence.
//! Rule: ud-queue-key-privileged: a request whose queue key has its highest bit set is sent with the sending queue
//! pair's own queue key instead.

use rdmalab_roce::Discard;
use rdmalab_verbs::{Attributes, State, Target};
use rdmalab_wire::QKey;

use super::{AREA, ud};
use crate::script::*;

#[test]
fn a_datagram_with_the_right_key_is_received_and_with_another_dropped() {
    let mut t = ud();
    t.receive(100);
    for wrong in [0, 0x1111_1112, 0x9111_1111] {
        t.deliver(send_only(0, 8).over(deth(QKey::new(wrong), PEER_QUEUE_PAIR)));
        t.expect_discard(Discard::QueueKey);
    }
    t.expect_no_completion();
    t.deliver(send_only(0, 8));
    t.expect_received(100, AREA + 8);
    t.expect_nothing();
    t.expect_state(State::Rts);
}

#[test]
fn the_key_may_be_changed_while_receiving() {
    let mut t = ud();
    t.receive(100);
    t.modify(Attributes { queue_key: Some(QKey::new(7)), ..Attributes::default() });
    t.deliver(send_only(0, 8));
    t.expect_discard(Discard::QueueKey);
    t.deliver(send_only(0, 8).over(deth(QKey::new(7), PEER_QUEUE_PAIR)));
    t.expect_received(100, AREA + 8);
}

#[test]
fn a_request_is_sent_with_the_key_that_it_names() {
    let mut t = ud();
    let path = t.side.handle_to(peer());
    let with = |key| Target::Datagram { path, queue_pair: PEER_QUEUE_PAIR, queue_key: QKey::new(key) };
    t.post(send(0).to(with(0)));
    t.post(send(0).to(with(0x7fff_ffff)));
    t.expect("UD SEND_ONLY psn=0 qkey=0x00000000 src=0x000080 len=0");
    t.expect("UD SEND_ONLY psn=1 qkey=0x7fffffff src=0x000080 len=0");
    t.expect_done(0);
    t.expect_done(1);
}

#[test]
fn a_key_with_the_highest_bit_stands_for_the_queue_pairs_own() {
    let mut t = ud();
    let path = t.side.handle_to(peer());
    let with = |key| Target::Datagram { path, queue_pair: PEER_QUEUE_PAIR, queue_key: QKey::new(key) };
    t.post(send(0).to(with(0x8000_0000)));
    t.expect("UD SEND_ONLY psn=0 qkey=0x11111111 src=0x000080 len=0");
    t.modify(Attributes { queue_key: Some(QKey::new(0x8001_0000)), ..Attributes::default() });
    t.post(send(0).to(with(0xffff_ffff)));
    t.expect("UD SEND_ONLY psn=1 qkey=0x80010000 src=0x000080 len=0");
    t.expect_done(0);
    t.expect_done(1);
}
