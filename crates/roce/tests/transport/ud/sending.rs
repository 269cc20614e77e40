//! Datagrams that go out.
//!
//! Rule: ud-single-packet: a datagram is one SEND ONLY packet, with or without immediate data, that carries the
//! sender's queue pair number and a queue key.
//! Rule: ud-completes-when-sent: a datagram is complete when it has been sent.
//! Rule: ud-no-ack-request: no datagram asks for an acknowledgement.

use rdmalab_verbs::{CompletionKind, Placement, PostError, QueuePairType, Target};

use super::ud;
use crate::script::*;

#[test]
fn a_datagram_carries_the_queue_key_and_who_sent_it() {
    let mut t = ud();
    t.side.fill(0, 10, 1);
    t.post(send(10));
    t.expect("UD SEND_ONLY psn=0 qkey=0x11111111 src=0x000080 len=10");
    assert_eq!(t.payload(), t.side.bytes(0, 10));
    assert_eq!(t.expect_done(0).kind, CompletionKind::Send);
    assert_eq!(t.until_timeout(), None);
}

#[test]
fn immediate_data_and_the_solicited_event_go_along() {
    let mut t = ud();
    t.post(send_imm(3, 9));
    t.post(send(0).solicited());
    t.expect("UD SEND_ONLY_IMM psn=0 qkey=0x11111111 src=0x000080 len=3 imm=0x00000009");
    t.expect("UD SEND_ONLY psn=1 qkey=0x11111111 src=0x000080 len=0 solicited");
    t.expect_done(0);
    t.expect_done(1);
}

#[test]
fn inline_bytes_go_out_as_they_were_when_posted() {
    let mut t = ud();
    t.post(send(0).inline(&[5, 6, 7]));
    t.expect("UD SEND_ONLY psn=0 qkey=0x11111111 src=0x000080 len=3");
    assert_eq!(t.payload(), [5, 6, 7]);
    t.expect_done(0);
}

#[test]
fn psns_count_datagrams_whoever_gets_them() {
    let mut t = Script::with(Setup { first_psn: 0xff_ffff, ..super::setup() });
    let other = t.side.handle_to(peer());
    t.post(send(1));
    t.post(send(1).to(super::by(other)));
    t.expect("UD SEND_ONLY psn=16777215 qkey=0x11111111 src=0x000080 len=1");
    t.expect("UD SEND_ONLY psn=0 qkey=0x11111111 src=0x000080 len=1");
    t.expect_done(0);
    t.expect_done(1);
}

#[test]
fn only_sends_can_be_datagrams() {
    for (work, operation) in [
        (write(8), "RDMA_WRITE"),
        (write_imm(8, 1), "RDMA_WRITE_WITH_IMM"),
        (read(8), "RDMA_READ"),
        (compare_swap(0, 1), "ATOMIC_CMP_AND_SWP"),
        (fetch_add(1), "ATOMIC_FETCH_AND_ADD"),
        (flush(8, Placement::GLOBAL), "FLUSH"),
        (atomic_write(1), "ATOMIC_WRITE"),
        (send_inv(8, 1), "SEND_WITH_INV"),
        (local_invalidate(1), "LOCAL_INV"),
    ] {
        let refused = PostError::NotSupported { operation, kind: QueuePairType::Ud };
        assert_eq!(ud().try_post(work), Err(refused));
    }
}

#[test]
fn a_datagram_needs_a_target_of_its_own() {
    for target in [Target::Connected, Target::Xrc(PEER_SHARED_QUEUE)] {
        let refused = ud().try_post(send(1).to(target));
        assert_eq!(refused, Err(PostError::WrongTarget(QueuePairType::Ud)));
    }
}
