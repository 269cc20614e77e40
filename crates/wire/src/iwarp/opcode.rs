//! RDMAP opcodes: four bits of the control field, and one row per opcode with all that follows from it.
//!
//! RFC 5040 §4.3 has 0 to 7, RFC 7306 §4.2 has 8 to 11; 12 to 15 are unknown.

use core::fmt;

/// The RDMAP opcode of a DDP segment, known or not: the low four bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Opcode(u8);

/// The queues of untagged segments (RFC 5040 §4.1, RFC 7306 §4.1).
pub mod queue {
    /// SENDs and immediate data: each message takes a receive.
    pub const SEND: u32 = 0;
    /// Requests for a READ or an atomic operation.
    pub const REQUEST: u32 = 1;
    /// The one Terminate message.
    pub const TERMINATE: u32 = 2;
    /// Responses of atomic operations.
    pub const ATOMIC_RESPONSE: u32 = 3;
}

#[expect(missing_docs, reason = "each constant is the opcode of its name")]
impl Opcode {
    pub const WRITE: Opcode = Opcode(0x0);
    pub const READ_REQUEST: Opcode = Opcode(0x1);
    pub const READ_RESPONSE: Opcode = Opcode(0x2);
    pub const SEND: Opcode = Opcode(0x3);
    pub const SEND_INV: Opcode = Opcode(0x4);
    pub const SEND_SE: Opcode = Opcode(0x5);
    pub const SEND_SE_INV: Opcode = Opcode(0x6);
    pub const TERMINATE: Opcode = Opcode(0x7);
    pub const IMMEDIATE: Opcode = Opcode(0x8);
    pub const IMMEDIATE_SE: Opcode = Opcode(0x9);
    pub const ATOMIC_REQUEST: Opcode = Opcode(0xa);
    pub const ATOMIC_RESPONSE: Opcode = Opcode(0xb);
}

impl Opcode {
    /// The low four bits of `value`.
    pub const fn new(value: u8) -> Self {
        Opcode(value & 0x0f)
    }

    /// The number, below 16.
    pub const fn value(self) -> u8 {
        self.0
    }

    /// What is known about it; `None` for an opcode that no RFC has given out.
    pub const fn row(self) -> Option<&'static OpcodeRow> {
        let at = self.0 as usize;
        if at < ROWS.len() { Some(&ROWS[at]) } else { None }
    }
}

/// As in `SEND_SE`; an unknown one as in `0xc`.
impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row() {
            Some(row) => f.write_str(row.name),
            None => write!(f, "{:#x}", self.0),
        }
    }
}

/// How the receiver finds the place for the payload (RFC 5041 §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Model {
    /// In a buffer that the sender names by its tag.
    Tagged,
    /// In the next buffer of a queue.
    Untagged {
        /// The queue's number.
        queue: u32,
    },
}

/// How many bytes are behind the DDP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PayloadRule {
    /// Any number; the message may have several segments.
    Any,
    /// Exactly so many, in one segment.
    Exactly(usize),
    /// So many or more, in one segment.
    AtLeast(usize),
}

impl PayloadRule {
    /// Whether a segment may carry so many bytes.
    pub const fn allows(self, length: usize) -> bool {
        match self {
            PayloadRule::Any => true,
            PayloadRule::Exactly(bytes) => length == bytes,
            PayloadRule::AtLeast(bytes) => length >= bytes,
        }
    }

    /// Whether a message with this rule is always one segment: its bytes are a header of RDMAP's, which
    /// every sender has room for.
    pub const fn is_single_segment(self) -> bool {
        !matches!(self, PayloadRule::Any)
    }
}

/// All that follows from an opcode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpcodeRow {
    /// The opcode.
    pub opcode: Opcode,
    /// Its name, as in `SEND_SE_INV`.
    pub name: &'static str,
    /// Tagged or untagged, and in which queue.
    pub model: Model,
    /// What is behind the DDP header.
    pub payload: PayloadRule,
    /// The message takes a receive and completes it.
    pub consumes_receive: bool,
    /// Its completion is an event for a receiver that waits for solicited ones.
    pub solicited: bool,
    /// It invalidates a steering tag of the receiver's.
    pub invalidates: bool,
    /// It asks for a response, and so counts against the receiver's IRD.
    pub wants_response: bool,
}

const fn tagged(opcode: Opcode, name: &'static str) -> OpcodeRow {
    OpcodeRow {
        opcode,
        name,
        model: Model::Tagged,
        payload: PayloadRule::Any,
        consumes_receive: false,
        solicited: false,
        invalidates: false,
        wants_response: false,
    }
}

const fn send(opcode: Opcode, name: &'static str, solicited: bool, invalidates: bool) -> OpcodeRow {
    let model = Model::Untagged { queue: queue::SEND };
    OpcodeRow { model, consumes_receive: true, solicited, invalidates, ..tagged(opcode, name) }
}

const fn fixed(opcode: Opcode, name: &'static str, queue: u32, payload: PayloadRule) -> OpcodeRow {
    OpcodeRow {
        model: Model::Untagged { queue },
        payload,
        wants_response: queue == queue::REQUEST,
        ..tagged(opcode, name)
    }
}

const fn immediate(opcode: Opcode, name: &'static str, solicited: bool) -> OpcodeRow {
    OpcodeRow { payload: PayloadRule::Exactly(8), ..send(opcode, name, solicited, false) }
}

/// By opcode; a test compares every index.
static ROWS: [OpcodeRow; 12] = [
    tagged(Opcode::WRITE, "WRITE"),
    fixed(Opcode::READ_REQUEST, "READ_REQUEST", queue::REQUEST, PayloadRule::Exactly(28)),
    tagged(Opcode::READ_RESPONSE, "READ_RESPONSE"),
    send(Opcode::SEND, "SEND", false, false),
    send(Opcode::SEND_INV, "SEND_INV", false, true),
    send(Opcode::SEND_SE, "SEND_SE", true, false),
    send(Opcode::SEND_SE_INV, "SEND_SE_INV", true, true),
    fixed(Opcode::TERMINATE, "TERMINATE", queue::TERMINATE, PayloadRule::AtLeast(4)),
    immediate(Opcode::IMMEDIATE, "IMMEDIATE", false),
    immediate(Opcode::IMMEDIATE_SE, "IMMEDIATE_SE", true),
    fixed(Opcode::ATOMIC_REQUEST, "ATOMIC_REQUEST", queue::REQUEST, PayloadRule::Exactly(52)),
    fixed(Opcode::ATOMIC_RESPONSE, "ATOMIC_RESPONSE", queue::ATOMIC_RESPONSE, PayloadRule::Exactly(12)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_stands_at_its_opcode() {
        for value in 0..=255 {
            let opcode = Opcode::new(value);
            assert_eq!(opcode.value(), value & 0x0f);
            assert_eq!(opcode.row().map(|row| row.opcode), (opcode.value() < 12).then_some(opcode));
        }
    }

    #[test]
    fn fixed_payloads_have_the_length_of_their_bodies() {
        use crate::iwarp::{AtomicRequest, AtomicResponse, ReadRequest};
        let lengths = [
            (Opcode::READ_REQUEST, ReadRequest::LENGTH),
            (Opcode::ATOMIC_REQUEST, AtomicRequest::LENGTH),
            (Opcode::ATOMIC_RESPONSE, AtomicResponse::LENGTH),
        ];
        for (opcode, length) in lengths {
            assert_eq!(opcode.row().unwrap().payload, PayloadRule::Exactly(length));
        }
    }
}
