//! What can be posted to an unreliable connection.
//!
//! Rule: uc-operations: an unreliable connection carries SEND and RDMA WRITE, with and without immediate data; READs,
//! atomics and what else needs an answer are refused when they are posted.

use rdmalab_verbs::{Placement, PostError, QueuePairType, State, Target};

use super::uc;
use crate::script::*;

#[test]
fn what_needs_an_answer_is_refused_when_it_is_posted() {
    for (work, operation) in [
        (read(8), "RDMA_READ"),
        (compare_swap(0, 1), "ATOMIC_CMP_AND_SWP"),
        (fetch_add(1), "ATOMIC_FETCH_AND_ADD"),
        (flush(8, Placement::GLOBAL), "FLUSH"),
        (atomic_write(1), "ATOMIC_WRITE"),
        (send_inv(8, 1), "SEND_WITH_INV"),
    ] {
        let mut t = uc();
        let refused = PostError::NotSupported { operation, kind: QueuePairType::Uc };
        assert_eq!(t.try_post(work), Err(refused));
        t.expect_nothing();
        t.expect_no_completion();
    }
}

#[test]
fn a_request_names_no_other_target_than_the_peer() {
    let mut t = uc();
    let path = t.side.handle_to(peer());
    let datagram = Target::Datagram { path, queue_pair: PEER_QUEUE_PAIR, queue_key: QUEUE_KEY };
    for target in [datagram, Target::Xrc(PEER_SHARED_QUEUE)] {
        let refused = t.try_post(send(1).to(target));
        assert_eq!(refused, Err(PostError::WrongTarget(QueuePairType::Uc)));
    }
}

#[test]
fn inline_bytes_may_change_as_soon_as_they_are_posted() {
    let mut t = uc();
    t.post(send(0).inline(&[1, 2, 3]));
    t.expect("UC SEND_ONLY psn=0 len=3");
    assert_eq!(t.payload(), [1, 2, 3]);
    t.expect_done(0);
}

#[test]
fn sending_begins_in_rts() {
    for state in [State::Reset, State::Init, State::Rtr] {
        let mut t = Script::in_state(state, Setup { kind: QueuePairType::Uc, ..Setup::default() });
        assert_eq!(t.try_post(send(1)), Err(PostError::WrongState(state)));
    }
}

#[test]
fn in_err_requests_are_flushed() {
    let mut t = uc();
    t.modify_state(State::Err);
    t.post(send(1));
    t.expect_flushed([0]);
    t.receive(1);
    t.expect_flushed([100]);
}
