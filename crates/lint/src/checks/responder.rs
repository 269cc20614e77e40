//! What a responder answers without data: acknowledgements and refusals. Called for the flow whose requests are answered.
//! Responses with data are in `responses`, what all answers have in common in `progress`.

use rdmalab_wire::{Aeth, NakCode, Psn, Syndrome};

use super::progress::Beyond;
use crate::flow::entry::Entry;
use crate::flow::{Flow, Out, Told};
use crate::packet::Seen;
use crate::reason::Reason;
use crate::rules::RuleId;

impl Flow {
    /// A response, to the requests of this flow.
    pub(crate) fn answer(&mut self, seen: &Seen<'_>, out: &mut Out<'_>) {
        self.stats.saw_response(seen.frame, seen.time);
        let sum = (!seen.is_cut && seen.operation() != 0x11).then(|| match seen.headers.atomic_ack_eth {
            Some(atomic) => crc32fast::hash(&atomic.original.to_be_bytes()),
            None => crc32fast::hash(seen.payload),
        });
        let entry = self.window.held(seen.bth.psn);
        // Where the capture has requests twice, it has their answers twice.
        let has_all_twice = self.stats.duplicates * 4 > self.stats.requests;
        let asked = entry.filter(|_| !has_all_twice).map_or(1, |entry| entry.sends);
        if self.said.takes_again(seen, sum, self.stats.all_repeated(), asked) {
            // It may be of another conversation with the same numbers.
            self.answers.has_unplaced = true;
            self.stats.duplicate_responses += 1;
            self.doubt(Reason::Duplicated);
            return;
        }
        self.notice_order(seen);
        let psn = seen.bth.psn;
        if self.is_counted_anew(seen, out) {
            self.answers.has_unplaced = true;
            self.doubt(Reason::BegunBefore);
            return;
        }
        let Some(requests) = &self.requests else {
            self.answers.has_unplaced = true;
            self.doubt(Reason::RequestsUnknown);
            return;
        };
        if psn.distance(requests.next) >= 0 {
            self.answers.has_unplaced = true;
            // The capture may have missed what it answers; the next request tells.
            self.answers.ghost = Some((psn, seen.row.name, seen.frame));
            return;
        }
        if psn.distance(requests.first) < 0 {
            // To what was sent before the capture began, or comes late.
            self.doubt(Reason::BegunBefore);
            if !self.asks_for_earlier(seen) {
                self.answers.has_unplaced = true;
                return;
            }
        }
        self.answers.last_time = seen.time;
        if let Some(requests) = &mut self.requests
            && requests.asked.is_some_and(|(asked, ..)| asked.distance(psn) <= 0)
        {
            // Whatever it says.
            requests.asked = None;
        }
        self.after_error(seen, out);
        self.membership(seen, out);
        match (seen.operation(), seen.headers.aeth) {
            (0x11, Some(aeth)) => self.acknowledge(seen, aeth, out),
            (0x12, Some(aeth)) => self.atomic_answer(seen, aeth, out),
            (0x0d..=0x10, aeth) => self.read_answer(seen, aeth, sum, out),
            _ => {}
        }
        if let Some(aeth) = seen.headers.aeth {
            self.counts_back(seen, aeth.msn, out);
        }
    }

    /// A NAK in front of all requests that the capture has: what it asks for may come. Says whether it is the first that is known of the
    /// conversation.
    fn asks_for_earlier(&mut self, seen: &Seen<'_>) -> bool {
        let syndrome = seen.headers.aeth.map(|aeth| aeth.syndrome);
        if syndrome != Some(Syndrome::Nak(NakCode::PsnSequenceError)) {
            return false;
        }
        if self.begins_earlier(seen.bth.psn) {
            self.stats.lost_ahead += 1;
            self.doubt(Reason::LostAhead);
            return true;
        }
        self.stats.naks += 1;
        self.answers.nak = Some(self.told(seen, 0));
        false
    }

    fn after_error(&mut self, seen: &Seen<'_>, out: &mut Out<'_>) {
        let Some((failed, frame)) = self.answers.failed else { return };
        let is_refusal = matches!(
            seen.headers.aeth.map(|aeth| aeth.syndrome),
            Some(Syndrome::Nak(_) | Syndrome::RnrNak { .. } | Syndrome::Reserved(_))
        );
        if seen.bth.psn.distance(failed) >= 0 && !is_refusal {
            out.find(RuleId::AfterError, &[seen.frame, frame], || {
                format!("{} psn {} though psn {failed} was refused", seen.row.name, seen.bth.psn)
            });
        }
    }

    fn acknowledge(&mut self, seen: &Seen<'_>, aeth: Aeth, out: &mut Out<'_>) {
        match aeth.syndrome {
            Syndrome::Ack { credits } => {
                self.stats.acknowledgements += 1;
                self.positive(seen, aeth, out);
                self.credit(seen, aeth.msn, credits, out);
            }
            Syndrome::RnrNak { timer } => {
                self.stats.rnr_naks += 1;
                let told = self.told(seen, Flow::rnr_wait(timer));
                self.refused(seen, aeth, out);
                self.answers.rnr = Some(told);
                // Behind it, the gap that it leaves gets a NAK of its own.
                if let Some(nak) = &mut self.answers.nak {
                    nak.sends = u32::MAX;
                }
            }
            Syndrome::Nak(NakCode::PsnSequenceError) => self.sequence_error(seen, aeth, out),
            Syndrome::Nak(NakCode::Unknown(_)) | Syndrome::Reserved(_) => {}
            Syndrome::Nak(_) => {
                self.stats.error_naks += 1;
                self.refused(seen, aeth, out);
                self.answers.failed.get_or_insert((seen.bth.psn, seen.frame));
            }
        }
    }

    pub(super) fn told(&self, seen: &Seen<'_>, wait: u64) -> Told {
        let psn = seen.bth.psn;
        let entry = self.window.held(psn);
        let sends = entry.map_or(0, |entry| entry.sends);
        Told { psn, frame: seen.frame, time: seen.time, sends, ip_id: seen.ip_id, wait, is_done: false }
    }

    /// An acknowledgement of this PSN and all in front.
    fn positive(&mut self, seen: &Seen<'_>, aeth: Aeth, out: &mut Out<'_>) {
        let psn = seen.bth.psn;
        if self.goes_back(psn, aeth.msn) {
            if self.reasons.has(Reason::Reordered) {
                return;
            }
            let high = self.answers.high;
            out.find(RuleId::AckBack, &[seen.frame, high.map_or(0, |high| high.2)], || {
                format!(
                    "acknowledges psn {psn} with msn {}, when psn {} had been acknowledged with msn {}",
                    aeth.msn,
                    high.map_or(psn, |high| high.0),
                    high.map_or(aeth.msn, |high| high.1)
                )
            });
            return;
        }
        let entry = self.window.held(psn);
        let is_bare = |entry: &&Entry| {
            entry.kind.is_answered()
                && entry.answered == 0
                && !entry.was_answered
                && entry.surely_takes(psn, self.sizes)
        };
        if let Some(entry) = entry.filter(is_bare) {
            // After a repetition, it may say how far the responder is, the answer having been lost in front.
            let has_come_twice =
                self.stats.has_repeated() || self.stats.duplicates > 0 || self.stats.late > 0;
            let may_be_lost = self.reasons.has(Reason::LostAhead) && !self.answers.read_acknowledged;
            if has_come_twice || may_be_lost {
                self.reasons.add(Reason::LostAhead);
            } else {
                self.answers.read_acknowledged = true;
                let (kind, first) = (entry.kind, entry.first_frame);
                out.find(RuleId::AckRead, &[seen.frame, first], || {
                    format!("the {} psn {psn} is acknowledged, not answered", kind.name())
                });
                if let Some(entry) = self.window.held_mut(psn) {
                    entry.was_passed = true;
                }
                // What the requester makes of it is not known.
                self.reasons.add(Reason::LostAhead);
            }
        }
        self.settle_restart(psn, out);
        self.answered_late(psn);
        self.taken_though_refused(psn, seen, out);
        self.rise(psn, Some(aeth.msn), seen, true, out);
        self.count(seen, aeth.msn, psn.next(), Beyond::Sent, out);
        self.complete(seen.frame, seen.time, out);
        self.imply(psn, seen);
    }

    /// All up to this PSN is answered for. What found no receive is not taken before it comes again.
    pub(super) fn taken_though_refused(&mut self, psn: Psn, seen: &Seen<'_>, out: &mut Out<'_>) {
        let Some(rnr) = self.answers.rnr.as_mut().filter(|rnr| !rnr.is_done && psn.distance(rnr.psn) >= 0)
        else {
            return;
        };
        rnr.is_done = true;
        let (refused, sends, frame) = (rnr.psn, rnr.sends, rnr.frame);
        let entry = self.window.held(refused);
        // Where packets have changed places or came twice, the refusal may be of another time.
        let is_unclear = self.reasons.has(Reason::Reordered) || self.reasons.has(Reason::Duplicated);
        if entry.is_some_and(|entry| entry.sends == sends) && !is_unclear {
            out.find(RuleId::AckUnseen, &[seen.frame, frame], || {
                format!(
                    "{} psn {psn} answers for psn {refused}, which found no receive and has not been sent again since",
                    seen.row.name
                )
            });
        }
    }

    /// A refusal of this PSN, which acknowledges all in front.
    fn refused(&mut self, seen: &Seen<'_>, aeth: Aeth, out: &mut Out<'_>) {
        let psn = seen.bth.psn;
        self.rise(psn.sub(1), Some(aeth.msn), seen, false, out);
        self.count(seen, aeth.msn, psn, Beyond::Nothing, out);
        self.complete(seen.frame, seen.time, out);
        self.imply(psn.sub(1), seen);
    }

    fn sequence_error(&mut self, seen: &Seen<'_>, aeth: Aeth, out: &mut Out<'_>) {
        let psn = seen.bth.psn;
        self.excuse_restart(psn);
        self.stats.naks += 1;
        let told = self.told(seen, 0);
        let Some(next) = self.requests.as_ref().map(|requests| requests.next) else { return };
        let high = self.answers.high;
        if let Some((high, _, frame)) = high.filter(|high| psn.distance(high.0) <= 0) {
            // A late one is none of these: its MSN is as old as it is.
            if self.goes_back(psn.sub(1), aeth.msn) && !self.reasons.has(Reason::Reordered) {
                out.find(RuleId::NakGap, &[seen.frame, frame], || {
                    format!("asks for psn {psn}, when psn {high} had been acknowledged")
                });
            }
            return;
        }
        if psn.distance(next.sub(1)) >= 0 && !self.reasons.has(Reason::Reordered) {
            out.find(RuleId::AckUnseen, &[seen.frame], || {
                format!("asks for psn {psn}, behind which something came, but nothing is in the capture")
            });
            self.reasons.add(Reason::LostAhead);
        }
        if let Some(before) = self.answers.nak.filter(|nak| nak.psn == psn && nak.sends == told.sends) {
            if before.ip_id == told.ip_id {
                // One NAK seen twice, or two of them: nothing tells.
                self.doubt(Reason::NoIdentification);
            } else {
                out.find(RuleId::NakOnce, &[seen.frame, before.frame], || {
                    format!("asks for psn {psn} again, which has not been sent again in between")
                });
            }
            return;
        }
        let is_behind_rnr = self.answers.rnr.is_some_and(|rnr| rnr.psn == psn && rnr.sends == told.sends);
        if !is_behind_rnr {
            let at = self.window.lower_bound(psn);
            let is_here = self.window.get(at).filter(|entry| entry.psn == psn);
            let behind = self.window.get(at + usize::from(is_here.is_some()));
            // If it was lost on its last way, too, the place of capture is behind the loss.
            // If it came behind the next one, or in front of the one before, they were not taken in this order, and nothing was lost.
            let in_front = at.checked_sub(1).and_then(|index| self.window.get(index));
            let came = is_here.filter(|entry| {
                behind.is_none_or(|behind| behind.run == entry.run && behind.last_frame > entry.last_frame)
                    && in_front.is_none_or(|in_front| in_front.last_frame < entry.last_frame)
            });
            if let Some(entry) = came {
                self.stats.lost_behind += 1;
                out.observer.lost_behind(out.flow, entry.last_frame);
            }
            if let Some(behind) = behind.filter(|_| seen.has_time) {
                self.stats.nak_generation.add_between(behind.last_time, seen.time);
            }
        }
        self.refused(seen, aeth, out);
        self.answers.nak = Some(told);
    }
}
