//! Ethernet header and IEEE 802.1Q tag.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 48 | destination |
//! | 6 | 48 | source |
//! | 12 | 16 | ethertype: the protocol behind, or 0x8100 / 0x88a8 for a tag |
//!
//! A tag, behind an ethertype that says so (0x8100, 0x88a8, or 0x9100 of switches from before IEEE 802.1ad):
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 3 | priority |
//! | 0 | 1 | drop eligible |
//! | 0 | 12 | VLAN identifier |
//! | 2 | 16 | ethertype behind the tag |

use core::fmt;

/// Ethertype of IPv4.
pub const ETHERTYPE_IPV4: u16 = 0x0800;
/// Ethertype of ARP.
pub const ETHERTYPE_ARP: u16 = 0x0806;
/// Ethertype of IPv6.
pub const ETHERTYPE_IPV6: u16 = 0x86dd;
/// Ethertype of an 802.1Q customer tag.
pub const ETHERTYPE_VLAN: u16 = 0x8100;
/// Ethertype of an 802.1ad service tag.
pub const ETHERTYPE_SERVICE_VLAN: u16 = 0x88a8;
/// Ethertype of an outer tag as switches wrote it before IEEE 802.1ad had one.
pub const ETHERTYPE_OLD_SERVICE_VLAN: u16 = 0x9100;
/// Ethertype of MAC control: PAUSE and priority flow control.
pub const ETHERTYPE_FLOW_CONTROL: u16 = 0x8808;
/// Ethertype of RoCE v1.
pub const ETHERTYPE_ROCE_V1: u16 = 0x8915;

/// Address of a station on the Ethernet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct EthernetAddress(pub [u8; 6]);

impl EthernetAddress {
    /// All stations.
    pub const BROADCAST: EthernetAddress = EthernetAddress([0xff; 6]);

    /// Whether it names a group of stations, the broadcast address included.
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 != 0
    }
}

impl fmt::Display for EthernetAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for EthernetAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EthernetAddress({self})")
    }
}

/// The Ethernet header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EthernetHeader {
    /// The station, or stations, the frame is for.
    pub destination: EthernetAddress,
    /// The station that sent it.
    pub source: EthernetAddress,
    /// The protocol behind the header, or the kind of tag.
    pub ethertype: u16,
}

impl EthernetHeader {
    /// Length in bytes.
    pub const LENGTH: usize = 14;

    /// From the bytes of the wire.
    #[inline]
    pub const fn decode(bytes: &[u8; 14]) -> Self {
        let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1] = *bytes;
        EthernetHeader {
            destination: EthernetAddress([d0, d1, d2, d3, d4, d5]),
            source: EthernetAddress([s0, s1, s2, s3, s4, s5]),
            ethertype: u16::from_be_bytes([t0, t1]),
        }
    }

    /// To the bytes of the wire.
    #[inline]
    pub const fn encode(&self) -> [u8; 14] {
        let [d0, d1, d2, d3, d4, d5] = self.destination.0;
        let [s0, s1, s2, s3, s4, s5] = self.source.0;
        let [t0, t1] = self.ethertype.to_be_bytes();
        [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1]
    }
}

/// An IEEE 802.1Q tag without the ethertypes around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct VlanTag {
    /// Priority code point, 3 bits.
    pub priority: u8,
    /// Whether the frame may be dropped first.
    pub drop_eligible: bool,
    /// VLAN identifier, 12 bits; 0 means that only the priority counts.
    pub id: u16,
}

impl VlanTag {
    /// Length in bytes, with the ethertype behind it.
    pub const LENGTH: usize = 4;

    /// From the bytes of the wire: the tag, and the ethertype behind it.
    #[inline]
    pub const fn decode(bytes: &[u8; 4]) -> (Self, u16) {
        let control = u16::from_be_bytes([bytes[0], bytes[1]]);
        let tag = VlanTag {
            priority: (control >> 13) as u8,
            drop_eligible: control & 0x1000 != 0,
            id: control & 0x0fff,
        };
        (tag, u16::from_be_bytes([bytes[2], bytes[3]]))
    }

    /// To the bytes of the wire, with the ethertype behind it. Bits that do not fit their field are cut off.
    #[inline]
    pub const fn encode(&self, ethertype: u16) -> [u8; 4] {
        let control =
            (self.priority as u16 & 0b111) << 13 | (self.drop_eligible as u16) << 12 | (self.id & 0x0fff);
        let [c0, c1] = control.to_be_bytes();
        let [t0, t1] = ethertype.to_be_bytes();
        [c0, c1, t0, t1]
    }
}
