//! What seemed to go back may be one packet that came late, or twice. A requester that goes back sends everything from there on again;
//! if what follows is what would have followed anyway, it has not gone back.

use rdmalab_wire::Psn;

use crate::flow::{Flow, Out, Told};
use crate::observer::{Cause, Placed, Role};
use crate::reason::Reason;

/// A single packet so far that seems to go back, and what was so before.
#[derive(Clone, Debug)]
pub(crate) struct Detour {
    pub point: Psn,
    pub frame: u64,
    pub cause: Cause,
    /// It has not come since the requester went back last, so it may be late; otherwise it is there twice.
    pub may_be_late: bool,
    /// The capture has it for the first time.
    pub is_first_seen: bool,
    /// From the NAK to this.
    pub reaction: Option<(i64, i64)>,
    pub before: Before,
}

/// What changes as a requester goes back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    cursor: Psn,
    cause: Option<Cause>,
    run: u32,
    run_from: (Psn, Cause),
    timeouts: (Psn, u32),
    unanswered: Option<(Psn, u32)>,
    timeouts_answered: u64,
    nak: Option<Told>,
    implied: Option<Told>,
    may_recur: bool,
}

impl Flow {
    pub(super) fn before(&self) -> Option<Before> {
        let requests = self.requests.as_ref()?;
        Some(Before {
            cursor: requests.cursor,
            cause: requests.cause,
            run: requests.run,
            run_from: requests.run_from,
            timeouts: requests.timeouts,
            unanswered: requests.unanswered,
            timeouts_answered: self.stats.timeouts_answered,
            nak: self.answers.nak,
            implied: self.answers.implied,
            may_recur: requests.recurrence.is_some(),
        })
    }

    /// The next request has this PSN: it tells whether the one before went back.
    pub(in crate::checks) fn settle_detour(&mut self, psn: Psn, out: &mut Out<'_>) {
        let Some(detour) = self.requests.as_ref().and_then(|requests| requests.detour.as_ref()) else {
            return;
        };
        if psn == detour.point {
            let rnr = self.answers.rnr.filter(|rnr| rnr.psn == psn && rnr.frame > detour.frame);
            if detour.cause == Cause::Nak && rnr.is_some_and(|rnr| !Flow::has_waited(&rnr, out.now)) {
                // It came late, behind the NAK that asked for it, and was refused. What heeds that NAK comes now.
                self.no_detour(out);
            }
            return;
        }
        if psn.distance(detour.before.cursor) >= 0 {
            self.no_detour(out);
        } else {
            self.confirm_detour(out);
        }
    }

    /// It has gone back.
    pub(in crate::checks) fn confirm_detour(&mut self, out: &mut Out<'_>) {
        let Some(detour) = self.requests.as_mut().and_then(|requests| requests.detour.take()) else { return };
        if let Some((from, to)) = detour.reaction {
            self.stats.nak_reaction.add_between(from, to);
        }
        self.gaps_are_lost(out);
    }

    /// It was late, or there twice.
    fn no_detour(&mut self, out: &mut Out<'_>) {
        let Some(requests) = &mut self.requests else { return };
        let Some(detour) = requests.detour.take() else { return };
        let before = detour.before;
        self.stats.not_repeated(detour.cause, 1);
        self.stats.timeouts_answered = before.timeouts_answered;
        (requests.cursor, requests.cause, requests.run) = (before.cursor, before.cause, before.run);
        (requests.run_from, requests.timeouts) = (before.run_from, before.timeouts);
        requests.unanswered = before.unanswered;
        match (before.may_recur, &mut requests.recurrence) {
            (false, recurrence) => *recurrence = None,
            (true, Some(recurrence)) => recurrence.counts_less(),
            _ => {}
        }
        // Unless something was told since.
        for (now, before) in
            [(&mut self.answers.nak, before.nak), (&mut self.answers.implied, before.implied)]
        {
            if now.map(|told| told.frame) == before.map(|told| told.frame) {
                *now = before;
            }
        }
        let (point, run) = (detour.point, before.run);
        let entry = self.window.held_mut(point);
        let role = match (entry, detour.may_be_late) {
            (Some(entry), false) => {
                entry.sends = entry.sends.saturating_sub(1);
                self.stats.duplicates += 1;
                self.doubt(Reason::Duplicated);
                Role::Duplicate
            }
            (entry, _) => {
                if let Some(entry) = entry {
                    entry.run = run;
                }
                self.came_late(point, detour.is_first_seen)
            }
        };
        out.observer.corrected(Placed { frame: detour.frame, flow: out.flow, role, psn: point });
    }

    /// A packet came late: one that the capture had not had, or one of those that the requester sent again when it went back last.
    pub(super) fn came_late(&mut self, psn: Psn, is_first_seen: bool) -> Role {
        self.stats.late += 1;
        let entry = self.window.held(psn);
        let span = entry.filter(|entry| entry.psn == psn).map_or(1, |entry| entry.span);
        self.stats.lost_ahead = self.stats.lost_ahead.saturating_sub(span.into());
        self.doubt(Reason::Reordered);
        let Some(requests) = &mut self.requests else { return Role::Late };
        if is_first_seen {
            requests.gaps.came(psn, span);
            return Role::Late;
        }
        let (_, cause) = requests.run_from;
        self.stats.repeated(cause);
        Role::Repetition { cause, is_first_seen: false }
    }
}
