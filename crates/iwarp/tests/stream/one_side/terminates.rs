//! The peer's Terminate message.
//!
//! Rule: rdmap-terminate-ends: A Terminate message ends the connection: all work is flushed, nothing is sent any more, and
//! our direction is closed (RFC 5040 §5.4).
//! Rule: rdmap-terminate-unanswered: It is not answered by another (RFC 5040 §5.4).
//! Rule: rdmap-terminate-once: A stream has one Terminate message in each direction, with the number 1 in queue 2
//! (RFC 5040 §5.4).
//! Rule: rdmap-terminate-blames: The request that it is about ends with what the peer says of it (RFC 5040 §4.8).
//! Rule: rdmap-terminate-all-errors: Every error of RDMAP, DDP and MPA is understood (RFC 5040 §4.8, RFC 5041 §8.2,
//! RFC 5044 §8, RFC 6581 §7).

use rdmalab_iwarp::{Event, TerminatedBy};
use rdmalab_verbs::{CompletionStatus, Operation, State};
use rdmalab_wire::ImmDt;
use rdmalab_wire::iwarp::{Header, Opcode, Place, ReadRequest, Stag, Terminate, TerminateError};

use crate::script::*;
use crate::side::{BASE, Setup};

fn terminate(terminate: &Terminate<'_>) -> Incoming {
    let mut body = [0; 200];
    let length = terminate.encode(&mut body).unwrap();
    untagged(Opcode::TERMINATE, 2, 1, &body[..length])
}

#[track_caller]
fn expect_terminated(t: &mut Script, error: TerminateError) {
    t.expect_state(State::Err);
    t.expect_event(Event::Terminated { by: TerminatedBy::Peer, error });
    t.expect_event(Event::CloseSending);
    t.expect_no_event();
    t.expect_nothing();
    assert!(!t.side.queue_pair.has_work());
}

#[test]
fn it_ends_the_connection_and_is_not_answered() {
    let mut t = Script::new();
    t.side.receive(7, 0, 100);
    t.post(read(1));
    t.post(send(5000));
    // The READ, and a part of the SEND.
    t.expect_completion_free_lines(2);
    t.deliver(t.incoming_read(1, 0, 100));
    let error = TerminateError::RDMAP_STREAM_CATASTROPHIC;
    t.deliver(terminate(&Terminate::new(error)));
    expect_terminated(&mut t, error);
    t.expect_flushed([0, 1, 7]);
    // What comes behind it is nothing.
    t.deliver(incoming_send(1, 10));
    t.deliver(terminate(&Terminate::new(error)));
    t.expect_no_event();
    t.expect_nothing();
    t.post(send(1));
    t.expect_flushed([2]);
}

impl Script {
    /// So many lines, of no interest.
    #[track_caller]
    fn expect_completion_free_lines(&mut self, count: usize) {
        (0..count).for_each(|_| assert!(self.line().is_some()));
        self.expect_no_completion();
    }
}

#[test]
fn every_error_is_understood_and_unknown_ones_are_handed_on() {
    let unknown = TerminateError { layer: 7, error_type: 3, code: 0x44 };
    for error in TerminateError::all().chain([unknown]) {
        for piece in [1000, 1] {
            let mut t = Script::new();
            let fpdu = t.encode(&terminate(&Terminate::new(error)));
            fpdu.chunks(piece).for_each(|piece| t.deliver_bytes(piece));
            expect_terminated(&mut t, error);
        }
    }
}

#[test]
fn its_number_and_what_it_lacks_do_not_matter() {
    let mut t = Script::new();
    t.deliver(untagged(Opcode::TERMINATE, 2, 5, &[0x12, 2, 0xc0, 0]).mo(7).not_last());
    expect_terminated(&mut t, TerminateError::DDP_NO_BUFFER);
}

#[test]
fn one_without_a_reason_resets_the_stream() {
    let mut t = Script::new();
    t.deliver(untagged(Opcode::TERMINATE, 2, 1, &[0x12]));
    t.expect_state(State::Err);
    t.expect_event(Event::Reset);
    t.expect_nothing();
}

#[test]
fn a_long_one_is_cut() {
    let mut t = Script::new();
    let body = [&[0x12, 2, 0xc0, 0, 0, 100][..], &[0x41; 1000]].concat();
    t.deliver(untagged(Opcode::TERMINATE, 2, 1, &body));
    expect_terminated(&mut t, TerminateError::DDP_NO_BUFFER);
}

#[test]
fn a_peer_that_swaps_the_bits_is_understood_where_that_is_known() {
    for (swapped, error) in [
        (true, TerminateError::DDP_MESSAGE_TOO_LONG),
        (false, TerminateError { layer: 2, error_type: 1, code: 5 }),
    ] {
        let mut t = Script::with(Setup { swapped, ..Setup::default() });
        let body = [&[0x21, 5, 0x03, 0, 0, 18, 0x41, 0x43][..], &[0; 16]].concat();
        t.deliver(untagged(Opcode::TERMINATE, 2, 1, &body));
        expect_terminated(&mut t, error);
    }
}

/// A Terminate message about a segment of ours.
fn about(error: TerminateError, opcode: Opcode, place: Place) -> Incoming {
    terminate(&Terminate::about(error, 46, Header::new(opcode, true, place), None))
}

#[test]
fn the_read_that_it_is_about_ends_with_what_it_says() {
    for (error, status) in [
        (TerminateError::RDMAP_INVALID_STAG, CompletionStatus::RemoteAccessError),
        (TerminateError::RDMAP_BOUNDS, CompletionStatus::RemoteAccessError),
        (TerminateError::RDMAP_ACCESS, CompletionStatus::RemoteAccessError),
        (TerminateError::RDMAP_UNEXPECTED_OPCODE, CompletionStatus::RemoteInvalidRequest),
        (TerminateError::DDP_MSN_RANGE, CompletionStatus::RemoteInvalidRequest),
        (TerminateError::DDP_NO_BUFFER, CompletionStatus::RemoteOperationError),
        (TerminateError::RDMAP_STREAM_CATASTROPHIC, CompletionStatus::RemoteOperationError),
        (TerminateError::RDMAP_LOCAL_CATASTROPHIC, CompletionStatus::RemoteOperationError),
        (TerminateError::MPA_CRC, CompletionStatus::RemoteOperationError),
    ] {
        for blamed in 0..3 {
            let mut t = Script::new();
            t.post(read(1));
            t.post(send(1));
            t.post(read(1));
            t.post(operation(Operation::FetchAndAdd { remote: peer(), add: 1 }, 8));
            t.lines();
            let place = Place::Untagged { upper: 0, queue: 1, msn: blamed + 1, offset: 0 };
            t.deliver(about(error, Opcode::READ_REQUEST, place));
            expect_terminated(&mut t, error);
            let ids = [0, 2, 3];
            for id in 0..4 {
                let is_blamed = id == ids[blamed as usize];
                let expected = if is_blamed { status } else { CompletionStatus::WorkRequestFlushed };
                t.expect_completion(id, expected);
            }
        }
    }
}

#[test]
fn numbers_of_requests_that_are_done_blame_nobody() {
    for msn in [0, 1, 3, u32::MAX] {
        let mut t = Script::new();
        t.post(read(1));
        t.lines();
        t.deliver(t.response(0, 1));
        t.expect_done(0);
        t.post(read(1));
        t.lines();
        let place = Place::Untagged { upper: 0, queue: 1, msn, offset: 0 };
        t.deliver(about(TerminateError::RDMAP_BOUNDS, Opcode::READ_REQUEST, place));
        t.expect_flushed([1]);
    }
}

#[test]
fn a_send_or_write_behind_a_read_or_under_way_can_still_be_blamed() {
    let error = TerminateError::DDP_BOUNDS;
    let blame = |place: Place, opcode: Opcode, expected: u64| {
        let mut t = Script::new();
        t.post(send(1));
        t.post(read(1));
        t.post(send(1));
        t.post(write(100));
        t.post(operation(Operation::RdmaWriteWithImmediate(peer(), ImmDt([0; 4])), 0));
        t.post(send(3000));
        // All but the last is sent, and of that one segment of three.
        (0..7).for_each(|_| assert!(t.line().is_some()));
        t.expect_done(0);
        t.deliver(about(error, opcode, place));
        for id in 1..6 {
            let is_blamed = id == expected;
            let flushed = CompletionStatus::WorkRequestFlushed;
            t.expect_completion(id, if is_blamed { CompletionStatus::RemoteAccessError } else { flushed });
        }
    };
    let of_send = |msn| Place::Untagged { upper: 0, queue: 0, msn, offset: 0 };
    blame(of_send(2), Opcode::SEND, 2);
    blame(of_send(3), Opcode::IMMEDIATE, 4);
    blame(of_send(4), Opcode::SEND, 5);
    blame(of_send(1), Opcode::SEND, 99);
    blame(of_send(5), Opcode::SEND, 99);
    let of_write = |offset| Place::Tagged { stag: Stag::new(PEER_KEY), offset };
    blame(of_write(PEER_ADDRESS + 99), Opcode::WRITE, 3);
    blame(of_write(PEER_ADDRESS + 100), Opcode::WRITE, 99);
    blame(Place::Tagged { stag: Stag::new(1), offset: PEER_ADDRESS }, Opcode::WRITE, 99);
}

/// siw's TERMINATE of `pcaps/siw/reads.pcap`, frame 45, about a READ of eight bytes: in the place of the READ's number it has
/// its length.
const SIW: &[u8] = &[
    0x10, 1, 7, 0, 0, 0, 0x41, 0x41, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 0, 0x51, 0x51, 0x51, 0, 0,
    0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 8, 0xf6, 0x78, 0xd6, 0, 0, 0, 0, 0, 0x0f, 0x51, 0xbf, 0xfc,
];
/// Where the READ request of its bytes begins in it, and what that has: sink, length, source.
const SIWS_REQUEST: usize = 24;

/// siw's TERMINATE, about a READ request of ours.
fn as_siw(request: &ReadRequest) -> Incoming {
    let mut body = SIW.to_vec();
    body[16..20].copy_from_slice(&request.length.to_be_bytes());
    body[SIWS_REQUEST..].copy_from_slice(&request.encode());
    untagged(Opcode::TERMINATE, 2, 1, &body)
}

fn request_of(line: &Script, offset: usize, length: u32) -> ReadRequest {
    ReadRequest {
        sink_stag: Stag::new(line.side.key),
        sink_offset: BASE + offset as u64,
        length,
        source_stag: Stag::new(PEER_KEY),
        source_offset: PEER_ADDRESS,
    }
}

#[test]
fn the_bytes_of_siws_terminate_are_what_the_test_takes_them_for() {
    let request = ReadRequest::decode(SIW[SIWS_REQUEST..].first_chunk().unwrap());
    assert_eq!((request.sink_stag.value(), request.sink_offset), (0x5151_5100, 0x1000));
    assert_eq!((request.length, request.source_stag.value()), (8, 0xf678_d600));
    let mut t = Script::with(Setup { swapped: true, ..Setup::default() });
    t.deliver(untagged(Opcode::TERMINATE, 2, 1, SIW));
    expect_terminated(&mut t, TerminateError::RDMAP_BOUNDS);
}

/// Whatever number the TERMINATE has, that of another READ of ours among them.
#[test]
fn the_read_that_siw_refuses_is_told_by_its_request_and_not_by_its_number() {
    for blamed in 0..3_u32 {
        let mut t = Script::with(Setup { swapped: true, ..Setup::default() });
        // Their lengths are numbers of READs, too.
        for length in [3, 1, 2] {
            t.post(read(length).at(64 * length));
        }
        t.post(send(1));
        t.lines();
        let length = [3, 1, 2][blamed as usize];
        t.deliver(as_siw(&request_of(&t, 64 * length as usize, length)));
        expect_terminated(&mut t, TerminateError::RDMAP_BOUNDS);
        for id in 0..4 {
            let is_blamed = id == u64::from(blamed);
            let refused = CompletionStatus::RemoteAccessError;
            t.expect_completion(id, if is_blamed { refused } else { CompletionStatus::WorkRequestFlushed });
        }
        t.expect_no_completion();
    }
}

#[test]
fn of_reads_that_are_alike_the_number_tells_and_else_it_is_the_oldest() {
    for (msn, blamed) in [(1, 0), (2, 1), (3, 2), (4, 0), (77, 0)] {
        let mut t = Script::new();
        (0..3).for_each(|_| _ = t.post(read(5)));
        t.lines();
        let request = request_of(&t, 0, 5).encode();
        let place = Place::Untagged { upper: 0, queue: 1, msn, offset: 0 };
        let header = Header::new(Opcode::READ_REQUEST, true, place);
        t.deliver(terminate(&Terminate::about(TerminateError::RDMAP_ACCESS, 46, header, Some(&request))));
        expect_terminated(&mut t, TerminateError::RDMAP_ACCESS);
        for id in 0..3 {
            let refused = CompletionStatus::RemoteAccessError;
            t.expect_completion(
                id,
                if id == blamed { refused } else { CompletionStatus::WorkRequestFlushed },
            );
        }
    }
}

#[test]
fn a_request_that_is_none_of_ours_blames_nobody() {
    let mut t = Script::new();
    t.post(read(5));
    t.lines();
    let request = ReadRequest { length: 6, ..request_of(&t, 0, 5) }.encode();
    let place = Place::Untagged { upper: 0, queue: 1, msn: 1, offset: 0 };
    let header = Header::new(Opcode::READ_REQUEST, true, place);
    t.deliver(terminate(&Terminate::about(TerminateError::RDMAP_ACCESS, 46, header, Some(&request))));
    t.expect_flushed([0]);
}
