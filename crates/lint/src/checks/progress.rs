//! How far the responder has come: the highest PSN that it answered for, the messages that it counts, the credits that it
//! hands out.

use rdmalab_wire::{Msn, Psn, credits_from_code};

use crate::flow::entry::Entry;
use crate::flow::{Answers, Flow, Out};
use crate::packet::Seen;
use crate::reason::Reason;
use crate::rules::RuleId;

/// What the MSN of a response counts beyond the messages in front of the request that it answers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Beyond {
    /// Of a refusal: none.
    Nothing,
    /// Of an acknowledgement: what was sent by then.
    Sent,
    /// Of an answer with data: it may be a replay, made when the responder had come further; and those requests that the requester has
    /// gone back over need not be in the capture.
    Unknown,
}

/// More messages than these are never under way.
const MOST_BEYOND: u64 = 1 << 21;
/// Between two PSNs so many requests at most are looked through.
const LOOKED_THROUGH: usize = 256;
/// Behind a gap by so many PSNs no answer to what is in front of it is under way any more. PSNs wrap at 2^24.
const FAR_BEHIND: i32 = 1 << 22;

/// What two intervals have in common, each its beginning and how much longer it is; numbers wrap.
fn common(one: (Msn, u32), other: (Msn, u32)) -> Option<(Msn, u32)> {
    let begin = if one.0.distance(other.0) > 0 { one.0 } else { other.0 };
    let ends = (one.0.add(one.1), other.0.add(other.1));
    let end = if ends.0.distance(ends.1) < 0 { ends.0 } else { ends.1 };
    Some((begin, u32::try_from(end.distance(begin)).ok()?))
}

impl Flow {
    /// The responder has answered for everything up to this PSN, and counted so many messages; of an answer that does not say how many it is
    /// the last number.
    pub(super) fn rise(
        &mut self,
        psn: Psn,
        told: Option<Msn>,
        seen: &Seen<'_>,
        is_heard: bool,
        out: &mut Out<'_>,
    ) {
        let Some(msn) = told.or(self.answers.high.map(|(_, msn, _)| msn)) else { return };
        self.gone_on(psn);
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
        // Where connections are agreed on, agreement would tell.
        let may_begin = told.is_some() && self.agreed.is_none();
        match may_begin.then(|| self.another_begins(psn, msn)).flatten() {
            Some(begin) => self.begin_at(begin),
            None => self.pass(psn, seen, out),
        }
        self.answers.high = Some((psn, msn, seen.frame));
        self.walk_to(psn.next(), seen.frame, out);
    }

    /// Where another conversation of these queue pairs begins, whose numbers lie a little behind those of the last: there are PSNs
    /// between that no packet has brought, and the responder counts fewer messages than those behind them and those that it had
    /// counted before.
    fn another_begins(&self, psn: Psn, msn: Msn) -> Option<Psn> {
        let ((_, counted, _), requests) = (self.answers.high?, self.requests.as_ref()?);
        let (mut next, mut begin, mut ends) = (requests.walked, None, 0);
        let from = self.window.lower_bound(requests.walked);
        for index in from..from.saturating_add(LOOKED_THROUGH) {
            let Some(entry) = self.window.get(index).filter(|entry| entry.psn.distance(psn) <= 0) else {
                break;
            };
            if entry.psn != next {
                (begin, ends) = (Some(entry.psn), 0);
            }
            ends += i32::from(entry.ends_message() && !entry.kind.is_answered());
            next = entry.end();
        }
        begin.filter(|_| msn.distance(counted) < ends)
    }

    /// Another conversation has begun with this PSN.
    fn begin_at(&mut self, psn: Psn) {
        self.window.drop_before(psn);
        self.answers = Answers::default();
        self.stats.conversations += 1;
        let Some(requests) = &mut self.requests else { return };
        let ends = (0..self.window.len()).filter_map(|index| self.window.get(index));
        requests.ends = ends.filter(|entry| entry.ends_message()).count() as u64;
        requests.begin_at(psn);
    }

    /// Whether a response that answers for this PSN was made after one that answers for more. The MSN tells it from one
    /// that is merely late: had it been made before, the messages between would not be counted in it.
    pub(super) fn goes_back(&self, psn: Psn, msn: Msn) -> bool {
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

    /// Whether a response counts fewer messages than one that was sent before it and answers for no more.
    pub(super) fn counts_back(&mut self, seen: &Seen<'_>, msn: Msn, out: &mut Out<'_>) {
        let psn = seen.bth.psn;
        if self.answers.miscounted == seen.frame {
            // That was told.
            self.answers.before = None;
            return;
        }
        let Some((before, counted, frame)) = self.answers.before.replace((psn, msn, seen.frame)) else {
            return;
        };
        if msn.distance(counted) >= 0 || !self.is_of_one_conversation(before, psn) {
            return;
        }
        if !seen.sent.is_behind(frame) {
            // One of them may be late.
            if seen.ip_id == 0 {
                self.doubt(Reason::NoIdentification);
            }
            return;
        }
        out.find(RuleId::Msn, &[seen.frame, frame], || {
            format!(
                "msn {msn} of {} psn {psn}, which was sent behind msn {counted} of psn {before}",
                seen.row.name
            )
        });
    }

    /// Whether all requests from one PSN to another are known: where some are missing, another conversation may have begun.
    fn is_of_one_conversation(&self, from: Psn, to: Psn) -> bool {
        let mut next = from;
        let Some(at) = self.window.holding(from).filter(|_| to.distance(from) >= 0) else { return false };
        for index in at..at.saturating_add(LOOKED_THROUGH) {
            let Some(entry) = self.window.get(index).filter(|entry| entry.psn.distance(next) <= 0) else {
                break;
            };
            next = entry.end();
            if to.distance(next) < 0 {
                return true;
            }
        }
        false
    }

    /// The MSN of a response that answers for all in front of `to`. How the count began lies between what the response allows
    /// at least and at most, and between what all responses before allowed.
    pub(super) fn count(&mut self, seen: &Seen<'_>, msn: Msn, to: Psn, beyond: Beyond, out: &mut Out<'_>) {
        let Some(requests) = &mut self.requests else { return };
        match requests.gap_end.map(|end| to.distance(end)) {
            // It is late, and says nothing of what is behind the gap.
            Some(..0) => return,
            Some(FAR_BEHIND..) => requests.gap_end = None,
            _ => {}
        }
        // Messages of walked requests that lie behind `to`, and others that the capture may have missed: of a READ it need not be known
        // how many PSNs it takes.
        let (mut behind, mut missed) = (0, 0);
        let from = self.window.lower_bound(to);
        for index in from..=from.saturating_add(LOOKED_THROUGH) {
            let Some(entry) = self.window.get(index) else { break };
            let is_walked = entry.psn.distance(requests.walked) < 0;
            if !is_walked && (!requests.has_unsettled || self.sizes.known().is_some()) {
                break;
            }
            behind += u64::from(is_walked && entry.ends_message());
            if !entry.span_is_known {
                missed += u64::from(entry.span).saturating_sub(1);
            }
            if index == from.saturating_add(LOOKED_THROUGH) {
                return;
            }
        }
        let is_forgotten = |front: &Entry| front.psn.distance(to) > 0 && front.psn != requests.first;
        if self.window.get(0).is_some_and(is_forgotten) {
            // It comes so late that how many there were behind it is no longer known.
            return;
        }
        let least = requests.ends_walked.saturating_sub(behind);
        let most = match beyond {
            Beyond::Nothing => least,
            Beyond::Sent => requests.ends.max(least) + requests.missing + missed,
            Beyond::Unknown => least + MOST_BEYOND,
        };
        // A READ in front of `to` may count when its answer is complete only.
        let Ok(room) = u32::try_from(most - least) else { return };
        if room >= 1 << 22 {
            return;
        }
        // Counting is modulo 2^24.
        let low = |count: u64| (count & 0xff_ffff) as u32;
        let first = Msn::new(msn.value().wrapping_sub(low(most)));
        let Some((base, more)) = self.answers.base else {
            (self.answers.base, self.answers.base_fits) = (Some((first, room)), false);
            self.answers.base_frames = [seen.frame; 2];
            return;
        };
        let (is_more, is_less) = (first.distance(base) > 0, first.add(room).distance(base.add(more)) < 0);
        if let Some(both) = common((base, more), (first, room)) {
            (self.answers.base, self.answers.base_fits) = (Some(both), true);
            let [at_least, at_most] = &mut self.answers.base_frames;
            *at_least = if is_more { seen.frame } else { *at_least };
            *at_most = if is_less { seen.frame } else { *at_most };
            self.answers.other_base = None;
            return;
        }
        let other = self.answers.other_base.take();
        if let Some(both) = other.and_then(|other| common(other, (first, room))) {
            // The one that was told of does fit: what is wrong is the answer that it did not fit.
            (self.answers.base, self.answers.base_frames) = (Some(both), [seen.frame; 2]);
            return;
        }
        if self.reasons.has(Reason::Reordered) {
            // What it counts may come behind it.
            self.answers.base = None;
            return;
        }
        // Of the two answers that do not fit, the one here and the one that bounds it, either may be wrong.
        let [at_least, at_most] = self.answers.base_frames;
        let (bound, by) = if is_more { ("at most", at_most) } else { ("at least", at_least) };
        let limit = if is_more { base.add(more).add(low(most)) } else { base.add(low(least)) };
        let frames = [seen.frame, by];
        out.find(RuleId::Msn, if by == 0 { &frames[..1] } else { &frames }, || {
            let of = format!("msn {msn} of {} psn {}", seen.row.name, seen.bth.psn);
            // Numbers wrap: less than none is what was complete before the capture began.
            let counted = limit.distance(Msn::new(0));
            match by {
                0 => format!("{of}, where {bound} {counted} messages are complete"),
                _ => format!(
                    "{of}, where {bound} {counted} messages can be complete after the msn in frame {by}"
                ),
            }
        });
        self.answers.miscounted = seen.frame;
        if std::mem::take(&mut self.answers.base_fits) {
            self.answers.other_base = Some((first, room));
        } else {
            (self.answers.base, self.answers.base_frames) = (Some((first, room)), [seen.frame; 2]);
        }
    }

    pub(super) fn credit(&mut self, seen: &Seen<'_>, msn: Msn, code: u8, out: &mut Out<'_>) {
        if let Some(agreed) = self.agreed.filter(|agreed| agreed.shared_receives)
            && credits_from_code(code).is_some()
        {
            out.find(RuleId::CreditsShared, &[seen.frame, agreed.frames[0], agreed.frames[1]], || {
                format!("{} psn {} hands out credits", seen.row.name, seen.bth.psn)
            });
        }
        let told = credits_from_code(code).map(|credits| msn.add(credits));
        self.answers.credit = match (self.answers.credit, told) {
            // A limit never goes back.
            (Some(before), Some(told)) if told.distance(before.0) <= 0 => Some(before),
            (_, Some(told)) => Some((told, seen.frame)),
            (_, None) => None,
        };
    }
}
