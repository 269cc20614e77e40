//! How an InfiniBand packet is carried: behind which headers, and with which checksums behind it.
//!
//! ```text
//! RoCE v2     Ethernet │ IPv4 or IPv6, UDP │ BTH … ICRC
//! RoCE v1     Ethernet │ GRH               │ BTH … ICRC
//! InfiniBand           │ LRH [, GRH]       │ BTH … ICRC │ VCRC
//! ```
//!
//! A [`Carrier`] is the headers of the middle column, decoded; it writes them and the checksums as they stand,
//! right or wrong, so that whoever crafts packets may lie. [`Carried`] is a packet found in a capture, with
//! its carrier. The transport's own way, which knows RoCE v2 alone and is faster, is [`Datagram`](crate::Datagram)
//! and [`NetworkHeader`](crate::NetworkHeader). The Ethernet header is [`Frame`](crate::Frame)'s.

use core::fmt;
use core::net::{IpAddr, Ipv6Addr};

use crate::ecn::Ecn;
use crate::error::EncodeError;
use crate::gid::Gid;
use crate::grh::Grh;
use crate::icrc::{icrc_global, icrc_ipv4, icrc_ipv6, icrc_local};
use crate::ipv4::{Ipv4Header, PROTOCOL_UDP};
use crate::ipv6::Ipv6Header;
use crate::lrh::{LinkNextHeader, Lrh};
use crate::packet::ICRC_LENGTH;
use crate::udp::{ROCE_V2_PORT, UdpHeader};
use crate::vcrc::vcrc;
use crate::writer::Writer;

mod carried;
mod found;

pub use carried::Carried;

/// Length of the VCRC, in bytes.
pub const VCRC_LENGTH: usize = 2;

/// The headers in front of an InfiniBand packet, from the network layer on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Carrier {
    /// RoCE v2 over IPv4, without options.
    RoceV2Ipv4(Ipv4Header, UdpHeader),
    /// RoCE v2 over IPv6, without extension headers.
    RoceV2Ipv6(Ipv6Header, UdpHeader),
    /// RoCE v1.
    RoceV1(Grh),
    /// A native InfiniBand link. The link next header should be
    /// [`Global`](LinkNextHeader::Global) where there is a global route header and
    /// [`Local`](LinkNextHeader::Local) where there is none.
    Native(Lrh, Option<Grh>),
}

/// Who sent a packet, or whom it is for, as its carrier names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// An IP address.
    Ip(IpAddr),
    /// A global identifier.
    Gid(Gid),
    /// A local identifier.
    Lid(u16),
}

/// A local identifier as in `lid:0x0004`.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Ip(address) => address.fmt(f),
            Address::Gid(gid) => gid.fmt(f),
            Address::Lid(lid) => write!(f, "lid:{lid:#06x}"),
        }
    }
}

impl Carrier {
    /// RoCE v2 between two IP addresses of one family, `None` if they are of two. Not to be fragmented, 64
    /// hops, no UDP checksum; the lengths are still to be set, see [`Carrier::with_lengths`].
    pub fn roce_v2(source: IpAddr, destination: IpAddr, source_port: u16) -> Option<Self> {
        let udp = UdpHeader { source_port, destination_port: ROCE_V2_PORT, length: 0, checksum: 0 };
        match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let ip = Ipv4Header {
                    dscp: 0,
                    ecn: Ecn::NotEct,
                    total_length: 0,
                    identification: 0,
                    reserved_flag: false,
                    dont_fragment: true,
                    more_fragments: false,
                    fragment_offset: 0,
                    ttl: 64,
                    protocol: PROTOCOL_UDP,
                    checksum: 0,
                    source,
                    destination,
                };
                Some(Carrier::RoceV2Ipv4(ip, udp))
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                Some(Carrier::RoceV2Ipv6(ipv6(source, destination), udp))
            }
            _ => None,
        }
    }

    /// RoCE v1 between two ports, the length still to be set.
    pub const fn roce_v1(source: Gid, destination: Gid) -> Self {
        Carrier::RoceV1(Grh::new(source, destination))
    }

    /// A native link between two ports of a subnet, the length still to be set.
    pub const fn native(source: u16, destination: u16) -> Self {
        let lrh = Lrh {
            virtual_lane: 0,
            link_version: 0,
            service_level: 0,
            reserved_2: 0,
            next_header: LinkNextHeader::Local,
            destination,
            reserved_5: 0,
            packet_length: 0,
            source,
        };
        Carrier::Native(lrh, None)
    }

    /// The same native link with a global route header; other carriers as they are.
    #[must_use]
    pub const fn with_grh(self, grh: Grh) -> Self {
        match self {
            Carrier::Native(lrh, _) => {
                Carrier::Native(Lrh { next_header: LinkNextHeader::Global, ..lrh }, Some(grh))
            }
            other => other,
        }
    }

    /// Length of its headers in bytes: the space a packet needs in front.
    pub const fn header_length(&self) -> usize {
        match self {
            Carrier::RoceV2Ipv4(..) => Ipv4Header::LENGTH + UdpHeader::LENGTH,
            Carrier::RoceV2Ipv6(..) => Ipv6Header::LENGTH + UdpHeader::LENGTH,
            Carrier::RoceV1(_) => Grh::LENGTH,
            Carrier::Native(_, None) => Lrh::LENGTH,
            Carrier::Native(_, Some(_)) => Lrh::LENGTH + Grh::LENGTH,
        }
    }

    /// Length of the checksums in bytes: the space a packet needs behind its padding.
    pub const fn trailer_length(&self) -> usize {
        match self {
            Carrier::RoceV2Ipv4(..) | Carrier::RoceV2Ipv6(..) | Carrier::RoceV1(_) => ICRC_LENGTH,
            Carrier::Native(..) => ICRC_LENGTH + VCRC_LENGTH,
        }
    }

    /// The headers for a packet of `length` bytes from its base header to the end of its ICRC: the length
    /// fields, and IPv4's checksum. The UDP checksum stays as it is.
    ///
    /// A local route header counts in words of four bytes; a length that is none of theirs is rounded up.
    ///
    /// # Errors
    ///
    /// A packet that is too long for a length field.
    pub fn with_lengths(self, length: usize) -> Result<Carrier, EncodeError> {
        let whole = self.header_length().saturating_add(length);
        let too_long = EncodeError::TooLong { length: whole };
        let field = |skipped: usize| u16::try_from(whole.saturating_sub(skipped)).map_err(|_| too_long);
        Ok(match self {
            Carrier::RoceV2Ipv4(ip, udp) => {
                let ip = Ipv4Header { total_length: field(0)?, ..ip }.with_checksum();
                Carrier::RoceV2Ipv4(ip, UdpHeader { length: field(Ipv4Header::LENGTH)?, ..udp })
            }
            Carrier::RoceV2Ipv6(ip, udp) => {
                let length = field(Ipv6Header::LENGTH)?;
                let ip = Ipv6Header { payload_length: length, ..ip };
                Carrier::RoceV2Ipv6(ip, UdpHeader { length, ..udp })
            }
            Carrier::RoceV1(grh) => Carrier::RoceV1(Grh { payload_length: field(Grh::LENGTH)?, ..grh }),
            Carrier::Native(lrh, grh) => {
                if whole > Lrh::MAX_PACKET {
                    return Err(too_long);
                }
                let packet_length = field(0)?.div_ceil(4);
                let payload_length = field(Lrh::LENGTH + Grh::LENGTH)?;
                let grh = grh.map(|grh| Grh { payload_length, ..grh });
                Carrier::Native(Lrh { packet_length, ..lrh }, grh)
            }
        })
    }

    /// Writes the headers to the start of `out` as they stand, and says how many bytes they are.
    ///
    /// # Errors
    ///
    /// A buffer that is too small.
    pub fn encode(&self, out: &mut [u8]) -> Result<usize, EncodeError> {
        let mut writer = Writer::new(out);
        match self {
            Carrier::RoceV2Ipv4(ip, udp) => {
                writer.put(&ip.encode());
                writer.put(&udp.encode());
            }
            Carrier::RoceV2Ipv6(ip, udp) => {
                writer.put(&ip.encode());
                writer.put(&udp.encode());
            }
            Carrier::RoceV1(grh) => writer.put(&grh.encode()),
            Carrier::Native(lrh, grh) => {
                writer.put(&lrh.encode());
                if let Some(grh) = grh {
                    writer.put(&grh.encode());
                }
            }
        }
        writer.finish()
    }

    /// The ICRC of a packet behind these headers, as they stand. `ib` is the packet from the base header to
    /// the end of its padding.
    pub fn icrc(&self, ib: &[u8]) -> u32 {
        match self {
            Carrier::RoceV2Ipv4(ip, udp) => icrc_ipv4(&ip.encode(), &udp.encode(), ib),
            Carrier::RoceV2Ipv6(ip, udp) => icrc_ipv6(&ip.encode(), &udp.encode(), ib),
            Carrier::RoceV1(grh) | Carrier::Native(_, Some(grh)) => icrc_global(&grh.encode(), ib),
            Carrier::Native(lrh, None) => icrc_local(&lrh.encode(), ib),
        }
    }

    /// Completes a packet in place: `packet` is the space for the headers, the InfiniBand packet from its base
    /// header to the end of its padding, and the space for the checksums. Headers as they stand, ICRC and, on
    /// a native link, VCRC are written.
    ///
    /// # Errors
    ///
    /// Not even room for headers and checksums.
    pub fn finish(&self, packet: &mut [u8]) -> Result<(), EncodeError> {
        let have = packet.len();
        let need = self.header_length() + self.trailer_length();
        let icrc_at = have.checked_sub(self.trailer_length());
        let icrc_at = icrc_at.filter(|at| *at >= self.header_length());
        let icrc_at = icrc_at.ok_or(EncodeError::TooShort { need, have })?;
        self.encode(packet)?;
        let Some((covered, trailer)) = packet.split_at_mut_checked(icrc_at) else { return Ok(()) };
        let icrc = self.icrc(covered.get(self.header_length()..).unwrap_or(&[]));
        let mut writer = Writer::new(trailer);
        writer.put(&icrc.to_le_bytes());
        writer.finish()?;
        if let (Carrier::Native(..), Some((covered, trailer))) =
            (self, packet.split_last_chunk_mut::<VCRC_LENGTH>())
        {
            *trailer = vcrc(covered).to_le_bytes();
        }
        Ok(())
    }

    /// Who sent the packet. On a native link the global identifier, if there is one.
    pub const fn source(&self) -> Address {
        match self {
            Carrier::RoceV2Ipv4(ip, _) => Address::Ip(IpAddr::V4(ip.source)),
            Carrier::RoceV2Ipv6(ip, _) => Address::Ip(IpAddr::V6(ip.source)),
            Carrier::RoceV1(grh) | Carrier::Native(_, Some(grh)) => Address::Gid(grh.source),
            Carrier::Native(lrh, None) => Address::Lid(lrh.source),
        }
    }

    /// Whom the packet is for, see [`Carrier::source`].
    pub const fn destination(&self) -> Address {
        match self {
            Carrier::RoceV2Ipv4(ip, _) => Address::Ip(IpAddr::V4(ip.destination)),
            Carrier::RoceV2Ipv6(ip, _) => Address::Ip(IpAddr::V6(ip.destination)),
            Carrier::RoceV1(grh) | Carrier::Native(_, Some(grh)) => Address::Gid(grh.destination),
            Carrier::Native(lrh, None) => Address::Lid(lrh.destination),
        }
    }

    /// The DSCP and ECN bits of the IP header. A global route header's traffic class has none.
    pub const fn dscp_and_ecn(&self) -> Option<(u8, Ecn)> {
        match self {
            Carrier::RoceV2Ipv4(ip, _) => Some((ip.dscp, ip.ecn)),
            Carrier::RoceV2Ipv6(ip, _) => Some((ip.dscp, ip.ecn)),
            Carrier::RoceV1(_) | Carrier::Native(..) => None,
        }
    }
}

const fn ipv6(source: Ipv6Addr, destination: Ipv6Addr) -> Ipv6Header {
    Ipv6Header {
        dscp: 0,
        ecn: Ecn::NotEct,
        flow_label: 0,
        payload_length: 0,
        next_header: PROTOCOL_UDP,
        hop_limit: 64,
        source,
        destination,
    }
}

/// As in `RoCEv2/IPv4`, `RoCEv2/IPv6`, `RoCEv1`, `InfiniBand` and, with a global route header, `InfiniBand/GRH`.
impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Carrier::RoceV2Ipv4(..) => "RoCEv2/IPv4",
            Carrier::RoceV2Ipv6(..) => "RoCEv2/IPv6",
            Carrier::RoceV1(_) => "RoCEv1",
            Carrier::Native(_, None) => "InfiniBand",
            Carrier::Native(_, Some(_)) => "InfiniBand/GRH",
        })
    }
}
