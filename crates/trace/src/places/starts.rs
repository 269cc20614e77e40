//! Where the parts of a packet begin in its frame.

use rdmalab_wire::iwarp::MpaFrame;
use rdmalab_wire::{Bth, Carrier, Header, Ipv6Header, Lrh, UdpHeader};

use super::table::{self, Part, Spot};
use super::{Place, Reading};
use crate::dissect::{Content, Cooked, Dissection, Network, Roce, StandIn};
use crate::fields::Value;
use crate::record::Record;
use crate::streams::{Fpdu, IwarpUnit};

/// Bytes of a VLAN tag.
const TAG: usize = 4;
/// Bytes of a management datagram.
const DATAGRAM: usize = 256;
/// Bytes of the checksums at the ends of packets and FPDUs.
const CRC: usize = 4;
/// How many places are tried where an FPDU's end may be.
const MOST_TRIED: usize = 16;

/// Beginnings, in bytes from the frame's start, as far as they are known.
pub(super) struct Starts<'a> {
    data: &'a [u8],
    tags: usize,
    is_ethernet: bool,
    stand_in: Option<StandIn>,
    link_length: usize,
    network: usize,
    transport: Option<usize>,
    infiniband: Option<Infiniband>,
    /// The payload of RoCE or TCP: where it begins, and its length.
    payload: Option<(usize, usize)>,
}

struct Infiniband {
    lrh: Option<usize>,
    grh: Option<usize>,
    bth: usize,
    /// By [`Header::ALL`].
    extended: [Option<usize>; Header::ALL.len()],
    icrc: usize,
}

impl<'a> Starts<'a> {
    pub(super) fn of(record: &Record<'a>, dissection: &Dissection<'a>) -> Starts<'a> {
        let tags = dissection.vlan.iter().flatten().count();
        let is_ethernet = dissection.ethernet.is_some();
        let network = dissection.network_offset;
        let (stand_in, link_length) = (dissection.stand_in, dissection.link_length);
        let mut transport = match &dissection.network {
            Some(Network::V4 { header_length, .. }) => Some(network + usize::from(*header_length)),
            // Behind extension headers it is elsewhere; where that matters, it is known from what is behind.
            Some(Network::V6(_)) => Some(network + Ipv6Header::LENGTH),
            None => None,
        };
        let mut payload = None;
        let mut infiniband = None;
        match &dissection.content {
            Content::Tcp { tcp, length, payload_at } => {
                transport = payload_at.checked_sub(tcp.header_slice().len());
                payload = Some((*payload_at, *length));
            }
            Content::Roce(roce) => {
                let parts = Infiniband::of(roce, network, transport);
                let start = parts.as_ref().map(|parts| parts.payload(roce));
                payload = start.map(|start| (start, roce.payload_length));
                infiniband = parts;
            }
            Content::RawLink { .. } => {
                let extended = Default::default();
                infiniband =
                    Some(Infiniband { lrh: Some(0), grh: None, bth: usize::MAX, extended, icrc: usize::MAX });
            }
            _ => {}
        }
        Starts {
            data: record.data,
            tags,
            is_ethernet,
            stand_in,
            link_length,
            network,
            transport,
            infiniband,
            payload,
        }
    }

    /// Where a field stands in its header. Of those in the place of a link's, that is told by the header.
    pub(super) fn spot(&self, name: &str) -> Option<Spot> {
        match self.stand_in {
            Some(StandIn::Cooked(Cooked { interface: Some(_), .. })) => table::spot_in_cooked_2(name),
            // In the order of a little-endian host, only the low half is a number as it stands there.
            Some(StandIn::Family { is_big, .. }) if name.starts_with("null.") => Some(Spot {
                part: Part::StandIn,
                bit: 0,
                bits: 32,
                reading: if is_big { Reading::Times(1) } else { Reading::About },
            }),
            _ => None,
        }
        .or_else(|| table::spot(name))
    }

    pub(super) fn place(&self, spot: Spot, value: &Value<'_>) -> Option<Place> {
        let extended = |header: Header| self.infiniband.as_ref()?.extended.get(header as usize).copied()?;
        let ib = self.infiniband.as_ref();
        let tag = self.link_length;
        let start = match spot.part {
            Part::Ethernet => self.is_ethernet.then_some(0),
            Part::StandIn => self.stand_in.map(|_| 0),
            Part::Unused => self.unused(),
            Part::OuterTag => (self.tags >= 2).then_some(tag),
            Part::MiddleTag => (self.tags == 3).then_some(tag + TAG),
            Part::Tag => self.tags.checked_sub(1).map(|before| tag + before * TAG),
            Part::Type => self.network.checked_sub(2).filter(|_| self.is_ethernet || self.tags > 0),
            Part::Network => Some(self.network),
            Part::Transport => self.transport,
            Part::Lrh => ib?.lrh,
            Part::Grh => ib?.grh,
            Part::Bth => Some(ib?.bth),
            Part::Rdeth => extended(Header::Rdeth),
            Part::Xrceth => extended(Header::Xrceth),
            Part::Deth => extended(Header::Deth),
            Part::Feth => extended(Header::Feth),
            Part::Remote => extended(Header::Reth).or(extended(Header::AtomicEth)),
            Part::Aeth => extended(Header::Aeth),
            Part::AtomicAck => extended(Header::AtomicAckEth),
            Part::Immediate => extended(Header::ImmDt),
            Part::Ieth => extended(Header::Ieth),
            Part::Payload => return whole(self.payload?, spot.reading),
            Part::Surplus => self.payload.map(|(start, _)| start + DATAGRAM),
            Part::Icrc => return part(ib?.icrc, CRC, spot, value),
            Part::Vcrc => return part(ib?.icrc.checked_add(CRC)?, 2, spot, value),
            _ => None,
        };
        part(start?, 0, spot, value)
    }

    /// Behind the address in a cooked header.
    fn unused(&self) -> Option<usize> {
        let Some(StandIn::Cooked(cooked)) = self.stand_in else { return None };
        let address = if cooked.interface.is_some() { 12 } else { 6 };
        Some(address + cooked.sender().0.len())
    }

    /// The fields of a management datagram, in the order of the walk.
    pub(super) fn management(&self, dissection: &Dissection<'_>) -> Vec<(&'static str, Place)> {
        let mad = dissection.roce().and_then(|roce| Some((roce.mad()?, roce.packet.payload)));
        let (Some((mad, bytes)), Some((start, _))) = (mad, self.payload) else { return Vec::new() };
        let mut places = Vec::new();
        for group in mad.field_groups() {
            let Some(part) = bytes.get(group.base..) else { continue };
            for field in group.fields {
                if let Some((name, _)) = field.text(part) {
                    let bit = (start + group.base + field.byte) * 8 + field.bit;
                    places.push((name, Place { bit, bits: field.bits, reading: Reading::Times(1) }));
                }
            }
        }
        places
    }

    /// Where the things begin that the packet completed of iWARP, and those of which it has all bytes in one piece.
    pub(super) fn units<'d>(
        &self,
        dissection: &'d Dissection<'_>,
    ) -> impl Iterator<Item = Option<UnitStart<'d>>> {
        let (start, length) = self.payload.unwrap_or_default();
        let payload = self.data.get(start..).unwrap_or_default();
        let payload = payload.get(..length).unwrap_or(payload);
        // Where the next one begins, as far as that is known.
        let mut next = Some(0);
        dissection.iwarp.iter().map(move |unit| {
            let begins = next?;
            let rest = payload.get(begins..).unwrap_or_default();
            let found = match unit {
                IwarpUnit::StartUp(frame) if rest.starts_with(frame.bytes()) => {
                    next = Some(begins + frame.bytes().len());
                    true
                }
                IwarpUnit::Fpdu(fpdu) if fpdu.markers.is_empty() && fpdu.not_captured == 0 => {
                    let is_whole = is_at_start(fpdu, rest);
                    let end = if is_whole { Some(fpdu.length) } else { tail_end(fpdu, rest) };
                    next = end.map(|end| begins + end);
                    is_whole
                }
                _ => {
                    next = None;
                    false
                }
            };
            found.then_some(UnitStart { start: start + begins, unit })
        })
    }
}

/// Something of iWARP's, all of whose bytes stand in a frame.
#[derive(Clone, Copy)]
pub(super) struct UnitStart<'d> {
    start: usize,
    unit: &'d IwarpUnit,
}

impl UnitStart<'_> {
    pub(super) fn place(self, spot: Spot, value: &Value<'_>) -> Option<Place> {
        let IwarpUnit::Fpdu(fpdu) = self.unit else {
            return (spot.part == Part::StartUp).then(|| part(self.start, 0, spot, value))?;
        };
        let segment = self.start + 2;
        let end = segment + fpdu.ulpdu.len();
        let raw = fpdu.segment();
        let header = raw.header.as_ref().map_or(0, |header| header.length());
        match spot.part {
            Part::Fpdu if spot.reading == Reading::Length => whole((self.start, fpdu.length), spot.reading),
            Part::Fpdu => part(self.start, 0, spot, value),
            Part::Segment => part(segment, 0, spot, value),
            Part::Body => part(segment + header, 0, spot, value),
            Part::Payload => whole((end.checked_sub(raw.payload.len())?, raw.payload.len()), spot.reading),
            Part::Pad => part(end, 0, spot, value),
            Part::Crc => part(end + fpdu.pad.len(), CRC, spot, value),
            _ => None,
        }
    }
}

impl Infiniband {
    fn of(roce: &Roce<'_>, network: usize, transport: Option<usize>) -> Option<Infiniband> {
        let (lrh, grh, bth) = match &roce.carrier {
            Carrier::RoceV2Ipv4(..) | Carrier::RoceV2Ipv6(..) => (None, None, transport? + UdpHeader::LENGTH),
            Carrier::RoceV1(_) => (None, Some(network), network + Ipv6Header::LENGTH),
            Carrier::Native(_, None) => (Some(0), None, Lrh::LENGTH),
            Carrier::Native(_, Some(_)) => (Some(0), Some(Lrh::LENGTH), Lrh::LENGTH + Ipv6Header::LENGTH),
        };
        let mut extended = [None; Header::ALL.len()];
        let mut end = bth + Bth::LENGTH;
        for header in
            roce.packet.opcode.and_then(|opcode| opcode.row()).iter().flat_map(|row| row.headers.iter())
        {
            if let Some(start) = extended.get_mut(header as usize) {
                *start = Some(end);
            }
            end += header.length();
        }
        let icrc = end + roce.packet.payload.len() + roce.packet.pad.len();
        Some(Infiniband { lrh, grh, bth, extended, icrc })
    }

    fn payload(&self, roce: &Roce<'_>) -> usize {
        let behind = roce.packet.payload.len() + roce.packet.pad.len();
        self.icrc.saturating_sub(behind)
    }
}

/// A place in a part; `length` is the part's in bytes, for spots that mean all of it.
fn part(start: usize, length: usize, spot: Spot, value: &Value<'_>) -> Option<Place> {
    let bits = match (spot.bits, value) {
        (0, Value::Bytes(bytes)) => bytes.len() * 8,
        (0, _) => length * 8,
        (bits, _) => bits,
    };
    Some(Place { bit: start.checked_mul(8)?.checked_add(spot.bit)?, bits, reading: spot.reading })
}

fn whole((start, length): (usize, usize), reading: Reading) -> Option<Place> {
    Some(Place { bit: start.checked_mul(8)?, bits: length.checked_mul(8)?, reading })
}

/// Whether all of an FPDU stands at the beginning of the bytes.
fn is_at_start(fpdu: &Fpdu, bytes: &[u8]) -> bool {
    let behind_length = bytes.get(2..).unwrap_or_default();
    let end = fpdu.length.checked_sub(CRC).and_then(|crc| bytes.get(crc..)?.first_chunk());
    bytes.first_chunk().is_some_and(|length| usize::from(u16::from_be_bytes(*length)) == fpdu.ulpdu.len())
        && behind_length.starts_with(&fpdu.ulpdu)
        && end.is_some_and(|crc: &[u8; CRC]| u32::from_le_bytes(*crc) == fpdu.crc.found)
}

/// Where an FPDU ends whose beginning came in earlier packets.
fn tail_end(fpdu: &Fpdu, bytes: &[u8]) -> Option<usize> {
    let crc = fpdu.crc.found.to_le_bytes();
    // All that is behind the length field, backwards: what is here of it must be its end.
    let backwards = || fpdu.ulpdu.iter().chain(&fpdu.pad).rev();
    let ends = bytes.windows(CRC).take(fpdu.length).enumerate().filter(|(_, window)| **window == crc);
    ends.map(|(at, _)| at)
        .take(MOST_TRIED)
        .find(|at| {
            bytes.get(..*at).is_some_and(|here| here.iter().rev().zip(backwards()).all(|(a, b)| a == b))
        })
        .map(|at| at + CRC)
}

/// A start-up frame has at least its header, which places count from.
const _: () = assert!(MpaFrame::HEADER_LENGTH == 20);
