//! IPv4 header (RFC 791), without options.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 4 | version, 4 |
//! | 0 | 4 | header length in 32-bit words, 5 |
//! | 1 | 6 | DSCP |
//! | 1 | 2 | ECN |
//! | 2 | 16 | total length |
//! | 4 | 16 | identification |
//! | 6 | 1 | reserved |
//! | 6 | 1 | don't fragment |
//! | 6 | 1 | more fragments |
//! | 6 | 13 | fragment offset in units of 8 bytes |
//! | 8 | 8 | time to live |
//! | 9 | 8 | protocol |
//! | 10 | 16 | header checksum |
//! | 12 | 32 | source |
//! | 16 | 32 | destination |
//!
//! The version and the header length are not fields of [`Ipv4Header`]: `decode` takes the bytes of a header
//! that was already found to be one, and `encode` writes version 4 and no options. A parser that meets
//! options skips them.

use core::net::Ipv4Addr;

use crate::checksum;
use crate::ecn::Ecn;

/// IP protocol number of UDP.
pub const PROTOCOL_UDP: u8 = 17;

/// The IPv4 header without options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ipv4Header {
    /// Differentiated services code point, 6 bits.
    pub dscp: u8,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// Bytes from this header to the end of the packet.
    pub total_length: u16,
    /// What fragments of one packet have in common.
    pub identification: u16,
    /// The reserved flag: sent as false, ignored on receipt.
    pub reserved_flag: bool,
    /// Routers must not fragment.
    pub dont_fragment: bool,
    /// More fragments follow.
    pub more_fragments: bool,
    /// Place of this fragment in the packet, in units of 8 bytes; 13 bits.
    pub fragment_offset: u16,
    /// Hops left.
    pub ttl: u8,
    /// The protocol behind the header.
    pub protocol: u8,
    /// The header checksum as found, or to be written.
    pub checksum: u16,
    /// Who sent it.
    pub source: Ipv4Addr,
    /// Whom it is for.
    pub destination: Ipv4Addr,
}

impl Ipv4Header {
    /// Length in bytes, without options.
    pub const LENGTH: usize = 20;

    /// From the bytes of the wire; the version and the header length are the caller's to look at.
    #[inline]
    pub const fn decode(bytes: &[u8; 20]) -> Self {
        let flags = u16::from_be_bytes([bytes[6], bytes[7]]);
        Ipv4Header {
            dscp: bytes[1] >> 2,
            ecn: Ecn::from_bits(bytes[1]),
            total_length: u16::from_be_bytes([bytes[2], bytes[3]]),
            identification: u16::from_be_bytes([bytes[4], bytes[5]]),
            reserved_flag: flags & 0x8000 != 0,
            dont_fragment: flags & 0x4000 != 0,
            more_fragments: flags & 0x2000 != 0,
            fragment_offset: flags & 0x1fff,
            ttl: bytes[8],
            protocol: bytes[9],
            checksum: u16::from_be_bytes([bytes[10], bytes[11]]),
            source: Ipv4Addr::new(bytes[12], bytes[13], bytes[14], bytes[15]),
            destination: Ipv4Addr::new(bytes[16], bytes[17], bytes[18], bytes[19]),
        }
    }

    /// To the bytes of the wire, the checksum as it stands. Bits that do not fit their field are cut off.
    #[inline]
    pub const fn encode(&self) -> [u8; 20] {
        let [l0, l1] = self.total_length.to_be_bytes();
        let [i0, i1] = self.identification.to_be_bytes();
        let flags = (self.reserved_flag as u16) << 15
            | (self.dont_fragment as u16) << 14
            | (self.more_fragments as u16) << 13
            | (self.fragment_offset & 0x1fff);
        let [f0, f1] = flags.to_be_bytes();
        let [c0, c1] = self.checksum.to_be_bytes();
        let [s0, s1, s2, s3] = self.source.octets();
        let [d0, d1, d2, d3] = self.destination.octets();
        let tos = self.dscp << 2 | self.ecn.bits();
        [0x45, tos, l0, l1, i0, i1, f0, f1, self.ttl, self.protocol, c0, c1, s0, s1, s2, s3, d0, d1, d2, d3]
    }

    /// The same header with its checksum computed.
    #[must_use]
    pub fn with_checksum(mut self) -> Self {
        self.checksum = 0;
        self.checksum = checksum::ipv4_header(&self.encode());
        self
    }
}
