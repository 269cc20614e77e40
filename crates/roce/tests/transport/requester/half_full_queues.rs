//! An error while every queue is half full: the request that met it, and then everything else, once and in order.
//!
//! Rule: qp-error-flushes-all: When a queue pair goes into ERR, requests sent, begun and not begun, and
//! receives taken and waiting, all end exactly once, each queue in its order.

use rdmalab_verbs::{Access, CompletionKind, CompletionStatus, Placement, State, WindowType};
use rdmalab_wire::NakCode;

use crate::script::*;

/// Requests in the send queue, of which the first is done.
const REQUESTS: u64 = 128;
/// Receives, of which the first is used and the second is being filled.
const RECEIVES: u64 = 128;

/// Half full: requests acknowledged, sent, in the midst of being sent, carried out and not begun; receives used, being
/// filled and waiting; a READ of the peer that is not answered yet.
fn half_full() -> Script {
    half_full_with_window().0
}

/// The same, with the key of a window that is bound by then.
fn half_full_with_window() -> (Script, u32) {
    let mut t = Script::with(Setup { timeout: 1, retry_count: 0, ..Setup::default() });
    let window = t.window(WindowType::One);
    t.post(send(8));
    for n in 1..REQUESTS as u32 {
        t.post(match n % 8 {
            0 => send(5000),
            1 => write(3000).unsignaled(),
            2 => read(2000).at(8192),
            3 => fetch_add(1).at(16384),
            4 => bind(window + n / 8, window + n / 8 + 1, 0, 8, Access::REMOTE_READ),
            5 => flush(8, Placement::GLOBAL),
            6 => send(0).inline(b"abc").unsignaled(),
            _ => send(8).fenced(),
        });
    }
    for _ in 0..RECEIVES {
        t.receive(4096);
    }
    assert!(!t.take_lines().is_empty());
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
    t.deliver(send_only(0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_received(100, 8);
    t.deliver(send_first(1, 1024));
    t.expect_nothing();
    (t, window + 1)
}

/// All completions that are left: the first request fails so, and everything else is flushed.
#[track_caller]
fn expect_all_flushed(t: &mut Script, first: CompletionStatus) {
    expect_flushed_from(t, first, 101);
}

/// The same, of the receives from this one on.
#[track_caller]
fn expect_flushed_from(t: &mut Script, first: CompletionStatus, receive: u64) {
    t.expect_state(State::Err);
    let completions = t.take_completions();
    let (receives, requests): (Vec<_>, Vec<_>) =
        completions.iter().partition(|completion| completion.kind == CompletionKind::Receive);
    let ids = |completions: &[&rdmalab_verbs::Completion]| -> Vec<u64> {
        completions.iter().map(|completion| completion.id).collect()
    };
    assert_eq!(ids(&requests), (1..REQUESTS).collect::<Vec<_>>());
    assert_eq!(ids(&receives), (receive..100 + RECEIVES).collect::<Vec<_>>());
    assert_eq!(requests[0].status, first);
    let flushed = CompletionStatus::WorkRequestFlushed;
    assert!(requests[1..].iter().chain(&receives).all(|completion| completion.status == flushed));
    assert_eq!(t.until_timeout(), None);
    t.expect_nothing();
    // Nothing is left over for later.
    t.modify_state(State::Reset);
    t.expect_no_completion();
    t.reconnect(Setup::default());
    t.post(send(0));
    t.expect("SEND_ONLY psn=0 len=0 ackreq");
}

#[test]
fn by_a_nak_of_the_peer() {
    let mut t = half_full();
    t.deliver(nak(1, NakCode::RemoteAccessError).msn(1));
    expect_all_flushed(&mut t, CompletionStatus::RemoteAccessError);
}

#[test]
fn by_a_timeout() {
    let mut t = half_full();
    t.advance(8_192);
    expect_all_flushed(&mut t, CompletionStatus::RetryExceeded);
}

#[test]
fn by_a_response_that_makes_no_sense() {
    let mut t = half_full();
    t.deliver(atomic_ack(1, 5).msn(1));
    expect_all_flushed(&mut t, CompletionStatus::BadResponse);
}

#[test]
fn by_a_request_of_the_peer() {
    let mut t = half_full();
    t.deliver(write_only(2, 0, 8));
    t.expect("ACKNOWLEDGE psn=2 nak=invalid_request msn=1");
    // The receive that is being filled tells of it.
    t.expect_completion(101, CompletionStatus::RemoteInvalidRequest);
    expect_flushed_from(&mut t, CompletionStatus::WorkRequestFlushed, 102);
}

#[test]
fn by_order() {
    let mut t = half_full();
    t.modify_state(State::Err);
    expect_all_flushed(&mut t, CompletionStatus::WorkRequestFlushed);
}

#[test]
fn by_an_element_that_may_not_be_used() {
    let (mut t, window) = half_full_with_window();
    t.side.context.deallocate_window(rdmalab_wire::RKey::new(window)).unwrap();
    t.side.context.deregister(KEY.value()).unwrap();
    // The WRITE has to be sent again from its second packet on, which is read from memory again.
    t.deliver(rnr_nak(2, 1));
    t.advance(10 * MICROSECOND);
    expect_all_flushed(&mut t, CompletionStatus::LocalProtectionError);
}
