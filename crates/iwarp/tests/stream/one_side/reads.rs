//! READs that we ask for.
//!
//! Rule: rdmap-read-request: A READ request names source, sink and length, and has a number in queue 1 (RFC 5040 §4.4,
//! §5.2).
//! Rule: rdmap-ord: No more READs and atomics are outstanding than were agreed on; what is behind them waits
//! (RFC 5040 §5.2, RFC 6581 §9.1, RFC 7306 §5).
//! Rule: rdmap-completion-order: Requests complete in the order in which they were posted (RFC 5040 §5.5).
//! Rule: rdmap-read-response-sink: A READ response goes into the sink of the oldest READ, and nowhere else (RFC 5040 §5.2).
//! Rule: ddp-sink-bounds: A READ response that is longer than asked for, or beside the sink, is told as out of bounds
//! (RFC 5041 §7).
//! Rule: rdmap-unexpected-response: A READ response that nobody asked for is told as an unexpected opcode (RFC 5040 §7).
//! Rule: qp-fence-iwarp: A fenced request waits until all READs and atomics before it are done.
//! Rule: qp-read-with-invalidate: A READ with invalidation makes a key of ours unusable before it completes.

use rdmalab_verbs::{Access, CompletionKind, CompletionStatus, Operation, PostError, SendFlags, Sge, State};
use rdmalab_wire::RKey;
use rdmalab_wire::iwarp::{Opcode, TerminateError};

use crate::script::*;
use crate::side::{BASE, Setup, pattern};

/// The line of a READ request.
fn request(t: &Script, msn: u32, offset: usize, length: usize) -> String {
    let (key, sink) = (t.side.key, BASE + offset as u64);
    format!(
        "RDMAP READ_REQUEST msn={msn} sink_stag={key:#x} sink_to={sink:#x} size={length} src_stag=0x777 src_to=0x2000"
    )
}

#[test]
fn a_read_asks_for_all_at_once_and_completes_with_its_last_segment() {
    let mut t = Script::new();
    t.post(read(3000).at(64));
    t.expect(&request(&t, 1, 64, 3000));
    t.deliver(t.response(64, 1440).not_last());
    t.deliver(t.response(64 + 1440, 1440).not_last());
    t.expect_no_completion();
    t.deliver(t.response(64 + 2880, 120));
    let done = t.expect_done(0);
    assert_eq!((done.kind, done.length), (CompletionKind::RdmaRead, 3000));
    t.expect_bytes(64, &pattern(64, 1440));
    t.expect_bytes(64 + 2880, &pattern(64 + 2880, 120));
}

#[test]
fn the_answer_may_be_cut_in_any_way() {
    let mut t = Script::new();
    t.post(read(10));
    t.lines();
    t.deliver(t.response(0, 1).not_last());
    t.deliver(t.response(1, 0).not_last());
    t.deliver(t.response(1, 9).not_last());
    t.deliver(t.response(10, 0));
    t.expect_done(0);
}

#[test]
fn several_elements_are_one_sink_that_counts_on_from_the_first() {
    let mut t = Script::new();
    let elements = [t.side.sge(5000, 100), t.side.sge(200, 50), t.side.sge(9000, 850)];
    t.post(read(0).in_elements(&elements));
    t.expect(&request(&t, 1, 5000, 1000));
    t.deliver(t.response(5000, 120).not_last());
    t.deliver(t.response(5120, 880));
    t.expect_done(0);
    let data = [pattern(5000, 120), pattern(5120, 880)].concat();
    t.expect_bytes(5000, &data[..100]);
    t.expect_bytes(200, &data[100..150]);
    t.expect_bytes(9000, &data[150..]);
}

#[test]
fn the_peer_gets_no_right_to_the_sink() {
    let mut t = Script::with(Setup { rights: Access::LOCAL_WRITE, ..Setup::default() });
    t.post(read(100));
    t.lines();
    t.deliver(t.response(0, 50).not_last());
    t.expect_alive();
    t.deliver(t.incoming_write(0, 10));
    t.expect_terminate(TerminateError::RDMAP_ACCESS, "WRITE length=24");
}

#[test]
fn no_more_reads_than_agreed_are_outstanding_and_nothing_overtakes_them() {
    let mut t = Script::with(Setup { ord: 2, ..Setup::default() });
    t.post(read(1));
    t.post(send(1));
    t.post(operation(Operation::FetchAndAdd { remote: peer(), add: 1 }, 8));
    t.post(read(2));
    t.post(send(2));
    let lines = t.lines();
    assert_eq!(lines.len(), 3, "{lines:?}");
    t.expect_no_completion();
    t.deliver(t.response(0, 1));
    t.expect_done(0);
    t.expect_done(1);
    t.expect(&request(&t, 3, 0, 2));
    t.expect("RDMAP SEND msn=2 mo=0 len=2 last");
    t.expect_no_completion();
}

#[test]
fn reads_are_refused_where_none_were_agreed() {
    let mut t = Script::with(Setup { ord: 0, ..Setup::default() });
    assert_eq!(t.try_post(read(1)), Err(PostError::NoReadsNegotiated));
    let atomic = operation(Operation::FetchAndAdd { remote: peer(), add: 1 }, 8);
    assert_eq!(t.try_post(atomic), Err(PostError::NoReadsNegotiated));
}

#[test]
fn a_fenced_request_waits_for_the_reads_before_it() {
    let mut t = Script::new();
    t.post(read(1));
    t.post(send(1));
    t.post(send(2).with(SendFlags::FENCE));
    t.expect(&request(&t, 1, 0, 1));
    t.expect("RDMAP SEND msn=1 mo=0 len=1 last");
    t.expect_nothing();
    t.deliver(t.response(0, 1));
    t.expect("RDMAP SEND msn=2 mo=0 len=2 last");
    t.expect_all_done(0..3);
}

#[test]
fn a_response_that_nobody_asked_for_ends_the_connection() {
    let mut t = Script::new();
    t.deliver(t.response(0, 1));
    t.expect_terminate(TerminateError::RDMAP_UNEXPECTED_OPCODE, "READ_RESPONSE length=15");
}

#[test]
fn a_response_that_does_not_fit_the_sink_ends_the_connection() {
    type Change = fn(&Script) -> Incoming;
    let cases: [(Change, TerminateError); 6] = [
        (|_| tagged(Opcode::READ_RESPONSE, 0x1, BASE, &[0; 10]), TerminateError::DDP_INVALID_STAG),
        (|t| t.response(1, 10), TerminateError::DDP_BOUNDS),
        (|t| t.response(0, 101), TerminateError::DDP_BOUNDS),
        (|t| t.response(0, 101).not_last(), TerminateError::DDP_BOUNDS),
        (|t| t.response(0, 99), TerminateError::RDMAP_OPERATION_UNSPECIFIED),
        (|t| t.response(0, 0), TerminateError::RDMAP_OPERATION_UNSPECIFIED),
    ];
    for (change, error) in cases {
        let mut t = Script::new();
        t.post(send(1));
        t.post(read(100));
        t.post(read(100));
        t.post(send(1));
        t.lines();
        let segment = change(&t);
        let length = 14 + segment.payload.len();
        t.deliver(segment);
        t.expect_terminate(error, &format!("READ_RESPONSE length={length}"));
        t.expect_done(0);
        t.expect_completion(1, CompletionStatus::BadResponse);
        t.expect_flushed(2..4);
        t.expect_bytes(0, &[0; 101]);
    }
}

#[test]
fn a_gap_within_a_response_ends_the_connection() {
    let mut t = Script::new();
    t.post(read(100));
    t.lines();
    t.deliver(t.response(0, 10).not_last());
    t.deliver(t.response(20, 80));
    t.expect_terminate(TerminateError::DDP_BOUNDS, "READ_RESPONSE length=94");
}

#[test]
fn a_sink_that_goes_away_while_it_is_filled_is_our_own_fault() {
    let mut t = Script::new();
    t.post(read(100));
    t.lines();
    let response = t.response(0, 100);
    t.side.context.deregister(t.side.key).unwrap();
    t.deliver(response);
    t.expect_terminate(TerminateError::RDMAP_LOCAL_CATASTROPHIC, "");
    t.expect_completion(0, CompletionStatus::LocalProtectionError);
}

#[test]
fn a_read_with_invalidation_ends_a_key_of_ours_before_it_completes() {
    let mut t = Script::new();
    let memory = std::sync::Arc::clone(&t.side.memory);
    let fast = RKey::new(t.side.context.allocate_fast_region(t.side.domain, memory).unwrap());
    let registration = rdmalab_verbs::FastRegistration {
        region: fast,
        key: fast,
        offset: 0,
        length: 4096,
        address: BASE,
        access: Access::LOCAL_WRITE,
    };
    t.post(operation(Operation::FastRegister(registration), 0));
    let sink = Sge { address: BASE, length: 10, key: fast.value() };
    t.post(operation(Operation::RdmaReadWithInvalidate(peer(), fast), 0).in_elements(&[sink]));
    assert_eq!(t.lines().len(), 1);
    t.expect_done(0);
    assert!(t.side.context.region(fast.value()).is_some());
    t.deliver(tagged(Opcode::READ_RESPONSE, fast.value(), BASE, &[1; 10]));
    let done = t.expect_done(1);
    assert_eq!((done.kind, done.length), (CompletionKind::RdmaRead, 10));
    assert!(t.side.context.region(fast.value()).is_none());
    t.expect_bytes(0, &[1; 10]);
}

#[test]
fn a_read_whose_invalidation_fails_ends_the_connection() {
    let mut t = Script::new();
    t.post(operation(Operation::RdmaReadWithInvalidate(peer(), RKey::new(t.side.key)), 10));
    t.lines();
    t.deliver(t.response(0, 10));
    t.expect_state(State::Err);
    t.expect_completion(0, CompletionStatus::LocalQueuePairOperationError);
}
