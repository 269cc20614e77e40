//! InfiniBand packets, whatever carries them: RoCE v2, RoCE v1, a native link.

use core::fmt;

use rdmalab_wire::{
    Bth, Carried, Carrier, Fault, Lrh, Opcode, ParseError, PathMtu, PayloadRule, Qpn, RawMad, RawPacket,
};

use super::{Content, Malformed, Pass};

/// The ICRC's length in bytes.
const ICRC: usize = 4;

/// An InfiniBand packet with what carries it: RoCE of either version, or of a native link.
#[derive(Clone, Copy, Debug)]
pub struct Roce<'a> {
    /// The headers in front of it. Options and extension headers of IP are left out.
    pub carrier: Carrier,
    /// The InfiniBand packet. Its error's offset counts from the start of the frame.
    pub packet: RawPacket<'a>,
    /// Length of the payload on the wire without the pad, in bytes; more than the packet's if cut.
    pub payload_length: usize,
    /// The verdict on its ICRC.
    pub icrc: Icrc,
    /// The verdict on its VCRC; none where the link has no such thing.
    pub vcrc: Option<Vcrc>,
}

/// The verdict on an invariant CRC. Values are as the four bytes read on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icrc {
    /// It is what it should be.
    Right,
    /// It is not.
    Wrong {
        /// What the bytes of the packet ask for.
        expected: u32,
        /// What stands there.
        found: u32,
    },
    /// Cannot be said of the whole: these are several datagrams, which the sender's kernel had not cut yet, or the receiver's has
    /// put together. All but the headers and the payload of the first is taken for its payload.
    Merged {
        /// How many.
        datagrams: usize,
    },
    /// Cannot be said: the capture does not hold the whole packet.
    Cut,
    /// Cannot be said: the IP or UDP header that it covers is broken.
    Broken,
}

/// The verdict on the variant CRC of a native link. Values are as the two bytes read on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vcrc {
    /// It is what it should be.
    Right {
        /// What stands there.
        found: u16,
    },
    /// It is not.
    Wrong {
        /// What the bytes of the packet ask for.
        expected: u16,
        /// What stands there.
        found: u16,
    },
    /// The capture does not have it, as most do not.
    Absent,
}

impl<'a> Roce<'a> {
    /// What lines call the carrier.
    pub fn carrier_name(&self) -> &'static str {
        match self.carrier {
            Carrier::RoceV2Ipv4(..) | Carrier::RoceV2Ipv6(..) => "RoCE",
            Carrier::RoceV1(_) => "RoCE v1",
            Carrier::Native(..) => "IB",
        }
    }

    /// The traffic class of the global route header, if there is one.
    pub fn traffic_class(&self) -> Option<u8> {
        match &self.carrier {
            Carrier::RoceV1(grh) | Carrier::Native(_, Some(grh)) => Some(grh.traffic_class),
            _ => None,
        }
    }

    /// Whether these are several datagrams: by the ICRC of the first, or, where the capture cut it, since one cannot be so long.
    pub fn is_several(&self) -> bool {
        match self.icrc {
            Icrc::Merged { .. } => true,
            Icrc::Cut => self.is_too_long(),
            _ => false,
        }
    }

    /// Whether more is stated than one datagram of its opcode has, on any path.
    fn is_too_long(&self) -> bool {
        let Some(row) = self.packet.opcode.and_then(Opcode::row).filter(|_| self.packet.error.is_none())
        else {
            return false;
        };
        let length = self.payload_length;
        let longest = PathMtu::M4096.bytes();
        let is_beyond_the_path = match row.payload {
            PayloadRule::None => length > 0,
            PayloadRule::Exactly(bytes) => length > bytes,
            // Two of the shortest are longer than one.
            PayloadRule::PathMtu => length > PathMtu::M256.bytes() && PathMtu::from_bytes(length).is_none(),
            PayloadRule::UpToPathMtu | PayloadRule::AtMostPathMtu => length > longest,
        };
        let of_message = self.packet.headers.reth.filter(|_| row.payload != PayloadRule::None);
        is_beyond_the_path || of_message.is_some_and(|reth| length > reth.length as usize)
    }

    /// The management datagram in it: what a datagram to one of the two management queue pairs is.
    pub fn mad(&self) -> Option<RawMad<'a>> {
        let to = self.packet.bth?.destination.value();
        let is_one = to <= Qpn::GSI.value() && self.packet.headers.deth.is_some();
        (is_one && !self.packet.payload.is_empty()).then(|| RawMad::parse(self.packet.payload))
    }
}

impl<'a> Pass<'_, 'a> {
    /// A packet of a native link.
    pub(super) fn link_packet(&mut self, bytes: &'a [u8]) -> Result<(), Malformed> {
        match Carried::in_link_packet(bytes) {
            Some(carried) => self.carried(&carried?),
            None => {
                let lrh = bytes.first_chunk().map(Lrh::decode).unwrap_or_default();
                let length = lrh.packet_bytes().saturating_sub(Lrh::LENGTH);
                self.dissection.content = Content::RawLink { lrh, length };
            }
        }
        Ok(())
    }

    /// A packet behind the headers of RoCE v1 or of a native link.
    pub(super) fn carried(&mut self, carried: &Carried<'a>) {
        if let Some(error) = carried.error {
            self.blame(error.into());
        }
        let (icrc, end) = if carried.is_cut() {
            (if self.captured_in_part { Icrc::Cut } else { Icrc::Broken }, Some(carried.stated))
        } else {
            (of_icrc(carried.verify_icrc()), None)
        };
        let vcrc = match (&carried.carrier, carried.verify_vcrc()) {
            (Carrier::Native(..), verdict) => Some(of_vcrc(verdict, carried.vcrc)),
            _ => None,
        };
        self.packet(carried.carrier, carried.ib, end, carried.offset, icrc, vcrc);
    }

    /// The packet from its base header on, at `at` in the frame. `cut` is what it should have, if bytes are
    /// missing.
    pub(super) fn packet(
        &mut self,
        carrier: Carrier,
        ib: &'a [u8],
        cut: Option<usize>,
        at: usize,
        icrc: Icrc,
        vcrc: Option<Vcrc>,
    ) {
        let mut packet = RawPacket::parse(ib);
        packet.error = packet.error.map(|error| error.behind(at));
        let mut payload_length = packet.payload.len();
        if let Some(length) = cut {
            // Nothing behind the headers tells payload, pad and ICRC apart.
            let headers =
                Bth::LENGTH + packet.opcode.and_then(Opcode::row).map_or(0, |row| row.headers.length());
            let pad = packet.bth.map_or(0, |bth| usize::from(bth.pad_count));
            payload_length = length.saturating_sub(headers + pad + ICRC);
            packet.payload = ib.get(headers..).unwrap_or_default();
            packet.payload = packet.payload.get(..payload_length).unwrap_or(packet.payload);
            (packet.pad, packet.icrc) = (&[], None);
            packet.error = packet.error.filter(|_| ib.len() < headers);
        }
        if matches!(icrc, Icrc::Merged { .. }) {
            // What is behind the first is no payload of the wrong length.
            packet.error = None;
        }
        if let Some(error) = packet.error {
            self.blame(error.into());
        }
        self.dissection.content = Content::Roce(Roce { carrier, packet, payload_length, icrc, vcrc });
    }
}

fn of_icrc(verdict: Result<(), ParseError>) -> Icrc {
    match verdict.map_err(|error| error.fault) {
        Ok(()) => Icrc::Right,
        // Read as the wire has it, least significant byte first.
        Err(Fault::BadChecksum { expected, found }) => {
            Icrc::Wrong { expected: expected.swap_bytes(), found: found.swap_bytes() }
        }
        Err(_) => Icrc::Broken,
    }
}

fn of_vcrc(verdict: Option<Result<(), ParseError>>, found: Option<[u8; 2]>) -> Vcrc {
    match (verdict.map(|verdict| verdict.map_err(|error| error.fault)), found.map(u16::from_be_bytes)) {
        // It has 16 bits.
        (Some(Err(Fault::BadChecksum { expected, .. })), Some(found)) => {
            Vcrc::Wrong { expected: (expected as u16).swap_bytes(), found }
        }
        (Some(_), Some(found)) => Vcrc::Right { found },
        _ => Vcrc::Absent,
    }
}

impl fmt::Display for Icrc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Icrc::Right => f.write_str("icrc ok"),
            Icrc::Wrong { expected, found } => {
                write!(f, "icrc BAD expected {expected:08x} found {found:08x}")
            }
            Icrc::Merged { datagrams } => write!(f, "icrc ? ({datagrams} datagrams in one: offload)"),
            Icrc::Cut => f.write_str("icrc ? (cut: snap length)"),
            Icrc::Broken => f.write_str("icrc ? (broken headers)"),
        }
    }
}

impl fmt::Display for Vcrc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Vcrc::Right { .. } => f.write_str("vcrc ok"),
            Vcrc::Wrong { expected, found } => {
                write!(f, "vcrc BAD expected {expected:04x} found {found:04x}")
            }
            Vcrc::Absent => f.write_str("vcrc absent"),
        }
    }
}
