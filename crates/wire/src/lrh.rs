//! Local route header (LRH): the first eight bytes of every packet on a native InfiniBand link.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 4 | virtual lane (VL) |
//! | 0 | 4 | link version, 0 |
//! | 1 | 4 | service level (SL) |
//! | 1 | 2 | reserved |
//! | 1 | 2 | link next header (LNH): what follows |
//! | 2 | 16 | destination LID |
//! | 4 | 5 | reserved |
//! | 4 | 11 | packet length, in words of four bytes, from this header to the end of the ICRC |
//! | 6 | 16 | source LID |

use core::fmt;

/// What follows the local route header. The discriminant is the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LinkNextHeader {
    /// A raw packet with an ethertype: no InfiniBand transport.
    RawEthertype = 0b00,
    /// A raw IPv6 packet: no InfiniBand transport.
    RawIpv6 = 0b01,
    /// The base transport header: the packet stays in its subnet.
    #[default]
    Local = 0b10,
    /// A global route header, and the base transport header behind it.
    Global = 0b11,
}

impl LinkNextHeader {
    /// The code in the low two bits of `bits`.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => LinkNextHeader::RawEthertype,
            0b01 => LinkNextHeader::RawIpv6,
            0b10 => LinkNextHeader::Local,
            _ => LinkNextHeader::Global,
        }
    }

    /// The code, 0 to 3.
    #[inline]
    pub const fn bits(self) -> u8 {
        self as u8
    }
}

impl fmt::Display for LinkNextHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LinkNextHeader::RawEthertype => "raw",
            LinkNextHeader::RawIpv6 => "raw IPv6",
            LinkNextHeader::Local => "local",
            LinkNextHeader::Global => "global",
        })
    }
}

/// The local route header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Lrh {
    /// Virtual lane, 4 bits. Switches may change it.
    pub virtual_lane: u8,
    /// Version of the link layer, 4 bits; 0 is the only one there is.
    pub link_version: u8,
    /// Service level, 4 bits.
    pub service_level: u8,
    /// Two reserved bits: sent as zero, ignored on receipt.
    pub reserved_2: u8,
    /// What follows.
    pub next_header: LinkNextHeader,
    /// Local identifier of the port the packet is for.
    pub destination: u16,
    /// Five reserved bits: sent as zero, ignored on receipt.
    pub reserved_5: u8,
    /// Words of four bytes from this header to the end of the ICRC, 11 bits. The VCRC does not count.
    pub packet_length: u16,
    /// Local identifier of the port that sent it.
    pub source: u16,
}

impl Lrh {
    /// Length in bytes.
    pub const LENGTH: usize = 8;
    /// The longest packet the length field can state, in bytes from this header to the end of the ICRC.
    pub const MAX_PACKET: usize = 0x7ff * 4;

    /// The stated length in bytes, from this header to the end of the ICRC.
    pub const fn packet_bytes(&self) -> usize {
        self.packet_length as usize * 4
    }

    /// From the bytes of the wire.
    #[inline]
    pub const fn decode(bytes: &[u8; 8]) -> Self {
        let [vl, sl, d0, d1, l0, l1, s0, s1] = *bytes;
        Lrh {
            virtual_lane: vl >> 4,
            link_version: vl & 0x0f,
            service_level: sl >> 4,
            reserved_2: sl >> 2 & 0b11,
            next_header: LinkNextHeader::from_bits(sl),
            destination: u16::from_be_bytes([d0, d1]),
            reserved_5: l0 >> 3,
            packet_length: u16::from_be_bytes([l0, l1]) & 0x7ff,
            source: u16::from_be_bytes([s0, s1]),
        }
    }

    /// To the bytes of the wire. Bits that do not fit their field are cut off.
    #[inline]
    pub const fn encode(&self) -> [u8; 8] {
        let vl = self.virtual_lane << 4 | (self.link_version & 0x0f);
        let sl = self.service_level << 4 | (self.reserved_2 & 0b11) << 2 | self.next_header.bits();
        let [d0, d1] = self.destination.to_be_bytes();
        let length = (self.reserved_5 as u16) << 11 | (self.packet_length & 0x7ff);
        let [l0, l1] = length.to_be_bytes();
        let [s0, s1] = self.source.to_be_bytes();
        [vl, sl, d0, d1, l0, l1, s0, s1]
    }
}
