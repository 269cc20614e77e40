//! The table of all opcodes.
//!
//! An operation has the same five low bits in every transport that has it. So the operations are listed
//! once, as a connection has them, and each transport takes those it knows and puts its own headers in
//! front: a datagram header on UD, an end-to-end context on all of RD and a datagram header on its
//! requests, a shared receive queue on the requests of XRC.

use super::PayloadRule::{AtMostPathMtu, Exactly, None as NoPayload, PathMtu, UpToPathMtu};
use super::Position::{First, Last, Middle, Only};
use super::{OpcodeRow, PayloadRule, Position, TransportKind};
use crate::header_set::Header::{
    self, Aeth, AtomicAckEth, AtomicEth, Deth, Feth, Ieth, ImmDt, Rdeth, Reth, Xrceth,
};
use crate::header_set::HeaderSet;

/// What an operation is, whatever the transport.
struct Operation {
    code: u8,
    name: &'static str,
    position: Position,
    headers: &'static [Header],
    payload: PayloadRule,
    is_request: bool,
    consumes_receive: bool,
}

const fn request(
    code: u8,
    name: &'static str,
    position: Position,
    headers: &'static [Header],
    payload: PayloadRule,
) -> Operation {
    Operation { code, name, position, headers, payload, is_request: true, consumes_receive: false }
}

/// A request that takes a receive work request.
const fn receive(
    code: u8,
    name: &'static str,
    position: Position,
    headers: &'static [Header],
    payload: PayloadRule,
) -> Operation {
    Operation { code, name, position, headers, payload, is_request: true, consumes_receive: true }
}

const fn response(
    code: u8,
    name: &'static str,
    position: Position,
    headers: &'static [Header],
    payload: PayloadRule,
) -> Operation {
    Operation { code, name, position, headers, payload, is_request: false, consumes_receive: false }
}

#[rustfmt::skip]
const OPERATIONS: [Operation; 26] = [
    receive (0x00, "SEND_FIRST",           First,  &[],                   PathMtu),
    request (0x01, "SEND_MIDDLE",          Middle, &[],                   PathMtu),
    request (0x02, "SEND_LAST",            Last,   &[],                   UpToPathMtu),
    request (0x03, "SEND_LAST_IMM",        Last,   &[ImmDt],              UpToPathMtu),
    receive (0x04, "SEND_ONLY",            Only,   &[],                   AtMostPathMtu),
    receive (0x05, "SEND_ONLY_IMM",        Only,   &[ImmDt],              AtMostPathMtu),
    request (0x06, "WRITE_FIRST",          First,  &[Reth],               PathMtu),
    request (0x07, "WRITE_MIDDLE",         Middle, &[],                   PathMtu),
    request (0x08, "WRITE_LAST",           Last,   &[],                   UpToPathMtu),
    receive (0x09, "WRITE_LAST_IMM",       Last,   &[ImmDt],              UpToPathMtu),
    request (0x0a, "WRITE_ONLY",           Only,   &[Reth],               AtMostPathMtu),
    receive (0x0b, "WRITE_ONLY_IMM",       Only,   &[Reth, ImmDt],        AtMostPathMtu),
    request (0x0c, "READ_REQUEST",         Only,   &[Reth],               NoPayload),
    response(0x0d, "READ_RESPONSE_FIRST",  First,  &[Aeth],               PathMtu),
    response(0x0e, "READ_RESPONSE_MIDDLE", Middle, &[],                   PathMtu),
    response(0x0f, "READ_RESPONSE_LAST",   Last,   &[Aeth],               UpToPathMtu),
    response(0x10, "READ_RESPONSE_ONLY",   Only,   &[Aeth],               AtMostPathMtu),
    response(0x11, "ACKNOWLEDGE",          Only,   &[Aeth],               NoPayload),
    response(0x12, "ATOMIC_ACKNOWLEDGE",   Only,   &[Aeth, AtomicAckEth], NoPayload),
    request (0x13, "COMPARE_SWAP",         Only,   &[AtomicEth],          NoPayload),
    request (0x14, "FETCH_ADD",            Only,   &[AtomicEth],          NoPayload),
    request (0x15, "RESYNC",               Only,   &[],                   NoPayload),
    request (0x16, "SEND_LAST_INV",        Last,   &[Ieth],               UpToPathMtu),
    receive (0x17, "SEND_ONLY_INV",        Only,   &[Ieth],               AtMostPathMtu),
    request (0x1c, "FLUSH",                Only,   &[Feth, Reth],         NoPayload),
    request (0x1d, "ATOMIC_WRITE",         Only,   &[Reth],               Exactly(8)),
];

/// Whether the transport has the operation.
const fn has(transport: TransportKind, operation: u8) -> bool {
    match transport {
        TransportKind::Rc => operation != 0x15,
        TransportKind::Uc => operation <= 0x0b,
        TransportKind::Rd => operation <= 0x15,
        TransportKind::Ud => matches!(operation, 0x04 | 0x05),
        TransportKind::Cnp => false,
        TransportKind::Xrc => operation <= 0x17 && operation != 0x15,
    }
}

const fn row_of(transport: TransportKind, operation: &Operation) -> OpcodeRow {
    let mut headers = HeaderSet::of(operation.headers);
    match transport {
        TransportKind::Ud => headers = headers.with(Deth),
        TransportKind::Rd => {
            headers = headers.with(Rdeth);
            if operation.is_request {
                headers = headers.with(Deth);
            }
        }
        TransportKind::Xrc if operation.is_request => headers = headers.with(Xrceth),
        _ => {}
    }
    OpcodeRow {
        opcode: transport.opcode(operation.code).0,
        transport,
        name: operation.name,
        headers,
        payload: operation.payload,
        position: operation.position,
        ends_message: matches!(operation.position, Last | Only),
        consumes_receive: operation.consumes_receive,
        is_request: operation.is_request,
    }
}

/// Congestion notification: a base header and sixteen reserved bytes, of no message and with no operation
/// in common with the other transports.
const CNP: OpcodeRow = OpcodeRow {
    opcode: 0x81,
    transport: TransportKind::Cnp,
    name: "CNP",
    headers: HeaderSet::EMPTY,
    payload: Exactly(16),
    position: Only,
    ends_message: true,
    consumes_receive: false,
    is_request: false,
};

static TABLE: [Option<OpcodeRow>; 256] = {
    const TRANSPORTS: [TransportKind; 5] =
        [TransportKind::Rc, TransportKind::Uc, TransportKind::Rd, TransportKind::Ud, TransportKind::Xrc];
    let mut table = [None; 256];
    let mut t = 0;
    while t < TRANSPORTS.len() {
        let mut o = 0;
        while o < OPERATIONS.len() {
            if has(TRANSPORTS[t], OPERATIONS[o].code) {
                let row = row_of(TRANSPORTS[t], &OPERATIONS[o]);
                table[row.opcode as usize] = Some(row);
            }
            o += 1;
        }
        t += 1;
    }
    table[CNP.opcode as usize] = Some(CNP);
    table
};

/// What is known about an opcode; `None` for one that no specification has given out.
#[inline]
pub const fn row(opcode: u8) -> Option<&'static OpcodeRow> {
    TABLE[opcode as usize].as_ref()
}
