//! Opcodes: the first byte of the base header, and one row per opcode with all that follows from it.
//!
//! The top three bits are the transport, the low five the operation. [`row`] finds an opcode's row by
//! index; an opcode without a row is unknown, and no packet of this crate's making has it.

use core::fmt;

use crate::header_set::HeaderSet;

mod table;

pub use table::row;

/// The first byte of the base transport header, known or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Opcode(pub u8);

impl Opcode {
    /// Congestion notification.
    pub const CNP: Opcode = Opcode(0x81);

    /// What is known about it; `None` for an opcode that no specification has given out.
    #[inline]
    pub const fn row(self) -> Option<&'static OpcodeRow> {
        row(self.0)
    }

    /// The transport that its top three bits name, whether it has a row or not; `None` for those that belong to
    /// manufacturers or nobody.
    #[inline]
    pub const fn transport(self) -> Option<TransportKind> {
        Some(match self.0 >> 5 {
            0b000 => TransportKind::Rc,
            0b001 => TransportKind::Uc,
            0b010 => TransportKind::Rd,
            0b011 => TransportKind::Ud,
            0b100 => TransportKind::Cnp,
            0b101 => TransportKind::Xrc,
            _ => return None,
        })
    }

    /// The low five bits: the same operation has the same in all transports.
    #[inline]
    pub const fn operation(self) -> u8 {
        self.0 & 0x1f
    }
}

/// As in `RC_SEND_FIRST`; an unknown one as in `0x9f`.
impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row() {
            Some(row) if row.transport == TransportKind::Cnp => f.write_str(row.name),
            Some(row) => write!(f, "{}_{}", row.transport, row.name),
            None => write!(f, "{:#04x}", self.0),
        }
    }
}

/// The transport an opcode belongs to; the discriminant is the opcode's top three bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransportKind {
    /// Reliable connection.
    Rc = 0b000,
    /// Unreliable connection.
    Uc = 0b001,
    /// Reliable datagram.
    Rd = 0b010,
    /// Unreliable datagram.
    Ud = 0b011,
    /// Congestion notification.
    Cnp = 0b100,
    /// Extended reliable connection.
    Xrc = 0b101,
}

impl TransportKind {
    /// The opcode of an operation (low five bits) in this transport. It need not have a row.
    pub const fn opcode(self, operation: u8) -> Opcode {
        Opcode((self as u8) << 5 | (operation & 0x1f))
    }
}

impl fmt::Display for TransportKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TransportKind::Rc => "RC",
            TransportKind::Uc => "UC",
            TransportKind::Rd => "RD",
            TransportKind::Ud => "UD",
            TransportKind::Cnp => "CNP",
            TransportKind::Xrc => "XRC",
        })
    }
}

/// Where in its message, or response, a packet stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Position {
    /// The first of several.
    First,
    /// Neither the first nor the last.
    Middle,
    /// The last of several.
    Last,
    /// The only one.
    Only,
}

/// How much payload, padding not counted, a packet may carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PayloadRule {
    /// None.
    None,
    /// Exactly one path MTU: another packet follows.
    PathMtu,
    /// One byte to one path MTU: others went before.
    UpToPathMtu,
    /// Nothing to one path MTU.
    AtMostPathMtu,
    /// Exactly so many bytes.
    Exactly(usize),
}

impl PayloadRule {
    /// Whether a payload of `length` bytes is right on a path with this MTU, in bytes.
    pub const fn allows(self, length: usize, path_mtu: usize) -> bool {
        match self {
            PayloadRule::None => length == 0,
            PayloadRule::PathMtu => length == path_mtu,
            PayloadRule::UpToPathMtu => length >= 1 && length <= path_mtu,
            PayloadRule::AtMostPathMtu => length <= path_mtu,
            PayloadRule::Exactly(bytes) => length == bytes,
        }
    }

    /// Whether a payload of `length` bytes could be right. A packet's parser asks this: it knows no path
    /// MTU, and a responder has to see requests of the wrong length to refuse them.
    #[inline]
    pub const fn allows_on_some_path(self, length: usize) -> bool {
        match self {
            PayloadRule::None => length == 0,
            PayloadRule::Exactly(bytes) => length == bytes,
            PayloadRule::PathMtu | PayloadRule::UpToPathMtu | PayloadRule::AtMostPathMtu => true,
        }
    }
}

/// All that follows from an opcode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpcodeRow {
    /// The opcode.
    pub opcode: u8,
    /// Its transport.
    pub transport: TransportKind,
    /// Its name without the transport, as in `SEND_FIRST`.
    pub name: &'static str,
    /// The extended headers behind the base header.
    pub headers: HeaderSet,
    /// How much payload it carries.
    pub payload: PayloadRule,
    /// Where in its message, or response, the packet stands.
    pub position: Position,
    /// It is the last or the only packet of its message, or response.
    pub ends_message: bool,
    /// It needs a receive work request that no earlier packet of its message took: the first or only
    /// packet of a SEND, the last or only packet of a WRITE with immediate data.
    pub consumes_receive: bool,
    /// A requester sends it, not a responder.
    pub is_request: bool,
}
