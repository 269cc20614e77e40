//! Finding an InfiniBand packet in what a capture has: an Ethernet frame, an IP packet, a link packet.
//!
//! Nothing is found where the bytes are of something else, or where they end before it shows what they are. A
//! header that says "InfiniBand" and is cut off itself is an error.
//!
//! The way of RoCE v2 is inlined by force: as calls, moving the results about takes twice as long as the work.

use super::carried::Headers;
use super::{Carried, Carrier, VCRC_LENGTH};
use crate::error::{Layer, ParseError};
use crate::ethernet::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_ROCE_V1};
use crate::frame::Frame;
use crate::grh::Grh;
use crate::ipv4::{Ipv4Header, PROTOCOL_UDP};
use crate::ipv6::Ipv6Header;
use crate::lrh::{LinkNextHeader, Lrh};
use crate::packet::ICRC_LENGTH;
use crate::reader::Reader;
use crate::udp::{ROCE_V2_PORT, UdpHeader};

impl<'a> Carried<'a> {
    /// The InfiniBand packet in an Ethernet frame: RoCE v1, or RoCE v2 over IPv4 or IPv6. `None` for a frame of
    /// anything else, and for a fragment that is not the first. Offsets count from the Ethernet header.
    ///
    /// # Errors
    ///
    /// A global route header that is cut off.
    #[inline(always)]
    pub fn in_frame(frame: &Frame<'a>) -> Option<Result<Carried<'a>, ParseError>> {
        let front = frame.network_offset;
        match frame.ethertype {
            ETHERTYPE_IPV4 => in_ipv4(frame.network, front).map(Ok),
            ETHERTYPE_IPV6 => in_ipv6(frame.network, front).map(Ok),
            ETHERTYPE_ROCE_V1 => Some(in_roce_v1(frame.network, front)),
            _ => None,
        }
    }

    /// The InfiniBand packet in an IP packet, RoCE v2. `None` for anything else, and for a fragment that is not
    /// the first.
    #[inline]
    pub fn in_ip(packet: &'a [u8]) -> Option<Carried<'a>> {
        match packet.first()? >> 4 {
            4 => in_ipv4(packet, 0),
            6 => in_ipv6(packet, 0),
            _ => None,
        }
    }

    /// The InfiniBand packet in a packet of a native link, which begins with its local route header. `None` for
    /// a raw packet. Two bytes behind the stated length are the VCRC; a capture need not have them.
    ///
    /// # Errors
    ///
    /// A local or global route header that is cut off.
    pub fn in_link_packet(packet: &'a [u8]) -> Option<Result<Carried<'a>, ParseError>> {
        let mut reader = Reader::new(packet);
        let header: &[u8; 8] = match reader.take(Layer::Lrh) {
            Ok(header) => header,
            Err(error) => return Some(Err(error)),
        };
        let lrh = Lrh::decode(header);
        match lrh.next_header {
            LinkNextHeader::RawEthertype | LinkNextHeader::RawIpv6 => None,
            LinkNextHeader::Local => Some(Ok(native(packet, header, lrh, None))),
            LinkNextHeader::Global => {
                Some(reader.take(Layer::Grh).map(|grh| native(packet, header, lrh, Some(grh))))
            }
        }
    }
}

/// `front` bytes are in front of `bytes`, for offsets.
#[inline(always)]
fn in_ipv4(bytes: &[u8], front: usize) -> Option<Carried<'_>> {
    let header = bytes.first_chunk::<20>()?;
    let ip = Ipv4Header::decode(header);
    let header_length = usize::from(header[0] & 0x0f) * 4;
    let is_udp = header[0] >> 4 == 4 && ip.protocol == PROTOCOL_UDP && ip.fragment_offset == 0;
    if !is_udp || header_length < Ipv4Header::LENGTH {
        return None;
    }
    let (udp, ib) = udp(bytes.get(header_length..)?)?;
    let total_length = usize::from(ip.total_length);
    // What IP says to be behind the UDP header; nonsense does not count.
    let stated = total_length.checked_sub(header_length + UdpHeader::LENGTH);
    let error = match stated {
        None => {
            Some(ParseError::bad_value(Layer::Ipv4, front + 2, "total_length", u64::from(ip.total_length)))
        }
        Some(_) if ip.more_fragments => {
            let field = u64::from(u16::from_be_bytes([header[6], header[7]]));
            Some(ParseError::bad_value(Layer::Ipv4, front + 6, "fragment", field))
        }
        Some(stated) if stated > ib.len() => {
            Some(ParseError::truncated(Layer::Ipv4, front, total_length, bytes.len()))
        }
        Some(_) => None,
    };
    let decoded = UdpHeader::decode(udp);
    let lengths = Lengths { ib, outer: stated.unwrap_or(ib.len()), udp: decoded.length, error };
    let mut carried = lengths.carried(
        Carrier::RoceV2Ipv4(ip, decoded),
        Headers::Ipv4(header, udp),
        front + header_length + UdpHeader::LENGTH,
    );
    carried.ipv4_options = bytes.get(Ipv4Header::LENGTH..header_length).unwrap_or(&[]);
    Some(carried)
}

/// `front` bytes are in front of `bytes`, for offsets.
#[inline(always)]
fn in_ipv6(bytes: &[u8], front: usize) -> Option<Carried<'_>> {
    let (header, behind) = bytes.split_first_chunk::<40>()?;
    let ip = Ipv6Header::decode(header);
    if header[0] >> 4 != 6 || ip.next_header != PROTOCOL_UDP {
        return None;
    }
    let (udp, ib) = udp(behind)?;
    let payload_length = usize::from(ip.payload_length);
    let stated = payload_length.checked_sub(UdpHeader::LENGTH);
    let error = match stated {
        None => Some(ParseError::bad_value(
            Layer::Ipv6,
            front + 4,
            "payload_length",
            u64::from(ip.payload_length),
        )),
        Some(stated) if stated > ib.len() => {
            let need = Ipv6Header::LENGTH + payload_length;
            Some(ParseError::truncated(Layer::Ipv6, front, need, bytes.len()))
        }
        Some(_) => None,
    };
    let decoded = UdpHeader::decode(udp);
    let lengths = Lengths { ib, outer: stated.unwrap_or(ib.len()), udp: decoded.length, error };
    Some(lengths.carried(
        Carrier::RoceV2Ipv6(ip, decoded),
        Headers::Ipv6(header, udp),
        front + Ipv6Header::LENGTH + UdpHeader::LENGTH,
    ))
}

/// The UDP header and what is behind it, if it is for the RoCE v2 port.
#[inline(always)]
fn udp(bytes: &[u8]) -> Option<(&[u8; 8], &[u8])> {
    let (header, ib) = bytes.split_first_chunk::<8>()?;
    (UdpHeader::decode(header).destination_port == ROCE_V2_PORT).then_some((header, ib))
}

/// The length that IP states behind the UDP header, and the one that UDP states. The smaller counts.
struct Lengths<'a> {
    ib: &'a [u8],
    outer: usize,
    udp: u16,
    error: Option<ParseError>,
}

impl<'a> Lengths<'a> {
    #[inline(always)]
    fn carried(self, carrier: Carrier, headers: Headers<'a>, offset: usize) -> Carried<'a> {
        let inner = usize::from(self.udp).checked_sub(UdpHeader::LENGTH).filter(|inner| *inner <= self.outer);
        let stated = inner.unwrap_or(self.outer);
        let lie = || ParseError::bad_value(Layer::Udp, offset - 4, "length", u64::from(self.udp));
        Carried {
            carrier,
            ipv4_options: &[],
            ib: self.ib.get(..stated).unwrap_or(self.ib),
            offset,
            stated,
            vcrc: None,
            error: self.error.or_else(|| inner.is_none().then(lie)),
            headers,
        }
    }
}

/// `front` bytes are in front of `bytes`, for offsets.
fn in_roce_v1(bytes: &[u8], front: usize) -> Result<Carried<'_>, ParseError> {
    let mut reader = Reader::new(bytes);
    let header: &[u8; 40] = reader.take(Layer::Grh).map_err(|error| error.behind(front))?;
    let grh = Grh::decode(header);
    let stated = usize::from(grh.payload_length);
    let ib = reader.rest();
    let cut = (stated > ib.len())
        .then(|| ParseError::truncated(Layer::Grh, front, Grh::LENGTH + stated, bytes.len()));
    Ok(Carried {
        carrier: Carrier::RoceV1(grh),
        ipv4_options: &[],
        ib: ib.get(..stated).unwrap_or(ib),
        offset: front + Grh::LENGTH,
        stated,
        vcrc: None,
        error: wrong_grh(&grh, front).or(cut),
        headers: Headers::RoceV1(header),
    })
}

/// What is wrong with the fields of a global route header at `offset`.
fn wrong_grh(grh: &Grh, offset: usize) -> Option<ParseError> {
    if grh.version != Grh::VERSION {
        Some(ParseError::bad_value(Layer::Grh, offset, "version", u64::from(grh.version)))
    } else if grh.next_header != Grh::TRANSPORT {
        Some(ParseError::bad_value(Layer::Grh, offset + 6, "next_header", u64::from(grh.next_header)))
    } else {
        None
    }
}

/// `bytes` begin with both headers. The local route header's length counts; that of a global route header,
/// which early editions of the specification count with the VCRC, is only shown.
fn native<'a>(bytes: &'a [u8], header: &'a [u8; 8], lrh: Lrh, global: Option<&'a [u8; 40]>) -> Carried<'a> {
    let grh = global.map(Grh::decode);
    let carrier = Carrier::Native(lrh, grh);
    let offset = carrier.header_length();
    let field = u64::from(lrh.packet_length);
    let length_lies = lrh.packet_bytes() < offset + ICRC_LENGTH;
    // With a length that cannot be, the VCRC is taken to be at the end.
    let end =
        if length_lies { bytes.len().saturating_sub(VCRC_LENGTH).max(offset) } else { lrh.packet_bytes() };
    let packet = bytes.get(..end).unwrap_or(bytes);
    let error = if lrh.link_version != 0 {
        Some(ParseError::bad_value(Layer::Lrh, 0, "link_version", u64::from(lrh.link_version)))
    } else if let Some(error) = grh.as_ref().and_then(|grh| wrong_grh(grh, Lrh::LENGTH)) {
        Some(error)
    } else if length_lies {
        Some(ParseError::bad_value(Layer::Lrh, 4, "packet_length", field))
    } else if end > bytes.len() {
        Some(ParseError::truncated(Layer::Lrh, 0, end, bytes.len()))
    } else {
        None
    };
    Carried {
        carrier,
        ipv4_options: &[],
        ib: packet.get(offset..).unwrap_or(&[]),
        offset,
        stated: end.saturating_sub(offset),
        vcrc: bytes.get(end..).and_then(|rest| rest.first_chunk()).copied(),
        error,
        headers: match global {
            Some(grh) => Headers::Global(grh, packet),
            None => Headers::Local(header, packet),
        },
    }
}
