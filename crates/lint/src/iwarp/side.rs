//! What one side of an iWARP stream has said: its start-up frame, the message under way, the numbers of its queues, and its
//! requests that wait for an answer.

use std::collections::VecDeque;

use rdmalab_wire::iwarp::{Enhanced, Header, MpaFrame, MpaKind, Opcode, queue};

use crate::iwarp::tcp::is_before;
use crate::reason::{Reason, Reasons};
use crate::report::StreamStats;

/// Most requests of one side that wait for an answer and are kept.
pub(crate) const MOST_PENDING: usize = 4096;
/// Segments that are remembered, since a Terminate message names one.
const REMEMBERED: usize = 32;
/// Tags that were made unusable and are remembered.
const MOST_INVALIDATED: usize = 16;

/// A start-up frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub frame: u64,
    /// TCP's sequence number behind it.
    pub end: u32,
    pub kind: MpaKind,
    pub markers: bool,
    pub crc: bool,
    pub reject: bool,
    pub reserved: u8,
    pub revision: u8,
    pub enhanced: Option<Enhanced>,
}

impl Start {
    pub fn of(mpa: &MpaFrame<'_>, frame: u64, end: u32) -> Start {
        Start {
            frame,
            end,
            kind: mpa.kind,
            markers: mpa.markers,
            crc: mpa.crc,
            reject: mpa.reject,
            reserved: mpa.reserved,
            revision: mpa.revision,
            enhanced: mpa.enhanced,
        }
    }

    /// READs that its sender answers at once, if it says so.
    pub fn ird(&self) -> Option<u16> {
        self.enhanced.map(|enhanced| enhanced.ird).filter(|ird| *ird != Enhanced::NOT_NEGOTIATED)
    }

    /// READs that its sender wants to have under way, if it says so.
    pub fn ord(&self) -> Option<u16> {
        self.enhanced.map(|enhanced| enhanced.ord).filter(|ord| *ord != Enhanced::NOT_NEGOTIATED)
    }
}

/// A message of several segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    pub opcode: Opcode,
    /// Queue and number; none of tagged ones.
    pub number: Option<(u32, u32)>,
    /// Of tagged ones.
    pub stag: u32,
    /// Where the next segment goes on: an offset in the message or in the buffer.
    pub next: u64,
    pub bytes: u64,
    pub begun: (u64, i64),
    pub last_frame: u64,
    /// Its beginning is not known, so it counts for nothing.
    pub is_partial: bool,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Bytes into this place.
    Read { stag: u32, offset: u64, length: u32 },
    /// An atomic, by its identifier.
    Atomic { id: u32 },
}

/// A request that waits for its answer, or for its sender to hear of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub asked: Asked,
    pub msn: u32,
    pub begun: (u64, i64),
    /// Bytes that came.
    pub received: u32,
    /// The sequence number behind the answer, once it is complete.
    pub answered: Option<u32>,
    /// It is the ready-to-receive message, of which nobody is told.
    pub is_ready: bool,
}

/// A segment, as a Terminate message would name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub header: Header,
    /// Bytes of the ULPDU.
    pub length: usize,
    /// Checksum of the RDMAP header behind DDP's, of a request for a READ or an atomic.
    pub rdmap_sum: Option<u32>,
    pub frame: u64,
}

/// One side.
#[derive(Debug, Default)]
pub(crate) struct Side {
    /// The number of the direction in reports.
    pub number: u64,
    pub start: Option<Start>,
    /// The sequence number behind the last thing that it said and that is understood.
    pub end: Option<u32>,
    /// All of it since the start-up frame is understood.
    pub is_whole: bool,
    /// Nothing is known of the message that may be under way.
    pub is_between: bool,
    pub message: Option<Message>,
    /// The number of the next message, by queue.
    pub numbers: [Option<u32>; 4],
    /// FPDUs, and where the first one ended.
    pub fpdus: u64,
    pub first_end: Option<u32>,
    /// Requests in the order of their numbers; not all of them, if some were lost.
    pub pending: VecDeque<Pending>,
    /// The number of the request that is to be answered next. Not known behind lost answers.
    pub next_answer: Option<u32>,
    /// Then none in front of this one waits.
    pub at_least: Option<u32>,
    /// The number of the request whose answer has begun without it, and whether it is certain that there is none.
    pub begun_unasked: Option<(u32, bool)>,
    /// FPDUs of it stand in front of one of the start-up frames in the capture, or there is none: markers may be taken for something else.
    pub is_framed_blindly: bool,
    /// Answers came in front of its start-up frame in the capture: which requests they belong to is not known.
    pub is_answered_early: bool,
    pub terminated: Option<u64>,
    pub sent: VecDeque<Sent>,
    /// No segment has made room in `sent`.
    pub sent_is_whole: bool,
    /// Tags of the other side that this side has made unusable, and where.
    pub invalidated: VecDeque<(u32, u64)>,
    /// Rules that are told once: FPDUs too early, behind a rejection, behind a Terminate message.
    pub told: [bool; 3],
    pub stats: StreamStats,
    pub reasons: Reasons,
}

impl Side {
    pub fn new(number: u64) -> Side {
        let mut side = Side { number, ..Side::default() };
        side.begin_again();
        side
    }

    /// Another connection between the same ports; what was counted stays.
    pub fn begin_again(&mut self) {
        let (stats, reasons) = (std::mem::take(&mut self.stats), self.reasons);
        *self = Side {
            number: self.number,
            stats,
            reasons,
            is_between: true,
            sent_is_whole: true,
            ..Side::default()
        };
    }

    pub fn doubt(&mut self, reason: Reason) {
        self.reasons.add(reason);
    }

    /// At its end so many bytes were not understood, and the capture does not have so many others.
    pub fn leaves(&mut self, unread: u32, missing: u32) {
        if missing > 0 {
            self.stats.missing_bytes = self.stats.missing_bytes.saturating_add(missing.into());
            self.doubt(Reason::LostAhead);
        }
        if unread > 0 && self.stats.missing_bytes == 0 {
            self.stats.unread_bytes = self.stats.unread_bytes.saturating_add(unread.into());
            self.doubt(Reason::NoFpdus);
        }
    }

    /// It begins here: nothing was said before.
    pub fn start(&mut self, start: Start) {
        self.end = Some(start.end);
        self.start = Some(start);
        self.is_whole = true;
        self.is_between = false;
        (self.next_answer, self.at_least) =
            if self.is_answered_early { (None, Some(1)) } else { (Some(1), None) };
        self.numbers = [Some(1); 4];
    }

    /// Something that it said is not known.
    pub fn lose(&mut self) {
        self.is_whole = false;
        self.is_between = true;
        self.message = None;
        self.numbers = [None; 4];
        self.sent_is_whole = false;
        self.invalidated.clear();
    }

    pub fn remember(&mut self, sent: Sent) {
        if self.sent.len() == REMEMBERED {
            self.sent.pop_front();
            self.sent_is_whole = false;
        }
        self.sent.push_back(sent);
    }

    pub fn invalidates(&mut self, stag: u32, frame: u64) {
        if self.invalidated.len() == MOST_INVALIDATED {
            self.invalidated.pop_front();
        }
        self.invalidated.push_back((stag, frame));
    }

    /// What answers this side's requests is not known from here on.
    pub fn lose_answers(&mut self) {
        self.begun_unasked = None;
        if let Some(next) = self.next_answer.take() {
            self.at_least = Some(next);
        }
    }

    /// Keeps a request, unless it has been answered already, its answer standing in front of it in the capture.
    pub fn asks(&mut self, pending: Pending) {
        let is_answered = self.next_answer.is_some_and(|next| is_before(pending.msn, next));
        if is_answered {
            return;
        }
        let is_in_order = self.pending.back().is_none_or(|last| is_before(last.msn, pending.msn));
        if !is_in_order || self.pending.len() >= MOST_PENDING {
            self.doubt(if is_in_order { Reason::TooMany } else { Reason::RequestsUnknown });
            self.pending.clear();
            (self.next_answer, self.at_least) = (None, None);
        }
        self.pending.push_back(pending);
    }

    /// The request of a number, if it is there and waits.
    pub fn waiting(&mut self, msn: u32) -> Option<&mut Pending> {
        let index = self.pending.partition_point(|pending| is_before(pending.msn, msn));
        self.pending.get_mut(index).filter(|pending| pending.msn == msn && pending.answered.is_none())
    }

    /// Whether all requests up to the last one are there, from the first on that may wait.
    pub fn knows_all_from(&self, first: u32) -> bool {
        let is_front = self.pending.iter().find(|pending| pending.answered.is_none());
        let (Some(front), Some(last)) = (is_front, self.pending.back()) else { return false };
        let next = self.numbers.get(queue::REQUEST as usize).copied().flatten();
        let count = self.pending.iter().filter(|pending| pending.answered.is_none()).count();
        front.msn == first
            && next == Some(last.msn.wrapping_add(1))
            && last.msn.wrapping_sub(first) as usize + 1 == count
    }
}
