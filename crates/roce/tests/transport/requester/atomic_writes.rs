//! ATOMIC WRITE, as its requester sends it: eight bytes, answered by a READ response without data.
//!
//! Rule: rc-atomic-write-request: An ATOMIC WRITE takes one PSN and carries exactly eight bytes of payload
//! behind its RETH.
//! Rule: rc-atomic-write-response: An ATOMIC WRITE is complete when a READ RESPONSE ONLY without data answers
//! it, and counts as outstanding until then.

use rdmalab_roce::RetryCause;
use rdmalab_verbs::CompletionKind;

use crate::script::*;

#[test]
fn an_atomic_write_carries_its_eight_bytes() {
    let mut t = Script::new();
    t.post(atomic_write(0x1122_3344_5566_7788));
    t.expect("ATOMIC_WRITE psn=0 va=0x200000 rkey=0x200 dmalen=8 len=8 ackreq");
    assert_eq!(t.payload(), 0x1122_3344_5566_7788_u64.to_ne_bytes());
    t.deliver(read_response_only(0, 0).msn(1));
    let done = t.expect_done(0);
    assert_eq!((done.kind, done.length), (CompletionKind::AtomicWrite, 0));
}

#[test]
fn an_acknowledgement_is_no_answer_to_an_atomic_write() {
    let mut t = Script::new();
    t.post(atomic_write(5));
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(ack(0).msn(1));
    t.expect_retry(0, RetryCause::ImpliedNak);
    t.expect("ATOMIC_WRITE psn=0 va=0x200000 rkey=0x200 dmalen=8 len=8 ackreq");
    assert_eq!(t.payload(), 5_u64.to_ne_bytes());
    t.deliver(read_response_only(0, 0).msn(1));
    t.expect_done(0);
}

#[test]
fn atomic_writes_count_against_the_reads_that_may_be_outstanding() {
    let mut t = Script::with(Setup { reads: 1, ..Setup::default() });
    t.post(atomic_write(1));
    t.post(atomic_write(2));
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(read_response_only(0, 0).msn(1));
    t.expect_done(0);
    t.expect("ATOMIC_WRITE psn=1 va=0x200000 rkey=0x200 dmalen=8 len=8 ackreq");
    assert_eq!(t.payload(), 2_u64.to_ne_bytes());
    t.expect("SEND_ONLY psn=2 len=1 ackreq");
}

#[test]
fn a_fence_waits_for_an_atomic_write() {
    let mut t = Script::new();
    t.post(atomic_write(1));
    t.post(write(1).fenced());
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(read_response_only(0, 0).msn(1));
    t.expect_done(0);
    assert_eq!(t.take_lines().len(), 1);
}
