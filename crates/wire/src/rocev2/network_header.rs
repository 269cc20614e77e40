//! Putting a RoCE v2 datagram together.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::bth::Bth;
use crate::checksum;
use crate::ecn::Ecn;
use crate::error::EncodeError;
use crate::icrc::{icrc_ipv4, icrc_ipv6};
use crate::ipv4::{Ipv4Header, PROTOCOL_UDP};
use crate::ipv6::Ipv6Header;
use crate::packet::ICRC_LENGTH;
use crate::udp::{ROCE_V2_PORT, UdpHeader};

/// The IP and UDP headers of one flow, to be copied in front of each of its packets.
///
/// Lengths, identification and checksum differ from packet to packet; [`NetworkHeader::finish`] fills them
/// in. Fragmentation is forbidden and the UDP checksum left out, as RoCE v2 has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkHeader {
    /// IPv4 header without options, and UDP header.
    V4([u8; 28]),
    /// IPv6 header and UDP header.
    V6([u8; 48]),
}

impl NetworkHeader {
    /// Length over IPv4, in bytes.
    pub const LENGTH_V4: usize = Ipv4Header::LENGTH + UdpHeader::LENGTH;
    /// Length over IPv6, in bytes; the longest there is.
    pub const LENGTH_V6: usize = Ipv6Header::LENGTH + UdpHeader::LENGTH;

    /// The headers of a flow. `dscp` has 6 bits, the rest is cut off; over IPv6 the flow label is 0. `None`
    /// if the addresses are of two families.
    pub fn new(
        source: IpAddr,
        destination: IpAddr,
        source_port: u16,
        dscp: u8,
        ecn: Ecn,
        ttl: u8,
    ) -> Option<Self> {
        let udp = UdpHeader { source_port, destination_port: ROCE_V2_PORT, length: 0, checksum: 0 };
        match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                Some(Self::v4(source, destination, udp, dscp, ecn, ttl))
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                Some(Self::v6(source, destination, udp, dscp, ecn, ttl))
            }
            _ => None,
        }
    }

    fn v4(source: Ipv4Addr, destination: Ipv4Addr, udp: UdpHeader, dscp: u8, ecn: Ecn, ttl: u8) -> Self {
        let ip = Ipv4Header {
            dscp,
            ecn,
            total_length: 0,
            identification: 0,
            reserved_flag: false,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
            ttl,
            protocol: PROTOCOL_UDP,
            checksum: 0,
            source,
            destination,
        };
        let mut bytes = [0; Self::LENGTH_V4];
        bytes[..Ipv4Header::LENGTH].copy_from_slice(&ip.encode());
        bytes[Ipv4Header::LENGTH..].copy_from_slice(&udp.encode());
        NetworkHeader::V4(bytes)
    }

    fn v6(source: Ipv6Addr, destination: Ipv6Addr, udp: UdpHeader, dscp: u8, ecn: Ecn, ttl: u8) -> Self {
        let ip = Ipv6Header {
            dscp,
            ecn,
            flow_label: 0,
            payload_length: 0,
            next_header: PROTOCOL_UDP,
            hop_limit: ttl,
            source,
            destination,
        };
        let mut bytes = [0; Self::LENGTH_V6];
        bytes[..Ipv6Header::LENGTH].copy_from_slice(&ip.encode());
        bytes[Ipv6Header::LENGTH..].copy_from_slice(&udp.encode());
        NetworkHeader::V6(bytes)
    }

    /// Length of both headers in bytes, 28 or 48: the space a packet needs in front.
    #[inline]
    pub const fn length(&self) -> usize {
        match self {
            NetworkHeader::V4(_) => Self::LENGTH_V4,
            NetworkHeader::V6(_) => Self::LENGTH_V6,
        }
    }

    /// Completes a packet in place.
    ///
    /// `packet` is the space for this header, the InfiniBand packet from its base header to the end of its
    /// padding, and the space for the ICRC, and nothing behind it. The header with its lengths and its
    /// IPv4 checksum, and the ICRC, are written. IPv6 has no `identification`.
    ///
    /// # Errors
    ///
    /// A packet without room for a base header, or too long for IP.
    #[inline]
    pub fn finish(&self, packet: &mut [u8], identification: u16) -> Result<(), EncodeError> {
        let have = packet.len();
        let Ok(length) = u16::try_from(have) else {
            return Err(EncodeError::TooLong { length: have });
        };
        let need = self.length() + Bth::LENGTH + ICRC_LENGTH;
        if have < need {
            return Err(EncodeError::TooShort { need, have });
        }
        let written = match self {
            NetworkHeader::V4(template) => finish_v4(template, packet, length, identification),
            NetworkHeader::V6(template) => finish_v6(template, packet, length),
        };
        written.ok_or(EncodeError::TooShort { need, have })
    }
}

/// `None` if the packet is shorter than its headers.
#[inline]
fn finish_v4(template: &[u8; 28], packet: &mut [u8], length: u16, identification: u16) -> Option<()> {
    let (covered, icrc) = packet.split_last_chunk_mut::<ICRC_LENGTH>()?;
    let (header, ib) = covered.split_first_chunk_mut::<28>()?;
    *header = *template;
    let (ip, udp) = header.split_first_chunk_mut::<20>()?;
    let udp: &mut [u8; 8] = udp.try_into().ok()?;
    [ip[2], ip[3]] = length.to_be_bytes();
    [ip[4], ip[5]] = identification.to_be_bytes();
    [ip[10], ip[11]] = [0, 0];
    [ip[10], ip[11]] = checksum::ipv4_header(ip).to_be_bytes();
    [udp[4], udp[5]] = length.checked_sub(Ipv4Header::LENGTH as u16)?.to_be_bytes();
    *icrc = icrc_ipv4(ip, udp, ib).to_le_bytes();
    Some(())
}

/// `None` if the packet is shorter than its headers.
#[inline]
fn finish_v6(template: &[u8; 48], packet: &mut [u8], length: u16) -> Option<()> {
    let (covered, icrc) = packet.split_last_chunk_mut::<ICRC_LENGTH>()?;
    let (header, ib) = covered.split_first_chunk_mut::<48>()?;
    *header = *template;
    let (ip, udp) = header.split_first_chunk_mut::<40>()?;
    let udp: &mut [u8; 8] = udp.try_into().ok()?;
    let payload_length = length.checked_sub(Ipv6Header::LENGTH as u16)?;
    [ip[4], ip[5]] = payload_length.to_be_bytes();
    [udp[4], udp[5]] = payload_length.to_be_bytes();
    *icrc = icrc_ipv6(ip, udp, ib).to_le_bytes();
    Some(())
}
