//! What a responder answers: acknowledgements, refusals, responses with data. Called for the flow whose requests are
//! answered.

use rdmalab_wire::{Aeth, Msn, NakCode, Psn, Syndrome, credits_from_code};

use crate::finding::Reason;
use crate::flow::{Flow, Out, Told};
use crate::packet::{OperationKind, Seen};
use crate::rules::RuleId;

/// Between two PSNs so many requests at most are looked through.
const LOOKED_THROUGH: usize = 256;
/// More responses than these in a row are not lost, but never were sent.
const FEW_LOST: i32 = 4096;

impl Flow {
    /// A response, to the requests of this flow.
    pub(crate) fn answer(&mut self, seen: &Seen<'_>, out: &mut Out<'_>) {
        self.stats.saw_response(seen.frame, seen.time);
        let psn = seen.bth.psn;
        let Some(requests) = &self.requests else {
            self.doubt(Reason::RequestsUnknown);
            return;
        };
        if psn.distance(requests.next) >= 0 {
            // The capture may have missed what it answers; the next request tells.
            self.answers.ghost = Some((psn, seen.row.name, seen.frame));
            return;
        }
        if psn.distance(requests.first) < 0 {
            // To what was sent before the capture began.
            self.doubt(Reason::BegunBefore);
            return;
        }
        self.answers.last_time = seen.time;
        self.after_error(seen, out);
        match (seen.operation(), seen.headers.aeth) {
            (0x11, Some(aeth)) => self.acknowledge(seen, aeth, out),
            (0x12, Some(aeth)) => self.atomic_answer(seen, aeth, out),
            (0x0d..=0x10, aeth) => self.read_answer(seen, aeth, out),
            _ => {}
        }
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
                self.credit(seen, aeth.msn, credits);
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

    fn told(&self, seen: &Seen<'_>, wait: u64) -> Told {
        let psn = seen.bth.psn;
        let entry = self.window.holding(psn).and_then(|index| self.window.get(index));
        let sends = entry.map_or(0, |entry| entry.sends);
        Told { psn, frame: seen.frame, time: seen.time, sends, ip_id: seen.ip_id, wait, is_done: false }
    }

    /// An acknowledgement of this PSN and all in front.
    fn positive(&mut self, seen: &Seen<'_>, aeth: Aeth, out: &mut Out<'_>) {
        let psn = seen.bth.psn;
        if self.goes_back(psn, aeth.msn) {
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
        let entry = self.window.holding(psn).and_then(|index| self.window.get(index));
        if let Some(entry) =
            entry.filter(|entry| entry.kind.is_answered() && entry.answered == 0 && !entry.was_answered)
        {
            // After a repetition, it may say how far the responder is, the answer having been lost in front.
            if self.stats.has_repeated() || self.reasons.has(Reason::LostAhead) {
                self.reasons.add(Reason::LostAhead);
            } else {
                let (kind, first) = (entry.kind, entry.first_frame);
                out.find(RuleId::AckRead, &[seen.frame, first], || {
                    format!("the {} psn {psn} is acknowledged, not answered", kind.name())
                });
                // What the requester makes of it is not known.
                self.reasons.add(Reason::LostAhead);
            }
        }
        self.settle_restart(psn, out);
        self.rise(psn, aeth.msn, seen, true, out);
        self.count(seen, aeth.msn, psn.next(), false, out);
        self.complete(seen.frame, seen.time, out);
        self.imply(psn, seen);
    }

    /// A refusal of this PSN, which acknowledges all in front.
    fn refused(&mut self, seen: &Seen<'_>, aeth: Aeth, out: &mut Out<'_>) {
        let psn = seen.bth.psn;
        self.rise(psn.sub(1), aeth.msn, seen, false, out);
        self.count(seen, aeth.msn, psn, true, out);
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
            if self.goes_back(psn.sub(1), aeth.msn) {
                out.find(RuleId::NakGap, &[seen.frame, frame], || {
                    format!("asks for psn {psn}, when psn {high} had been acknowledged")
                });
            }
            return;
        }
        if psn.distance(next.sub(1)) >= 0 && !self.reasons.has(Reason::Reordered) {
            out.find(RuleId::NakGap, &[seen.frame], || {
                format!("asks for psn {psn}, behind which nothing was sent")
            });
            return;
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
            let came = is_here.filter(|entry| behind.is_none_or(|behind| behind.run == entry.run));
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

    fn atomic_answer(&mut self, seen: &Seen<'_>, aeth: Aeth, out: &mut Out<'_>) {
        let psn = seen.bth.psn;
        let Some(at) = self.window.holding(psn) else {
            self.doubt(Reason::LostAhead);
            return;
        };
        let Some(entry) = self.window.get_mut(at) else { return };
        if entry.kind != OperationKind::Atomic {
            return self.other_kind(seen, out);
        }
        let original = seen.headers.atomic_ack_eth.map(|header| header.original);
        let before = entry.original;
        entry.original = before.or(original);
        entry.was_answered = true;
        if let (Some(before), Some(now)) = (before, original)
            && before != now
        {
            let first = entry.first_frame;
            out.find(RuleId::AtomicReplay, &[seen.frame, first], || {
                format!("psn {psn} was answered with {before:#x}, and is now with {now:#x}")
            });
        }
        self.data(seen, Some(aeth), at, 0, out);
    }

    fn read_answer(&mut self, seen: &Seen<'_>, aeth: Option<Aeth>, out: &mut Out<'_>) {
        let psn = seen.bth.psn;
        let last_read = self.answers.last_read.replace(psn);
        let skipped = last_read.map_or(0, |last| psn.distance(last) - 1);
        let Some(at) = self.window.holding(psn) else {
            self.doubt(Reason::LostAhead);
            return;
        };
        let Some(entry) = self.window.get(at).copied() else { return };
        let is_plain_answer = matches!(entry.kind, OperationKind::Flush | OperationKind::AtomicWrite);
        if entry.kind != OperationKind::Read && !(is_plain_answer && seen.operation() == 0x10) {
            return self.other_kind(seen, out);
        }
        let offset = psn.distance(entry.psn).unsigned_abs();
        if entry.kind == OperationKind::Read {
            if !matches!(seen.operation(), 0x0d | 0x10) && (1..FEW_LOST).contains(&skipped) && offset > 0 {
                self.stats.responses_missing += u64::from(skipped.unsigned_abs());
                self.doubt(Reason::LostAhead);
            }
            self.place_in_answer(seen, at, offset, last_read, out);
        }
        if let Some(entry) = self.window.get_mut(at) {
            entry.was_answered |= offset + 1 == entry.span;
        }
        self.data(seen, aeth, at, offset, out);
    }

    fn place_in_answer(
        &mut self,
        seen: &Seen<'_>,
        at: usize,
        offset: u32,
        last_read: Option<Psn>,
        out: &mut Out<'_>,
    ) {
        let psn = seen.bth.psn;
        let length = u32::try_from(seen.payload_length).unwrap_or(u32::MAX);
        let (begins, ends) =
            (matches!(seen.operation(), 0x0d | 0x10), matches!(seen.operation(), 0x0f | 0x10));
        if !ends {
            // It is one path MTU long, whatever that is.
            if !self.sizes.keep(|size| size == length) {
                out.find(RuleId::PathMtu, &[seen.frame], || {
                    format!("{} psn {psn} has {length} bytes, which is not the path MTU", seen.row.name)
                });
                return;
            }
        }
        let size = self.sizes.known();
        self.settle_last();
        let Some(entry) = self.window.get(at) else { return };
        let total = u32::try_from(entry.target.length).unwrap_or(u32::MAX);
        // Of a READ in one packet the span is right whatever the path MTU is.
        if entry.is_unclear {
            return;
        }
        if !entry.span_is_known {
            self.reasons.add(Reason::PathMtuUnknown);
            return;
        }
        let frame = entry.first_frame;
        let is_last = offset + 1 >= entry.span;
        let place = |wrong: &str| {
            format!("{} psn {psn} is packet {offset} of {} of the answer: {wrong}", seen.row.name, entry.span)
        };
        if is_last != ends {
            let wrong =
                if is_last { "the last one says that more come" } else { "it says that none come behind it" };
            out.find(RuleId::ReadOrder, &[seen.frame, frame], || place(wrong));
        } else if begins && !entry.is_asked_from(offset) {
            out.find(RuleId::ReadOrder, &[seen.frame, frame], || place("nobody asked from here on"));
        } else if !begins && offset == 0 {
            out.find(RuleId::ReadOrder, &[seen.frame, frame], || place("the first one does not say so"));
        } else if !begins
            && entry.is_asked_from(offset)
            && last_read.is_none_or(|last| last != psn.sub(1))
            && entry.sends > 1
        {
            out.find(RuleId::ReadStart, &[seen.frame, entry.last_frame], || {
                place("the answer to a request from here on begins so")
            });
        }
        if let (true, Some(size)) = (is_last && ends, size.or((entry.span == 1).then_some(1))) {
            let rest = total.saturating_sub((entry.span - 1).saturating_mul(size));
            if length != rest {
                out.find(RuleId::ReadLength, &[seen.frame, frame], || {
                    format!(
                        "the answer to the READ psn {} ends with {length} bytes, {rest} were left of {total}",
                        entry.psn
                    )
                });
            }
        }
    }

    fn other_kind(&mut self, seen: &Seen<'_>, out: &mut Out<'_>) {
        let psn = seen.bth.psn;
        let entry = self.window.holding(psn).and_then(|index| self.window.get(index));
        let Some((name, frame)) = entry.map(|entry| (entry.row.name, entry.first_frame)) else { return };
        out.find(RuleId::ResponseKind, &[seen.frame, frame], || {
            format!("{} psn {psn} answers a {name}", seen.row.name)
        });
    }

    /// A response with data, packet `offset` of the answer to the request at this place: it acknowledges all in front, too.
    fn data(&mut self, seen: &Seen<'_>, aeth: Option<Aeth>, at: usize, offset: u32, out: &mut Out<'_>) {
        let psn = seen.bth.psn;
        let asked = self.window.get(at).map(|entry| entry.psn);
        self.settle_restart(psn, out);
        if let Some(aeth) = aeth {
            let begin =
                self.window.holding(psn).and_then(|index| self.window.get(index)).map(|entry| entry.psn);
            let is_behind = self.answers.high.is_none_or(|high| psn.distance(high.0) > 0);
            self.rise(psn, aeth.msn, seen, true, out);
            if let Some(begin) = begin.filter(|_| is_behind) {
                // A READ or atomic may count when it is taken, or when it is answered.
                self.count(seen, aeth.msn, begin, false, out);
            }
            if let Syndrome::Ack { credits } = aeth.syndrome {
                self.credit(seen, aeth.msn, credits);
            }
        } else if let Some((_, msn, _)) = self.answers.high {
            self.rise(psn, msn, seen, true, out);
        }
        self.complete(seen.frame, seen.time, out);
        // A requester takes responses in their order only: behind a missing one, it drops them and asks again.
        let next = self.requests.as_ref().map(|requests| self.window.lower_bound(requests.completed));
        let taken = next.and_then(|next| self.window.get_mut(next));
        if let Some(entry) = taken.filter(|entry| Some(entry.psn) == asked && entry.answered == offset) {
            entry.answered += 1;
            self.complete(seen.frame, seen.time, out);
        }
        self.imply(psn, seen);
    }

    /// The responder has answered for everything up to this PSN.
    fn rise(&mut self, psn: Psn, msn: Msn, seen: &Seen<'_>, is_heard: bool, out: &mut Out<'_>) {
        if let Some(requests) = &mut self.requests {
            if is_heard {
                requests.timeouts.1 = 0;
            }
            requests.was_at(requests.completed);
        }
        if self.answers.high.is_some_and(|high| psn.distance(high.0) < 0) {
            return;
        }
        if self.requests.as_ref().is_some_and(|requests| psn.distance(requests.first) < 0) {
            return;
        }
        self.answers.high = Some((psn, msn, seen.frame));
        self.walk_to(psn.next(), seen.frame, out);
    }

    /// Whether a response that answers for this PSN was made after one that answers for more. The MSN tells it from one
    /// that is merely late: had it been made before, the messages between would not be counted in it.
    fn goes_back(&self, psn: Psn, msn: Msn) -> bool {
        let Some((high, high_msn, _)) = self.answers.high else { return false };
        if psn.distance(high) >= 0 || msn.distance(high_msn) < 0 {
            return false;
        }
        let from = self.window.lower_bound(psn.next());
        for index in from..from.saturating_add(LOOKED_THROUGH) {
            match self.window.get(index) {
                // A READ may count before it is answered.
                Some(entry) if entry.psn.distance(high) > 0 => return false,
                Some(entry) if entry.ends_message() && !entry.kind.is_answered() => {
                    return entry.end().sub(1).distance(high) <= 0;
                }
                Some(_) => {}
                None => return false,
            }
        }
        false
    }

    /// The MSN of a response that answers for all in front of `to`. How the count began lies between what the response allows
    /// at least and at most, and between what all responses before allowed.
    fn count(&mut self, seen: &Seen<'_>, msn: Msn, to: Psn, is_exact: bool, out: &mut Out<'_>) {
        let Some(requests) = &self.requests else { return };
        // Messages of walked requests that lie behind `to`.
        let mut behind = 0;
        let from = self.window.lower_bound(to);
        for index in from..=from.saturating_add(LOOKED_THROUGH) {
            match self.window.get(index) {
                Some(entry) if entry.psn.distance(requests.walked) < 0 => {
                    behind += u64::from(entry.ends_message())
                }
                _ => break,
            }
            if index == from.saturating_add(LOOKED_THROUGH) {
                return;
            }
        }
        let least = requests.ends_walked.saturating_sub(behind);
        let most = if is_exact { least } else { requests.ends.max(least) + requests.missing };
        // A READ in front of `to` may count when its answer is complete only.
        let Ok(room) = u32::try_from(most - least) else { return };
        if room >= 1 << 22 {
            return;
        }
        // Counting is modulo 2^24.
        let low = |count: u64| (count & 0xff_ffff) as u32;
        let first = Msn::new(msn.value().wrapping_sub(low(most)));
        let Some((base, more)) = self.answers.base else {
            self.answers.base = Some((first, room));
            return;
        };
        let begin = if first.distance(base) > 0 { first } else { base };
        let ends = (first.add(room), base.add(more));
        let end = if ends.0.distance(ends.1) < 0 { ends.0 } else { ends.1 };
        if let Ok(more) = u32::try_from(end.distance(begin)) {
            self.answers.base = Some((begin, more));
            return;
        }
        let (from, to) = (base.add(low(least)), base.add(more).add(low(most)));
        out.find(RuleId::Msn, &[seen.frame], || {
            if from == to {
                format!(
                    "msn {msn} of {} psn {}, where {from} messages are complete",
                    seen.row.name, seen.bth.psn
                )
            } else {
                format!(
                    "msn {msn} of {} psn {}, where {from} to {to} messages are complete",
                    seen.row.name, seen.bth.psn
                )
            }
        });
        self.answers.base = Some((first, room));
    }

    fn credit(&mut self, seen: &Seen<'_>, msn: Msn, code: u8) {
        let told = credits_from_code(code).map(|credits| msn.add(credits));
        self.answers.credit = match (self.answers.credit, told) {
            // A limit never goes back.
            (Some(before), Some(told)) if told.distance(before.0) <= 0 => Some(before),
            (_, Some(told)) => Some((told, seen.frame)),
            (_, None) => None,
        };
    }

    /// A READ or atomic in front of what was answered for, whose answer is missing: the requester asks again.
    fn imply(&mut self, psn: Psn, seen: &Seen<'_>) {
        let Some(requests) = &self.requests else { return };
        let Some(entry) = self.window.get(self.window.lower_bound(requests.completed)) else { return };
        if entry.kind.is_answered() && psn.distance(entry.psn.add(entry.answered)) >= 0 {
            let missing = entry.psn.add(entry.answered);
            if self.answers.implied.is_none_or(|implied| implied.psn != missing) {
                self.answers.implied = Some(Told { psn: missing, sends: entry.sends, ..self.told(seen, 0) });
                self.stats.implied_naks += 1;
            }
        }
    }
}
