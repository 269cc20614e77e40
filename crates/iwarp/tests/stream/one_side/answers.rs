//! READs that the peer asks for.
//!
//! Rule: rdmap-read-response: A READ is answered by one tagged message into the sink that its request names, from its first
//! byte to its last (RFC 5040 §5.2).
//! Rule: rdmap-answers-in-order: READs and atomics are answered in the order of their requests (RFC 5040 §5.5).
//! Rule: rdmap-ird: No more READs and atomics are taken than were agreed on; one more is told as without a buffer
//! (RFC 5040 §5.2, RFC 5041 §7).
//! Rule: ddp-request-msn: A request with another number than the next is told as out of range (RFC 5041 §7).
//! Rule: rdmap-source-faults: A READ of memory that the peer may not have is told by RDMAP's protection errors, with the
//! DDP header and the header of the request (RFC 5040 §4.8, §7).
//! Rule: rdmap-source-checked-again: A READ whose memory goes away while it is answered ends by the same errors
//! (RFC 5040 §7).
//! Rule: rdmap-zero-length-read: A READ of no bytes looks at no tag (RFC 5040 §5.2).
//! Rule: qp-turns: Requests and answers take turns, whole messages at a time, so that neither starves.

use rdmalab_verbs::{Access, State};
use rdmalab_wire::iwarp::{RawBody, RawSegment, TerminateError};

use crate::script::*;
use crate::side::{BASE, Setup, pattern};

#[test]
fn a_read_is_answered_into_the_sink_that_it_names() {
    let mut t = Script::new();
    t.side.fill(100, &pattern(9, 3000));
    t.deliver(t.incoming_read(1, 100, 3000));
    let first = t.poll_ulpdu().unwrap();
    assert_eq!(RawSegment::parse(&first).to_string(), "RDMAP READ_RESPONSE stag=0x777 to=0x2000 len=1440");
    assert_eq!(first[14..], pattern(9, 3000)[..1440]);
    t.expect("RDMAP READ_RESPONSE stag=0x777 to=0x25a0 len=1440");
    t.expect("RDMAP READ_RESPONSE stag=0x777 to=0x2b40 len=120 last");
    t.expect_nothing();
    t.expect_alive();
    t.expect_no_completion();
}

#[test]
fn a_read_of_no_bytes_looks_at_no_tag() {
    let mut t = Script::with(Setup { access: Access::empty(), ..Setup::default() });
    t.deliver(read_request(1, 0xdead, 17, 0));
    t.expect("RDMAP READ_RESPONSE stag=0x777 to=0x2000 len=0 last");
    t.expect_alive();
}

#[test]
fn answers_come_in_the_order_of_the_requests() {
    let mut t = Script::new();
    for msn in 1..=4 {
        t.deliver(t.incoming_read(msn, 0, msn as usize));
    }
    for length in 1..=4 {
        t.expect(&format!("RDMAP READ_RESPONSE stag=0x777 to=0x2000 len={length} last"));
    }
}

#[test]
fn one_read_more_than_agreed_has_no_buffer() {
    let mut t = Script::with(Setup { ird: 2, ..Setup::default() });
    t.deliver(t.incoming_read(1, 0, 2000));
    t.deliver(t.incoming_read(2, 0, 1));
    // The first is under way, and still counts.
    t.expect("RDMAP READ_RESPONSE stag=0x777 to=0x2000 len=1440");
    t.expect_alive();
    t.deliver(t.incoming_read(3, 0, 1));
    t.expect_terminate(TerminateError::DDP_NO_BUFFER, "READ_REQUEST length=46");
}

#[test]
fn an_answer_that_went_out_makes_room() {
    let mut t = Script::with(Setup { ird: 1, ..Setup::default() });
    for msn in 1..100 {
        t.deliver(t.incoming_read(msn, 0, 10));
        t.expect("RDMAP READ_RESPONSE stag=0x777 to=0x2000 len=10 last");
    }
    t.expect_alive();
}

#[test]
fn none_are_taken_where_none_were_agreed() {
    let mut t = Script::with(Setup { ird: 0, ..Setup::default() });
    t.deliver(t.incoming_read(1, 0, 0));
    t.expect_terminate(TerminateError::DDP_NO_BUFFER, "READ_REQUEST length=46");
}

#[test]
fn a_request_with_another_number_than_the_next_is_out_of_range() {
    for msn in [0, 1, 3, u32::MAX] {
        let mut t = Script::new();
        t.deliver(t.incoming_read(1, 0, 1));
        t.deliver(t.incoming_read(msn, 0, 1));
        t.expect_terminate(TerminateError::DDP_MSN_RANGE, "READ_REQUEST length=46");
    }
}

/// Requests for memory that the peer may not have, and what it is told.
#[test]
fn each_fault_of_the_source_is_told_with_the_request() {
    let end = BASE + (1 << 16);
    let cases: [(Access, Access, u32, u64, u32, TerminateError); 7] = [
        (Access::FULL, Access::REMOTE, 0xdead, BASE, 1, TerminateError::RDMAP_INVALID_STAG),
        (Access::FULL, Access::REMOTE, 0, BASE - 1, 1, TerminateError::RDMAP_BOUNDS),
        (Access::FULL, Access::REMOTE, 0, end, 1, TerminateError::RDMAP_BOUNDS),
        (Access::FULL, Access::REMOTE, 0, end - 1, 2, TerminateError::RDMAP_BOUNDS),
        (Access::FULL, Access::REMOTE, 0, u64::MAX, 2, TerminateError::RDMAP_OFFSET_WRAP),
        (Access::LOCAL_WRITE, Access::REMOTE, 0, BASE, 1, TerminateError::RDMAP_ACCESS),
        (Access::FULL, Access::REMOTE_WRITE, 0, BASE, 1, TerminateError::RDMAP_ACCESS),
    ];
    for (rights, access, key, offset, length, error) in cases {
        let mut t = Script::with(Setup { rights, access, ..Setup::default() });
        let key = if key == 0 { t.side.key } else { key };
        let segment = read_request(1, key, offset, length);
        t.deliver(segment.clone());
        t.expect_state(State::Err);
        let ulpdu = t.poll_ulpdu().unwrap();
        let Some(RawBody::Terminate(terminate)) = RawSegment::parse(&ulpdu).body else {
            panic!("no Terminate")
        };
        assert_eq!(terminate.error, error);
        assert!(terminate.length_valid);
        let blamed = terminate.segment.unwrap();
        assert_eq!((blamed.length, blamed.header), (46, segment.header));
        assert_eq!(terminate.rdmap_header, Some(&segment.payload[..]));
    }
}

#[test]
fn memory_of_another_domain_is_not_of_this_stream() {
    let mut t = Script::new();
    let other = t.side.context.allocate_protection_domain().unwrap();
    let memory = std::sync::Arc::clone(&t.side.memory);
    let key = t.side.context.register(other, BASE, memory, Access::FULL).unwrap();
    t.deliver(read_request(1, key, BASE, 1));
    t.expect_terminate(TerminateError::RDMAP_STAG_OF_OTHER_STREAM, "READ_REQUEST length=46");
}

#[test]
fn memory_that_goes_away_while_it_is_read_ends_the_connection() {
    let mut t = Script::new();
    t.deliver(t.incoming_read(1, 0, 1));
    t.deliver(t.incoming_read(2, 7, 3000));
    let key = t.side.key;
    t.lines();
    t.expect_alive();
    t.deliver(t.incoming_read(3, 7, 3000));
    t.expect("RDMAP READ_RESPONSE stag=0x777 to=0x2000 len=1440");
    t.side.context.deregister(key).unwrap();
    let ulpdu = t.poll_ulpdu().unwrap();
    let Some(RawBody::Terminate(terminate)) = RawSegment::parse(&ulpdu).body else { panic!("no Terminate") };
    assert_eq!(terminate.error, TerminateError::RDMAP_INVALID_STAG);
    let expected = read_request(3, key, BASE + 7, 3000);
    assert_eq!(terminate.segment.map(|it| (it.length, it.header)), Some((46, expected.header)));
    assert_eq!(terminate.rdmap_header, Some(&expected.payload[..]));
    t.expect_nothing();
    t.expect_state(State::Err);
}

#[test]
fn requests_and_answers_take_turns_by_whole_messages() {
    let mut t = Script::new();
    for _ in 0..3 {
        t.post(send(2000));
    }
    for msn in 1..=3 {
        t.deliver(t.incoming_read(msn, 0, 2000));
    }
    let names: Vec<String> =
        t.lines().iter().map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect();
    let turn = ["READ_RESPONSE", "READ_RESPONSE", "SEND", "SEND"];
    assert_eq!(names, [turn, turn, turn].concat());
}

#[test]
fn a_write_and_its_immediate_data_are_not_parted() {
    let mut t = Script::new();
    let data = rdmalab_wire::ImmDt([1; 4]);
    t.post(operation(rdmalab_verbs::Operation::RdmaWriteWithImmediate(peer(), data), 10));
    t.deliver(t.incoming_read(1, 0, 1));
    t.expect("RDMAP READ_RESPONSE stag=0x777 to=0x2000 len=1 last");
    t.expect("RDMAP WRITE stag=0x777 to=0x2000 len=10 last");
    t.deliver(t.incoming_read(2, 0, 1));
    t.expect("RDMAP IMMEDIATE msn=1 data=0x0101010100000000");
    t.expect("RDMAP READ_RESPONSE stag=0x777 to=0x2000 len=1 last");
}
