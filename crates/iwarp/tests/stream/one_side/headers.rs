//! Headers that no message may have.
//!
//! Rule: ddp-version: A segment of another DDP version is told as such, by whether it is tagged (RFC 5041 §4.1, §7).
//! Rule: ddp-queue: A segment for a queue that is not there is told as such (RFC 5041 §7).
//! Rule: rdmap-version: A message of another RDMAP version is told as such (RFC 5040 §4.1, §7).
//! Rule: rdmap-opcode: An opcode that is unknown, or does not belong where it comes, is told as unexpected
//! (RFC 5040 §4.3, §7).
//! Rule: rdmap-without-extensions: Without RFC 7306, its opcodes are unexpected ones (RFC 5040 §7).
//! Rule: rdmap-fixed-length: A request, a response or immediate data of another length than its own ends the connection
//! (RFC 5040 §7).
//! Rule: ddp-cut-off: A segment that is shorter than its header ends the connection (RFC 5041 §4).

use rdmalab_wire::iwarp::{Opcode, TerminateError};

use crate::script::*;
use crate::side::Setup;

#[track_caller]
fn refused(change: impl Fn(&Script) -> Incoming, error: TerminateError, of: &str) {
    for crc in [true, false] {
        for piece in [1000, 1] {
            let mut t = Script::with(Setup { crc, ..Setup::default() });
            t.side.receive(0, 0, 100);
            let segment = change(&t);
            let of = if of.is_empty() { String::new() } else { of.to_owned() };
            let fpdu = t.encode(&segment);
            fpdu.chunks(piece).for_each(|piece| t.deliver_bytes(piece));
            t.expect_terminate(error, &of);
            t.expect_flushed([0]);
        }
    }
}

#[test]
fn another_version_of_ddp_is_refused() {
    for version in [0, 2, 3] {
        let with = |mut segment: Incoming| {
            segment.header.ddp_version = version;
            segment
        };
        refused(|t| with(t.incoming_write(0, 1)), TerminateError::DDP_TAGGED_VERSION, "WRITE length=15");
        refused(|_| with(incoming_send(1, 1)), TerminateError::DDP_UNTAGGED_VERSION, "SEND length=19");
    }
}

#[test]
fn another_version_of_rdmap_is_refused() {
    for version in [0, 2, 3] {
        let with = |mut segment: Incoming| {
            segment.header.rdmap_version = version;
            segment
        };
        refused(|t| with(t.incoming_write(0, 1)), TerminateError::RDMAP_VERSION, "WRITE length=15");
        refused(|_| with(incoming_send(1, 1)), TerminateError::RDMAP_VERSION, "SEND length=19");
    }
}

#[test]
fn a_queue_that_is_not_there_is_refused() {
    for queue in [4, 5, u32::MAX] {
        let error = TerminateError::DDP_INVALID_QUEUE;
        refused(|_| untagged(Opcode::SEND, queue, 1, &[1]), error, "SEND length=19");
    }
}

#[test]
fn an_opcode_where_it_does_not_belong_is_refused() {
    let error = TerminateError::RDMAP_UNEXPECTED_OPCODE;
    for opcode in 12..16 {
        let opcode = Opcode::new(opcode);
        refused(|_| untagged(opcode, 0, 1, &[1]), error, &format!("{opcode} length=19"));
        refused(|t| tagged(opcode, t.side.key, 0, &[1]), error, &format!("{opcode} length=15"));
    }
    for (opcode, home) in [(Opcode::SEND, 0), (Opcode::READ_REQUEST, 1), (Opcode::ATOMIC_RESPONSE, 3)] {
        for queue in (0..4).filter(|queue| *queue != home) {
            refused(|_| untagged(opcode, queue, 1, &[1]), error, &format!("{opcode} length=19"));
        }
        refused(|t| tagged(opcode, t.side.key, 0, &[1]), error, &format!("{opcode} length=15"));
    }
    for opcode in [Opcode::WRITE, Opcode::READ_RESPONSE] {
        refused(|_| untagged(opcode, 0, 1, &[1]), error, &format!("{opcode} length=19"));
    }
}

#[test]
fn reserved_bits_are_not_looked_at() {
    let mut t = Script::new();
    t.side.receive(0, 0, 100);
    let mut segment = incoming_send(1, 10).upper(0xffff_ffff);
    (segment.header.ddp_reserved, segment.header.rdmap_reserved) = (0xf, 3);
    t.deliver(segment);
    t.expect_done(0);
    t.expect_alive();
}

#[test]
fn bodies_of_another_length_are_refused() {
    let cases = [
        (Opcode::READ_REQUEST, 1, 28),
        (Opcode::ATOMIC_REQUEST, 1, 52),
        (Opcode::IMMEDIATE, 0, 8),
        (Opcode::IMMEDIATE_SE, 0, 8),
    ];
    for (opcode, queue, length) in cases {
        let of = |length: usize| format!("{opcode} length={}", 18 + length);
        for wrong in [0, length - 1] {
            let error = TerminateError::RDMAP_OPERATION_UNSPECIFIED;
            refused(|_| untagged(opcode, queue, 1, &vec![0; wrong]), error, &of(wrong));
        }
        for wrong in [length + 1, 1000] {
            let error = TerminateError::DDP_MESSAGE_TOO_LONG;
            refused(|_| untagged(opcode, queue, 1, &vec![0; wrong]), error, &of(wrong));
        }
        let whole = || untagged(opcode, queue, 1, &vec![0; length]);
        refused(|_| whole().mo(1), TerminateError::DDP_INVALID_MESSAGE_OFFSET, &of(length));
        refused(|_| whole().not_last(), TerminateError::RDMAP_OPERATION_UNSPECIFIED, &of(length));
    }
}

#[test]
fn a_segment_shorter_than_its_header_is_refused() {
    for bytes in [&[][..], &[0x41], &[0xc1; 13], &[0x41; 17]] {
        for crc in [true, false] {
            for piece in [1000, 1] {
                let mut t = Script::with(Setup { crc, ..Setup::default() });
                let fpdu = t.encode_ulpdu(bytes);
                fpdu.chunks(piece).for_each(|piece| t.deliver_bytes(piece));
                t.expect_terminate(TerminateError::RDMAP_OPERATION_UNSPECIFIED, "");
            }
        }
    }
}

#[test]
fn without_the_extensions_their_opcodes_are_unexpected() {
    for (opcode, queue, length) in [
        (Opcode::IMMEDIATE, 0, 8),
        (Opcode::IMMEDIATE_SE, 0, 8),
        (Opcode::ATOMIC_REQUEST, 1, 52),
        (Opcode::ATOMIC_RESPONSE, 3, 12),
    ] {
        let mut t = Script::with(Setup { rfc7306: false, ..Setup::default() });
        t.side.receive(0, 0, 100);
        t.deliver(untagged(opcode, queue, 1, &vec![0; length]));
        let of = format!("{opcode} length={}", 18 + length);
        t.expect_terminate(TerminateError::RDMAP_UNEXPECTED_OPCODE, &of);
    }
}
