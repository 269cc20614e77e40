//! A requester goes back: why, whether to where it must, how soon, and how often.

use rdmalab_wire::{Psn, rnr_timer_nanoseconds};

use crate::flow::entry::Entry;
use crate::flow::{Flow, Out, Told};
use crate::observer::Cause;
use crate::packet::Seen;
use crate::reason::Reason;
use crate::rules::RuleId;

/// A requester that misses a response notices at the next one, and asks again within so many nanoseconds. Longer, and it was
/// the timer: nothing else tells, where the response was lost behind the place of capture.
pub(in crate::checks) const NOTICED: i64 = 1_000_000;
/// Behind the point to go back to, by at most so many PSNs, the first packets of a repetition may have been lost.
pub(super) const LOST_REPETITIONS: i32 = 64;
/// An RNR retry count that means: without end.
const RNR_WITHOUT_END: u8 = 7;

impl Flow {
    /// Why the requester goes back. Learns how long its timer runs.
    pub(super) fn cause(&mut self, seen: &Seen<'_>, known: Option<&Entry>) -> Cause {
        let (psn, time) = (seen.bth.psn, seen.time);
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
        // The timer runs since the last answer, or since it was sent.
        let sent = known.map_or(requests.last_time, |entry| entry.last_time);
        let silence = if seen.has_time { time.saturating_sub(answers.last_time.max(sent)) } else { 0 };
        let timer = self.timer.length();
        let is_timer = timer.is_some_and(|timer| silence >= timer);
        let is_asked_for = nak == Some(psn) || implied == Some(psn);
        if is_asked_for && !is_timer {
            self.timer.was_not_needed(silence);
            return if nak == Some(psn) { Cause::Nak } else { Cause::ImpliedNak };
        }
        let within_answer = known.is_some_and(|entry| {
            entry.kind.is_answered()
                && psn.distance(entry.psn) <= entry.answered.cast_signed()
                && entry.end().distance(requests.completed) >= 0
        });
        let may_have_missed = known.is_some_and(|entry| entry.kind.is_answered())
            && (answers.high.is_some_and(|high| high.0.distance(psn) > 0)
                // A NAK for what is behind it is heard as an answer to that.
                || nak.is_some_and(|nak| nak.distance(psn) > 0));
        if may_have_missed && silence < timer.unwrap_or(NOTICED) {
            return Cause::ImpliedNak;
        }
        if requests.may_be_oldest(psn) || within_answer {
            if !is_asked_for && !may_have_missed {
                self.timer.ran_out(silence);
            }
            return Cause::Timeout;
        }
        // The first packets of the repetition may have been lost in front of the place of capture.
        if self.may_lack() {
            let behind = |point: Option<Psn>| {
                point.is_some_and(|point| (1..=LOST_REPETITIONS).contains(&psn.distance(point)))
            };
            return match () {
                () if behind(rnr.filter(|_| answers.rnr.is_some_and(|rnr| Flow::has_waited(&rnr, time)))) => {
                    Cause::Rnr
                }
                () if behind(nak) && !is_timer => Cause::Nak,
                () if behind(implied) && !is_timer => Cause::ImpliedNak,
                () if behind(Some(requests.completed)) => Cause::Timeout,
                () => Cause::Unknown,
            };
        }
        Cause::Unknown
    }

    /// Whether the responder, or an answer, asks for this very PSN.
    pub(super) fn is_told(&self, psn: Psn, cause: Cause) -> bool {
        let told = match cause {
            Cause::Rnr => self.answers.rnr,
            Cause::Nak => self.answers.nak,
            Cause::ImpliedNak => self.answers.implied,
            Cause::Timeout | Cause::Unknown => None,
        };
        told.is_some_and(|told| told.psn == psn && !told.is_done)
    }

    /// Requests may be missing in the capture, or stand in another order.
    fn may_lack(&self) -> bool {
        let has_gaps = self.requests.as_ref().is_some_and(|requests| !requests.gaps.is_empty());
        has_gaps || self.reasons.has(Reason::LostAhead) || self.reasons.has(Reason::Reordered)
    }

    /// The requester goes back. Gives the times of the NAK that it heeds and of this.
    pub(super) fn went_back(
        &mut self,
        seen: &Seen<'_>,
        cause: Cause,
        out: &mut Out<'_>,
    ) -> Option<(i64, i64)> {
        let may_lack = self.may_lack();
        let mut reaction = None;
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
                reaction = Some((since, seen.time));
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
        if cause == Cause::Timeout {
            // What asked for it was never heard.
            for told in [&mut self.answers.nak, &mut self.answers.implied].into_iter().flatten() {
                told.is_done |= told.psn == psn;
            }
        }
        let (peer, limit) = (self.peer, self.agreed.and_then(|agreed| agreed.retry_count).unwrap_or(7));
        let requests = self.requests.as_mut()?;
        requests.run = requests.run.wrapping_add(1);
        requests.run_from = (psn, cause);
        if cause == Cause::Timeout {
            let is_answered = psn.distance(requests.completed) < 0;
            self.stats.timeouts_answered += u64::from(is_answered);
            requests.unanswered = (!is_answered).then_some((psn, 0));
        }
        match cause {
            Cause::Timeout if requests.timeouts.0 == psn => requests.timeouts.1 += 1,
            Cause::Timeout => requests.timeouts = (psn, 1),
            Cause::Unknown if peer.is_none() => self.reasons.add(Reason::AnswersUnknown),
            Cause::Unknown if may_lack => {}
            // In front of what the capture began with, where it has been is not known.
            Cause::Unknown if psn.distance(requests.first) <= 0 => self.reasons.add(Reason::BegunBefore),
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
        reaction
    }

    /// An answer to this PSN. If the request that the timer sent again is answered twice, the first of them was answered, too late.
    pub(in crate::checks) fn answered_late(&mut self, psn: Psn) {
        let Some(requests) = &mut self.requests else { return };
        let Some((_, answers)) = requests.unanswered.as_mut().filter(|(point, _)| *point == psn) else {
            return;
        };
        *answers += 1;
        if *answers == 2 {
            requests.unanswered = None;
            self.stats.timeouts_answered += 1;
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
    pub(in crate::checks) fn settle_restart(&mut self, psn: Psn, out: &mut Out<'_>) {
        let Some(requests) = &mut self.requests else { return };
        let Some((point, frame, oldest)) = requests.restart.filter(|restart| psn.distance(restart.0) >= 0)
        else {
            return;
        };
        requests.restart = None;
        if requests.recurrence.is_some() {
            // It may not have gone back at all.
            return;
        }
        out.find(RuleId::RestartPoint, &[frame], || {
            format!("goes back to psn {point}; the oldest unacknowledged one is {oldest}, and no NAK names {point}")
        });
    }

    /// What a repetition seemed to lack, it lacked: it was lost in front of the place of capture.
    pub(in crate::checks) fn excuse_restart(&mut self, psn: Psn) {
        let Some(requests) = &mut self.requests else { return };
        if requests.restart.is_some_and(|restart| psn.distance(restart.0) < 0) {
            requests.restart = None;
            self.reasons.add(Reason::LostAhead);
        }
    }

    /// Whether what went back without a cause goes on from there, or was one packet twice.
    pub(in crate::checks) fn settle_suspect(&mut self, psn: Psn) {
        let Some(requests) = &mut self.requests else { return };
        let Some((point, frame)) = requests.suspect.take() else { return };
        // What asks for the rest of a READ in front of it may be what the capture has missed.
        let completed = requests.completed;
        let before = self.window.held(point.sub(1));
        let is_behind_rest = before.is_some_and(|before| {
            before.kind.is_answered()
                && before.psn.distance(completed) <= 0
                && point.distance(completed) > 0
                && before.end() == point
        });
        if psn == requests.cursor && psn != requests.next && is_behind_rest {
            self.doubt(Reason::LostAhead);
        } else if psn == requests.cursor && psn != requests.next {
            // Its first packets may have been lost in front of the place of capture: what the responder says tells.
            requests.restart = Some((point, frame, requests.completed));
        } else if let Some(nak) = self.answers.nak.as_mut().filter(|nak| {
            !nak.is_done && nak.psn == psn && (1..=LOST_REPETITIONS).contains(&point.distance(psn))
        }) {
            // The first packet of the repetition comes behind the second.
            nak.is_done = true;
            (requests.run_from, requests.cause) = ((point, Cause::Nak), Some(Cause::Nak));
            self.stats.not_repeated(Cause::Unknown, 1);
            self.stats.went_back(Cause::Nak);
            self.stats.repeated(Cause::Nak);
            self.doubt(Reason::Reordered);
        } else {
            self.stats.duplicates += 1;
            self.stats.not_repeated(Cause::Unknown, 1);
            self.doubt(Reason::Duplicated);
        }
    }

    /// Whether a requester has waited as long as it was told. Places of capture have clocks of their own making: one in a
    /// hundred is granted.
    pub(super) fn has_waited(told: &Told, time: i64) -> bool {
        time.saturating_sub(told.time) >= (told.wait - told.wait / 100).cast_signed()
    }

    /// Nanoseconds that an RNR NAK's timer code asks to wait.
    pub(in crate::checks) fn rnr_wait(timer: u8) -> u64 {
        rnr_timer_nanoseconds(timer)
    }
}
