//! Acknowledge extended transport header (AETH): a responder's verdict.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 1 | reserved |
//! | 0 | 2 | kind: 00 acknowledge, 01 receiver not ready, 10 reserved, 11 negative acknowledge |
//! | 0 | 5 | by kind: credit code, timer code, reserved, NAK code |
//! | 1 | 24 | message sequence number |
//!
//! What the credit and the timer codes stand for is in [`timers`](crate::timers).

use core::fmt;

use crate::numbers::Msn;
use crate::reader::{byte_and_24, low24};

/// The acknowledge extended header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Aeth {
    /// The verdict.
    pub syndrome: Syndrome,
    /// Number of the request message completed last.
    pub msn: Msn,
}

impl Aeth {
    /// Length in bytes.
    pub const LENGTH: usize = 4;

    /// From the bytes of the wire.
    #[inline]
    pub const fn decode(bytes: &[u8; 4]) -> Self {
        Aeth { syndrome: Syndrome::from_byte(bytes[0]), msn: Msn::new(low24(bytes)) }
    }

    /// To the bytes of the wire.
    #[inline]
    pub const fn encode(&self) -> [u8; 4] {
        byte_and_24(self.syndrome.to_byte(), self.msn.value())
    }
}

/// The first byte of the AETH.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Syndrome {
    /// Everything up to this packet has arrived.
    Ack {
        /// Credit code, 5 bits; 31 says that the responder hands out no credits.
        credits: u8,
    },
    /// No receive was posted: come back later.
    RnrNak {
        /// Timer code, 5 bits: how much later.
        timer: u8,
    },
    /// The request failed.
    Nak(NakCode),
    /// A value without meaning: bit 7 set, or the reserved kind. The whole byte as found.
    Reserved(u8),
}

impl Syndrome {
    /// An acknowledgement without credits.
    pub const ACK: Syndrome = Syndrome::Ack { credits: 31 };

    /// The syndrome of a byte; every byte has one.
    #[inline]
    pub const fn from_byte(byte: u8) -> Self {
        let value = byte & 0x1f;
        match byte >> 5 {
            0b000 => Syndrome::Ack { credits: value },
            0b001 => Syndrome::RnrNak { timer: value },
            0b011 => Syndrome::Nak(NakCode::from_code(value)),
            _ => Syndrome::Reserved(byte),
        }
    }

    /// The byte of the syndrome. Bits that do not fit their field are cut off.
    #[inline]
    pub const fn to_byte(self) -> u8 {
        match self {
            Syndrome::Ack { credits } => credits & 0x1f,
            Syndrome::RnrNak { timer } => 0b001 << 5 | (timer & 0x1f),
            Syndrome::Nak(code) => 0b011 << 5 | code.code(),
            Syndrome::Reserved(byte) => byte,
        }
    }
}

/// As in a packet's line: `ack`, `ack credits=5`, `rnr=12`, `nak=psn_sequence_error`, `syndrome=0x40`.
impl fmt::Display for Syndrome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Syndrome::Ack { credits: 31 } => f.write_str("ack"),
            Syndrome::Ack { credits } => write!(f, "ack credits={credits}"),
            Syndrome::RnrNak { timer } => write!(f, "rnr={timer}"),
            Syndrome::Nak(code) => write!(f, "nak={code}"),
            Syndrome::Reserved(byte) => write!(f, "syndrome={byte:#04x}"),
        }
    }
}

/// Why a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NakCode {
    /// A packet is missing in front of this one.
    PsnSequenceError,
    /// The request makes no sense: order, length, alignment, operation.
    InvalidRequest,
    /// The key does not give this access to this memory.
    RemoteAccessError,
    /// The responder could not do it, through no fault of the requester.
    RemoteOperationalError,
    /// A reliable datagram request that its queue pair does not take.
    InvalidRdRequest,
    /// A code that the specification leaves open, 5 bits.
    Unknown(u8),
}

impl NakCode {
    /// The meaning of the low five bits of `code`.
    pub const fn from_code(code: u8) -> Self {
        match code & 0x1f {
            0 => NakCode::PsnSequenceError,
            1 => NakCode::InvalidRequest,
            2 => NakCode::RemoteAccessError,
            3 => NakCode::RemoteOperationalError,
            4 => NakCode::InvalidRdRequest,
            other => NakCode::Unknown(other),
        }
    }

    /// The five bits of the wire.
    pub const fn code(self) -> u8 {
        match self {
            NakCode::PsnSequenceError => 0,
            NakCode::InvalidRequest => 1,
            NakCode::RemoteAccessError => 2,
            NakCode::RemoteOperationalError => 3,
            NakCode::InvalidRdRequest => 4,
            NakCode::Unknown(code) => code & 0x1f,
        }
    }
}

impl fmt::Display for NakCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NakCode::PsnSequenceError => f.write_str("psn_sequence_error"),
            NakCode::InvalidRequest => f.write_str("invalid_request"),
            NakCode::RemoteAccessError => f.write_str("remote_access_error"),
            NakCode::RemoteOperationalError => f.write_str("remote_operational_error"),
            NakCode::InvalidRdRequest => f.write_str("invalid_rd_request"),
            NakCode::Unknown(code) => write!(f, "{code:#04x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_syndrome_byte_survives_decoding() {
        for byte in 0..=255 {
            assert_eq!(Syndrome::from_byte(byte).to_byte(), byte);
        }
    }

    #[test]
    fn syndromes_seen_on_the_wire() {
        assert_eq!(Syndrome::from_byte(0x1f), Syndrome::ACK);
        assert_eq!(Syndrome::from_byte(0x60), Syndrome::Nak(NakCode::PsnSequenceError));
        assert_eq!(Syndrome::from_byte(0x2c), Syndrome::RnrNak { timer: 12 });
        assert_eq!(Syndrome::from_byte(0x41), Syndrome::Reserved(0x41));
        assert_eq!(Syndrome::from_byte(0x9f), Syndrome::Reserved(0x9f));
    }
}
