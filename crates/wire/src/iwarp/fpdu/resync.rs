//! Where FPDUs begin in a stream whose start is not at hand, as in a capture that was begun late.
//!
//! Nothing in the stream marks an FPDU but its sense: a length that its header fits in, versions that are 1,
//! an opcode that suits its queue, and, if CRCs are used, a CRC that is right. [`probe`] looks at one place;
//! [`resynchronize`] looks for one. How much work they do has a limit, whatever the bytes.

use super::event::{CrcVerdict, Event};
use super::framer::Framer;
use super::{CRC_LENGTH, Framing, content_length, length_with_markers, room_before_marker};
use super::{LENGTH_LENGTH, MARKER_LENGTH};
use crate::iwarp::ddp::Header;

/// What a place in a stream looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// No FPDU begins here.
    No,
    /// One may: there are too few bytes to tell.
    NeedMore {
        /// How many bytes from the place on would tell more.
        need: usize,
    },
    /// The header makes sense, and the CRC is absent: so many bytes would be the FPDU.
    Plausible {
        /// Bytes of the FPDU, the marker in front of it counted.
        length: usize,
    },
    /// The CRC is right as well: by chance once in four thousand million places.
    Proven {
        /// Bytes of the FPDU, the marker in front of it counted.
        length: usize,
    },
}

/// Looks at the place where `bytes` begin, `position` bytes behind the start-up frame. Where there are no
/// markers, the position does not matter; where there are but the position is not known, all of its 128
/// remainders below 512 that are multiples of four can be tried.
pub fn probe(bytes: &[u8], position: u64, markers: bool) -> Probe {
    let position = if markers { position & !0b11 } else { 0 };
    let start = if markers && room_before_marker(position) == 0 { MARKER_LENGTH } else { 0 };
    // No marker stands within the length and the two bytes behind it.
    let need = start + LENGTH_LENGTH + 2;
    let Some(&[a, b, first, _]) = bytes.get(start..).and_then(|rest| rest.first_chunk()) else {
        return Probe::NeedMore { need };
    };
    let ulpdu_length = u16::from_be_bytes([a, b]);
    if usize::from(ulpdu_length) < Header::length_from(first) {
        return Probe::No;
    }
    let content = content_length(ulpdu_length);
    let length = if markers { length_with_markers(position + start as u64, content) } else { content };
    let length = start + length + CRC_LENGTH;
    let mut framer = Framer::at(position, Framing { markers, crc: true });
    let mut piece = bytes.get(..length).unwrap_or(bytes);
    while let Some(event) = framer.next_event(&mut piece) {
        match event {
            Event::Marker(marker) if !marker.is_right() => return Probe::No,
            Event::Marker(_) | Event::Payload(_) => {}
            Event::Head(head) => {
                let allows = |header: &Header| {
                    header.opcode.row().is_some_and(|row| row.payload.allows(head.payload_length()))
                };
                if !head.header().is_ok_and(|header| is_sane(&header) && allows(&header)) {
                    return Probe::No;
                }
            }
            Event::End(end) => {
                return match end.crc.verdict() {
                    CrcVerdict::Right => Probe::Proven { length },
                    // The padding proves nothing: Linux siw leaves bytes of something else in it.
                    CrcVerdict::Absent => Probe::Plausible { length },
                    _ => Probe::No,
                };
            }
        }
    }
    Probe::NeedMore { need: length }
}

fn is_sane(header: &Header) -> bool {
    header.ddp_reserved == 0 && header.rdmap_reserved == 0 && header.check().is_ok()
}

/// FPDUs without a CRC that must follow one another to be believed.
const CHAIN: usize = 3;
/// Places whose CRC is computed at most: by chance one place in some thousands has a header that makes sense.
const MAX_CANDIDATES: usize = 256;

/// The first place in `bytes`, part of a stream without markers, at which FPDUs begin beyond doubt: one whose
/// CRC is right, or three in a row without CRCs. `None` if there is none; more bytes may then show one.
pub fn resynchronize(bytes: &[u8]) -> Option<usize> {
    let starts = (0..bytes.len()).filter(|start| {
        // Cheap, and throws out nearly all places of an honest stream.
        let head = bytes.get(*start + LENGTH_LENGTH..).map(Header::parse);
        head.is_some_and(|header| header.is_ok_and(|header| is_sane(&header)))
    });
    starts.take(MAX_CANDIDATES).find(|start| begins_a_chain(bytes.get(*start..).unwrap_or_default()))
}

fn begins_a_chain(mut bytes: &[u8]) -> bool {
    for _ in 0..CHAIN {
        match probe(bytes, 0, false) {
            Probe::Proven { .. } => return true,
            Probe::Plausible { length } => bytes = bytes.get(length..).unwrap_or_default(),
            Probe::No | Probe::NeedMore { .. } => return false,
        }
    }
    true
}
