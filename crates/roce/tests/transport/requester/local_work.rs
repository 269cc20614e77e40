//! Work that gives local keys their meaning: it takes no PSN, sends nothing, and is carried out in its turn.
//!
//! Rule: qp-local-work-in-order: Binding a window, registering fast and invalidating a key are carried out in
//! the order of the send queue, and complete in it, without a packet.
//! Rule: qp-local-work-fence: Local work does not wait for READs and atomics before it unless it is fenced.
//! Rule: qp-local-work-once: Local work that was carried out is not carried out again when requests around it
//! are repeated.

use rdmalab_verbs::{Access, CompletionKind, Placement, State, WindowType};

use crate::script::*;

const WRITE: Access = Access::REMOTE_WRITE;

#[test]
fn local_work_completes_at_once_and_takes_no_psn() {
    let mut t = Script::new();
    let (window, region) = (t.window(WindowType::Two), t.fast_region());
    t.post(fast_register(region, region + 1, 0, 4096, Access::FULL));
    t.post(bind_to(region + 1, window, window + 1, BASE, 4096, WRITE));
    t.post(local_invalidate(window + 1));
    t.post(local_invalidate(region + 1));
    t.post(send(1));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    let kinds = [
        CompletionKind::FastRegister,
        CompletionKind::BindWindow,
        CompletionKind::LocalInvalidate,
        CompletionKind::LocalInvalidate,
    ];
    for (id, kind) in (0..).zip(kinds) {
        let done = t.expect_done(id);
        assert_eq!((done.kind, done.length), (kind, 0));
    }
    t.deliver(ack(0).msn(1));
    t.expect_done(4);
}

#[test]
fn local_work_completes_behind_the_requests_before_it() {
    let mut t = Script::new();
    let window = t.window(WindowType::Two);
    t.post(send(1));
    t.post(bind(window, window + 1, 0, 8, WRITE));
    t.post(send(1));
    t.post(local_invalidate(window + 1));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    t.expect("SEND_ONLY psn=1 len=1 ackreq");
    t.expect_no_completion();
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
    t.expect_done(1);
    t.expect_no_completion();
    t.deliver(ack(1).msn(2));
    t.expect_done(2);
    t.expect_done(3);
}

#[test]
fn one_acknowledgement_ends_requests_and_the_local_work_between_them() {
    let mut t = Script::new();
    let window = t.window(WindowType::One);
    for n in 0..4 {
        t.post(send(1));
        t.post(bind(window + n, window + n + 1, 0, 8, WRITE));
    }
    assert_eq!(t.take_lines().len(), 4);
    t.deliver(ack(3).msn(4));
    for id in 0..8 {
        t.expect_done(id);
    }
}

#[test]
fn a_window_may_be_used_by_the_peer_as_soon_as_the_send_behind_its_binding_goes_out() {
    let mut t = Script::new();
    let window = t.window(WindowType::Two);
    t.post(bind(window, window + 1, 0, 64, WRITE));
    t.post(send(4));
    t.expect("SEND_ONLY psn=0 len=4 ackreq");
    t.expect_done(0);
    t.deliver(write_only(0, 0, 64).key(window + 1));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_bytes(0, &pattern(0, 64));
}

#[test]
fn unfenced_local_work_does_not_wait_for_a_read() {
    let mut t = Script::new();
    let window = t.bound_window(WindowType::Two, WRITE);
    t.post(read(8));
    t.post(local_invalidate(window));
    t.expect("READ_REQUEST psn=0 va=0x200000 rkey=0x200 dmalen=8 ackreq");
    t.deliver(write_only(0, 0, 8).key(window));
    t.expect("ACKNOWLEDGE psn=0 nak=remote_access_error msn=0");
    t.expect_flushed([1, 2]);
}

#[test]
fn fenced_local_work_waits_for_the_reads_and_atomics_before_it() {
    let cases = [
        (read(8), read_response_only(0, 8)),
        (fetch_add(1), atomic_ack(0, 1)),
        (flush(8, Placement::GLOBAL), read_response_only(0, 0)),
        (atomic_write(1), read_response_only(0, 0)),
    ];
    for (first, response) in cases {
        let mut t = Script::new();
        let window = t.bound_window(WindowType::Two, WRITE);
        t.post(first);
        t.post(local_invalidate(window).fenced());
        t.post(send(1));
        assert_eq!(t.take_lines().len(), 1);
        t.deliver(write_only(0, 0, 8).key(window));
        t.expect("ACKNOWLEDGE psn=0 ack msn=1");
        t.deliver(response.msn(1));
        t.expect_done(1);
        t.expect("SEND_ONLY psn=1 len=1 ackreq");
        t.expect_done(2);
        t.deliver(write_only(1, 0, 8).key(window));
        t.expect("ACKNOWLEDGE psn=1 nak=remote_access_error msn=1");
        t.expect_flushed([3]);
    }
}

#[test]
fn unsignaled_local_work_is_carried_out_in_silence() {
    let mut t = Script::new();
    let window = t.window(WindowType::Two);
    t.post(bind(window, window + 1, 0, 64, WRITE).unsignaled());
    t.expect_nothing();
    t.expect_no_completion();
    t.deliver(write_only(0, 0, 8).key(window + 1));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
}

#[test]
fn going_back_leads_over_local_work_without_carrying_it_out_again() {
    let mut t = Script::with(Setup { timeout: 1, ..Setup::default() });
    let window = t.window(WindowType::Two);
    t.post(send(1));
    // Done twice, each of these would fail: the window is not free, or free already.
    t.post(bind(window, window + 1, 0, 8, WRITE));
    t.post(send(2));
    t.post(local_invalidate(window + 1));
    t.post(send(3));
    assert_eq!(t.take_lines().len(), 3);
    t.deliver(sequence_nak(0));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    t.expect("SEND_ONLY psn=1 len=2 ackreq");
    t.expect("SEND_ONLY psn=2 len=3 ackreq");
    t.advance(8_192);
    assert_eq!(t.take_lines().len(), 3);
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
    t.expect_done(1);
    t.advance(8_192);
    t.expect("SEND_ONLY psn=1 len=2 ackreq");
    t.expect("SEND_ONLY psn=2 len=3 ackreq");
    t.deliver(ack(2).msn(3));
    for id in 2..5 {
        t.expect_done(id);
    }
}

#[test]
fn local_work_waits_while_the_send_queue_is_drained() {
    let mut t = Script::in_state(State::Sqd, Setup::default());
    let window = t.window(WindowType::Two);
    t.post(bind(window, window + 1, 0, 8, WRITE));
    t.expect_nothing();
    t.expect_no_completion();
    t.modify_state(State::Rts);
    t.expect_done(0);
}

#[test]
fn local_work_counts_as_no_message() {
    let mut t = Script::with(Setup { profile: CREDITS, ..Setup::default() });
    t.bound_window(WindowType::Two, WRITE);
    t.post(send(1));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    // One message may be under way, and it is the first.
    t.deliver(ack(0).msn(1).syndrome(rdmalab_wire::Syndrome::Ack { credits: 0 }));
    t.expect_done(1);
}
