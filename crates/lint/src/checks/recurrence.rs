//! Numbers that recur. A requester that goes back behind what the responder has answered for repeats without need, or begins
//! another conversation: queue pairs' numbers and PSNs are used again, and without connection management nothing says so. The
//! responder's next answer tells, as the messages of another conversation are counted anew. Until then nothing that
//! the two would differ in is a finding; and where no answer tells, it is not judged.

use rdmalab_wire::{Aeth, Msn, Psn};

use crate::flow::{Flow, Out, Requests};
use crate::observer::Cause;
use crate::packet::Seen;
use crate::reason::Reason;
use crate::rules::RuleId;

/// Findings that wait for an answer, at most.
const MOST_WAITING: usize = 16;
/// Sooner than within so many nanoseconds no two programs have made their queue pairs anew, and told each other the numbers.
pub(super) const REMADE: i64 = 50_000_000;
/// Over an unreliable connection, what begins a message behind a silence of so many nanoseconds, with numbers that have been, begins
/// another conversation. No network keeps a packet so long.
const SILENCE: i64 = 1_000_000_000;

/// What may be another conversation.
#[derive(Debug)]
pub(crate) struct Recurrence {
    /// The PSN that it begins with.
    begin: Psn,
    /// How many messages the responder had counted, if it had answered at all.
    counted: Option<Msn>,
    /// The messages that ended in front of what it had answered for then.
    ends_walked: u64,
    /// All that the capture has of the conversation is repeated, and nothing was under way: whoever repeats it is in the very state of
    /// one who begins it.
    is_whole: bool,
    /// What is found if it is none.
    waiting: Vec<(RuleId, [u64; 2], String)>,
    /// Packets that are counted as repetitions, and why.
    repeated: (Cause, u64),
}

impl Recurrence {
    /// A packet that was counted as a repetition is none.
    pub(super) fn counts_less(&mut self) {
        self.repeated.1 = self.repeated.1.saturating_sub(1);
    }
}

impl Flow {
    /// The requester goes back to this PSN, which it sent at this time before.
    pub(super) fn may_recur(&mut self, seen: &Seen<'_>, cause: Cause, sent: i64, out: &mut Out<'_>) {
        let psn = seen.bth.psn;
        if matches!(cause, Cause::Nak | Cause::Rnr | Cause::ImpliedNak) {
            // The responder asks for it, so it is the same conversation.
            return self.is_same(out);
        }
        let (Some(requests), high) = (&mut self.requests, self.answers.high) else { return };
        // Another connection would have been agreed on.
        if self.agreed.is_some() {
            return;
        }
        let is_answered = high.is_some_and(|(high, ..)| high.distance(psn) >= 0);
        let last_time = if is_answered { self.answers.last_time } else { sent };
        let is_soon = seen.has_time && seen.time.abs_diff(last_time) < REMADE.unsigned_abs();
        // What was not answered may have been, and the capture has missed it.
        let is_done = requests.completed == requests.next || !is_answered;
        let is_whole = psn.distance(requests.first) <= 0 && is_done && !is_soon;
        if let Some(recurrence) = &mut requests.recurrence {
            // The capture may have its first packets in each other's place.
            if psn.distance(recurrence.begin) < 0 {
                recurrence.begin = psn;
                recurrence.is_whole |= is_whole;
            }
            return;
        }
        if is_soon {
            return;
        }
        let counted = high.map(|(_, counted, _)| counted);
        requests.recurrence = Some(Box::new(Recurrence {
            begin: psn,
            counted,
            ends_walked: requests.ends_walked,
            is_whole,
            waiting: Vec::new(),
            repeated: (cause, 0),
        }));
    }

    /// A packet was counted as a repetition.
    pub(super) fn has_recurred(&mut self) {
        if let Some(recurrence) = self.requests.as_mut().and_then(|requests| requests.recurrence.as_mut()) {
            recurrence.repeated.1 += 1;
        }
    }

    /// A finding about something that came again. It waits while that may belong to another conversation.
    pub(super) fn find_of_repetition(
        &mut self,
        rule: RuleId,
        frames: &[u64; 2],
        out: &mut Out<'_>,
        what: impl FnOnce() -> String,
    ) {
        match self.requests.as_mut().and_then(|requests| requests.recurrence.as_mut()) {
            Some(recurrence) if recurrence.waiting.len() < MOST_WAITING => {
                recurrence.waiting.push((rule, *frames, what()));
            }
            Some(_) => self.doubt(Reason::Recurring),
            None => out.find(rule, frames, what),
        }
    }

    /// It is the same conversation: what waits is found.
    pub(super) fn is_same(&mut self, out: &mut Out<'_>) {
        let Some(recurrence) = self.requests.as_mut().and_then(|requests| requests.recurrence.take()) else {
            return;
        };
        if self.reasons.has(Reason::Reordered) {
            // What stands in front of the answer need not have been sent before it.
            return self.doubt(Reason::Recurring);
        }
        for (rule, frames, what) in recurrence.waiting {
            out.find(rule, &frames, || what);
        }
    }

    /// An answer comes. Says whether another conversation has begun by it, of which nothing but this was known.
    pub(super) fn is_counted_anew(&mut self, seen: &Seen<'_>, out: &mut Out<'_>) -> bool {
        let (psn, Some(Aeth { msn, .. })) = (seen.bth.psn, seen.headers.aeth) else { return false };
        let Some(requests) = &self.requests else { return false };
        let Some(recurrence) = &requests.recurrence else { return false };
        if psn.distance(recurrence.begin) < 0 || psn.distance(requests.cursor) >= 0 {
            return false;
        }
        // What was not complete when it was counted may be now.
        let open = requests.ends.saturating_sub(recurrence.ends_walked) + requests.missing + 1;
        let Some(counted) = recurrence.counted else {
            self.never_told();
            return false;
        };
        let more = i64::from(msn.distance(counted));
        if (0..=i64::try_from(open).unwrap_or(i64::MAX)).contains(&more) {
            if recurrence.is_whole {
                self.doubt(Reason::Recurring);
            } else {
                self.is_same(out);
            }
            return false;
        }
        let ((cause, repeated), cursor) = (recurrence.repeated, requests.cursor);
        self.stats.not_repeated(cause, repeated);
        let ip_id = requests.last_ip_id;
        self.begin_again();
        self.stats.conversations += 1;
        self.doubt(Reason::Recurring);
        self.requests = Some(Requests::begin(cursor, ip_id));
        true
    }

    /// No answer has told, or can tell.
    pub(super) fn never_told(&mut self) {
        let recurrence = self.requests.as_mut().and_then(|requests| requests.recurrence.take());
        if recurrence.is_some() {
            self.doubt(Reason::Recurring);
        }
    }

    /// Of an unreliable connection, whether what comes with numbers that have been begins another conversation.
    pub(super) fn begins_behind_silence(&self, seen: &Seen<'_>) -> bool {
        let last = self.requests.as_ref().map_or(i64::MAX, |requests| requests.last_time);
        seen.has_time && seen.starts_message() && seen.time.saturating_sub(last) > SILENCE
    }
}
