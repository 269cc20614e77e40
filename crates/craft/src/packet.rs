//! One InfiniBand packet as it is to be: headers, payload, and what is to be wrong with it.
//!
//! [`Packet::encode`] computes lengths, padding and checksums; everything that [`Exceptions`] give is taken as it
//! is. It judges nothing: any opcode goes with any header.

use core::fmt;

use rdmalab_wire::checksum;
use rdmalab_wire::ethernet::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_ROCE_V1, ETHERTYPE_VLAN};
use rdmalab_wire::packet::ICRC_LENGTH;
use rdmalab_wire::{
    Bth, Carrier, EncodeError, EthernetAddress, EthernetHeader, Headers, Opcode, RawPacket, VlanTag,
    pad_count, vcrc,
};

use crate::checksum::Checksum;
use crate::fields::{Fields, GrhFields, Ipv4Fields, Ipv6Fields, LrhFields, UdpFields};
use crate::limits::LONGEST_PACKET;
use crate::payload::Payload;

/// Most bytes of headers in front of an InfiniBand packet's payload: generous.
const HEADERS: usize = 256;

/// An Ethernet header and its VLAN tags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ethernet {
    /// Who sent it.
    pub source: EthernetAddress,
    /// Whom it is for.
    pub destination: EthernetAddress,
    /// The tags, the outer one first.
    pub vlan: Vec<VlanTag>,
    /// The ethertypes in front of the tags; where there are fewer of them than tags, that of a customer tag.
    pub tag_ethertypes: Vec<u16>,
    /// The ethertype of what follows; `None` computes it.
    pub ethertype: Option<u16>,
}

impl Ethernet {
    /// Writes header and tags behind `out`.
    pub(crate) fn put(&self, computed: u16, out: &mut Vec<u8>) {
        let ethertype = self.ethertype.unwrap_or(computed);
        let tagged = |index: usize| match self.vlan.get(index) {
            Some(_) => self.tag_ethertypes.get(index).copied().unwrap_or(ETHERTYPE_VLAN),
            None => ethertype,
        };
        let header =
            EthernetHeader { destination: self.destination, source: self.source, ethertype: tagged(0) };
        out.extend_from_slice(&header.encode());
        for (index, tag) in self.vlan.iter().enumerate() {
            out.extend_from_slice(&tag.encode(tagged(index + 1)));
        }
    }
}

/// Bytes to write over what was computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Where, in bytes from the start of the frame.
    pub at: usize,
    /// What.
    pub bytes: Vec<u8>,
}

/// What is not to be computed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exceptions {
    /// Of the base header.
    pub pad_count: Option<u8>,
    /// The bytes between payload and ICRC, instead of zeros.
    pub pad: Option<Vec<u8>>,
    /// Fields of the IPv4 header, if there is one.
    pub ipv4: Ipv4Fields,
    /// Fields of the IPv6 header, if there is one.
    pub ipv6: Ipv6Fields,
    /// Fields of the UDP header, if there is one.
    pub udp: UdpFields,
    /// Whether UDP has a checksum, which RoCE v2 otherwise leaves out.
    pub udp_checksum: bool,
    /// Fields of the global route header, if there is one.
    pub grh: GrhFields,
    /// Fields of the local route header, if there is one.
    pub lrh: LrhFields,
    /// The invariant CRC.
    pub icrc: Checksum,
    /// The variant CRC of a native link; of a given one the low 16 bits count.
    pub vcrc: Checksum,
    /// Bytes behind the packet, such as the padding of short Ethernet frames.
    pub trailer: Vec<u8>,
    /// Bytes that are written over what was computed.
    pub patches: Vec<Patch>,
    /// The frame ends after so many bytes. Length fields do not know.
    pub truncate: Option<usize>,
}

/// One packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Ethernet; `None` where there is none, as on native links.
    pub ethernet: Option<Ethernet>,
    /// The network or link headers; their lengths and checksums are computed.
    pub carrier: Carrier,
    /// The opcode, known or not.
    pub opcode: Opcode,
    /// The base header; its pad count is computed.
    pub bth: Bth,
    /// The extended headers, whether the opcode has them or not.
    pub headers: Headers,
    /// The payload.
    pub payload: Payload,
    /// What is not to be computed.
    pub exceptions: Exceptions,
}

/// Why a packet cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PacketError {
    /// A header cannot hold it.
    Encode(EncodeError),
    /// It is longer than a capture can hold, in bytes.
    TooLong(usize),
    /// A patch that is not within the packet.
    Patch {
        /// Where it begins.
        at: usize,
        /// How long it is, in bytes.
        length: usize,
        /// How long the frame is, in bytes.
        frame: usize,
    },
}

impl fmt::Display for PacketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PacketError::Encode(EncodeError::TooLong { length }) => write!(
                f,
                "{length} bytes are more than a length field can say; make the payload shorter or give the \
                 length fields"
            ),
            PacketError::Encode(error) => error.fmt(f),
            PacketError::TooLong(length) => {
                write!(f, "a packet of {length} bytes; a capture holds packets of at most {LONGEST_PACKET}")
            }
            PacketError::Patch { at, length, frame } => {
                write!(
                    f,
                    "a patch of {length} bytes at {at} is not within the frame, which has {frame} bytes"
                )
            }
        }
    }
}

impl std::error::Error for PacketError {}

impl From<EncodeError> for PacketError {
    fn from(error: EncodeError) -> Self {
        PacketError::Encode(error)
    }
}

impl Packet {
    /// Writes the frame to `out`, whose contents are lost.
    ///
    /// # Errors
    ///
    /// A packet too long for its length fields, if they are to be computed, or for a capture; a patch outside.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), PacketError> {
        out.clear();
        let given = &self.exceptions;
        let payload_length = self.payload.length();
        let behind = given.pad.as_ref().map_or(0, Vec::len).saturating_add(given.trailer.len());
        let rough = payload_length.saturating_add(behind);
        if rough > LONGEST_PACKET - HEADERS {
            return Err(PacketError::TooLong(rough));
        }
        if let Some(ethernet) = &self.ethernet {
            ethernet.put(ethertype(&self.carrier), out);
        }
        let carrier_at = out.len();
        let ib_at = carrier_at + self.carrier.header_length();
        out.resize(ib_at + HEADERS, 0);
        let pads = pad_count(payload_length);
        let bth = Bth { pad_count: given.pad_count.unwrap_or(pads as u8), ..self.bth };
        let head = RawPacket {
            opcode: Some(self.opcode),
            bth: Some(bth),
            headers: self.headers,
            payload: &[],
            pad: &[],
            icrc: None,
            error: None,
        };
        let headers = head.encode(out.get_mut(ib_at..).unwrap_or_default())?;
        out.truncate(ib_at + headers);
        self.payload.put(out);
        match &given.pad {
            Some(pad) => out.extend_from_slice(pad),
            None => out.resize(out.len() + pads, 0),
        }
        let icrc_length = if given.icrc == Checksum::Absent { 0 } else { ICRC_LENGTH };
        let carrier = self.finished_carrier(out.len() - ib_at + icrc_length)?;
        let (head, ib) = out.split_at_mut(ib_at);
        carrier.encode(head.get_mut(carrier_at..).unwrap_or_default())?;
        let icrc = carrier.icrc(ib);
        given.icrc.put(icrc.to_le_bytes(), out);
        self.put_udp_checksum(&carrier, ib_at, out);
        if let Carrier::Native(..) = carrier {
            let vcrc = vcrc(out.get(carrier_at..).unwrap_or_default());
            given.vcrc.put(vcrc.to_le_bytes(), out);
        }
        out.extend_from_slice(&given.trailer);
        finish(&given.patches, given.truncate, out)
    }

    /// The carrier with lengths for a packet of `length` bytes, checksums, and the fields that are given.
    pub(crate) fn finished_carrier(&self, length: usize) -> Result<Carrier, PacketError> {
        let given = &self.exceptions;
        let mut carrier = self.carrier;
        self.apply(&mut carrier);
        let lengths_are_given = given.ipv4.total_length.is_some()
            || given.ipv6.payload_length.is_some()
            || given.grh.payload_length.is_some()
            || given.lrh.packet_length.is_some();
        match carrier.with_lengths(length) {
            Ok(with_lengths) => carrier = with_lengths,
            Err(_) if lengths_are_given => {}
            Err(error) => return Err(error.into()),
        }
        self.apply(&mut carrier);
        if let Carrier::RoceV2Ipv4(ip, _) = &mut carrier
            && given.ipv4.checksum.is_none()
        {
            *ip = ip.with_checksum();
        }
        Ok(carrier)
    }

    fn apply(&self, carrier: &mut Carrier) {
        let given = &self.exceptions;
        match carrier {
            Carrier::RoceV2Ipv4(ip, udp) => {
                given.ipv4.apply(ip);
                given.udp.apply(udp);
            }
            Carrier::RoceV2Ipv6(ip, udp) => {
                given.ipv6.apply(ip);
                given.udp.apply(udp);
            }
            Carrier::RoceV1(grh) => given.grh.apply(grh),
            Carrier::Native(lrh, grh) => {
                given.lrh.apply(lrh);
                if let Some(grh) = grh {
                    given.grh.apply(grh);
                }
            }
        }
    }

    fn put_udp_checksum(&self, carrier: &Carrier, ib_at: usize, out: &mut [u8]) {
        let (source, destination, udp) = match carrier {
            Carrier::RoceV2Ipv4(ip, udp) => (ip.source.into(), ip.destination.into(), udp),
            Carrier::RoceV2Ipv6(ip, udp) => (ip.source.into(), ip.destination.into(), udp),
            Carrier::RoceV1(_) | Carrier::Native(..) => return,
        };
        if !self.exceptions.udp_checksum || self.exceptions.udp.checksum.is_some() {
            return;
        }
        let (head, ib) = out.split_at_mut(ib_at);
        let checksum = checksum::udp(source, destination, udp, ib);
        if let Some(place) = head.last_chunk_mut::<2>() {
            *place = checksum.to_be_bytes();
        }
    }
}

/// Patches and cuts a frame.
pub(crate) fn finish(
    patches: &[Patch],
    truncate: Option<usize>,
    out: &mut Vec<u8>,
) -> Result<(), PacketError> {
    let frame = out.len();
    if frame > LONGEST_PACKET {
        return Err(PacketError::TooLong(frame));
    }
    for Patch { at, bytes } in patches {
        let place = at.checked_add(bytes.len()).and_then(|end| out.get_mut(*at..end));
        place.ok_or(PacketError::Patch { at: *at, length: bytes.len(), frame })?.copy_from_slice(bytes);
    }
    if let Some(length) = truncate {
        out.truncate(length);
    }
    Ok(())
}

/// What Ethernet calls the carrier. A native link has no Ethernet; if it is to have one, it looks like RoCE v1.
const fn ethertype(carrier: &Carrier) -> u16 {
    match carrier {
        Carrier::RoceV2Ipv4(..) => ETHERTYPE_IPV4,
        Carrier::RoceV2Ipv6(..) => ETHERTYPE_IPV6,
        Carrier::RoceV1(_) | Carrier::Native(..) => ETHERTYPE_ROCE_V1,
    }
}
