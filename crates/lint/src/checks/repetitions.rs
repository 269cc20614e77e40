//! What a requester sends again: why, from where on, whether it is the same, and how often.

use rdmalab_wire::{Psn, rnr_timer_nanoseconds};

use crate::finding::Reason;
use crate::flow::window::Entry;
use crate::flow::{Flow, Out, Told};
use crate::observer::{Cause, Role};
use crate::packet::{OperationKind, Seen};
use crate::rules::RuleId;

/// What comes again so soon, in nanoseconds, without a cause is the same packet seen twice. The shortest timeout there is
/// lasts 8.2 us, and none in use is as short.
const AT_ONCE: i64 = 20_000;
/// What fills a gap within so many nanoseconds without a cause came late.
const SOON: i64 = 500_000;
/// A requester that misses a response notices at the next one, and asks again within so many nanoseconds. Longer, and it was
/// the timer: nothing else tells, where the response was lost behind the place of capture.
const NOTICED: i64 = 1_000_000;
/// Behind the point to go back to, by at most so many PSNs, the first packets of a repetition may have been lost.
const LOST_REPETITIONS: i32 = 64;
/// An RNR retry count that means: without end.
const RNR_WITHOUT_END: u8 = 7;
/// IP identifications below this are those of the pieces of one send, which the kernel cut up, and come again and again.
const IDENTIFIES: u16 = 64;

impl Flow {
    /// A request whose PSN has been sent, or lies in a gap.
    pub(super) fn old_request(&mut self, seen: &Seen<'_>, kind: OperationKind, out: &mut Out<'_>) -> Role {
        let psn = seen.bth.psn;
        if !seen.is_reliable() {
            // Nothing is sent again over an unreliable connection.
            self.stats.late += 1;
            self.doubt(Reason::Reordered);
            return Role::Late;
        }
        let held = self.window.holding(psn);
        let known = held.and_then(|index| self.window.get(index)).copied();
        let exact = known.filter(|entry| entry.psn == psn);
        let Some(requests) = &mut self.requests else { return Role::Request };
        let goes_on = requests.cursor.distance(requests.next) < 0 && psn.distance(requests.cursor) >= 0;
        if let Some(entry) = &exact
            && requests.identifications_vary
            && entry.ip_id >= IDENTIFIES
            && entry.ip_id == seen.ip_id
            && entry.row.opcode == seen.row.opcode
        {
            self.stats.duplicates += 1;
            self.doubt(Reason::Duplicated);
            return Role::Duplicate;
        }
        let cause = if goes_on {
            let skipped = psn.distance(requests.cursor).unsigned_abs();
            if skipped > 0 {
                self.stats.lost_ahead += u64::from(skipped);
                self.reasons.add(Reason::LostAhead);
            }
            requests.cause.unwrap_or(Cause::Unknown)
        } else {
            let cause = self.cause(psn, seen.time, known.as_ref());
            let Some(requests) = &mut self.requests else { return Role::Request };
            let is_plain = !matches!(cause, Cause::Nak | Cause::Rnr | Cause::ImpliedNak) && seen.has_time;
            // Too soon behind an RNR NAK: if it is not another packet, it came twice.
            let is_hasty = cause == Cause::Rnr
                && self.answers.rnr.is_some_and(|rnr| !Flow::has_waited(&rnr, seen.time))
                && exact.is_some_and(|entry| !requests.identifications_vary || entry.ip_id == seen.ip_id);
            if exact.is_some_and(|entry| {
                (is_plain || is_hasty) && seen.time.saturating_sub(entry.last_time) < AT_ONCE
            }) {
                self.stats.duplicates += 1;
                self.doubt(Reason::Duplicated);
                return Role::Duplicate;
            }
            if known.is_none() && is_plain && seen.time.saturating_sub(requests.last_time) < SOON {
                self.stats.late += 1;
                self.stats.lost_ahead = self.stats.lost_ahead.saturating_sub(1);
                self.doubt(Reason::Reordered);
                self.fill(seen, kind, out);
                return Role::Late;
            }
            requests.cause = Some(cause);
            self.went_back(seen, cause, out);
            cause
        };
        self.stats.repeated(cause);
        match (exact, known) {
            (Some(entry), _) => self.repeats(seen, kind, &entry, out),
            (None, Some(entry)) => self.repeats_part(seen, kind, &entry, out),
            (None, None) => self.fill(seen, kind, out),
        }
        // What takes several PSNs is behind itself where its original ends.
        let run = self.requests.as_ref().map_or(0, |requests| requests.run);
        let end = match (held.and_then(|index| self.window.get_mut(index)), known) {
            (Some(entry), Some(_)) => {
                entry.sends = entry.sends.saturating_add(1);
                entry.run = run;
                entry.ip_id = seen.ip_id;
                (entry.last_frame, entry.last_time) = (seen.frame, seen.time);
                entry.end()
            }
            _ => psn.next(),
        };
        if let Some(requests) = &mut self.requests {
            requests.cursor = end;
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
        // One that is in front of all others belongs to what is no longer known.
        if self.window.get(0).is_some_and(|first| first.psn.distance(entry.psn) < 0) {
            self.window.insert(entry);
        }
    }

    /// Why the requester goes back to this PSN.
    fn cause(&self, psn: Psn, time: i64, known: Option<&Entry>) -> Cause {
        let Some(requests) = &self.requests else { return Cause::Unknown };
        let told = |told: &Option<Told>| told.filter(|told| !told.is_done).map(|told| told.psn);
        let answers = &self.answers;
        let (rnr, nak, implied) = (told(&answers.rnr), told(&answers.nak), told(&answers.implied));
        if rnr == Some(psn) {
            // A NAK that came before, as a request was late, may have been heard when the RNR NAK was still under way.
            let was_asked = answers.nak.zip(answers.rnr).is_some_and(|(nak, rnr)| {
                nak.psn == psn && !nak.is_done && nak.frame < rnr.frame && !Flow::has_waited(&rnr, time)
            });
            return if was_asked { Cause::Nak } else { Cause::Rnr };
        }
        if nak == Some(psn) {
            return Cause::Nak;
        }
        if implied == Some(psn) {
            return Cause::ImpliedNak;
        }
        let within_answer = known.is_some_and(|entry| {
            entry.kind.is_answered()
                && psn.distance(entry.psn) <= entry.answered.cast_signed()
                && entry.end().distance(requests.completed) >= 0
        });
        let may_have_missed = known.is_some_and(|entry| entry.kind.is_answered())
            && answers.high.is_some_and(|high| high.0.distance(psn) > 0);
        if may_have_missed && time.saturating_sub(answers.last_time) < NOTICED {
            return Cause::ImpliedNak;
        }
        if requests.may_be_oldest(psn) || within_answer {
            return Cause::Timeout;
        }
        // The first packets of the repetition may have been lost in front of the place of capture.
        if self.reasons.has(Reason::LostAhead) {
            let behind = |point: Option<Psn>| {
                point.is_some_and(|point| (1..=LOST_REPETITIONS).contains(&psn.distance(point)))
            };
            return match () {
                () if behind(rnr.filter(|_| answers.rnr.is_some_and(|rnr| Flow::has_waited(&rnr, time)))) => {
                    Cause::Rnr
                }
                () if behind(nak) => Cause::Nak,
                () if behind(implied) => Cause::ImpliedNak,
                () if behind(Some(requests.completed)) => Cause::Timeout,
                () => Cause::Unknown,
            };
        }
        Cause::Unknown
    }

    /// The requester goes back.
    fn went_back(&mut self, seen: &Seen<'_>, cause: Cause, out: &mut Out<'_>) {
        let psn = seen.bth.psn;
        self.stats.went_back(cause);
        self.excuse_restart(psn);
        if !seen.has_time {
            self.doubt(Reason::NoTimes);
        }
        let told = match cause {
            Cause::Rnr => &mut self.answers.rnr,
            Cause::Nak => &mut self.answers.nak,
            Cause::ImpliedNak => &mut self.answers.implied,
            Cause::Timeout | Cause::Unknown => &mut None,
        };
        if let Some(told) =
            told.as_mut().filter(|told| (0..=LOST_REPETITIONS).contains(&psn.distance(told.psn)))
        {
            told.is_done = true;
            let (at, since, frame, wait) = (told.psn, told.time, told.frame, told.wait);
            if cause == Cause::Nak && seen.has_time {
                self.stats.nak_reaction.add_between(since, seen.time);
            }
            let waited = seen.time.saturating_sub(since);
            let has_waited = Flow::has_waited(told, seen.time);
            if cause == Cause::Rnr && seen.has_time {
                // The NAK that follows for what was under way behind is answered by this, too.
                if let Some(nak) = self.answers.nak.as_mut().filter(|nak| nak.psn == at) {
                    nak.is_done = true;
                }
                if !has_waited {
                    out.find(RuleId::RnrWait, &[seen.frame, frame], || {
                        format!(
                            "psn {psn} comes again {:.3} ms after the RNR NAK, which says {:.3} ms",
                            waited as f64 / 1e6,
                            wait as f64 / 1e6
                        )
                    });
                }
            }
        }
        if cause == Cause::Rnr {
            self.rnr_limit(seen, out);
        }
        let (peer, limit) = (self.peer, self.agreed.and_then(|agreed| agreed.retry_count).unwrap_or(7));
        let Some(requests) = &mut self.requests else { return };
        requests.run = requests.run.wrapping_add(1);
        match cause {
            Cause::Timeout if requests.timeouts.0 == psn => requests.timeouts.1 += 1,
            Cause::Timeout => requests.timeouts = (psn, 1),
            Cause::Unknown if peer.is_none() => self.reasons.add(Reason::AnswersUnknown),
            Cause::Unknown if self.reasons.has(Reason::LostAhead) || self.reasons.has(Reason::Reordered) => {}
            Cause::Unknown => requests.suspect = Some((psn, seen.frame)),
            _ => {}
        }
        let (_, times) = requests.timeouts;
        if cause == Cause::Timeout && times > u32::from(limit) && !requests.limit_told && peer.is_some() {
            requests.limit_told = true;
            out.find(RuleId::RetryLimit, &[seen.frame], || {
                format!("psn {psn} is sent again for the {times}th time without an answer; at most {limit} are right")
            });
        }
    }

    /// How often the receiver may be not ready for one packet.
    fn rnr_limit(&mut self, seen: &Seen<'_>, out: &mut Out<'_>) {
        let psn = seen.bth.psn;
        let (agreed, Some(requests)) = (self.agreed, &mut self.requests) else { return };
        let (last, times) = requests.rnr_returns;
        let times = if last == psn { times.saturating_add(1) } else { 1 };
        requests.rnr_returns = (psn, times);
        let Some(agreed) = agreed else { return };
        let limit = agreed.rnr_retry_count;
        if limit < RNR_WITHOUT_END && times == u32::from(limit) + 1 {
            out.find(RuleId::RnrRetry, &[seen.frame, agreed.frames[0], agreed.frames[1]], || {
                format!(
                    "psn {psn} is sent again for the {times}th time behind an RNR NAK, agreed were {limit}"
                )
            });
        }
    }

    /// A repetition that began at no point to go back to is answered: it did not lack what it seemed to.
    pub(super) fn settle_restart(&mut self, psn: Psn, out: &mut Out<'_>) {
        let Some(requests) = &mut self.requests else { return };
        let Some((point, frame, oldest)) = requests.restart.filter(|restart| psn.distance(restart.0) >= 0)
        else {
            return;
        };
        requests.restart = None;
        out.find(RuleId::RestartPoint, &[frame], || {
            format!("goes back to psn {point}; the oldest unacknowledged one is {oldest}, and no NAK names {point}")
        });
    }

    /// What a repetition seemed to lack, it lacked: it was lost in front of the place of capture.
    pub(super) fn excuse_restart(&mut self, psn: Psn) {
        let Some(requests) = &mut self.requests else { return };
        if requests.restart.is_some_and(|restart| psn.distance(restart.0) < 0) {
            requests.restart = None;
            self.reasons.add(Reason::LostAhead);
        }
    }

    /// Whether what went back without a cause goes on from there, or was one packet twice.
    pub(super) fn settle_suspect(&mut self, psn: Psn) {
        let Some(requests) = &mut self.requests else { return };
        let Some((point, frame)) = requests.suspect.take() else { return };
        if psn == requests.cursor && psn != requests.next {
            // Its first packets may have been lost in front of the place of capture: what the responder says tells.
            requests.restart = Some((point, frame, requests.completed));
        } else {
            self.stats.duplicates += 1;
            self.stats.not_repeated(Cause::Unknown);
            self.doubt(Reason::Duplicated);
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
            out.find(RuleId::RepeatHeader, &[seen.frame, entry.first_frame], || {
                if name == was {
                    format!("{name} psn {} comes again with another length, address or key", entry.psn)
                } else {
                    format!("psn {} was {was} and comes again as {name}", entry.psn)
                }
            });
        } else if let (Some(now), Some(then)) = (again.payload_sum, entry.payload_sum)
            && now != then
        {
            out.find(RuleId::RepeatPayload, &[seen.frame, entry.first_frame], || {
                format!("{} psn {} comes again with another payload", seen.row.name, entry.psn)
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
        out.find(RuleId::ReadRetry, &[seen.frame, entry.first_frame], || {
            format!(
                "{} psn {} is packet {offset} of the READ psn {}, but does not ask for its rest",
                seen.row.name, seen.bth.psn, entry.psn
            )
        });
    }

    /// Whether a requester has waited as long as it was told. Places of capture have clocks of their own making: one in a
    /// hundred is granted.
    fn has_waited(told: &Told, time: i64) -> bool {
        time.saturating_sub(told.time) >= (told.wait - told.wait / 100).cast_signed()
    }

    /// Nanoseconds that an RNR NAK's timer code asks to wait.
    pub(super) fn rnr_wait(timer: u8) -> u64 {
        rnr_timer_nanoseconds(timer)
    }
}
