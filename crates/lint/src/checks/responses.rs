//! Responses with data: of READs, in their order and length, and of atomics. What is missing of them is in `missing`.

use rdmalab_wire::{Aeth, Psn, Syndrome};

use super::missing::FEW_LOST;
use super::progress::Beyond;
use crate::flow::entry::Entry;
use crate::flow::{Flow, Out};
use crate::packet::{OperationKind, Seen};
use crate::reason::Reason;
use crate::rules::RuleId;
use crate::words::An;

/// Two places of capture, one for each direction, are taken to have clocks that differ by less than this, in nanoseconds.
const SKEW: i64 = 20_000;
/// More READs than these at once are not looked for.
const LOOKED_THROUGH: usize = 256;

impl Flow {
    pub(super) fn atomic_answer(&mut self, seen: &Seen<'_>, aeth: Aeth, out: &mut Out<'_>) {
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
        if let (Some(before), Some(now)) = (before, original)
            && before != now
        {
            let first = entry.first_frame;
            self.find_of_repetition(RuleId::AtomicReplay, &[seen.frame, first], out, || {
                format!("psn {psn} was answered with {before:#x}, and is now with {now:#x}")
            });
        }
        self.outstanding(seen, at, out);
        if let Some(entry) = self.window.get_mut(at) {
            entry.was_answered = true;
        }
        self.data(seen, Some(aeth), 0, out);
    }

    pub(super) fn read_answer(
        &mut self,
        seen: &Seen<'_>,
        aeth: Option<Aeth>,
        sum: Option<u32>,
        out: &mut Out<'_>,
    ) {
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
            if !matches!(seen.operation(), 0x0d | 0x10) && offset > 0 {
                self.skipped(at, skipped);
            }
            self.place_in_answer(seen, at, offset, last_read, out);
            self.same_as_before(seen, entry.first_frame, sum, out);
        }
        self.outstanding(seen, at, out);
        if let Some(entry) = self.window.get_mut(at) {
            entry.was_answered |= offset + 1 == entry.span;
        }
        self.data(seen, aeth, offset, out);
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
        // What is cut may be several datagrams, of which the capture has the headers of one.
        let may_be_several = |expected: u32| seen.is_cut && length > expected;
        if !ends {
            // It is one path MTU long, whatever that is.
            if !self.sizes.keep(|size| size == length) {
                if seen.is_cut {
                    return self.doubt(Reason::Merged);
                }
                out.find(RuleId::PathMtu, &[seen.frame], || {
                    format!("{} psn {psn} has {length} bytes, which is not the path MTU", seen.row.name)
                });
                return;
            }
        }
        if begins && ends && offset == 0 {
            // The whole answer, whatever the path MTU is.
            let Some(entry) = self.window.get(at).copied() else { return };
            let asked = u32::try_from(entry.target.length).unwrap_or(u32::MAX);
            if length == asked && !entry.is_unclear {
                self.sizes.keep(|size| size >= asked);
            } else if !entry.is_unclear && !entry.span_is_known {
                if may_be_several(asked) {
                    return self.doubt(Reason::Merged);
                }
                out.find(RuleId::ReadLength, &[seen.frame, entry.first_frame], || {
                    format!("the answer to the READ psn {psn} is one packet of {length} bytes, asked for were {asked}")
                });
                return;
            }
        }
        let size = self.sizes.known();
        self.settle_at(at);
        let may_be_rest = self.may_be_rest(at);
        let Some(entry) = self.window.get_mut(at) else { return };
        let total = u32::try_from(entry.target.length).unwrap_or(u32::MAX);
        // Of a READ in one packet the span is right whatever the path MTU is.
        if entry.is_unclear {
            return;
        }
        if !entry.span_is_known {
            self.reasons.add(Reason::PathMtuUnknown);
            return;
        }
        if offset >= entry.span {
            // It seemed to take more than it does: another request does, which the capture missed.
            self.reasons.add(Reason::LostAhead);
            return;
        }
        let frame = entry.first_frame;
        let is_last = offset + 1 >= entry.span;
        let place = |wrong: &str| {
            let (name, number) = (seen.row.name, offset + 1);
            format!("{name} psn {psn} is packet {number} of {} of the answer: {wrong}", entry.span)
        };
        if is_last != ends && seen.is_cut {
            self.reasons.add(Reason::Merged);
        } else if is_last != ends {
            let wrong =
                if is_last { "the last one says that more come" } else { "it says that none come behind it" };
            out.find(RuleId::ReadOrder, &[seen.frame, frame], || place(wrong));
        } else if begins && !entry.is_asked_from(offset) {
            out.find(RuleId::AckUnseen, &[seen.frame, frame], || {
                place("no request for what is from here on is in the capture")
            });
            entry.ask_from(offset);
            self.reasons.add(Reason::LostAhead);
        } else if !begins && offset == 0 && may_be_rest {
            self.reasons.add(Reason::BegunBefore);
        } else if !begins && offset == 0 {
            out.find(RuleId::ReadOrder, &[seen.frame, frame], || place("the first one does not say so"));
        } else if !begins
            && entry.is_asked_from(offset)
            && last_read.is_none_or(|last| last != psn.sub(1))
            && entry.sends > 1
        {
            out.find(RuleId::ReadStart, &[seen.frame, entry.last_frame], || {
                place("a READ asks for what is from here on, whose answer begins with FIRST or ONLY")
            });
        }
        if let (true, Some(size)) = (is_last && ends, size.or((entry.span == 1).then_some(1))) {
            let rest = total.saturating_sub((entry.span - 1).saturating_mul(size));
            if may_be_several(rest) {
                self.doubt(Reason::Merged);
            } else if length != rest {
                out.find(RuleId::ReadLength, &[seen.frame, frame], || {
                    format!(
                        "the answer to the READ psn {} ends with {length} bytes, {rest} were left of {total}",
                        entry.psn
                    )
                });
            }
        }
    }

    /// Whether a READ may be the rest of one from before the capture began.
    fn may_be_rest(&self, at: usize) -> bool {
        let first = self.window.get(at).map(|read| read.psn);
        self.requests.as_ref().map(|requests| requests.first) == first
            && self.agreed.and_then(|agreed| agreed.first_psn) != first
    }

    /// A READ is carried out anew when it comes again. What it brings differs only if somebody has written there.
    fn same_as_before(&mut self, seen: &Seen<'_>, asked: u64, sum: Option<u32>, out: &mut Out<'_>) {
        let (psn, Some(sum)) = (seen.bth.psn, sum) else { return };
        if let Some(frame) = self.replies.take(psn, asked, seen.frame, sum) {
            self.find_of_repetition(RuleId::ReadReplay, &[seen.frame, frame], out, || {
                format!("{} psn {psn} brings other bytes than before", seen.row.name)
            });
        }
    }

    fn other_kind(&mut self, seen: &Seen<'_>, out: &mut Out<'_>) {
        let psn = seen.bth.psn;
        self.answers.has_unplaced = true;
        let entry = self.window.held(psn);
        let entry = entry.filter(|entry| entry.surely_takes(psn, self.sizes));
        let Some((name, frame)) = entry.map(|entry| (entry.row.name, entry.first_frame)) else {
            return self.doubt(Reason::LostAhead);
        };
        out.find(RuleId::ResponseKind, &[seen.frame, frame], || {
            format!("{} psn {psn} answers {}", seen.row.name, An(name))
        });
    }

    /// READs and atomics that were under way when the first of them was answered. Only then is it certain that they were: had
    /// the capture missed an answer, they would merely seem so.
    fn outstanding(&self, seen: &Seen<'_>, at: usize, out: &mut Out<'_>) {
        let Some(depth) = self.agreed.map(|agreed| usize::from(agreed.depth)) else { return };
        let counts = |entry: &Entry| matches!(entry.kind, OperationKind::Read | OperationKind::Atomic);
        let Some(first) = self.window.get(at).filter(|entry| counts(entry)) else { return };
        let is_told = |entry: &Entry| entry.answered > 0 || entry.was_answered || entry.reached > 0;
        if is_told(first) || first.is_unclear || first.sends > 1 || self.reasons.has(Reason::Reordered) {
            return;
        }
        // A request that has changed places with the answer in the capture is no proof: something must lie between, and time, as clocks
        // of two places differ.
        let is_in_front = |entry: &Entry| {
            entry.first_frame + 1 < seen.frame
                && (!seen.has_time || seen.time.saturating_sub(entry.first_time) >= SKEW)
        };
        let behind = (at + 1..at + 1 + LOOKED_THROUGH).map_while(|index| self.window.get(index));
        let mut under_way =
            behind.filter(|entry| counts(entry) && entry.sends == 1 && !is_told(entry) && is_in_front(entry));
        let last = if depth == 0 { Some(first) } else { under_way.nth(depth - 1) };
        if let Some(last) = last {
            let (psn, frame) = (last.psn, last.first_frame);
            out.find(RuleId::Outstanding, &[frame, seen.frame], || {
                format!(
                    "with psn {psn} more than {depth} READs and atomics are under way, which were agreed on"
                )
            });
        }
    }

    /// A response with data, packet `offset` of the answer to a request: it acknowledges all in front, too.
    fn data(&mut self, seen: &Seen<'_>, aeth: Option<Aeth>, offset: u32, out: &mut Out<'_>) {
        let psn = seen.bth.psn;
        self.is_asked_again(seen, out);
        self.settle_restart(psn, out);
        self.answered_late(psn);
        self.taken_though_refused(psn, seen, out);
        if let Some(aeth) = aeth {
            let begin = self.window.held(psn).map(|entry| entry.psn);
            let is_behind = self.answers.high.is_none_or(|high| psn.distance(high.0) > 0);
            self.rise(psn, Some(aeth.msn), seen, true, out);
            if let Some(begin) = begin.filter(|_| is_behind) {
                // A READ or atomic may count when it is taken, or when it is answered.
                self.count(seen, aeth.msn, begin, Beyond::Unknown, out);
            }
            if let Syndrome::Ack { credits } = aeth.syndrome {
                self.credit(seen, aeth.msn, credits, out);
            }
        } else {
            self.rise(psn, None, seen, true, out);
        }
        self.complete(seen.frame, seen.time, out);
        self.came(psn, offset);
        self.complete(seen.frame, seen.time, out);
        self.imply(psn, seen);
    }

    /// The answer with this PSN, packet `offset` of all that a request asks for, has come. A requester takes responses in their order only: behind a
    /// missing one, it drops them and asks again.
    fn came(&mut self, psn: Psn, offset: u32) {
        let Some(at) = self.window.holding(psn) else { return };
        if offset == 0 {
            let missing = self.end_in_front(at);
            if (1..FEW_LOST.unsigned_abs()).contains(&missing) {
                self.are_missing(missing);
            }
        }
        let next = self.requests.as_ref().map(|requests| self.window.lower_bound(requests.completed));
        let Some(entry) = self.window.get_mut(at) else { return };
        let was_late = entry.came(offset) && entry.sends == 1;
        if next == Some(at) && entry.answered == offset {
            entry.answered += 1;
        }
        if next == Some(at) && was_late {
            entry.was_taken();
        }
        if was_late {
            self.stats.responses_missing = self.stats.responses_missing.saturating_sub(1);
        }
    }
}
