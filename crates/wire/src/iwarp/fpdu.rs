//! FPDUs: how MPA marks off one segment of DDP from the next in TCP's stream (RFC 5044 §4).
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 16 | ULPDU length, of nothing but the ULPDU |
//! | 2 | | ULPDU: one DDP segment |
//! | | 0 to 24 | padding to a multiple of four, counted from the length field |
//! | | 32 | CRC32c, least significant byte first; there without CRCs too, then zero |
//!
//! Where the receiver wants them, markers stand in the stream, 4 bytes every 512, whatever is there:
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 16 | reserved |
//! | 2 | 16 | FPDU pointer: bytes from the FPDU's length field to the marker, 0 if the marker is in front of it |
//!
//! Positions are counted from the first byte behind the start-up frame of the same direction, and the first
//! marker is at position 0, in front of the first FPDU. The CRC covers the length, the ULPDU, the padding,
//! and all markers between the CRC of the FPDU before and its own (RFC 5044 §4.4). Since FPDUs and markers
//! are multiples of four long, a marker never cuts the length field or the CRC in two.
//!
//! * [`Framer`] takes a stream apart, in pieces of any size.
//! * [`FpduEncoder`] puts FPDUs into a stream.
//! * [`probe`] and [`resynchronize`] find FPDUs in a stream whose start is not at hand.

mod encoder;
mod event;
mod framer;
mod resync;

pub use encoder::{FpduEncoder, Layout, Runs};
pub use event::{CrcCheck, CrcVerdict, Event, FpduEnd, FpduHead, Marker};
pub use framer::Framer;
pub use resync::{Probe, probe, resynchronize};

/// Bytes of the length field.
pub const LENGTH_LENGTH: usize = 2;
/// Bytes of the CRC.
pub const CRC_LENGTH: usize = 4;
/// Bytes of a marker.
pub const MARKER_LENGTH: usize = 4;
/// Bytes from one marker to the next, start to start.
pub const MARKER_INTERVAL: usize = 512;
/// The longest ULPDU of a sender (RFC 5044 §5): with its markers an FPDU pointer still reaches over it.
pub const MAX_ULPDU: usize = 64_768;

/// What the start-up has settled for one direction of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Framing {
    /// The receiver wants markers.
    pub markers: bool,
    /// CRCs are used. A framer that computes them although they are not can tell the right from the absent.
    pub crc: bool,
}

/// Bytes of padding of an FPDU.
#[inline]
pub const fn fpdu_pad(ulpdu_length: usize) -> usize {
    (ulpdu_length.wrapping_add(LENGTH_LENGTH)).wrapping_neg() & 0b11
}

/// Length, ULPDU and padding: what there is besides markers and CRC. At most 65,540.
#[inline]
const fn content_length(ulpdu_length: u16) -> usize {
    let ulpdu_length = ulpdu_length as usize;
    LENGTH_LENGTH + ulpdu_length + fpdu_pad(ulpdu_length)
}

/// Bytes from a place in the stream to the next marker; none if one begins there, and within one.
#[inline]
const fn room_before_marker(position: u64) -> usize {
    let phase = (position % MARKER_INTERVAL as u64) as usize;
    if phase < MARKER_LENGTH { 0 } else { MARKER_INTERVAL - phase }
}

/// Bytes that so much content takes from `position` on, with the markers that stand in and right behind it.
/// No marker begins at `position`.
#[inline]
const fn length_with_markers(position: u64, content: usize) -> usize {
    let room = room_before_marker(position);
    if content < room {
        return content;
    }
    let markers = 1 + (content - room) / (MARKER_INTERVAL - MARKER_LENGTH);
    content + markers * MARKER_LENGTH
}

/// The longest ULPDU whose FPDU fits into a TCP segment of so many bytes, wherever in the stream it stands
/// (RFC 5044 §5.1: the MULPDU for an EMSS).
pub const fn max_ulpdu(segment: usize, markers: bool) -> usize {
    let marker_bytes = if markers { MARKER_LENGTH * segment.div_ceil(MARKER_INTERVAL) } else { 0 };
    let overhead = LENGTH_LENGTH + CRC_LENGTH + marker_bytes + segment % 4;
    let longest = segment.saturating_sub(overhead);
    if longest < MAX_ULPDU { longest } else { MAX_ULPDU }
}
