//! An InfiniBand packet as a capture has it, whole or cut off.

use super::{Carrier, VCRC_LENGTH};
use crate::checksum;
use crate::error::{Layer, ParseError};
use crate::icrc::{icrc_global, icrc_ipv4, icrc_ipv6, icrc_local};
use crate::packet::ICRC_LENGTH;
use crate::raw_packet::RawPacket;
use crate::udp::UdpHeader;
use crate::vcrc::vcrc;

/// An InfiniBand packet with what carries it.
///
/// Like [`RawPacket`], it is for looking at packets, broken ones too: length fields that lie do not keep it
/// from being found, they are told in [`Carried::error`]. Whether the checksums are right are questions of
/// their own. Bytes behind the end that the headers state, as Ethernet adds them to short frames, are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carried<'a> {
    /// What carries it.
    pub carrier: Carrier,
    /// The options of the IPv4 header, which no ICRC covers; empty for all other carriers.
    pub ipv4_options: &'a [u8],
    /// The packet from its base header to its ICRC, as far as it is there.
    pub ib: &'a [u8],
    /// Where the packet begins in what was parsed.
    pub offset: usize,
    /// How many bytes the headers say it has; [`Carried::ib`] has no more, and fewer if the capture cut them off.
    pub stated: usize,
    /// The VCRC of a native link, if the capture has it.
    pub vcrc: Option<[u8; VCRC_LENGTH]>,
    /// The first thing that is wrong with the headers, or that the packet is cut off.
    pub error: Option<ParseError>,
    pub(super) headers: Headers<'a>,
}

/// The headers' bytes that the checksums cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Headers<'a> {
    Ipv4(&'a [u8; 20], &'a [u8; 8]),
    Ipv6(&'a [u8; 40], &'a [u8; 8]),
    RoceV1(&'a [u8; 40]),
    /// With the packet from the local route header to the end of the ICRC.
    Local(&'a [u8; 8], &'a [u8]),
    /// With the packet from the local route header to the end of the ICRC.
    Global(&'a [u8; 40], &'a [u8]),
}

impl<'a> Carried<'a> {
    /// Whether the capture has less of the packet than the headers state.
    pub const fn is_cut(&self) -> bool {
        self.ib.len() < self.stated
    }

    /// The packet taken apart, as far as it goes. Offsets of its errors count from the base header.
    pub fn packet(&self) -> RawPacket<'a> {
        if self.is_cut() { RawPacket::parse_cut(self.ib, self.stated) } else { RawPacket::parse(self.ib) }
    }

    /// The ICRC that these bytes should have.
    pub fn icrc_expected(&self) -> u32 {
        let covered = self.ib.split_last_chunk::<ICRC_LENGTH>().map_or(&[][..], |(covered, _)| covered);
        match self.headers {
            Headers::Ipv4(ip, udp) => icrc_ipv4(ip, udp, covered),
            Headers::Ipv6(ip, udp) => icrc_ipv6(ip, udp, covered),
            Headers::RoceV1(grh) | Headers::Global(grh, _) => icrc_global(grh, covered),
            Headers::Local(lrh, _) => icrc_local(lrh, covered),
        }
    }

    /// The ICRC that they have, `None` if it is cut off.
    pub fn icrc_found(&self) -> Option<u32> {
        let icrc = self.ib.last_chunk::<ICRC_LENGTH>().filter(|_| !self.is_cut())?;
        Some(u32::from_le_bytes(*icrc))
    }

    /// Compares the two.
    ///
    /// # Errors
    ///
    /// A bad checksum, at the ICRC's offset in what was parsed; a packet that is cut off.
    pub fn verify_icrc(&self) -> Result<(), ParseError> {
        let Some(found) = self.icrc_found() else {
            let (need, have) = (self.stated.max(ICRC_LENGTH), self.ib.len());
            return Err(ParseError::truncated(Layer::Icrc, self.offset, need, have));
        };
        let expected = self.icrc_expected();
        if expected == found {
            return Ok(());
        }
        let offset = self.offset + self.ib.len() - ICRC_LENGTH;
        Err(ParseError::bad_checksum(Layer::Icrc, offset, expected, found))
    }

    /// Compares the VCRC that the bytes should have with the one they have. `None` where there is none: the
    /// carrier is Ethernet, or the capture ends before it.
    ///
    /// # Errors
    ///
    /// A bad checksum, at the VCRC's offset in what was parsed.
    pub fn verify_vcrc(&self) -> Option<Result<(), ParseError>> {
        let (Headers::Local(_, packet) | Headers::Global(_, packet)) = self.headers else { return None };
        let (expected, found) = (vcrc(packet), u16::from_le_bytes(self.vcrc?));
        if expected == found {
            return Some(Ok(()));
        }
        let (expected, found) = (u32::from(expected), u32::from(found));
        Some(Err(ParseError::bad_checksum(Layer::Vcrc, packet.len(), expected, found)))
    }

    /// Verifies the checksums a network stack would: the IPv4 header's, and UDP's if the sender computed one
    /// and the packet is not cut off.
    ///
    /// # Errors
    ///
    /// A bad checksum in the layer it belongs to.
    pub fn verify_checksums(&self) -> Result<(), ParseError> {
        let udp_at = self.offset.saturating_sub(UdpHeader::LENGTH);
        if let (Carrier::RoceV2Ipv4(header, _), Headers::Ipv4(bytes, _)) = (self.carrier, self.headers) {
            let mut bytes = *bytes;
            [bytes[10], bytes[11]] = [0, 0];
            let expected = checksum::Sum::new().bytes(&bytes).bytes(self.ipv4_options).finish();
            if header.checksum != expected {
                let offset = udp_at.saturating_sub(bytes.len() + self.ipv4_options.len()) + 10;
                let (expected, found) = (u32::from(expected), u32::from(header.checksum));
                return Err(ParseError::bad_checksum(Layer::Ipv4, offset, expected, found));
            }
        }
        let (source, destination, udp) = match self.carrier {
            Carrier::RoceV2Ipv4(ip, udp) => (ip.source.into(), ip.destination.into(), udp),
            Carrier::RoceV2Ipv6(ip, udp) => (ip.source.into(), ip.destination.into(), udp),
            Carrier::RoceV1(_) | Carrier::Native(..) => return Ok(()),
        };
        if udp.checksum == 0 || self.is_cut() {
            return Ok(());
        }
        let expected = checksum::udp(source, destination, &udp, self.ib);
        if udp.checksum == expected {
            return Ok(());
        }
        let (expected, found) = (u32::from(expected), u32::from(udp.checksum));
        Err(ParseError::bad_checksum(Layer::Udp, udp_at + 6, expected, found))
    }
}
