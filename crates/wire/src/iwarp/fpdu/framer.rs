//! The framer: finds FPDUs in a stream that comes in pieces.
//!
//! It holds no payload. An FPDU's payload is handed on where it lies in the pieces, so that it can be placed
//! as it arrives; only the few bytes of a length, a header, a marker, the padding or the CRC that a piece may
//! end in the middle of are kept. The CRC is computed along the way, over each piece as far ahead as the FPDU
//! reaches, so that a whole FPDU in one piece is judged before its payload is handed on.
//!
//! Invariants: `position` counts the bytes taken; `covered` is `position` or further, and the CRC is that of
//! the stream from the end of the last FPDU to `covered`, never beyond this FPDU's CRC field.

use super::event::{CrcCheck, Event, FpduEnd, FpduHead, Marker};
use super::{CRC_LENGTH, Framing, LENGTH_LENGTH, MARKER_LENGTH};
use super::{content_length, fpdu_pad, length_with_markers, room_before_marker};
use crate::iwarp::crc32c::Crc32c;
use crate::iwarp::ddp::Header;

/// Takes a stream apart into FPDUs.
///
/// ```
/// use rdmalab_wire::iwarp::{Event, Framer, Framing};
///
/// let stream = [0, 3, 0xaa, 0xbb, 0xcc, 0, 0, 0, 0, 0, 0, 0];
/// let mut framer = Framer::new(Framing { markers: false, crc: false });
/// let mut found = Vec::new();
/// for mut piece in stream.chunks(5) {
///     while let Some(event) = framer.next_event(&mut piece) {
///         match event {
///             Event::Head(head) => found.push(format!("{} bytes", head.ulpdu_length)),
///             Event::End(end) => found.push(format!("crc {}", end.crc.verdict())),
///             Event::Payload(_) | Event::Marker(_) => {}
///         }
///     }
/// }
/// assert_eq!(found, ["3 bytes", "crc absent"]);
/// ```
#[derive(Debug, Clone)]
pub struct Framer {
    framing: Framing,
    position: u64,
    stage: Stage,
    /// Bytes of the current stage's part that were taken.
    taken: usize,
    /// The FPDU: where its length field and its CRC field stand, and its length. Valid once the length was
    /// taken.
    start: u64,
    crc_at: u64,
    ulpdu_length: u16,
    /// Parts a piece may end in.
    marker: [u8; MARKER_LENGTH],
    length: [u8; LENGTH_LENGTH],
    head: [u8; Header::UNTAGGED_LENGTH],
    pad: [u8; 3],
    crc_field: [u8; CRC_LENGTH],
    crc: Crc32c,
    covered: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Length,
    Head,
    Payload,
    Pad,
    Crc,
}

impl Framer {
    /// A framer at the start of a stream, right behind the start-up frame.
    pub fn new(framing: Framing) -> Self {
        Framer::at(0, framing)
    }

    /// A framer in the middle of a stream: the next byte is the first of an FPDU, or of a marker in front of
    /// one, and so many bytes after the start-up frame. The position matters for markers only; it is taken
    /// down to a multiple of four, where alone an FPDU can begin.
    pub fn at(position: u64, framing: Framing) -> Self {
        let position = position & !0b11;
        Framer {
            framing,
            position,
            stage: Stage::Length,
            taken: 0,
            start: position,
            crc_at: position,
            ulpdu_length: 0,
            marker: [0; MARKER_LENGTH],
            length: [0; LENGTH_LENGTH],
            head: [0; Header::UNTAGGED_LENGTH],
            pad: [0; 3],
            crc_field: [0; CRC_LENGTH],
            crc: Crc32c::new(),
            covered: position,
        }
    }

    /// Where in the stream the next byte stands.
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Whether all FPDUs are whole: a stream may end here. Within an FPDU it is cut off.
    pub const fn is_between_fpdus(&self) -> bool {
        // Off a multiple of four it is within a marker.
        matches!(self.stage, Stage::Length) && self.taken == 0 && self.position.is_multiple_of(4)
    }

    /// Bytes missing to the end of the FPDU that has begun, markers counted; `None` between FPDUs and within
    /// a length field.
    pub fn missing(&self) -> Option<usize> {
        match self.stage {
            Stage::Length => None,
            _ => usize::try_from(self.crc_at.saturating_sub(self.position)).ok().map(|before_crc| {
                before_crc + CRC_LENGTH - if self.stage == Stage::Crc { self.taken } else { 0 }
            }),
        }
    }

    /// The next thing in the stream, of which `piece` is the next part; `piece` goes on behind what was
    /// taken. `None` when the piece is used up: what it ended in the middle of is kept, and the next call
    /// goes on with the next piece.
    pub fn next_event<'a>(&mut self, piece: &mut &'a [u8]) -> Option<Event<'a>> {
        if self.stage != Stage::Length {
            self.cover(piece);
        }
        while !piece.is_empty() {
            let room = if self.framing.markers { room_before_marker(self.position) } else { usize::MAX };
            let event = if room == 0 {
                self.take_marker(piece)
            } else {
                match self.stage {
                    Stage::Length => self.take_length(piece, room),
                    Stage::Head => self.take_head(piece, room),
                    Stage::Payload => return Some(self.take_payload(piece, room)),
                    Stage::Pad => self.take_pad(piece, room),
                    Stage::Crc => self.take_crc(piece),
                }
            };
            if event.is_some() {
                return event;
            }
        }
        None
    }

    /// Takes up to `count` bytes.
    #[inline]
    fn take<'a>(&mut self, piece: &mut &'a [u8], count: usize) -> &'a [u8] {
        let (bytes, rest) = piece.split_at(count.min(piece.len()));
        *piece = rest;
        self.position += bytes.len() as u64;
        bytes
    }

    /// Extends the CRC over `piece`, which begins at `position`, as far as this FPDU's CRC covers it.
    #[inline]
    fn cover(&mut self, piece: &[u8]) {
        if self.framing.crc {
            let end = self.crc_at.saturating_sub(self.position);
            let done = self.covered.saturating_sub(self.position);
            let end = usize::try_from(end).unwrap_or(usize::MAX).min(piece.len());
            let done = usize::try_from(done).unwrap_or(usize::MAX);
            if let Some(bytes) = piece.get(done..end)
                && !bytes.is_empty()
            {
                self.crc.update(bytes);
                self.covered += bytes.len() as u64;
            }
        }
    }

    /// Covers bytes that were taken before it was known how far the CRC reaches.
    fn cover_taken(&mut self, bytes: &[u8]) {
        if self.framing.crc && self.stage == Stage::Length {
            self.crc.update(bytes);
            self.covered = self.position;
        }
    }

    fn take_marker<'a>(&mut self, piece: &mut &'a [u8]) -> Option<Event<'a>> {
        let at = (self.position % MARKER_LENGTH as u64) as usize;
        let bytes = self.take(piece, MARKER_LENGTH - at);
        self.cover_taken(bytes);
        keep(&mut self.marker, at, bytes);
        if at + bytes.len() < MARKER_LENGTH {
            return None;
        }
        let position = self.position.saturating_sub(MARKER_LENGTH as u64);
        let [a, b, c, d] = self.marker;
        let expected = match self.stage {
            // In front of the FPDU, since no marker cuts a length field.
            Stage::Length => 0,
            _ => position.saturating_sub(self.start) as u16,
        };
        let (reserved, pointer) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        Some(Event::Marker(Marker { position, reserved, pointer, expected }))
    }

    fn take_length<'a>(&mut self, piece: &mut &'a [u8], room: usize) -> Option<Event<'a>> {
        if self.taken == 0 {
            self.start = self.position;
        }
        let whole = if self.taken == 0 { piece.first_chunk::<LENGTH_LENGTH>() } else { None };
        if let Some(whole) = whole {
            self.length = *whole;
        } else {
            let bytes = self.take(piece, (LENGTH_LENGTH - self.taken).min(room));
            self.cover_taken(bytes);
            keep(&mut self.length, self.taken, bytes);
            self.taken += bytes.len();
            if self.taken < LENGTH_LENGTH {
                return None;
            }
        }
        self.ulpdu_length = u16::from_be_bytes(self.length);
        let content = content_length(self.ulpdu_length);
        let length = if self.framing.markers { length_with_markers(self.start, content) } else { content };
        self.crc_at = self.start + length as u64;
        self.cover(piece);
        if whole.is_some() {
            self.take(piece, LENGTH_LENGTH);
        }
        // So that what is handed on is that of this FPDU alone.
        self.head = [0; Header::UNTAGGED_LENGTH];
        self.pad = [0; 3];
        self.enter(Stage::Head);
        // An empty ULPDU has no byte that could bring its head.
        if self.ulpdu_length == 0 { Some(self.finish_head(piece)) } else { None }
    }

    fn take_head<'a>(&mut self, piece: &mut &'a [u8], room: usize) -> Option<Event<'a>> {
        if self.taken == 0
            && let Some(first) = piece.first()
        {
            self.head[0] = *first;
        }
        let wanted = self.head_length();
        let bytes = self.take(piece, (wanted - self.taken).min(room));
        keep(&mut self.head, self.taken, bytes);
        self.taken += bytes.len();
        if self.taken < wanted { None } else { Some(self.finish_head(piece)) }
    }

    /// Bytes of the ULPDU that its head takes, the first of which is known.
    #[inline]
    fn head_length(&self) -> usize {
        Header::length_from(self.head[0]).min(usize::from(self.ulpdu_length))
    }

    fn finish_head<'a>(&mut self, piece: &[u8]) -> Event<'a> {
        let before_crc = usize::try_from(self.crc_at.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let crc_field = piece.get(before_crc..).and_then(|rest| rest.first_chunk());
        let head = FpduHead {
            position: self.start,
            ulpdu_length: self.ulpdu_length,
            crc: crc_field.map(|field| self.check(*field)),
            bytes: self.head,
        };
        let length = usize::from(self.ulpdu_length);
        self.enter(if length > self.head_length() { Stage::Payload } else { self.behind_payload() });
        Event::Head(head)
    }

    fn take_payload<'a>(&mut self, piece: &mut &'a [u8], room: usize) -> Event<'a> {
        let length = usize::from(self.ulpdu_length) - self.head_length();
        let bytes = self.take(piece, (length - self.taken).min(room));
        self.taken += bytes.len();
        if self.taken == length {
            self.enter(self.behind_payload());
        }
        Event::Payload(bytes)
    }

    fn behind_payload(&self) -> Stage {
        if fpdu_pad(usize::from(self.ulpdu_length)) > 0 { Stage::Pad } else { Stage::Crc }
    }

    fn take_pad<'a>(&mut self, piece: &mut &'a [u8], room: usize) -> Option<Event<'a>> {
        let length = fpdu_pad(usize::from(self.ulpdu_length));
        let bytes = self.take(piece, (length - self.taken).min(room));
        keep(&mut self.pad, self.taken, bytes);
        self.taken += bytes.len();
        if self.taken == length {
            self.enter(Stage::Crc);
        }
        None
    }

    fn take_crc<'a>(&mut self, piece: &mut &'a [u8]) -> Option<Event<'a>> {
        let bytes = self.take(piece, CRC_LENGTH - self.taken);
        keep(&mut self.crc_field, self.taken, bytes);
        self.taken += bytes.len();
        if self.taken < CRC_LENGTH {
            return None;
        }
        let end = FpduEnd {
            position: self.start,
            length: usize::try_from(self.position.saturating_sub(self.start)).unwrap_or(usize::MAX),
            crc: self.check(self.crc_field),
            pad: self.pad,
            pad_length: fpdu_pad(usize::from(self.ulpdu_length)),
        };
        self.enter(Stage::Length);
        self.crc.reset();
        self.covered = self.position;
        Some(Event::End(end))
    }

    /// Judges a CRC field; the CRC has come to it.
    fn check(&self, field: [u8; CRC_LENGTH]) -> CrcCheck {
        let computed = if self.framing.crc { Some(self.crc.value()) } else { None };
        CrcCheck { found: u32::from_le_bytes(field), computed }
    }

    #[inline]
    fn enter(&mut self, stage: Stage) {
        self.stage = stage;
        self.taken = 0;
    }
}

/// Keeps bytes from `at` on.
#[inline]
fn keep(place: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = place.get_mut(at..).and_then(|place| place.get_mut(..bytes.len())) {
        place.copy_from_slice(bytes);
    }
}
