//! What a requester sends again: whether it is that, and the same. Why, from where on and how often is in `returns`.

mod detour;
mod returns;

pub(crate) use detour::Detour;
pub(super) use returns::NOTICED;

use super::recurrence::REMADE;
use crate::flow::entry::Entry;
use crate::flow::heard::{AT_ONCE, same_packet, was_sent_before};
use crate::flow::{Flow, Out};
use crate::observer::{Cause, Role};
use crate::packet::{OperationKind, Seen};
use crate::reason::Reason;
use crate::rules::RuleId;
use returns::LOST_REPETITIONS;

/// What fills a gap within so many nanoseconds without a cause came late.
const SOON: i64 = 500_000;

impl Flow {
    /// A request whose PSN has been sent, or lies in a gap.
    pub(super) fn old_request(&mut self, seen: &Seen<'_>, kind: OperationKind, out: &mut Out<'_>) -> Role {
        let psn = seen.bth.psn;
        if !seen.is_reliable() {
            // Nothing is sent again over an unreliable connection.
            self.uses_again(seen, kind, out);
            self.stats.late += 1;
            self.doubt(Reason::Reordered);
            return Role::Late;
        }
        if let Some(at) = self.window.holding(psn) {
            self.settle_before(at, seen, kind);
            self.settle_at(at);
        }
        let held = self.window.holding(psn);
        let known = held.and_then(|index| self.window.get(index)).copied();
        let mut detour = None;
        let exact = known.filter(|entry| entry.psn == psn);
        let Some(requests) = &mut self.requests else { return Role::Request };
        // Of the first request nobody knows yet whether the next one has another identification; they seldom all have one of these.
        let varies = requests.identifications_vary || self.window.len() == 1;
        let between =
            |entry: &Entry| if seen.has_time { seen.time.saturating_sub(entry.last_time) } else { i64::MAX };
        let last = known.filter(|entry| entry.last_psn == psn && entry.row.opcode == seen.row.opcode);
        let is_same = last.as_ref().and_then(|entry| {
            let is_soon = requests.identifications_vary || between(entry) <= SOON;
            let told = same_packet((entry.ip_id, seen.ip_id), varies && is_soon, between(entry));
            // Directly behind itself it is one packet: the pieces of one send have different ones, and a new send begins with none.
            let is_next = requests.cursor == entry.end() && requests.last_time == entry.last_time;
            told.or((is_next && varies && seen.ip_id > 0 && between(entry) <= SOON).then_some(true))
        });
        if is_same == Some(true) {
            self.stats.duplicates += 1;
            self.doubt(Reason::Duplicated);
            return Role::Duplicate;
        }
        self.settle_detour(psn, out);
        let Some(requests) = &mut self.requests else { return Role::Request };
        if let Some((_, cause)) = requests.interrupted.take_if(|(cursor, _)| *cursor == psn) {
            (requests.cursor, requests.cause) = (psn, Some(cause));
        }
        let goes_on = requests.cursor.distance(requests.next) < 0 && psn.distance(requests.cursor) >= 0;
        let cause = if goes_on {
            let skipped = psn.distance(requests.cursor).unsigned_abs();
            if skipped > 0 {
                self.stats.lost_ahead += u64::from(skipped);
                self.reasons.add(Reason::LostAhead);
            }
            requests.cause.unwrap_or(Cause::Unknown)
        } else {
            self.lacks(psn);
            let cause = self.cause(seen, known.as_ref());
            let Some(requests) = &mut self.requests else { return Role::Request };
            let is_plain = !matches!(cause, Cause::Nak | Cause::Rnr | Cause::ImpliedNak) && seen.has_time;
            let is_refused =
                cause == Cause::Rnr && self.answers.rnr.is_some_and(|rnr| !Flow::has_waited(&rnr, seen.time));
            // Too soon behind an RNR NAK: if it is not another packet, it came twice.
            let is_hasty = is_refused
                && exact.is_some_and(|entry| !requests.identifications_vary || entry.ip_id == seen.ip_id);
            let is_at_once = last.is_some_and(|entry| between(&entry) < AT_ONCE);
            if is_at_once && (is_plain || is_hasty) && is_same.is_none() {
                self.stats.duplicates += 1;
                self.doubt(Reason::Duplicated);
                return Role::Duplicate;
            }
            if is_refused && exact.is_some_and(|entry| was_sent_before(seen.ip_id, entry.ip_id)) {
                // What was refused is a repetition of this one, which comes only now.
                return self.came_late(psn, true);
            }
            let end = known.map_or(psn.next(), |entry| entry.end());
            let is_soon = |time: i64| seen.has_time && seen.time.saturating_sub(time) < SOON;
            // What follows can tell only if it would be another.
            let is_told_by_next = end.distance(requests.cursor) < 0;
            let run = requests.run;
            let belongs = run > 0 && psn.distance(requests.run_from.0) >= -LOST_REPETITIONS;
            let may_be_late = is_told_by_next
                && is_soon(requests.last_time)
                && known.is_none_or(|entry| entry.run != run && belongs);
            let may_be_twice = is_told_by_next
                && cause == Cause::Timeout
                && is_same.is_none()
                && last.is_some_and(|entry| entry.run == run && is_soon(entry.last_time));
            if may_be_late && known.is_none() && !self.is_told(psn, cause) {
                self.fill(seen, kind, out);
                return self.came_late(psn, true);
            }
            let before = self.before();
            let Some(requests) = &mut self.requests else { return Role::Request };
            requests.cause = Some(cause);
            let sent = known.map_or(requests.last_time, |entry| entry.last_time);
            self.confirm_detour(out);
            self.may_recur(seen, cause, sent, out);
            let reaction = self.went_back(seen, cause, out);
            if (may_be_late || may_be_twice) && cause != Cause::Rnr {
                detour = before.map(|before| {
                    let (frame, point, is_first_seen) = (seen.frame, psn, known.is_none());
                    Box::new(Detour { point, frame, cause, may_be_late, is_first_seen, reaction, before })
                });
            } else {
                if let Some((from, to)) = reaction {
                    self.stats.nak_reaction.add_between(from, to);
                }
                self.gaps_are_lost(out);
            }
            cause
        };
        self.stats.repeated(cause);
        self.has_recurred();
        match (exact, known) {
            (Some(entry), _) => self.repeats(seen, kind, &entry, out),
            (None, Some(entry)) => self.repeats_part(seen, kind, &entry, out),
            (None, None) => self.fill(seen, kind, out),
        }
        // What takes several PSNs is behind itself where its original ends.
        let (run, completed) =
            self.requests.as_ref().map_or((0, psn), |requests| (requests.run, requests.completed));
        let end = match (held.and_then(|index| self.window.get_mut(index)), known) {
            (Some(entry), Some(_)) => {
                entry.sends = entry.sends.saturating_add(1);
                entry.run = run;
                self.stats.answers_lost(std::mem::take(&mut entry.lacking));
                let offset = psn.distance(entry.psn).unsigned_abs();
                let is_oldest = entry.psn.distance(completed) <= 0 && entry.end().distance(completed) > 0;
                if entry.kind.is_answered() && is_oldest {
                    self.stats.answers_lacking(entry.answer_from(offset));
                }
                entry.ip_id = seen.ip_id;
                (entry.last_psn, entry.last_frame, entry.last_time) = (psn, seen.frame, seen.time);
                entry.end()
            }
            // A READ that the capture has for the first time takes as many as it asks for.
            _ => {
                let filled = self.window.held(psn);
                filled.filter(|entry| entry.psn == psn && entry.span_is_known).map_or(psn.next(), Entry::end)
            }
        };
        if let Some(requests) = &mut self.requests {
            requests.cursor = end;
            if detour.is_some() {
                requests.detour = detour;
            }
        }
        Role::Repetition { cause, is_first_seen: known.is_none() }
    }

    /// A request that the capture has not had, in front of others.
    fn fill(&mut self, seen: &Seen<'_>, kind: OperationKind, out: &mut Out<'_>) {
        let mut entry = self.entry(seen, kind, out);
        // A READ may be the rest of one that the capture missed, so nothing is known of its answer.
        entry.is_unclear = true;
        self.lengths(seen, &entry, out);
        let Some(requests) = &mut self.requests else { return };
        if entry.psn.distance(requests.walked) >= 0 {
            requests.missing = requests.missing.saturating_sub(1);
            requests.ends += u64::from(entry.ends_message());
        }
        // One that is complete and in front of all others belongs to what is no longer known.
        let is_open = entry.psn.distance(requests.completed) >= 0;
        if is_open || self.window.get(0).is_some_and(|first| first.psn.distance(entry.psn) < 0) {
            self.window.insert(entry);
        }
    }

    fn repeats(&mut self, seen: &Seen<'_>, kind: OperationKind, entry: &Entry, out: &mut Out<'_>) {
        let again = Entry::of(seen, kind, entry.span, entry.span_is_known);
        if !again.has_header_of(entry) {
            let held = self.window.holding(entry.psn);
            if let Some(held) = held.and_then(|index| self.window.get_mut(index)) {
                held.is_unclear = true;
            }
            let (name, was) = (seen.row.name, entry.row.name);
            self.find_of_repetition(RuleId::RepeatHeader, &[seen.frame, entry.first_frame], out, || {
                if name == was {
                    format!("{name} psn {} comes again with another length, address or key", entry.psn)
                } else {
                    format!("psn {} was {was} and comes again as {name}", entry.psn)
                }
            });
        } else if let (Some(now), Some(then)) = (again.payload_sum, entry.payload_sum)
            && now != then
        {
            self.find_of_repetition(RuleId::RepeatPayload, &[seen.frame, entry.first_frame], out, || {
                format!("{} psn {} comes again with another payload", seen.row.name, entry.psn)
            });
        }
    }

    /// A PSN of an unreliable connection comes again, and sooner than another connection could be made: by the same packet.
    fn uses_again(&self, seen: &Seen<'_>, kind: OperationKind, out: &mut Out<'_>) {
        let psn = seen.bth.psn;
        let known = self.window.held(psn);
        let is_soon =
            |entry: &&Entry| seen.has_time && seen.time.abs_diff(entry.last_time) < REMADE.unsigned_abs();
        let Some(entry) = known.filter(|entry| entry.psn == psn).filter(is_soon) else { return };
        let (again, name) = (Entry::of(seen, kind, 1, true), seen.row.name);
        let frames = [seen.frame, entry.first_frame];
        if !again.has_header_of(entry) {
            out.find(RuleId::RepeatHeader, &frames, || {
                format!("{name} psn {psn} is another packet than the one before with this PSN")
            });
        } else if again.payload_sum.zip(entry.payload_sum).is_some_and(|(now, then)| now != then) {
            out.find(RuleId::RepeatPayload, &frames, || {
                format!("{name} psn {psn} has another payload than the one before with this PSN")
            });
        }
    }

    /// A request in the middle of what a READ takes: it asks for the rest.
    fn repeats_part(&mut self, seen: &Seen<'_>, kind: OperationKind, entry: &Entry, out: &mut Out<'_>) {
        let offset = seen.bth.psn.distance(entry.psn).unsigned_abs();
        let again = Entry::of(seen, kind, 1, true);
        let fits = |size: u32| again.is_rest_of(entry, offset, size);
        let is_rest = self.sizes.iter().any(fits);
        let held = self.window.holding(entry.psn);
        let held = held.and_then(|index| self.window.get_mut(index));
        if is_rest {
            self.sizes.keep(fits);
            if let Some(held) = held {
                held.ask_from(offset);
            }
            return;
        }
        if let Some(held) = held {
            held.is_unclear = true;
        }
        self.find_of_repetition(RuleId::ReadRetry, &[seen.frame, entry.first_frame], out, || {
            format!(
                "{} psn {} is packet {offset} of the READ psn {}, but does not ask for its rest",
                seen.row.name, seen.bth.psn, entry.psn
            )
        });
    }
}
