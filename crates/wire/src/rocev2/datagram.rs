//! Taking a RoCE v2 datagram apart.
//!
//! What parses is inlined by force: as calls, moving the results about takes as long as the work.

use core::net::IpAddr;

use crate::bth::Bth;
use crate::checksum;
use crate::ecn::Ecn;
use crate::error::{Layer, ParseError};
use crate::icrc::{icrc_ipv4, icrc_ipv6};
use crate::ipv4::{Ipv4Header, PROTOCOL_UDP};
use crate::ipv6::Ipv6Header;
use crate::packet::ICRC_LENGTH;
use crate::reader::Reader;
use crate::rocev2::identification;
use crate::udp::{ROCE_V2_PORT, UdpHeader};

/// The IP header's bytes, which the ICRC covers. Of an IPv4 header with options only the first twenty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Network<'a> {
    V4(&'a [u8; 20]),
    V6(&'a [u8; 40]),
}

/// A RoCE v2 datagram whose IP and UDP headers are in order.
///
/// It holds at least a base header and an ICRC. Whether that ICRC is right is a question of its own,
/// [`Datagram::verify_icrc`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Who sent it.
    pub source: IpAddr,
    /// Whom it is for.
    pub destination: IpAddr,
    /// Explicit congestion notification, as the last switch left it.
    pub ecn: Ecn,
    /// Differentiated services code point, 6 bits.
    pub dscp: u8,
    /// Time to live, or hop limit, that was left.
    pub ttl: u8,
    /// UDP source port: chosen by the sender per flow.
    pub source_port: u16,
    /// The InfiniBand packet from the base header to the ICRC.
    pub ib: &'a [u8],
    network: Network<'a>,
    /// The UDP header's bytes, which the ICRC covers.
    udp: &'a [u8; 8],
    /// Where the UDP header begins in what was parsed.
    udp_offset: usize,
    /// `ib` without its ICRC.
    covered: &'a [u8],
    icrc: [u8; ICRC_LENGTH],
}

impl<'a> Datagram<'a> {
    /// The datagram in a packet from its IP header on. Bytes behind the end that IP states, as Ethernet
    /// adds them to short frames, are ignored.
    ///
    /// IPv4 options are skipped; the ICRC does not cover them. The IPv4 and UDP checksums are not looked
    /// at, see [`Datagram::verify_checksums`].
    ///
    /// # Errors
    ///
    /// Anything that is not RoCE v2 over IP in one piece: another version or protocol, a fragment, an IPv6
    /// extension header, another port; lengths that lie; less than a base header and an ICRC.
    #[inline(always)]
    pub fn parse(network: &'a [u8]) -> Result<Datagram<'a>, ParseError> {
        match network.first().map(|byte| byte >> 4) {
            Some(4) => Self::parse_ipv4(network),
            Some(6) => Self::parse_ipv6(network),
            Some(version) => Err(ParseError::bad_value(Layer::Ipv4, 0, "version", u64::from(version))),
            None => Err(ParseError::truncated(Layer::Ipv4, 0, Ipv4Header::LENGTH, 0)),
        }
    }

    #[inline(always)]
    fn parse_ipv4(bytes: &'a [u8]) -> Result<Datagram<'a>, ParseError> {
        let header: &[u8; 20] = Reader::new(bytes).take(Layer::Ipv4)?;
        let ip = Ipv4Header::decode(header);
        let words = header[0] & 0x0f;
        let header_length = usize::from(words) * 4;
        if header_length < Ipv4Header::LENGTH {
            return Err(ParseError::bad_value(Layer::Ipv4, 0, "header_length", u64::from(words)));
        }
        let total_length = usize::from(ip.total_length);
        if total_length < header_length {
            return Err(ParseError::bad_value(Layer::Ipv4, 2, "total_length", u64::from(ip.total_length)));
        }
        let Some(payload) = bytes.get(header_length..total_length) else {
            return Err(ParseError::truncated(Layer::Ipv4, 0, total_length, bytes.len()));
        };
        if ip.protocol != PROTOCOL_UDP {
            return Err(ParseError::bad_value(Layer::Ipv4, 9, "protocol", u64::from(ip.protocol)));
        }
        if ip.more_fragments || ip.fragment_offset != 0 {
            let field = u64::from(u16::from_be_bytes([header[6], header[7]]));
            return Err(ParseError::bad_value(Layer::Ipv4, 6, "fragment", field));
        }
        let udp = Udp::parse(payload).map_err(|error| error.behind(header_length))?;
        Ok(Datagram {
            source: IpAddr::V4(ip.source),
            destination: IpAddr::V4(ip.destination),
            ecn: ip.ecn,
            dscp: ip.dscp,
            ttl: ip.ttl,
            source_port: udp.source_port,
            ib: udp.ib,
            network: Network::V4(header),
            udp: udp.header,
            udp_offset: header_length,
            covered: udp.covered,
            icrc: udp.icrc,
        })
    }

    #[inline(always)]
    fn parse_ipv6(bytes: &'a [u8]) -> Result<Datagram<'a>, ParseError> {
        let mut reader = Reader::new(bytes);
        let header: &[u8; 40] = reader.take(Layer::Ipv6)?;
        let ip = Ipv6Header::decode(header);
        let payload_length = usize::from(ip.payload_length);
        let Some(payload) = reader.rest().get(..payload_length) else {
            return Err(ParseError::truncated(
                Layer::Ipv6,
                0,
                Ipv6Header::LENGTH + payload_length,
                bytes.len(),
            ));
        };
        if ip.next_header != PROTOCOL_UDP {
            return Err(ParseError::bad_value(Layer::Ipv6, 6, "next_header", u64::from(ip.next_header)));
        }
        let udp = Udp::parse(payload).map_err(|error| error.behind(Ipv6Header::LENGTH))?;
        Ok(Datagram {
            source: IpAddr::V6(ip.source),
            destination: IpAddr::V6(ip.destination),
            ecn: ip.ecn,
            dscp: ip.dscp,
            ttl: ip.hop_limit,
            source_port: udp.source_port,
            ib: udp.ib,
            network: Network::V6(header),
            udp: udp.header,
            udp_offset: Ipv6Header::LENGTH,
            covered: udp.covered,
            icrc: udp.icrc,
        })
    }

    /// The bytes of the IP header: 20 of IPv4, without options, or 40 of IPv6. A receive of a datagram queue pair
    /// begins with them.
    #[inline]
    pub const fn network_bytes(&self) -> &'a [u8] {
        match self.network {
            Network::V4(ip) => ip,
            Network::V6(ip) => ip,
        }
    }

    /// The ICRC that these bytes should have.
    #[inline]
    pub fn icrc_expected(&self) -> u32 {
        match self.network {
            Network::V4(ip) => icrc_ipv4(ip, self.udp, self.covered),
            Network::V6(ip) => icrc_ipv6(ip, self.udp, self.covered),
        }
    }

    /// The ICRC that they have.
    #[inline]
    pub const fn icrc_found(&self) -> u32 {
        u32::from_le_bytes(self.icrc)
    }

    /// Compares the two.
    ///
    /// # Errors
    ///
    /// A bad checksum, at the ICRC's offset in what was parsed.
    #[inline]
    pub fn verify_icrc(&self) -> Result<(), ParseError> {
        let (expected, found) = (self.icrc_expected(), self.icrc_found());
        if expected == found {
            return Ok(());
        }
        Err(self.bad_icrc(expected, found))
    }

    fn bad_icrc(&self, expected: u32, found: u32) -> ParseError {
        let offset = self.udp_offset + UdpHeader::LENGTH + self.covered.len();
        ParseError::bad_checksum(Layer::Icrc, offset, expected, found)
    }

    /// Compares the two where the identification of the IPv4 header is not known, as behind a UDP socket: any other is
    /// tried, at no cost but the arithmetic. Returns the identification with which the packet is sound, which is the
    /// header's own if that is right. Where it is another, a damaged packet passes with a probability of 2^-16.
    ///
    /// # Errors
    ///
    /// A bad checksum, as of [`Datagram::verify_icrc`].
    #[inline]
    pub fn verify_icrc_of_any_identification(&self) -> Result<u16, ParseError> {
        let own = match self.network {
            Network::V4(ip) => u16::from_be_bytes([ip[4], ip[5]]),
            Network::V6(_) => 0,
        };
        let (expected, found) = (self.icrc_expected(), self.icrc_found());
        if expected == found {
            return Ok(own);
        }
        let change = match self.network {
            Network::V4(_) => identification::change(expected ^ found, self.covered.len()),
            Network::V6(_) => None,
        };
        change.map(|change| own ^ change).ok_or_else(|| self.bad_icrc(expected, found))
    }

    /// Verifies the checksums a network stack would: the IPv4 header's, options not included since a
    /// datagram does not keep them, and UDP's if the sender computed one. The ICRC covers all but what it
    /// masks, so a receiver that verifies it may do without.
    ///
    /// # Errors
    ///
    /// A bad checksum in the layer it belongs to.
    pub fn verify_checksums(&self) -> Result<(), ParseError> {
        if let Network::V4(ip) = self.network
            && self.udp_offset == Ipv4Header::LENGTH
        {
            let header = Ipv4Header::decode(ip);
            let expected = header.with_checksum().checksum;
            if header.checksum != expected {
                let (expected, found) = (u32::from(expected), u32::from(header.checksum));
                return Err(ParseError::bad_checksum(Layer::Ipv4, 10, expected, found));
            }
        }
        let udp = UdpHeader::decode(self.udp);
        if udp.checksum == 0 {
            return Ok(()); // the sender computed none
        }
        let expected = checksum::udp(self.source, self.destination, &udp, self.ib);
        if udp.checksum == expected {
            return Ok(());
        }
        let (expected, found) = (u32::from(expected), u32::from(udp.checksum));
        Err(ParseError::bad_checksum(Layer::Udp, self.udp_offset + 6, expected, found))
    }
}

/// What is in a UDP datagram to RoCE v2's port.
struct Udp<'a> {
    header: &'a [u8; 8],
    source_port: u16,
    ib: &'a [u8],
    covered: &'a [u8],
    icrc: [u8; ICRC_LENGTH],
}

impl<'a> Udp<'a> {
    /// `bytes` is what the IP header says is behind it; offsets count from its start. UDP may state fewer
    /// bytes, never more.
    #[inline(always)]
    fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let header: &[u8; 8] = Reader::new(bytes).take(Layer::Udp)?;
        let udp = UdpHeader::decode(header);
        if udp.destination_port != ROCE_V2_PORT {
            let port = u64::from(udp.destination_port);
            return Err(ParseError::bad_value(Layer::Udp, 2, "destination_port", port));
        }
        let length = usize::from(udp.length);
        if length < UdpHeader::LENGTH || length > bytes.len() {
            return Err(ParseError::bad_value(Layer::Udp, 4, "length", u64::from(udp.length)));
        }
        let ib = bytes.get(UdpHeader::LENGTH..length).unwrap_or(&[]);
        if ib.len() < Bth::LENGTH {
            return Err(ParseError::truncated(Layer::Bth, UdpHeader::LENGTH, Bth::LENGTH, ib.len()));
        }
        match ib.split_last_chunk::<ICRC_LENGTH>() {
            Some((covered, icrc)) if covered.len() >= Bth::LENGTH => {
                Ok(Udp { header, source_port: udp.source_port, ib, covered, icrc: *icrc })
            }
            _ => {
                let (offset, have) = (UdpHeader::LENGTH + Bth::LENGTH, ib.len() - Bth::LENGTH);
                Err(ParseError::truncated(Layer::Icrc, offset, ICRC_LENGTH, have))
            }
        }
    }
}
