//! One direction of a connection that is iWARP's, or may be: from bytes in order to start-up frames and FPDUs.
//!
//! A direction that the capture has from its start is iWARP's if it begins with a start-up frame of MPA. One that
//! the capture joins later is iWARP's once FPDUs are found in it beyond doubt, and so is searched one whose bytes
//! have a gap. Never holds more than [`MOST_SEARCHED`] bytes and one FPDU.

use rdmalab_wire::iwarp::{Event, Framer, Framing, Header, Marker, MpaFrame, MpaKind, PayloadRule};

use super::assembly::Piece;
use super::search::{Search, is_sane};
use super::unit::{Fpdu, IwarpUnit, StartUp};

/// How many bytes are searched for FPDUs before a direction of unknown protocol is taken for another protocol's.
pub const MOST_SEARCHED: usize = 256 * 1024;
/// FPDUs in a row that make no sense before they are taken for something else.
const NONSENSE: usize = 4;

/// What one direction knows of the other, and of both.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Agreed {
    /// The receiver asked for markers.
    pub(super) markers: bool,
    /// One of them asked for CRCs.
    pub(super) crc: bool,
    /// One of the two directions is known to be iWARP's.
    pub(super) is_iwarp: bool,
}

/// What a start-up frame asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wishes {
    pub(super) markers: bool,
    pub(super) crc: bool,
}

/// One direction.
#[derive(Debug)]
pub(super) struct Talk {
    stage: Stage,
    /// Whether the first byte seen is the first there is.
    from_start: bool,
    /// Place of the next byte, behind the start-up frame or else behind the first byte known.
    position: u64,
    /// Whether `position` counts from the start-up frame.
    position_is_known: bool,
    pub(super) wishes: Option<Wishes>,
}

#[derive(Debug)]
enum Stage {
    /// It may be a start-up frame; the bytes so far.
    Opening(Vec<u8>),
    /// FPDUs, one behind the other. The framer is there once one has begun.
    Framing(Option<Box<Progress>>),
    /// Somewhere in these bytes FPDUs may begin.
    Searching(Search),
    /// Another protocol.
    Foreign,
}

/// The FPDU under way.
#[derive(Debug)]
struct Progress {
    framer: Framer,
    ulpdu: Vec<u8>,
    markers: Vec<Marker>,
    /// How many FPDUs in a row made no sense.
    nonsense: usize,
    /// Bytes of this FPDU that the capture does not have.
    not_captured: u64,
}

impl Progress {
    /// Whether so many missing bytes lie within what is left of the FPDU, and all of them in the payload or
    /// behind it: then the next FPDU is where it would have been.
    fn can_miss(&self, bytes: u64) -> bool {
        let is_within = self.framer.missing().is_some_and(|missing| bytes <= missing as u64);
        let has_header = Header::parse(&self.ulpdu)
            .is_ok_and(|header| header.opcode.row().is_some_and(|row| row.payload == PayloadRule::Any));
        is_within && has_header
    }
}

impl Talk {
    pub(super) fn new(from_start: bool) -> Talk {
        Talk {
            stage: Stage::Opening(Vec::new()),
            from_start,
            position: 0,
            position_is_known: false,
            wishes: None,
        }
    }

    /// Whether nobody need look at this direction any more.
    pub(super) fn is_foreign(&self) -> bool {
        matches!(self.stage, Stage::Foreign)
    }

    pub(super) fn is_iwarp(&self) -> bool {
        self.wishes.is_some() || matches!(self.stage, Stage::Framing(_))
    }

    /// Bytes of memory for what is held, room that buffers have and do not use included.
    pub(super) fn memory(&self) -> usize {
        match &self.stage {
            Stage::Opening(buffer) | Stage::Searching(Search { buffer, .. }) => buffer.capacity(),
            Stage::Framing(Some(progress)) => {
                let markers = progress.markers.capacity() * size_of::<Marker>();
                size_of::<Progress>() + progress.ulpdu.capacity() + markers
            }
            Stage::Framing(None) | Stage::Foreign => 0,
        }
    }

    /// Takes what comes next; adds what is whole now to `units`.
    pub(super) fn take(&mut self, piece: &Piece<'_>, agreed: Agreed, units: &mut Vec<IwarpUnit>) {
        match piece {
            Piece::Bytes(bytes, end) => self.bytes(bytes, *end, agreed, units),
            Piece::Gap(length, end) => self.gap(*length, *end, agreed, units),
        }
    }

    fn gap(&mut self, length: u64, end: u32, agreed: Agreed, units: &mut Vec<IwarpUnit>) {
        if self.is_foreign() {
            return;
        }
        if let Stage::Framing(Some(progress)) = &mut self.stage
            && progress.can_miss(length)
        {
            progress.not_captured += length;
            let zeros = [0; 1024];
            let mut left = usize::try_from(length).unwrap_or(usize::MAX);
            while left > 0 {
                let piece = zeros.get(..left).unwrap_or(&zeros);
                left -= piece.len();
                self.frame(piece, end.wrapping_sub(left as u32), agreed, units);
            }
            return;
        }
        if agreed.is_iwarp {
            units.push(IwarpUnit::Gap { bytes: length, end_sequence: end });
        }
        self.position = match &self.stage {
            Stage::Framing(Some(progress)) => progress.framer.position(),
            Stage::Framing(None) | Stage::Foreign => self.position,
            Stage::Opening(buffer) | Stage::Searching(Search { buffer, .. }) => {
                self.position.saturating_add(buffer.len() as u64)
            }
        }
        .saturating_add(length);
        self.stage = Stage::Searching(Search::default());
    }

    fn bytes(&mut self, bytes: &[u8], end: u32, agreed: Agreed, units: &mut Vec<IwarpUnit>) {
        match &mut self.stage {
            Stage::Foreign => {}
            Stage::Opening(buffer) => {
                buffer.extend_from_slice(bytes);
                let buffer = std::mem::take(buffer);
                self.open(buffer, end, agreed, units);
            }
            Stage::Framing(_) => self.frame(bytes, end, agreed, units),
            Stage::Searching(search) => {
                search.buffer.extend_from_slice(bytes);
                self.search(end, agreed, units);
            }
        }
    }

    fn open(&mut self, buffer: Vec<u8>, end: u32, agreed: Agreed, units: &mut Vec<IwarpUnit>) {
        match MpaFrame::parse(&buffer) {
            Ok(None) => self.stage = Stage::Opening(buffer),
            Ok(Some((frame, length))) => {
                self.wishes = Some(Wishes { markers: frame.markers, crc: frame.crc });
                self.stage = Stage::Framing(None);
                self.position_is_known = true;
                let rest = buffer.get(length..).unwrap_or_default();
                let bytes = buffer.get(..length).unwrap_or_default().to_vec();
                let end_sequence = end.wrapping_sub(rest.len() as u32);
                units.push(IwarpUnit::StartUp(StartUp { bytes, end_sequence }));
                self.frame(rest, end, Agreed { is_iwarp: true, ..agreed }, units);
            }
            Err(_)
                if [MpaKind::Request, MpaKind::Reply].iter().any(|kind| buffer.starts_with(kind.key())) =>
            {
                // Where it ends is not to be known.
                let bytes = buffer.get(..MpaFrame::MAX_LENGTH).unwrap_or(&buffer).to_vec();
                let behind = buffer.len() - bytes.len();
                let end_sequence = end.wrapping_sub(behind as u32);
                self.wishes = Some(Wishes { markers: false, crc: false });
                self.position = buffer.len() as u64;
                self.stage = Stage::Searching(Search::default());
                units.push(IwarpUnit::StartUp(StartUp { bytes, end_sequence }));
            }
            Err(_) if self.from_start && !agreed.is_iwarp => self.stage = Stage::Foreign,
            Err(_) => {
                self.stage = Stage::Searching(Search::of(buffer));
                self.search(end, agreed, units);
            }
        }
    }

    fn frame(&mut self, mut piece: &[u8], end_of_piece: u32, agreed: Agreed, units: &mut Vec<IwarpUnit>) {
        if piece.is_empty() {
            return;
        }
        let Stage::Framing(progress) = &mut self.stage else { return };
        let progress = progress.get_or_insert_with(|| {
            // Computed even where nobody asked for it, to tell the absent from the wrong.
            let framing = Framing { markers: agreed.markers, crc: true };
            let framer = Framer::at(self.position, framing);
            Box::new(Progress {
                framer,
                ulpdu: Vec::new(),
                markers: Vec::new(),
                nonsense: 0,
                not_captured: 0,
            })
        });
        while let Some(event) = progress.framer.next_event(&mut piece) {
            match event {
                Event::Marker(marker) => progress.markers.push(marker),
                Event::Head(head) => {
                    progress.ulpdu.clear();
                    progress.ulpdu.extend_from_slice(head.header_bytes());
                }
                Event::Payload(bytes) => progress.ulpdu.extend_from_slice(bytes),
                Event::End(end) => {
                    let not_captured = std::mem::take(&mut progress.not_captured);
                    if not_captured > 0 {
                        progress.markers.clear();
                    }
                    let fpdu = Fpdu {
                        not_captured,
                        position: end.position,
                        ulpdu: std::mem::take(&mut progress.ulpdu),
                        pad: if not_captured > 0 { Vec::new() } else { end.pad().to_vec() },
                        markers: std::mem::take(&mut progress.markers),
                        length: end.length,
                        crc: end.crc,
                        crc_agreed: agreed.crc,
                        end_sequence: end_of_piece.wrapping_sub(piece.len() as u32),
                    };
                    let makes_sense =
                        fpdu.is_ready_to_receive() || fpdu.crc.is_right() || is_sane(&fpdu.ulpdu);
                    progress.nonsense = if makes_sense { 0 } else { progress.nonsense + 1 };
                    let is_lost = progress.nonsense >= NONSENSE;
                    self.position = progress.framer.position();
                    units.push(IwarpUnit::Fpdu(fpdu));
                    if is_lost {
                        self.stage = Stage::Searching(Search::of(piece.to_vec()));
                        return self.search(end_of_piece, agreed, units);
                    }
                }
            }
        }
    }

    fn search(&mut self, end: u32, agreed: Agreed, units: &mut Vec<IwarpUnit>) {
        let Stage::Searching(search) = &mut self.stage else { return };
        // Where markers stand is known from the start only.
        let markers = agreed.markers.then_some(self.position_is_known.then_some(self.position));
        if let Some(start) = search.start(markers) {
            let buffer = std::mem::take(&mut search.buffer);
            self.position = self.position.saturating_add(start as u64);
            self.stage = Stage::Framing(None);
            return self.frame(buffer.get(start..).unwrap_or_default(), end, agreed, units);
        }
        if search.buffer.len() > MOST_SEARCHED {
            if !agreed.is_iwarp {
                self.stage = Stage::Foreign;
                return;
            }
            self.position = self.position.saturating_add(search.forget(MOST_SEARCHED / 2) as u64);
        }
    }
}
