//! IPv6 header (RFC 8200 §3).
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 4 | version, 6 |
//! | 0 | 6 | DSCP (traffic class, high bits) |
//! | 1 | 2 | ECN (traffic class, low bits) |
//! | 1 | 20 | flow label |
//! | 4 | 16 | payload length: everything behind this header |
//! | 6 | 8 | next header |
//! | 7 | 8 | hop limit |
//! | 8 | 128 | source |
//! | 24 | 128 | destination |
//!
//! The version is not a field of [`Ipv6Header`]: `decode` takes the bytes of a header that was already
//! found to be one.

use core::net::Ipv6Addr;

use crate::ecn::Ecn;

/// The IPv6 header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ipv6Header {
    /// Differentiated services code point, 6 bits.
    pub dscp: u8,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// Flow label, 20 bits.
    pub flow_label: u32,
    /// Bytes behind this header.
    pub payload_length: u16,
    /// The protocol behind the header, or the kind of extension header.
    pub next_header: u8,
    /// Hops left.
    pub hop_limit: u8,
    /// Who sent it.
    pub source: Ipv6Addr,
    /// Whom it is for.
    pub destination: Ipv6Addr,
}

impl Ipv6Header {
    /// Length in bytes.
    pub const LENGTH: usize = 40;

    /// From the bytes of the wire; the version is the caller's to look at.
    #[inline]
    pub fn decode(bytes: &[u8; 40]) -> Self {
        let [w0, w1, w2, w3, l0, l1, next_header, hop_limit, addresses @ ..] = *bytes;
        let word = u32::from_be_bytes([w0, w1, w2, w3]);
        let addresses = addresses.as_chunks::<16>().0;
        Ipv6Header {
            dscp: (word >> 22) as u8 & 0x3f,
            ecn: Ecn::from_bits((word >> 20) as u8),
            flow_label: word & 0x000f_ffff,
            payload_length: u16::from_be_bytes([l0, l1]),
            next_header,
            hop_limit,
            source: Ipv6Addr::from_octets(addresses[0]),
            destination: Ipv6Addr::from_octets(addresses[1]),
        }
    }

    /// To the bytes of the wire. Bits that do not fit their field are cut off.
    #[inline]
    pub fn encode(&self) -> [u8; 40] {
        let word = 6 << 28
            | u32::from(self.dscp & 0x3f) << 22
            | u32::from(self.ecn.bits()) << 20
            | (self.flow_label & 0x000f_ffff);
        let mut bytes = [0; 40];
        let (head, addresses) = bytes.split_at_mut(8);
        head[..4].copy_from_slice(&word.to_be_bytes());
        head[4..6].copy_from_slice(&self.payload_length.to_be_bytes());
        head[6] = self.next_header;
        head[7] = self.hop_limit;
        addresses[..16].copy_from_slice(&self.source.octets());
        addresses[16..].copy_from_slice(&self.destination.octets());
        bytes
    }
}
