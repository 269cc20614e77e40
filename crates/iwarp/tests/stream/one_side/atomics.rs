//! Atomics, asked for and carried out.
//!
//! Rule: rdmap-atomic-request: An atomic request has a number in queue 1, an identifier, and masks (RFC 7306 §5.2.1).
//! Rule: rdmap-atomic-response: Its answer has a number in queue 3, the identifier, and the value found (RFC 7306 §5.2.2).
//! Rule: rdmap-fetch-add: FetchAdd adds to several numbers side by side, as its mask says (RFC 7306 §5.1.1).
//! Rule: rdmap-compare-swap: CmpSwap compares under one mask and swaps under another (RFC 7306 §5.1.2).
//! Rule: rdmap-atomic-faults: An atomic on memory that the peer may not have is told by RDMAP's protection errors, with
//! the header of the request (RFC 7306 §8).
//! Rule: rdmap-atomic-unknown: An operation that is neither of the two is told as an unexpected opcode (RFC 7306 §8).
//! Rule: rdmap-atomic-response-faults: An atomic response that was not asked for, or answers another, ends the connection
//! (RFC 7306 §8).

use rdmalab_verbs::{Access, CompletionKind, CompletionStatus, Operation, PostError};
use rdmalab_wire::iwarp::{
    AtomicOperation, AtomicRequest, AtomicResponse, Opcode, RawBody, RawSegment, Stag, TerminateError,
};

use crate::script::*;
use crate::side::{BASE, Setup};

fn add(t: &Script, id: u32, offset: usize, add: u64, boundary: u64) -> AtomicRequest {
    AtomicRequest {
        operation: AtomicOperation::FetchAdd,
        request_id: id,
        stag: Stag::new(t.side.key),
        offset: BASE + offset as u64,
        add_or_swap: add,
        add_or_swap_mask: boundary,
        ..AtomicRequest::default()
    }
}

fn atomic(msn: u32, request: &AtomicRequest) -> Incoming {
    untagged(Opcode::ATOMIC_REQUEST, 1, msn, &request.encode())
}

fn response(msn: u32, request_id: u32, original: u64) -> Incoming {
    untagged(Opcode::ATOMIC_RESPONSE, 3, msn, &AtomicResponse { request_id, original }.encode())
}

#[test]
fn the_four_atomics_are_asked_for_with_their_masks() {
    let mut t = Script::new();
    let remote = peer();
    for work in [
        Operation::FetchAndAdd { remote, add: 5 },
        Operation::MaskedFetchAndAdd { remote, add: 6, boundary: 0x80 },
        Operation::CompareAndSwap { remote, compare: 1, swap: 2 },
        Operation::MaskedCompareAndSwap { remote, compare: 3, compare_mask: 0xf, swap: 4, swap_mask: 0xf0 },
    ] {
        t.post(operation(work, 8));
    }
    t.expect("RDMAP ATOMIC_REQUEST msn=1 fetch_add id=0x0 stag=0x777 to=0x2000 add=0x5 add_mask=0x0");
    t.expect("RDMAP ATOMIC_REQUEST msn=2 fetch_add id=0x1 stag=0x777 to=0x2000 add=0x6 add_mask=0x80");
    t.expect(
        "RDMAP ATOMIC_REQUEST msn=3 compare_swap id=0x2 stag=0x777 to=0x2000 swap=0x2 \
         swap_mask=0xffffffffffffffff compare=0x1 compare_mask=0xffffffffffffffff",
    );
    t.expect(
        "RDMAP ATOMIC_REQUEST msn=4 compare_swap id=0x3 stag=0x777 to=0x2000 swap=0x4 swap_mask=0xf0 \
         compare=0x3 compare_mask=0xf",
    );
    t.expect_nothing();
    let kinds = [
        CompletionKind::FetchAndAdd,
        CompletionKind::FetchAndAdd,
        CompletionKind::CompareAndSwap,
        CompletionKind::CompareAndSwap,
    ];
    for (id, kind) in kinds.into_iter().enumerate() {
        let original = 0x0102_0304_0506_0700 + id as u64;
        t.deliver(response(id as u32 + 1, id as u32, original));
        let done = t.expect_done(id as u64);
        assert_eq!((done.kind, done.length), (kind, 8));
        t.expect_bytes(0, &original.to_ne_bytes());
    }
}

#[test]
fn a_result_may_lie_in_several_elements() {
    let mut t = Script::new();
    let halves = [t.side.sge(0, 4), t.side.sge(100, 4)];
    let work = operation(Operation::FetchAndAdd { remote: peer(), add: 1 }, 0);
    t.post(work.clone().in_elements(&halves));
    assert_eq!(t.try_post(work), Err(PostError::AtomicResultNotEightBytes));
    t.lines();
    let original = 0x0102_0304_0506_0708_u64;
    t.deliver(response(1, 0, original));
    t.expect_done(0);
    assert_eq!([t.side.bytes(0, 4), t.side.bytes(100, 4)].concat(), original.to_ne_bytes());
}

#[test]
fn a_fetch_add_is_carried_out_when_it_comes_and_answered_in_its_turn() {
    let mut t = Script::new();
    t.side.fill(8, &0xff_u64.to_ne_bytes());
    t.deliver(t.incoming_read(1, 0, 1));
    t.deliver(atomic(2, &add(&t, 0xaa, 8, 1, 0)));
    t.expect_bytes(8, &0x100_u64.to_ne_bytes());
    t.deliver(atomic(3, &add(&t, 0xbb, 8, 0xff, 0x80)));
    // The low byte is a number of its own.
    t.expect_bytes(8, &0x1ff_u64.to_ne_bytes());
    t.expect("RDMAP READ_RESPONSE stag=0x777 to=0x2000 len=1 last");
    t.expect("RDMAP ATOMIC_RESPONSE msn=1 id=0xaa original=0xff");
    t.expect("RDMAP ATOMIC_RESPONSE msn=2 id=0xbb original=0x100");
    t.expect_alive();
}

#[test]
fn a_compare_swap_heeds_its_masks() {
    let mut t = Script::new();
    t.side.fill(0, &0x1234_u64.to_ne_bytes());
    let swap = AtomicRequest {
        operation: AtomicOperation::CompareSwap,
        stag: Stag::new(t.side.key),
        offset: BASE,
        add_or_swap: 0xabcd,
        add_or_swap_mask: 0xff00,
        compare: 0x34,
        compare_mask: 0xff,
        ..AtomicRequest::default()
    };
    t.deliver(atomic(1, &swap));
    t.expect("RDMAP ATOMIC_RESPONSE msn=1 id=0x0 original=0x1234");
    t.expect_bytes(0, &0xab34_u64.to_ne_bytes());
    t.deliver(atomic(2, &AtomicRequest { compare: 0x35, request_id: 7, ..swap }));
    t.expect("RDMAP ATOMIC_RESPONSE msn=2 id=0x7 original=0xab34");
    t.expect_bytes(0, &0xab34_u64.to_ne_bytes());
}

#[test]
fn atomics_count_among_the_reads_that_are_taken() {
    let mut t = Script::with(Setup { ird: 2, ..Setup::default() });
    t.deliver(t.incoming_read(1, 0, 1));
    t.deliver(atomic(2, &add(&t, 0, 8, 1, 0)));
    t.deliver(atomic(3, &add(&t, 0, 8, 1, 0)));
    t.expect_terminate(TerminateError::DDP_NO_BUFFER, "ATOMIC_REQUEST length=70");
    t.expect_bytes(8, &1_u64.to_ne_bytes());
}

#[test]
fn each_fault_of_an_atomic_is_told_with_the_request() {
    let good = |t: &Script| add(t, 0, 8, 1, 0);
    type Change = fn(AtomicRequest) -> AtomicRequest;
    let same: Change = |request| request;
    let key: Change = |request| AtomicRequest { stag: Stag::new(0xdead), ..request };
    let bounds: Change = |request| AtomicRequest { offset: BASE + (1 << 16), ..request };
    let wrap: Change = |request| AtomicRequest { offset: u64::MAX - 7, ..request };
    let odd: Change = |request| AtomicRequest { offset: request.offset + 4, ..request };
    let unknown: Change = |request| AtomicRequest { operation: AtomicOperation::Unknown(1), ..request };
    let no_right = Setup { rights: Access::LOCAL_WRITE | Access::REMOTE_WRITE, ..Setup::default() };
    let disabled = Setup { access: Access::REMOTE_WRITE, ..Setup::default() };
    let cases = [
        (Setup::default(), key, TerminateError::RDMAP_INVALID_STAG),
        (Setup::default(), bounds, TerminateError::RDMAP_BOUNDS),
        (Setup::default(), wrap, TerminateError::RDMAP_OFFSET_WRAP),
        (Setup::default(), odd, TerminateError::RDMAP_OPERATION_UNSPECIFIED),
        (Setup::default(), unknown, TerminateError::RDMAP_UNEXPECTED_OPCODE),
        (no_right, same, TerminateError::RDMAP_ACCESS),
        (disabled, same, TerminateError::RDMAP_ACCESS),
    ];
    for (setup, change, error) in cases {
        let mut t = Script::with(setup);
        let segment = atomic(1, &change(good(&t)));
        t.deliver(segment.clone());
        let ulpdu = t.poll_ulpdu().unwrap();
        let Some(RawBody::Terminate(terminate)) = RawSegment::parse(&ulpdu).body else {
            panic!("no Terminate")
        };
        assert_eq!(terminate.error, error);
        assert_eq!(terminate.segment.map(|it| (it.length, it.header)), Some((70, segment.header)));
        assert_eq!(terminate.rdmap_header, Some(&segment.payload[..]));
        t.expect_bytes(0, &[0; 32]);
    }
}

#[test]
fn a_response_that_was_not_asked_for_has_no_buffer() {
    let mut t = Script::new();
    t.deliver(response(1, 0, 0));
    t.expect_terminate(TerminateError::DDP_NO_BUFFER, "ATOMIC_RESPONSE length=30");
}

#[test]
fn a_response_to_another_request_ends_the_connection() {
    for (msn, id, error) in [
        (2, 0, TerminateError::DDP_MSN_RANGE),
        (0, 0, TerminateError::DDP_MSN_RANGE),
        (1, 1, TerminateError::RDMAP_OPERATION_UNSPECIFIED),
    ] {
        let mut t = Script::new();
        t.post(operation(Operation::FetchAndAdd { remote: peer(), add: 1 }, 8));
        t.post(operation(Operation::FetchAndAdd { remote: peer(), add: 1 }, 8));
        t.lines();
        t.deliver(response(msn, id, 0));
        t.expect_terminate(error, "ATOMIC_RESPONSE length=30");
        t.expect_completion(0, CompletionStatus::BadResponse);
        t.expect_flushed([1]);
    }
}

#[test]
fn an_atomic_is_not_answered_by_a_read_response_nor_the_other_way() {
    let mut t = Script::new();
    t.post(operation(Operation::FetchAndAdd { remote: peer(), add: 1 }, 8));
    t.lines();
    t.deliver(t.response(0, 8));
    t.expect_terminate(TerminateError::RDMAP_UNEXPECTED_OPCODE, "READ_RESPONSE length=22");
    let mut t = Script::new();
    t.post(read(8));
    t.lines();
    t.deliver(response(1, 0, 0));
    t.expect_terminate(TerminateError::DDP_NO_BUFFER, "ATOMIC_RESPONSE length=30");
}
