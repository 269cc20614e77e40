//! Base transport header: the first twelve bytes of every InfiniBand packet.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 8 | opcode |
//! | 1 | 1 | solicited event |
//! | 1 | 1 | migration state (MigReq): set when the path has migrated, as hardware always does |
//! | 1 | 2 | pad count |
//! | 1 | 4 | transport header version, 0 |
//! | 2 | 16 | partition key |
//! | 4 | 1 | FECN |
//! | 4 | 1 | BECN |
//! | 4 | 6 | reserved |
//! | 5 | 24 | destination queue pair |
//! | 8 | 1 | acknowledge request |
//! | 8 | 7 | reserved |
//! | 9 | 24 | packet sequence number |
//!
//! The opcode is not a field of [`Bth`]: it is computed from what the packet carries. The reserved bits are
//! kept, so that what was found can be shown; a sender leaves them zero.

use crate::numbers::{PKey, Psn, Qpn};
use crate::opcode::Opcode;
use crate::reader::{byte_and_24, low24};

/// The base transport header without its opcode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Bth {
    /// The receiver is to raise an event when the message is complete.
    pub solicited: bool,
    /// The migration state bit, 1 for "migrated".
    pub migrated: bool,
    /// Bytes of padding behind the payload, 0 to 3. Encoding a packet computes it.
    pub pad_count: u8,
    /// Version of the transport headers, 4 bits; 0 is the only one there is.
    pub header_version: u8,
    /// The partition the packet belongs to.
    pub partition_key: PKey,
    /// Forward explicit congestion notification.
    pub fecn: bool,
    /// Backward explicit congestion notification.
    pub becn: bool,
    /// Six reserved bits: sent as zero, ignored on receipt.
    pub reserved_6: u8,
    /// The queue pair the packet is for.
    pub destination: Qpn,
    /// The requester asks for an acknowledgement.
    pub ack_request: bool,
    /// Seven reserved bits: sent as zero, ignored on receipt.
    pub reserved_7: u8,
    /// Packet sequence number.
    pub psn: Psn,
}

impl Bth {
    /// Length in bytes.
    pub const LENGTH: usize = 12;

    /// A header with no flag set, in the default partition.
    pub const fn new(destination: Qpn, psn: Psn) -> Self {
        Bth {
            solicited: false,
            migrated: false,
            pad_count: 0,
            header_version: 0,
            partition_key: PKey::DEFAULT,
            fecn: false,
            becn: false,
            reserved_6: 0,
            destination,
            ack_request: false,
            reserved_7: 0,
            psn,
        }
    }

    /// From the bytes of the wire.
    #[inline]
    pub const fn decode(bytes: &[u8; 12]) -> (Opcode, Self) {
        let [opcode, flags, p0, p1, c, d0, d1, d2, a, s0, s1, s2] = *bytes;
        let bth = Bth {
            solicited: flags & 0x80 != 0,
            migrated: flags & 0x40 != 0,
            pad_count: flags >> 4 & 0b11,
            header_version: flags & 0x0f,
            partition_key: PKey::new(u16::from_be_bytes([p0, p1])),
            fecn: c & 0x80 != 0,
            becn: c & 0x40 != 0,
            reserved_6: c & 0x3f,
            destination: Qpn::new(low24(&[c, d0, d1, d2])),
            ack_request: a & 0x80 != 0,
            reserved_7: a & 0x7f,
            psn: Psn::new(low24(&[a, s0, s1, s2])),
        };
        (Opcode(opcode), bth)
    }

    /// To the bytes of the wire. Bits that do not fit their field are cut off.
    #[inline]
    pub const fn encode(&self, opcode: Opcode) -> [u8; 12] {
        let flags = (self.solicited as u8) << 7
            | (self.migrated as u8) << 6
            | (self.pad_count & 0b11) << 4
            | (self.header_version & 0x0f);
        let [p0, p1] = self.partition_key.value().to_be_bytes();
        let congestion = (self.fecn as u8) << 7 | (self.becn as u8) << 6 | (self.reserved_6 & 0x3f);
        let [c, d0, d1, d2] = byte_and_24(congestion, self.destination.value());
        let acknowledge = (self.ack_request as u8) << 7 | (self.reserved_7 & 0x7f);
        let [a, s0, s1, s2] = byte_and_24(acknowledge, self.psn.value());
        [opcode.0, flags, p0, p1, c, d0, d1, d2, a, s0, s1, s2]
    }
}
