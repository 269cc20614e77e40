//! Local work of an unreliable connection: binding windows, mapping regions, ending keys.
//!
//! Rule: uc-local-work: local work is done in the order of the send queue, between the messages before and behind it.
//! Rule: uc-local-work-fails: local work that fails brings the queue pair into SQE, as a message that cannot be sent
//! does.
//! Rule: uc-window: a window of type 2 gives its rights to the peer of the queue pair to which it is bound, and to
//! nobody else.

use rdmalab_roce::Discard;
use rdmalab_verbs::{Access, CompletionKind, CompletionStatus, Sge, State, WindowType};

use super::uc;
use crate::script::*;

#[test]
fn it_is_done_in_its_turn_and_takes_no_psn() {
    let mut t = uc();
    let region = t.fast_region();
    t.post(send(1));
    t.post(fast_register(region, region + 1, 0, MEMORY as u64, Access::LOCAL_WRITE));
    t.post(send(0).in_elements(&[Sge { key: region + 1, ..t.side.sge(0, 4) }]));
    t.post(local_invalidate(region + 1));
    t.expect("UC SEND_ONLY psn=0 len=1");
    t.expect("UC SEND_ONLY psn=1 len=4");
    t.expect_done(0);
    assert_eq!(t.expect_done(1).kind, CompletionKind::FastRegister);
    t.expect_done(2);
    assert_eq!(t.expect_done(3).kind, CompletionKind::LocalInvalidate);
}

#[test]
fn work_that_fails_stops_the_send_queue() {
    for (work, status) in [
        (local_invalidate(1), CompletionStatus::LocalQueuePairOperationError),
        (bind(1, 2, 0, 8, Access::REMOTE_WRITE), CompletionStatus::MemoryWindowBindError),
        (fast_register(1, 2, 0, 8, Access::empty()), CompletionStatus::LocalQueuePairOperationError),
    ] {
        let mut t = uc();
        t.post(send(1));
        t.post(work);
        t.post(send(1));
        t.expect("UC SEND_ONLY psn=0 len=1");
        t.expect_done(0);
        t.expect_completion(1, status);
        t.expect_flushed([2]);
        t.expect_state(State::Sqe);
        t.modify_state(State::Rts);
        t.post(send(2));
        t.expect("UC SEND_ONLY psn=1 len=2");
        t.expect_done(3);
    }
}

#[test]
fn a_peer_writes_through_a_window_until_it_is_invalidated() {
    let mut t = uc();
    let key = t.bound_window(WindowType::Two, Access::REMOTE_WRITE);
    t.deliver(write_only(0, 64, 8).key(key));
    t.expect_bytes(64, &pattern(0, 8));
    let id = t.post(local_invalidate(key));
    t.expect_done(id);
    t.deliver(write_only(1, 128, 8).key(key));
    t.expect_discard(Discard::Refused);
    t.expect_untouched(128);
}

#[test]
fn a_window_of_another_queue_pair_gives_nothing() {
    let mut t = uc();
    let setup = Setup { kind: rdmalab_verbs::QueuePairType::Uc, ..Setup::default() };
    let second = t.side.connect_another(&setup, peer(), PEER_QUEUE_PAIR);
    let key = t.bound_window(WindowType::Two, Access::REMOTE_WRITE);
    t.deliver(write_only(0, 0, 8).key(key).to(second));
    t.expect_discard(Discard::Refused);
    t.expect_untouched(0);
    let key = t.bound_window(WindowType::One, Access::REMOTE_WRITE);
    t.deliver(write_only(1, 0, 8).key(key).to(second));
    t.expect_bytes(0, &pattern(1, 8));
}
