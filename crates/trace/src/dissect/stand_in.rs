//! Headers that stand in the place of a link's: those of Linux' captures of all interfaces at once (`tcpdump -i any`), and those
//! of the loopback of the BSDs.
//!
//! Linux cooked, version 1 (link type 113), in network byte order:
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 16 | packet type: 0 to us, 1 broadcast, 2 multicast, 3 to another host, 4 sent by us |
//! | 2 | 16 | kind of hardware: the ARPHRD number of the interface |
//! | 4 | 16 | length of the address; more than 8 if it is cut off |
//! | 6 | 64 | address of the sender, unused bytes behind it |
//! | 14 | 16 | protocol: an ethertype, or a number of Linux' below 0x0600 |
//!
//! Version 2 (link type 276):
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 16 | protocol |
//! | 2 | 16 | reserved |
//! | 4 | 32 | index of the interface |
//! | 8 | 16 | kind of hardware |
//! | 10 | 8 | packet type |
//! | 11 | 8 | length of the address |
//! | 12 | 64 | address of the sender, unused bytes behind it |
//!
//! Loopback (link type 0, in the byte order of the host that captured; 108, in network byte order): 32 bits, the number of an
//! address family, or an ethertype. Source: <https://www.tcpdump.org/linktypes.html>.

use rdmalab_wire::ethernet::{ETHERTYPE_IPV4, ETHERTYPE_IPV6};
use rdmalab_wire::{EthernetAddress, EthernetHeader, Frame};

use super::{Content, FIRST_ETHERTYPE, LayerName, Malformed, Pass};
use rdmalab_wire::Fault;

/// AF_INET, which has one number everywhere.
const FAMILY_IPV4: u32 = 2;
/// AF_INET6 of Linux, of NetBSD and OpenBSD, of FreeBSD, of Darwin.
const FAMILIES_IPV6: [u32; 4] = [10, 24, 28, 30];
/// The highest packet type that Linux has.
const LAST_PACKET_TYPE: u16 = 7;
/// Kinds of hardware whose packets have no ethertype: netlink, IEEE 802.11 with radiotap.
const NO_ETHERTYPES: [u16; 2] = [824, 803];
/// GRE: the protocol is one of its, which are ethertypes.
const GRE: u16 = 778;
/// Protocols of Linux that are no ethertypes and that any bridge has: IEEE 802.3 without and with LLC.
const IEEE_802: [u16; 2] = [1, 4];

/// A header in the place of a link's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandIn {
    /// Linux' cooked header.
    Cooked(Cooked),
    /// The address family, or ethertype, of a loopback.
    Family {
        /// Its number.
        number: u32,
        /// Whether it stands there in network byte order.
        is_big: bool,
    },
}

/// Linux' cooked header of either version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cooked {
    /// Whom the packet is for, or that it was sent.
    pub packet_type: u16,
    /// The kind of hardware.
    pub hardware: u16,
    /// The length that the address is said to have, in bytes.
    pub address_length: u16,
    /// The sender's address, and what is behind it.
    pub address: [u8; 8],
    /// The protocol behind the header.
    pub protocol: u16,
    /// The interface's index; version 1 has none.
    pub interface: Option<u32>,
}

impl Cooked {
    /// Length of version 1 in bytes.
    pub const LENGTH_1: usize = 16;
    /// Length of version 2 in bytes.
    pub const LENGTH_2: usize = 20;

    /// Version 1.
    const fn decode_1(bytes: &[u8; 16]) -> Cooked {
        let [t0, t1, h0, h1, l0, l1, a0, a1, a2, a3, a4, a5, a6, a7, p0, p1] = *bytes;
        Cooked {
            packet_type: u16::from_be_bytes([t0, t1]),
            hardware: u16::from_be_bytes([h0, h1]),
            address_length: u16::from_be_bytes([l0, l1]),
            address: [a0, a1, a2, a3, a4, a5, a6, a7],
            protocol: u16::from_be_bytes([p0, p1]),
            interface: None,
        }
    }

    /// Version 2.
    const fn decode_2(bytes: &[u8; 20]) -> Cooked {
        let [p0, p1, _, _, i0, i1, i2, i3, h0, h1, kind, length, a0, a1, a2, a3, a4, a5, a6, a7] = *bytes;
        Cooked {
            packet_type: kind as u16,
            hardware: u16::from_be_bytes([h0, h1]),
            address_length: length as u16,
            address: [a0, a1, a2, a3, a4, a5, a6, a7],
            protocol: u16::from_be_bytes([p0, p1]),
            interface: Some(u32::from_be_bytes([i0, i1, i2, i3])),
        }
    }

    /// The sender's address, as far as there is room for it, and the bytes behind that are not used.
    pub fn sender(&self) -> (&[u8], &[u8]) {
        let length = usize::from(self.address_length).min(self.address.len());
        self.address.split_at_checked(length).unwrap_or((&self.address, &[]))
    }

    /// The sender's address, if it is one of Ethernet.
    pub fn ethernet_sender(&self) -> Option<EthernetAddress> {
        <[u8; 6]>::try_from(self.sender().0).ok().map(EthernetAddress)
    }

    /// Whether the protocol is GRE's.
    pub(crate) const fn is_gre(&self) -> bool {
        self.hardware == GRE
    }

    /// Whether the protocol is an ethertype.
    pub(crate) fn has_ethertype(&self) -> bool {
        self.protocol >= FIRST_ETHERTYPE && !NO_ETHERTYPES.contains(&self.hardware)
    }
}

impl StandIn {
    /// Whether a capturing program hardly writes such a header: then it is of another link than the file says, or what is
    /// behind is not understood.
    pub(super) fn is_strange(&self) -> bool {
        match self {
            StandIn::Cooked(cooked) if cooked.has_ethertype() => cooked.packet_type > LAST_PACKET_TYPE,
            StandIn::Cooked(cooked) => {
                !NO_ETHERTYPES.contains(&cooked.hardware) && !IEEE_802.contains(&cooked.protocol)
            }
            StandIn::Family { number, .. } => {
                *number != FAMILY_IPV4
                    && !FAMILIES_IPV6.contains(number)
                    && *number < u32::from(FIRST_ETHERTYPE)
                    || *number > 0xffff
            }
        }
    }
}

impl<'a> Pass<'_, 'a> {
    /// Linux' cooked header, of version 1.
    pub(super) fn cooked_1(&mut self, bytes: &'a [u8]) -> Result<(), Malformed> {
        let Some(header) = bytes.first_chunk() else { return Err(too_short(Cooked::LENGTH_1, bytes)) };
        self.cooked(Cooked::decode_1(header), bytes, Cooked::LENGTH_1)
    }

    /// Linux' cooked header, of version 2.
    pub(super) fn cooked_2(&mut self, bytes: &'a [u8]) -> Result<(), Malformed> {
        let Some(header) = bytes.first_chunk() else { return Err(too_short(Cooked::LENGTH_2, bytes)) };
        self.cooked(Cooked::decode_2(header), bytes, Cooked::LENGTH_2)
    }

    fn cooked(&mut self, cooked: Cooked, bytes: &'a [u8], length: usize) -> Result<(), Malformed> {
        self.dissection.stand_in = Some(StandIn::Cooked(cooked));
        self.dissection.link_length = length;
        self.dissection.network_offset = length;
        if cooked.has_ethertype() {
            let header = EthernetHeader {
                destination: EthernetAddress::default(),
                source: EthernetAddress::default(),
                ethertype: cooked.protocol,
            };
            let frame = Frame::behind(header, bytes, length)?;
            return self.behind_link(&frame);
        }
        let length = bytes.len().saturating_sub(length);
        self.dissection.content = Content::LinkProtocol { protocol: cooked.protocol.into(), length };
        Ok(())
    }

    /// A loopback's header: in the byte order of the host that captured, which is told by where the zeros are, or in
    /// network byte order.
    pub(super) fn family(&mut self, bytes: &'a [u8], is_always_big: bool) -> Result<(), Malformed> {
        let Some((field, rest)) = bytes.split_first_chunk() else { return Err(too_short(4, bytes)) };
        let big = u32::from_be_bytes(*field);
        let is_big = is_always_big || big <= 0xffff;
        let number = if is_big { big } else { u32::from_le_bytes(*field) };
        self.dissection.stand_in = Some(StandIn::Family { number, is_big });
        self.dissection.link_length = field.len();
        self.dissection.network_offset = field.len();
        match number {
            FAMILY_IPV4 => self.ipv4(rest, field.len()),
            _ if FAMILIES_IPV6.contains(&number) => self.ipv6(rest, field.len()),
            _ if number == u32::from(ETHERTYPE_IPV4) => self.ipv4(rest, field.len()),
            _ if number == u32::from(ETHERTYPE_IPV6) => self.ipv6(rest, field.len()),
            protocol => {
                self.dissection.content = Content::LinkProtocol { protocol, length: rest.len() };
                Ok(())
            }
        }
    }
}

fn too_short(need: usize, bytes: &[u8]) -> Malformed {
    let fault = Fault::Truncated { need, have: bytes.len() };
    Malformed { layer: LayerName::Other("link header"), offset: 0, fault }
}
