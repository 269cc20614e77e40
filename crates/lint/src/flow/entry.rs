//! A request packet as it is kept: what it asks for, when it came by, and which packets of its answer did.

use rdmalab_wire::opcode::Position;
use rdmalab_wire::{Headers, OpcodeRow, Psn};

use super::mtu::Sizes;
use crate::packet::{OperationKind, Seen};

/// How many starting points of repetitions of one READ are remembered.
const ASKED: usize = 4;

/// A request packet, and what came of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub psn: Psn,
    /// PSNs that it takes: of a READ one for each packet of the answer.
    pub span: u32,
    /// Whether the span is certain: of a READ it needs the path MTU.
    pub span_is_known: bool,
    /// It was asked for again in another way: which answer is right is anybody's guess.
    pub is_unclear: bool,
    pub row: &'static OpcodeRow,
    pub kind: OperationKind,
    pub payload_length: u32,
    /// The capture cut it: it may be several datagrams, and shorter.
    pub is_cut: bool,
    /// A checksum of the payload; `None` if the capture cut it.
    pub payload_sum: Option<u32>,
    pub target: Target,
    pub first_frame: u64,
    pub first_time: i64,
    /// Where it began when it came by last: a READ may ask for the rest.
    pub last_psn: Psn,
    pub last_frame: u64,
    pub last_time: i64,
    /// How often it came by in the capture.
    pub sends: u32,
    /// How often the requester had gone back when it came by last.
    pub run: u32,
    /// IP identification when it came by last.
    pub ip_id: u16,
    /// Packets of the answer that came, without a gap from the first on.
    pub answered: u32,
    /// Where the furthest packet of the answer ends that came by.
    pub reached: u32,
    /// How many in front of that did not come.
    pub holes: u32,
    /// The capture lacks this many packets of the answer, which the requester has.
    pub lacking: u32,
    /// The last packet of the answer came by, so that nothing else is owed.
    pub was_answered: bool,
    /// Something behind it was acknowledged in place of its answer, which was told.
    pub was_passed: bool,
    /// An atomic's original value.
    pub original: Option<u64>,
    asked: [u32; ASKED],
    asked_count: u8,
}

/// The remote memory that a request names, whichever header does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Target {
    pub address: u64,
    pub key: u32,
    /// Bytes of the message; an atomic's operands as a sum.
    pub length: u64,
}

impl Target {
    fn of(headers: &Headers) -> Target {
        match (&headers.reth, &headers.atomic_eth) {
            (Some(reth), _) => {
                Target { address: reth.virtual_address, key: reth.key.value(), length: reth.length.into() }
            }
            (None, Some(atomic)) => Target {
                address: atomic.virtual_address,
                key: atomic.key.value(),
                length: atomic.swap_or_add.rotate_left(17) ^ atomic.compare,
            },
            (None, None) => Target::default(),
        }
    }
}

impl Entry {
    pub fn of(seen: &Seen<'_>, kind: OperationKind, span: u32, span_is_known: bool) -> Entry {
        Entry {
            psn: seen.bth.psn,
            span,
            span_is_known,
            is_unclear: false,
            row: seen.row,
            kind,
            payload_length: u32::try_from(seen.payload_length).unwrap_or(u32::MAX),
            is_cut: seen.is_cut,
            payload_sum: (!seen.is_cut).then(|| crc32fast::hash(seen.payload)),
            target: Target::of(seen.headers),
            first_frame: seen.frame,
            first_time: seen.time,
            last_psn: seen.bth.psn,
            last_frame: seen.frame,
            last_time: seen.time,
            sends: 1,
            run: 0,
            ip_id: seen.ip_id,
            answered: 0,
            reached: 0,
            holes: 0,
            lacking: 0,
            was_answered: false,
            was_passed: false,
            original: None,
            asked: [0; ASKED],
            asked_count: 0,
        }
    }

    /// How many PSNs a READ takes by these sizes of the path MTU: where they do not say the same, as many as it can.
    pub fn settle(&mut self, sizes: Sizes) {
        let (least, most) = sizes.spans(u32::try_from(self.target.length).unwrap_or(u32::MAX));
        self.span = most;
        self.span_is_known = least == most;
    }

    /// Whether it takes this PSN whatever the path MTU is. Of a READ it need not be known how many there are: those behind the least
    /// number may be of requests that the capture missed.
    pub fn surely_takes(&self, psn: Psn, sizes: Sizes) -> bool {
        let offset = psn.distance(self.psn);
        let span = match self.span_is_known {
            true => self.span,
            false => sizes.spans(u32::try_from(self.target.length).unwrap_or(u32::MAX)).0,
        };
        u32::try_from(offset).is_ok_and(|offset| offset < span)
    }

    /// The PSN behind it.
    pub fn end(&self) -> Psn {
        self.psn.add(self.span)
    }

    pub fn ends_message(&self) -> bool {
        self.row.ends_message
    }

    pub fn starts_message(&self) -> bool {
        matches!(self.row.position, Position::First | Position::Only)
    }

    /// Whether all of the answer that it asks for came by.
    pub fn is_answered(&self) -> bool {
        self.answered >= self.span
    }

    /// Whether nothing of the answer came by.
    pub fn is_bare(&self) -> bool {
        self.answered == 0 && self.reached == self.holes
    }

    /// Packet `offset` of the answer came by. Says whether it is one that was missing.
    pub fn came(&mut self, offset: u32) -> bool {
        if let Some(missing) = offset.checked_sub(self.reached) {
            self.reached = offset + 1;
            self.holes += missing;
            return false;
        }
        let fills = self.holes > 0 && offset >= self.answered;
        self.holes -= u32::from(fills);
        fills
    }

    /// The requester has taken what came by, if nothing is missing in it.
    pub fn was_taken(&mut self) {
        if self.holes == 0 {
            self.answered = self.answered.max(self.reached);
        }
    }

    /// Something behind it was answered, so that nothing more of its answer comes. Says how many packets turn out to be missing.
    pub fn end_answer(&mut self) -> u32 {
        let missing = self.span.saturating_sub(self.reached);
        self.holes += missing;
        self.reached = self.reached.max(self.span);
        missing
    }

    /// Only the capture lacks what is missing of its answer. Says how much that is, and how much of it was known to be missing.
    pub fn lack(&mut self) -> (u32, u32) {
        let known = self.holes;
        self.lacking = known + self.span.saturating_sub(self.reached);
        (self.answered, self.reached, self.holes) = (self.span, self.span, 0);
        (self.lacking, known)
    }

    /// It is asked for again from this packet of the answer on: the requester has what is in front of that. Says how much of it the
    /// capture lacks, and how much of that was known to be missing.
    pub fn answer_from(&mut self, offset: u32) -> (u32, u32) {
        let known = self.holes.min(offset.saturating_sub(self.answered));
        let lacking = known + offset.saturating_sub(self.reached);
        self.holes -= known;
        self.reached = self.reached.max(offset);
        (lacking, known)
    }

    /// A repetition asks for the answer from this packet of it on.
    pub fn ask_from(&mut self, offset: u32) {
        self.asked.rotate_right(1);
        self.asked[0] = offset;
        self.asked_count = self.asked_count.saturating_add(1).min(ASKED as u8);
    }

    /// Whether an answer may begin with this packet.
    pub fn is_asked_from(&self, offset: u32) -> bool {
        offset == 0 || self.asked.iter().take(self.asked_count.into()).any(|asked| *asked == offset)
    }

    /// Whether it asks for what another READ asked for, less so many packets of a size.
    pub fn is_rest_of(&self, whole: &Entry, offset: u32, size: u32) -> bool {
        let skipped = u64::from(offset) * u64::from(size);
        self.kind == OperationKind::Read
            && whole.kind == OperationKind::Read
            && self.target.key == whole.target.key
            && self.target.address == whole.target.address.wrapping_add(skipped)
            && whole.target.length.checked_sub(skipped) == Some(self.target.length)
    }

    /// Its repetition, compared: the same opcode, length and target.
    pub fn has_header_of(&self, other: &Entry) -> bool {
        self.row.opcode == other.row.opcode
            && self.target == other.target
            && (self.payload_length == other.payload_length || self.is_cut || other.is_cut)
    }
}
