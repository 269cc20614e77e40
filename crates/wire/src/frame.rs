//! An Ethernet frame, as far as the network layer.
//!
//! Up to three VLAN tags are looked through. What is behind the last ethertype is not looked at, but by
//! [`roce_v2`], which only asks whether a frame is for the RoCE v2 port.

use crate::error::{Layer, ParseError};
use crate::ethernet::{
    ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_OLD_SERVICE_VLAN, ETHERTYPE_SERVICE_VLAN, ETHERTYPE_VLAN,
    EthernetHeader, VlanTag,
};
use crate::ipv4::PROTOCOL_UDP;
use crate::reader::Reader;
use crate::udp::ROCE_V2_PORT;

/// So many VLAN tags are looked through.
pub const MOST_TAGS: usize = 3;

/// An Ethernet frame, without preamble and frame check sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The Ethernet header, with the ethertype of the first tag if there is one.
    pub ethernet: EthernetHeader,
    /// The VLAN tags, the outer one first.
    pub vlan: [Option<VlanTag>; MOST_TAGS],
    /// The protocol behind the header and the tags. A fourth tag counts as a protocol.
    pub ethertype: u16,
    /// Where that protocol begins, in bytes.
    pub network_offset: usize,
    /// The bytes of that protocol, Ethernet padding included.
    pub network: &'a [u8],
}

const fn is_vlan(ethertype: u16) -> bool {
    matches!(ethertype, ETHERTYPE_VLAN | ETHERTYPE_SERVICE_VLAN | ETHERTYPE_OLD_SERVICE_VLAN)
}

impl<'a> Frame<'a> {
    /// The frame in these bytes.
    ///
    /// # Errors
    ///
    /// A header or a tag that is cut off.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Frame<'a>, ParseError> {
        let ethernet = EthernetHeader::decode(Reader::new(bytes).take(Layer::Ethernet)?);
        Frame::behind(ethernet, bytes, EthernetHeader::LENGTH)
    }

    /// The frame that has this header, whatever stands in its place: tags, if its ethertype says so, and protocol begin at
    /// `offset` in these bytes.
    ///
    /// # Errors
    ///
    /// A tag that is cut off.
    #[inline]
    pub fn behind(ethernet: EthernetHeader, bytes: &'a [u8], offset: usize) -> Result<Frame<'a>, ParseError> {
        let mut reader = Reader::new(bytes.get(offset..).unwrap_or_default());
        let mut ethertype = ethernet.ethertype;
        let mut vlan = [None; MOST_TAGS];
        for place in &mut vlan {
            if !is_vlan(ethertype) {
                break;
            }
            let (tag, behind) =
                VlanTag::decode(reader.take(Layer::Vlan).map_err(|error| error.behind(offset))?);
            *place = Some(tag);
            ethertype = behind;
        }
        Ok(Frame {
            ethernet,
            vlan,
            ethertype,
            network_offset: offset + reader.offset(),
            network: reader.rest(),
        })
    }
}

/// The network layer of a frame that goes to the RoCE v2 port over IP, `None` for any other frame.
///
/// Only as much is looked at as it takes to tell; [`Datagram::parse`](crate::Datagram::parse) may still
/// refuse it. The first fragment of a datagram counts, later ones show no port.
#[inline]
pub fn roce_v2(frame: &[u8]) -> Option<&[u8]> {
    let frame = Frame::parse(frame).ok()?;
    let network = frame.network;
    let udp = match frame.ethertype {
        ETHERTYPE_IPV4 => {
            let header = network.first_chunk::<20>()?;
            let fragment_offset = u16::from_be_bytes([header[6], header[7]]) & 0x1fff;
            if header[0] >> 4 != 4 || header[9] != PROTOCOL_UDP || fragment_offset != 0 {
                return None;
            }
            network.get(usize::from(header[0] & 0x0f) * 4..)?
        }
        ETHERTYPE_IPV6 => {
            let (header, behind) = network.split_first_chunk::<40>()?;
            if header[0] >> 4 != 6 || header[6] != PROTOCOL_UDP {
                return None;
            }
            behind
        }
        _ => return None,
    };
    let ports = udp.first_chunk::<4>()?;
    (u16::from_be_bytes([ports[2], ports[3]]) == ROCE_V2_PORT).then_some(network)
}

/// Whether a frame goes to the RoCE v2 port over IP, see [`roce_v2`].
#[inline]
pub fn is_roce_v2(frame: &[u8]) -> bool {
    roce_v2(frame).is_some()
}
