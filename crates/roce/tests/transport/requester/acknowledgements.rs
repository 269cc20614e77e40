//! What an acknowledgement completes: everything up to its PSN that needs no response of its own.
//!
//! Rule: rc-coalesced-ack: An acknowledgement acknowledges every SEND and WRITE packet up to its PSN, so that
//! one answers for many messages.
//! Rule: rc-ack-completes-no-read: An acknowledgement completes no READ and no atomic; only their own
//! response does.
//! Rule: qp-completion-order: Requests complete in the order in which they were posted.

use rdmalab_verbs::CompletionKind;

use crate::script::*;

#[test]
fn a_request_completes_when_its_last_packet_is_acknowledged_and_not_before() {
    let mut t = Script::new();
    t.post(send(2500));
    t.expect("SEND_FIRST psn=0 len=1024");
    t.expect("SEND_MIDDLE psn=1 len=1024");
    t.expect("SEND_LAST psn=2 len=452 ackreq");
    t.deliver(ack(0));
    t.deliver(ack(1));
    t.expect_no_completion();
    t.deliver(ack(2).msn(1));
    let done = t.expect_done(0);
    assert_eq!(done.kind, CompletionKind::Send);
}

#[test]
fn a_coalesced_acknowledgement_completes_all_older_sends_and_writes_in_order() {
    let mut t = Script::new();
    t.post(send(1500));
    t.post(write(1));
    t.post(write_imm(3000, 1));
    t.post(send_imm(0, 2));
    assert_eq!(t.take_lines().len(), 7);
    t.deliver(ack(5).msn(3));
    for (id, kind) in
        [(0, CompletionKind::Send), (1, CompletionKind::RdmaWrite), (2, CompletionKind::RdmaWrite)]
    {
        assert_eq!(t.expect_done(id).kind, kind);
    }
    t.expect_no_completion();
    t.deliver(ack(6).msn(4));
    t.expect_done(3);
}

#[test]
fn an_acknowledgement_never_completes_a_read() {
    let mut t = Script::new();
    t.post(write(1));
    t.post(read(1));
    t.post(write(1));
    assert_eq!(t.take_lines().len(), 3);
    t.deliver(ack(2).msn(3));
    t.expect_done(0);
    t.expect_no_completion();
    // It has lost its response instead.
    t.expect("READ_REQUEST psn=1 va=0x200000 rkey=0x200 dmalen=1 ackreq");
    t.expect("WRITE_ONLY psn=2 va=0x200000 rkey=0x200 dmalen=1 len=1 ackreq");
    t.deliver(read_response_only(1, 1).msn(3));
    t.deliver(ack(2).msn(3));
    t.expect_done(1);
    t.expect_done(2);
}

#[test]
fn an_acknowledgement_never_completes_an_atomic() {
    let mut t = Script::new();
    t.post(fetch_add(1));
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(ack(0).msn(1));
    t.expect_no_completion();
    t.expect("FETCH_ADD psn=0 va=0x200000 rkey=0x200 add=0x1 ackreq");
    t.deliver(atomic_ack(0, 41).msn(1));
    assert_eq!(t.expect_done(0).kind, CompletionKind::FetchAndAdd);
}

#[test]
fn a_read_response_acknowledges_the_sends_and_writes_before_it() {
    let mut t = Script::new();
    t.post(send(1));
    t.post(write(2000));
    t.post(read(1));
    assert_eq!(t.take_lines().len(), 4);
    t.deliver(read_response_only(3, 1).msn(3));
    t.expect_done(0);
    t.expect_done(1);
    t.expect_done(2);
}

#[test]
fn an_atomic_response_acknowledges_the_sends_and_writes_before_it() {
    let mut t = Script::new();
    t.post(send(1));
    t.post(compare_swap(1, 2));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(atomic_ack(1, 1).msn(2));
    t.expect_done(0);
    t.expect_done(1);
}

#[test]
fn a_read_response_lands_in_the_elements_in_order() {
    let mut t = Script::new();
    let pieces = [t.side.sge(5000, 1000), t.side.sge(100, 25), t.side.sge(9000, 1000)];
    t.post(read(0).in_elements(&pieces));
    t.expect("READ_REQUEST psn=0 va=0x200000 rkey=0x200 dmalen=2025 ackreq");
    t.deliver(read_response_first(0, 1024).msn(1));
    t.deliver(read_response_last(1, 1001).msn(1));
    let done = t.expect_done(0);
    assert_eq!((done.kind, done.length), (CompletionKind::RdmaRead, 2025));
    let found = [t.side.bytes(5000, 1000), t.side.bytes(100, 25), t.side.bytes(9000, 1000)].concat();
    assert_eq!(found, [pattern(0, 1024), pattern(1, 1001)].concat());
}

#[test]
fn an_atomic_response_lands_as_a_number_of_the_host() {
    let mut t = Script::new();
    t.post(fetch_add(1).at(64));
    t.expect("FETCH_ADD psn=0 va=0x200000 rkey=0x200 add=0x1 ackreq");
    t.deliver(atomic_ack(0, 0x0102_0304_0506_0708).msn(1));
    assert_eq!(t.expect_done(0).length, 8);
    assert_eq!(t.side.bytes(64, 8), 0x0102_0304_0506_0708_u64.to_ne_bytes());
}

#[test]
fn success_of_an_unsignaled_request_is_not_told() {
    let mut t = Script::new();
    t.post(send(1).unsignaled());
    t.post(read(1).unsignaled());
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 3);
    t.deliver(ack(0).msn(1));
    t.deliver(read_response_only(1, 1).msn(2));
    t.expect_no_completion();
    t.deliver(ack(2).msn(3));
    t.expect_done(2);
}

#[test]
fn a_place_in_the_send_queue_is_free_again_when_its_request_is_done() {
    let mut t = Script::new();
    let full = (0..).take_while(|_| t.try_post(send(0).unsignaled()).is_ok()).count();
    assert_eq!(full, 256);
    assert_eq!(t.take_lines().len(), 128);
    t.deliver(ack(0).msn(1));
    assert_eq!(t.try_post(send(0)), Ok(()));
    assert!(t.try_post(send(0)).is_err());
    t.expect("SEND_ONLY psn=128 len=0 ackreq");
}
