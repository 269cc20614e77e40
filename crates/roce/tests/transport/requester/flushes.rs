//! FLUSH, as its requester sends it: a request without payload, answered by a READ response without data.
//!
//! Rule: rc-flush-request: A FLUSH takes one PSN, carries no payload, and says by range or region and by
//! placement what is to be flushed.
//! Rule: rc-flush-response: A FLUSH is complete when a READ RESPONSE ONLY without data answers it; an
//! acknowledgement does not complete it.

use rdmalab_roce::RetryCause;
use rdmalab_verbs::{CompletionKind, CompletionStatus, Placement, PostError, State};
use rdmalab_wire::{NakCode, Syndrome};

use crate::script::*;

#[test]
fn a_flush_of_a_range_names_address_length_and_placement() {
    let cases =
        [(Placement::GLOBAL, 1), (Placement::PERSISTENT, 2), (Placement::GLOBAL | Placement::PERSISTENT, 3)];
    for (placement, bits) in cases {
        let mut t = Script::new();
        t.post(flush(4000, placement).solicited());
        t.expect(&format!(
            "FLUSH psn=0 selectivity=0 placement={bits} va=0x200000 rkey=0x200 dmalen=4000 ackreq"
        ));
        t.deliver(read_response_only(0, 0).msn(1));
        let done = t.expect_done(0);
        assert_eq!((done.kind, done.length), (CompletionKind::Flush, 0));
    }
}

#[test]
fn a_flush_of_a_region_says_so() {
    let mut t = Script::new();
    t.post(flush_region(Placement::GLOBAL));
    t.expect("FLUSH psn=0 selectivity=1 placement=1 va=0x200000 rkey=0x200 dmalen=0 ackreq");
    t.deliver(read_response_only(0, 0).msn(1));
    t.expect_done(0);
}

#[test]
fn a_flush_of_many_bytes_takes_one_psn() {
    let mut t = Script::new();
    t.post(flush(1 << 30, Placement::GLOBAL));
    t.post(send(1));
    t.expect("FLUSH psn=0 selectivity=0 placement=1 va=0x200000 rkey=0x200 dmalen=1073741824 ackreq");
    t.expect("SEND_ONLY psn=1 len=1 ackreq");
    t.deliver(read_response_only(0, 0).msn(1));
    t.expect_done(0);
    t.deliver(ack(1).msn(2));
    t.expect_done(1);
}

#[test]
fn an_acknowledgement_is_no_answer_to_a_flush() {
    let mut t = Script::new();
    t.post(flush(8, Placement::GLOBAL));
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(ack(0).msn(1));
    t.expect_no_completion();
    t.expect_retry(0, RetryCause::ImpliedNak);
    t.expect("FLUSH psn=0 selectivity=0 placement=1 va=0x200000 rkey=0x200 dmalen=8 ackreq");
    t.deliver(read_response_only(0, 0).msn(1));
    t.expect_done(0);
}

#[test]
fn an_acknowledgement_behind_a_flush_shows_that_its_response_was_lost() {
    let mut t = Script::new();
    t.post(write(1));
    t.post(flush(8, Placement::GLOBAL));
    t.post(write(1));
    assert_eq!(t.take_lines().len(), 3);
    t.deliver(ack(2).msn(3));
    t.expect_done(0);
    t.expect_retry(1, RetryCause::ImpliedNak);
    t.expect("FLUSH psn=1 selectivity=0 placement=1 va=0x200000 rkey=0x200 dmalen=8 ackreq");
    t.expect("WRITE_ONLY psn=2 va=0x200000 rkey=0x200 dmalen=1 len=1 ackreq");
    t.deliver(read_response_only(1, 0).msn(3));
    t.deliver(ack(2).msn(3));
    t.expect_done(1);
    t.expect_done(2);
}

#[test]
fn flushes_count_against_the_reads_that_may_be_outstanding() {
    let mut t = Script::with(Setup { reads: 2, ..Setup::default() });
    t.post(flush(8, Placement::GLOBAL));
    t.post(read(1));
    t.post(flush(8, Placement::GLOBAL));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(read_response_only(0, 0).msn(1));
    t.expect_done(0);
    t.expect("FLUSH psn=2 selectivity=0 placement=1 va=0x200000 rkey=0x200 dmalen=8 ackreq");
    t.deliver(read_response_only(1, 1).msn(2));
    t.deliver(read_response_only(2, 0).msn(3));
    t.expect_done(1);
    t.expect_done(2);
}

#[test]
fn where_no_reads_were_agreed_a_flush_is_refused_when_posted() {
    let mut t = Script::with(Setup { reads: 0, ..Setup::default() });
    assert_eq!(t.try_post(flush(8, Placement::GLOBAL)), Err(PostError::NoReadsNegotiated));
    assert_eq!(t.try_post(atomic_write(8)), Err(PostError::NoReadsNegotiated));
}

#[test]
fn a_fence_waits_for_a_flush() {
    let mut t = Script::new();
    t.post(flush(8, Placement::GLOBAL));
    t.post(send(1).fenced());
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(read_response_only(0, 0).msn(1));
    t.expect_done(0);
    t.expect("SEND_ONLY psn=1 len=1 ackreq");
}

#[test]
fn a_flush_that_the_peer_refuses_fails() {
    let cases = [
        (NakCode::InvalidRequest, CompletionStatus::RemoteInvalidRequest),
        (NakCode::RemoteAccessError, CompletionStatus::RemoteAccessError),
        (NakCode::RemoteOperationalError, CompletionStatus::RemoteOperationError),
    ];
    for (code, status) in cases {
        let mut t = Script::new();
        t.post(flush(8, Placement::GLOBAL));
        assert_eq!(t.take_lines().len(), 1);
        t.deliver(nak(0, code));
        t.expect_completion(0, status);
    }
}

#[test]
fn any_other_response_to_a_flush_is_bad() {
    let bad = [
        read_response_only(0, 1),
        read_response_only(0, 8),
        read_response_first(0, 1024),
        read_response_middle(0, 1024),
        read_response_last(0, 1),
        atomic_ack(0, 1),
        read_response_only(0, 0).syndrome(Syndrome::Nak(NakCode::RemoteAccessError)),
    ];
    for response in bad {
        for work in [flush(8, Placement::GLOBAL), atomic_write(1)] {
            let mut t = Script::new();
            t.post(work);
            assert_eq!(t.take_lines().len(), 1);
            t.deliver(response.clone());
            t.expect_completion(0, CompletionStatus::BadResponse);
            t.expect_state(State::Err);
        }
    }
}
