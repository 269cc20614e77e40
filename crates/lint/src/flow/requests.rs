//! Where the requester of a direction is, and what it was doing there.

use rdmalab_wire::Psn;

use super::gaps::Gaps;
use crate::checks::Detour;
use crate::checks::recurrence::Recurrence;
use crate::observer::Cause;
use crate::packet::OperationKind;

/// How many earlier places of `completed` are remembered: the requester may hear of an acknowledgement later than the
/// capture, or never. Places one behind the other, as answers with data leave them, count as one.
const PLACES: usize = 64;
/// Of places one behind the other, how many.
const MOST_IN_A_ROW: u32 = 4096;

/// A message whose packets are being walked over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    pub kind: OperationKind,
    pub first_psn: Psn,
    pub begun: (u64, i64),
    pub bytes: u64,
    /// A packet of it was cut, and may be several datagrams.
    pub is_cut: bool,
    /// What the RETH of a WRITE says.
    pub stated: Option<u64>,
    pub repeated: u64,
}

/// Where the requester is.
pub(crate) struct Requests {
    pub first: Psn,
    pub next: Psn,
    pub cursor: Psn,
    /// Why it repeats, while it does.
    pub cause: Option<Cause>,
    /// How often it has gone back.
    pub run: u32,
    /// Where to, the last time, and why.
    pub run_from: (Psn, Cause),
    /// The last packet went back, or was late, or there twice: what follows tells.
    pub detour: Option<Box<Detour>>,
    /// Where a repetition was, and why, when a new request came in between: they may have changed places.
    pub interrupted: Option<(Psn, Cause)>,
    /// What may yet come late.
    pub gaps: Gaps,
    pub walked: Psn,
    pub completed: Psn,
    /// In front of this the requester has all answers, even those that the capture lacks.
    pub presumed: Psn,
    /// In front of this operations have been counted.
    pub counted: Psn,
    /// The first and the last of places in a row.
    places: [(Psn, Psn); PLACES],
    place: usize,
    /// The message that the walk is in.
    pub message: Option<Message>,
    /// The message that completing is in.
    pub completing: Option<Message>,
    /// Kind of the last packet walked over, and whether its message goes on; `None` behind a gap.
    pub before: Option<(OperationKind, bool, u64)>,
    /// Messages that ended in front of `walked`, and in all.
    pub ends_walked: u64,
    pub ends: u64,
    /// Where the last gap ends that the walk has gone over: of messages in front of it, nobody knows how many there are.
    pub gap_end: Option<Psn>,
    /// There was a READ of which it is not known how many PSNs it takes.
    pub has_unsettled: bool,
    /// PSNs between `walked` and `next` that no packet has brought.
    pub missing: u64,
    /// The last packet went back without a cause: what follows tells whether it was one and the same packet.
    pub suspect: Option<(Psn, u64)>,
    /// A repetition that began at no point to go back to: where, in which frame, and the oldest unacknowledged PSN then.
    pub restart: Option<(Psn, u64, Psn)>,
    /// It has gone back behind what was answered for: another conversation may have begun.
    pub recurrence: Option<Box<Recurrence>>,
    /// Timeouts one behind the other, at which PSN, without an answer between.
    pub timeouts: (Psn, u32),
    /// The PSN of the last timeout, if nothing had answered it, and how often that was answered since.
    pub unanswered: Option<(Psn, u32)>,
    pub limit_told: bool,
    /// How often the receiver was not ready for one PSN, one time behind the other.
    pub rnr_returns: (Psn, u32),
    /// The last request that asks for an acknowledgement: its last PSN, frame and time.
    pub asked: Option<(Psn, u64, i64)>,
    pub identifications_vary: bool,
    pub last_ip_id: u16,
    pub last_time: i64,
}

impl Requests {
    pub fn begin(psn: Psn, ip_id: u16) -> Requests {
        Requests {
            first: psn,
            next: psn,
            cursor: psn,
            cause: None,
            run: 0,
            run_from: (psn, Cause::Unknown),
            detour: None,
            interrupted: None,
            gaps: Gaps::default(),
            walked: psn,
            completed: psn,
            presumed: psn,
            counted: psn,
            places: [(psn, psn); PLACES],
            place: 0,
            message: None,
            completing: None,
            before: None,
            ends_walked: 0,
            ends: 0,
            gap_end: None,
            has_unsettled: false,
            missing: 0,
            suspect: None,
            restart: None,
            recurrence: None,
            timeouts: (psn, 0),
            unanswered: None,
            limit_told: false,
            rnr_returns: (psn, 0),
            asked: None,
            identifications_vary: false,
            last_ip_id: ip_id,
            last_time: 0,
        }
    }

    /// What was settled was so in another conversation; this one begins here. What was sent since is kept.
    pub fn begin_at(&mut self, psn: Psn) {
        (self.first, self.walked, self.completed) = (psn, psn, psn);
        (self.presumed, self.counted) = (psn, psn);
        self.places = [(psn, psn); PLACES];
        (self.message, self.completing, self.before) = (None, None, None);
        (self.ends_walked, self.missing, self.gap_end) = (0, 0, None);
        (self.suspect, self.restart, self.recurrence) = (None, None, None);
        self.detour = None;
    }

    /// It began with this PSN, and the capture lacks what is in front of what it has.
    pub fn begin_earlier(&mut self, psn: Psn) {
        (self.first, self.walked, self.completed) = (psn, psn, psn);
        (self.presumed, self.counted) = (psn, psn);
        (self.message, self.completing, self.before) = (None, None, None);
        self.ends_walked = 0;
    }

    /// `completed` was here, too.
    pub fn was_at(&mut self, psn: Psn) {
        if let Some((first, last)) = self.places.get_mut(self.place) {
            if is_between(psn, *first, *last) {
                return;
            }
            if psn == last.next() {
                *last = psn;
                if last.distance(*first).unsigned_abs() >= MOST_IN_A_ROW {
                    *first = first.next();
                }
                return;
            }
        }
        self.place = (self.place + 1) % PLACES;
        if let Some(place) = self.places.get_mut(self.place) {
            *place = (psn, psn);
        }
    }

    /// Whether the requester may have taken this PSN for its oldest unacknowledged one.
    pub fn may_be_oldest(&self, psn: Psn) -> bool {
        self.places.iter().any(|(first, last)| is_between(psn, *first, *last))
    }
}

fn is_between(psn: Psn, first: Psn, last: Psn) -> bool {
    psn.distance(first) >= 0 && psn.distance(last) <= 0
}
