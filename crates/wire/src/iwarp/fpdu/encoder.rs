//! The way back: FPDUs laid into buffers, one behind the other as the stream has them.

use core::ops::Range;

use super::{CRC_LENGTH, Framing, LENGTH_LENGTH, MARKER_INTERVAL, MARKER_LENGTH, MAX_ULPDU};
use super::{content_length, length_with_markers, room_before_marker};
use crate::error::{EncodeError, Layer};
use crate::iwarp::crc32c::crc32c;

/// Puts FPDUs into the stream of one direction. It knows how far the stream is, and so where the markers
/// stand.
///
/// A ULPDU that lies somewhere in one or several pieces is put by [`encode`](FpduEncoder::encode). To read it
/// right into the buffer, ask for a [`layout`](FpduEncoder::layout), fill its [runs](Layout::runs), and
/// [`seal`](FpduEncoder::seal) it.
#[derive(Debug, Clone)]
pub struct FpduEncoder {
    framing: Framing,
    position: u64,
}

/// Where the parts of an FPDU come to lie in a buffer, the marker in front of it counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    markers: bool,
    /// Where in the stream the buffer begins.
    position: u64,
    ulpdu_length: u16,
    /// Of the length field.
    start: usize,
    crc_at: usize,
}

impl FpduEncoder {
    /// An encoder at the start of a stream, right behind the start-up frame.
    pub const fn new(framing: Framing) -> Self {
        FpduEncoder { framing, position: 0 }
    }

    /// An encoder so many bytes behind the start-up frame; taken down to a multiple of four.
    pub const fn at(position: u64, framing: Framing) -> Self {
        FpduEncoder { framing, position: position & !0b11 }
    }

    /// Where in the stream the next FPDU begins, or the marker in front of it.
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Where the parts of the next FPDU come to lie.
    ///
    /// # Errors
    ///
    /// A ULPDU longer than [`MAX_ULPDU`].
    pub const fn layout(&self, ulpdu_length: usize) -> Result<Layout, EncodeError> {
        if ulpdu_length > MAX_ULPDU {
            return Err(EncodeError::PartTooLong {
                layer: Layer::Ddp,
                length: ulpdu_length,
                limit: MAX_ULPDU,
            });
        }
        // MAX_ULPDU has 16 bits.
        let ulpdu_length = ulpdu_length as u16;
        let content = content_length(ulpdu_length);
        let (start, length) = if self.framing.markers {
            let start = if room_before_marker(self.position) == 0 { MARKER_LENGTH } else { 0 };
            (start, length_with_markers(self.position + start as u64, content))
        } else {
            (0, content)
        };
        Ok(Layout {
            markers: self.framing.markers,
            position: self.position,
            ulpdu_length,
            start,
            crc_at: start + length,
        })
    }

    /// Completes the FPDU whose ULPDU lies in `out` as `layout` has it: markers, length, padding and CRC. The
    /// stream goes on behind it. Says how many bytes the FPDU is: the length of the layout.
    ///
    /// # Errors
    ///
    /// A buffer that is too small; the stream does not go on then. A layout of an earlier place in the stream
    /// gives an FPDU for that place.
    pub fn seal(&mut self, layout: &Layout, out: &mut [u8]) -> Result<usize, EncodeError> {
        let (need, have) = (layout.length(), out.len());
        let Some(fpdu) = out.get_mut(..need) else {
            return Err(EncodeError::BufferTooSmall { need, have });
        };
        let length = layout.ulpdu_length.to_be_bytes();
        put(fpdu, layout.length_field(), &length);
        for marker in layout.markers() {
            let pointer = marker.start.saturating_sub(layout.start) as u16;
            let [c, d] = pointer.to_be_bytes();
            put(fpdu, marker, &[0, 0, c, d]);
        }
        for run in layout.pad() {
            fpdu.get_mut(run).unwrap_or_default().fill(0);
        }
        let crc = match fpdu.get(..layout.crc_at) {
            Some(covered) if self.framing.crc => crc32c(covered),
            _ => 0,
        };
        put(fpdu, layout.crc(), &crc.to_le_bytes());
        self.position = layout.position.saturating_add(need as u64);
        Ok(need)
    }

    /// Puts an FPDU to the start of `out` whose ULPDU is the pieces one behind the other, and says how many
    /// bytes it is, the marker in front of it counted.
    ///
    /// # Errors
    ///
    /// A ULPDU that is too long, a buffer that is too small.
    pub fn encode(&mut self, ulpdu: &[&[u8]], out: &mut [u8]) -> Result<usize, EncodeError> {
        let length = ulpdu.iter().fold(0_usize, |length, piece| length.saturating_add(piece.len()));
        let layout = self.layout(length)?;
        let mut at = 0;
        for piece in ulpdu {
            layout.put(at, piece, out);
            at += piece.len();
        }
        self.seal(&layout, out)
    }
}

impl Layout {
    /// Bytes of the FPDU, the marker in front of it counted.
    pub const fn length(&self) -> usize {
        self.crc_at + CRC_LENGTH
    }

    /// The places in the buffer of the ULPDU's bytes from `from` on, in order: one run, or one between any
    /// two markers.
    pub fn runs(&self, from: usize) -> Runs {
        let end = LENGTH_LENGTH + usize::from(self.ulpdu_length);
        self.content(LENGTH_LENGTH.saturating_add(from)..end)
    }

    /// Puts a part of the ULPDU, its bytes from `from` on, to its place; what does not fit is left out.
    pub fn put(&self, from: usize, part: &[u8], out: &mut [u8]) {
        let mut rest = part;
        for run in self.runs(from) {
            let (bytes, behind) = rest.split_at(run.len().min(rest.len()));
            put(out, run.start..run.start + bytes.len(), bytes);
            rest = behind;
            if rest.is_empty() {
                break;
            }
        }
    }

    /// The place of the length field.
    pub const fn length_field(&self) -> Range<usize> {
        self.start..self.start + LENGTH_LENGTH
    }

    /// The places of the padding, which a sender has to fill with zeros, and not every sender does.
    pub fn pad(&self) -> Runs {
        self.content(LENGTH_LENGTH + usize::from(self.ulpdu_length)..content_length(self.ulpdu_length))
    }

    /// The place of the CRC; it covers all bytes in front.
    pub const fn crc(&self) -> Range<usize> {
        self.crc_at..self.crc_at + CRC_LENGTH
    }

    /// The places of the markers.
    pub fn markers(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let first = (self.position.wrapping_neg() % MARKER_INTERVAL as u64) as usize;
        let end = if self.markers { self.crc_at } else { 0 };
        (first..end).step_by(MARKER_INTERVAL).map(|at| at..at + MARKER_LENGTH)
    }

    /// The places of a range of the content: length field, ULPDU, padding.
    fn content(&self, range: Range<usize>) -> Runs {
        let start = if self.markers {
            let position = self.position + self.start as u64;
            // A place right behind a marker is meant, not the marker.
            let length = length_with_markers(position, range.start);
            self.start + length
        } else {
            self.start + range.start
        };
        let position = if self.markers { Some(self.position + start as u64) } else { None };
        Runs { position, at: start, left: range.len() }
    }
}

/// Runs of bytes in a buffer, between the markers.
#[derive(Debug, Clone)]
pub struct Runs {
    /// Of the next run in the stream, if there are markers.
    position: Option<u64>,
    at: usize,
    left: usize,
}

impl Iterator for Runs {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        if self.left == 0 {
            return None;
        }
        let length = match &mut self.position {
            None => self.left,
            Some(position) => {
                let length = room_before_marker(*position).min(self.left);
                *position += (length + MARKER_LENGTH) as u64;
                length
            }
        };
        let run = self.at..self.at + length;
        self.at += length + MARKER_LENGTH;
        self.left -= length;
        Some(run)
    }
}

fn put(out: &mut [u8], place: Range<usize>, bytes: &[u8]) {
    if let Some(place) = out.get_mut(place)
        && place.len() == bytes.len()
    {
        place.copy_from_slice(bytes);
    }
}
