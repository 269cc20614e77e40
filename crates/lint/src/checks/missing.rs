//! Answers with data that are not in the capture. Either they were lost in front of the place of capture: the requester, which takes
//! answers in their order only, notices at the next one and goes back, or does when its timer runs out. Or only the capture lacks
//! them: the requester goes on, and what it does says which.

use rdmalab_wire::Psn;

use super::repetitions::NOTICED;
use crate::flow::{Flow, Gap, Out, Told};
use crate::packet::Seen;
use crate::reason::Reason;
use crate::rules::RuleId;

/// More responses than these in a row are not lost, but never were sent.
pub(super) const FEW_LOST: i32 = 4096;
/// So many round trips further, a requester that lacked an answer would have gone back.
const ROUNDS: u32 = 2;
/// More requests than these are not looked through for one that lacks its answer.
const LOOKED_THROUGH: usize = 256;

impl Flow {
    /// So many packets between this answer, of the request at this place, and the one before it are missing.
    pub(super) fn skipped(&mut self, at: usize, packets: i32) {
        if (1..FEW_LOST).contains(&packets) {
            self.end_in_front(at);
            self.are_missing(packets.unsigned_abs());
        }
    }

    pub(super) fn are_missing(&mut self, packets: u32) {
        self.stats.responses_missing += u64::from(packets);
        self.doubt(Reason::LostAhead);
    }

    /// Answers come in order: no more comes of those to requests in front of this one. Says how much of them never came by.
    pub(super) fn end_in_front(&mut self, at: usize) -> u32 {
        let mut missing = 0;
        for index in (0..at).rev().take(LOOKED_THROUGH) {
            let Some(entry) = self.window.get_mut(index) else { break };
            if entry.kind.is_answered() && entry.span_is_known {
                match entry.end_answer() {
                    0 => break,
                    more => missing += more,
                }
            }
        }
        missing
    }

    /// The responder goes on to this PSN. What it passes over that needs an answer has none, if the capture has all that it sent since that
    /// was asked for.
    pub(super) fn pass(&mut self, psn: Psn, seen: &Seen<'_>, out: &mut Out<'_>) {
        let Some((high, _, frame)) = self.answers.high else { return };
        // Where an answer could not be placed, it may be the one that seems to lack: by two clocks it comes before its request.
        if !seen.sent.is_next_to(frame) || self.answers.has_unplaced {
            return;
        }
        let sizes = self.sizes;
        let from = self.window.holding(high.next()).unwrap_or_else(|| self.window.lower_bound(high));
        for index in from..from.saturating_add(LOOKED_THROUGH) {
            let Some(entry) = self.window.get_mut(index).filter(|entry| entry.psn.distance(psn) < 0) else {
                return;
            };
            let next = if entry.psn.distance(high) > 0 { entry.psn } else { high.next() };
            let is_passed = entry.kind.is_answered()
                && psn.distance(next) > 0
                && entry.surely_takes(next, sizes)
                && !entry.is_unclear
                // It may have been answered before, if what was answered last came again.
                && seen.sent.is_next_to(entry.first_frame)
                // `ack-read` is about that.
                && !(seen.operation() == 0x11 && psn.distance(entry.end()) < 0)
                && entry.reached <= next.distance(entry.psn).unsigned_abs();
            if is_passed {
                entry.was_passed = true;
                let (kind, first) = (entry.kind.name(), entry.first_frame);
                let (name, answered) = (seen.row.name, seen.bth.psn);
                out.find(RuleId::AnswerOrder, &[seen.frame, first, frame], || {
                    format!(
                        "{name} psn {answered} follows that of psn {high}, and psn {next} of a {kind} is not answered in between"
                    )
                });
            }
        }
    }

    /// The first answer to a READ or atomic, or a part of it, comes behind what was answered for. If it was sent behind that, too, it was
    /// asked for again.
    pub(super) fn is_asked_again(&mut self, seen: &Seen<'_>, out: &mut Out<'_>) {
        let (psn, Some((high, _, frame))) = (seen.bth.psn, self.answers.high) else { return };
        if psn.distance(high) >= 0 || !seen.sent.is_behind(frame) {
            return;
        }
        let entry = self.window.held(psn);
        if let Some(entry) = entry.filter(|entry| entry.is_bare() && entry.sends == 1 && !entry.was_passed) {
            out.find(RuleId::AckUnseen, &[seen.frame, entry.first_frame, frame], || {
                let name = seen.row.name;
                format!("{name} psn {psn} was sent behind that of psn {high}, and no request for it again is in the capture")
            });
        }
    }

    /// A READ or atomic in front of what was answered for, whose answer is missing: the requester asks again, if it lacks it, too.
    pub(super) fn imply(&mut self, psn: Psn, seen: &Seen<'_>) {
        let Some(requests) = &self.requests else { return };
        let Some(entry) = self.window.get(self.window.lower_bound(requests.completed)) else { return };
        if entry.kind.is_answered() && psn.distance(entry.psn.add(entry.answered)) >= 0 {
            let missing = entry.psn.add(entry.answered);
            let is_new = self.answers.implied.is_none_or(|implied| implied.psn != missing);
            if is_new || self.answers.gap.is_none_or(|gap| gap.run != requests.run) {
                self.answers.gap = Some(Gap {
                    next: requests.next,
                    run: requests.run,
                    time: seen.time,
                    rounds: 0,
                    answered: [missing; 2],
                    is_counted: is_new,
                });
            }
            if is_new {
                self.answers.implied = Some(Told { psn: missing, sends: entry.sends, ..self.told(seen, 0) });
                self.stats.implied_naks += 1;
            }
        }
    }

    /// The responder has answered for everything up to this PSN.
    pub(super) fn gone_on(&mut self, psn: Psn) {
        let (Some(gap), Some(requests)) = (&mut self.answers.gap, &self.requests) else { return };
        if psn.distance(gap.next) >= 0 {
            (gap.rounds, gap.next) = (gap.rounds.saturating_add(1), requests.next);
            gap.answered = [gap.answered[1], psn];
        }
    }

    /// A new request. A requester that goes on, round by round, though an answer is missing, does not lack that: it would have gone
    /// back. So the capture lacks it.
    pub(super) fn presume(&mut self, seen: &Seen<'_>, out: &mut Out<'_>) {
        if let Some(gap) = self.answers.gap.filter(|gap| gap.rounds >= ROUNDS) {
            self.has_answers(gap.answered[0], (seen.frame, seen.time), out);
        }
    }

    /// The conversation ends. A requester that lacked an answer had time to go back.
    pub(super) fn presume_at_end(&mut self, out: &mut Out<'_>) {
        let Some(gap) = self.answers.gap else { return };
        if gap.rounds > 0 || out.now.saturating_sub(gap.time) > NOTICED {
            let last = self.stats.frames.zip(self.stats.times).map(|(frames, times)| (frames.1, times.1));
            let high = self.answers.high.map_or(gap.answered[1], |high| high.0);
            self.has_answers(high, last.unwrap_or_default(), out);
        }
        self.no_implied_nak();
    }

    /// The requester has all answers up to this PSN.
    fn has_answers(&mut self, psn: Psn, at: (u64, i64), out: &mut Out<'_>) {
        let (Some(gap), Some(requests)) = (self.answers.gap, &mut self.requests) else { return };
        if gap.run == requests.run {
            requests.presumed = psn.next();
            self.complete(at.0, at.1, out);
        }
    }

    /// A request for answers that the requester was taken to have: it lacks them, from this PSN on.
    pub(super) fn lacks(&mut self, psn: Psn) {
        let Some(requests) = &mut self.requests else { return };
        if psn.distance(requests.completed) >= 0 || psn.distance(requests.presumed) >= 0 {
            return;
        }
        let Some(at) = self.window.holding(psn) else { return };
        if self.window.get(at).is_none_or(|entry| entry.lacking == 0) {
            return;
        }
        for index in at..self.window.len() {
            let Some(entry) = self.window.get_mut(index) else { break };
            if entry.psn.distance(requests.completed) >= 0 {
                break;
            }
            self.stats.answers_lost(std::mem::take(&mut entry.lacking));
            entry.answered = if index == at { psn.distance(entry.psn).unsigned_abs() } else { 0 };
        }
        let begin = self.window.get(at).map_or(psn, |entry| entry.psn);
        (requests.completed, requests.presumed, requests.completing) = (begin, begin, None);
        self.stats.implied_naks += 1;
    }

    /// What seemed an implied NAK was none: nobody went back.
    fn no_implied_nak(&mut self) {
        let run = self.requests.as_ref().map(|requests| requests.run);
        if self.answers.gap.take().is_some_and(|gap| gap.is_counted && Some(gap.run) == run) {
            self.stats.implied_naks = self.stats.implied_naks.saturating_sub(1);
        }
    }

    /// The requester has come past this PSN. If it did so without going back, no answer was missing.
    pub(super) fn passed(&mut self, psn: Psn) {
        if self.answers.implied.is_none_or(|implied| psn.distance(implied.psn) > 0) {
            self.no_implied_nak();
        }
    }
}
