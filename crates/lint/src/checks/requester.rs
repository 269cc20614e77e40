//! What a requester sends for the first time: PSNs that go on, what was agreed on, READs outstanding, credits. What it sends
//! again is in `repetitions`.

use rdmalab_wire::{Msn, Psn};

use crate::flow::entry::Entry;
use crate::flow::gaps::Missing;
use crate::flow::mtu::packets;
use crate::flow::{Agreed, Flow, Out, Requests};
use crate::observer::Role;
use crate::packet::{OperationKind, Seen};
use crate::reason::Reason;
use crate::rules::RuleId;

/// A jump further than this is taken for another conversation of the same queue pair.
const FURTHEST: i32 = 16_384;
/// The longest message, in bytes.
const LONGEST: u64 = 1 << 31;
/// A request that asks for an acknowledgement has it within so many nanoseconds, or nobody answers.
const ANSWERED_WITHIN: i64 = 5_000_000_000;
/// So many of a conversation's first packets, at most, may have been lost in front of the place of capture.
const FIRST_LOST: i32 = 64;

impl Flow {
    /// A request of a connection.
    pub(crate) fn request(&mut self, seen: &Seen<'_>, kind: OperationKind, out: &mut Out<'_>) -> Role {
        self.stats.saw_request(seen.frame, seen.time);
        self.notice_order(seen);
        let psn = seen.bth.psn;
        self.settle(seen, kind);
        let far = |requests: &Requests| {
            let distance = psn.distance(requests.next);
            !(-FURTHEST..=FURTHEST).contains(&distance)
        };
        let recurs = |requests: &Requests| {
            psn.distance(requests.next) < 0 && !seen.is_reliable() && self.begins_behind_silence(seen)
        };
        let another = self.requests.as_ref().is_some_and(|requests| far(requests) || recurs(requests));
        if another {
            self.finish(out);
            self.begin_again();
            self.stats.conversations += 1;
        }
        if self.requests.is_none() {
            self.begin(seen, out);
        }
        let Some(requests) = &mut self.requests else { return Role::Request };
        if seen.ip_id != requests.last_ip_id {
            requests.identifications_vary = true;
        }
        requests.last_ip_id = seen.ip_id;
        let distance = psn.distance(requests.next);
        self.settle_suspect(psn);
        let role = if distance >= 0 {
            self.settle_detour(psn, out);
            self.settle_ghost(psn, out);
            self.presume(seen, out);
            self.new_request(seen, kind, distance, out);
            Role::Request
        } else {
            let begins_earlier = seen.is_reliable() && self.begins_earlier(psn);
            let role = self.old_request(seen, kind, out);
            if begins_earlier && role != Role::Late {
                self.doubt(Reason::BegunBefore);
            }
            role
        };
        if let Some(requests) = &mut self.requests {
            requests.last_time = seen.time;
            if seen.bth.ack_request && seen.is_reliable() && seen.has_time {
                requests.asked = Some((psn, seen.frame, seen.time));
            }
        }
        role
    }

    /// A packet that is older than what stands in front of it in the capture.
    pub(super) fn notice_order(&mut self, seen: &Seen<'_>) {
        if seen.has_time && seen.time < self.newest {
            self.doubt(Reason::Reordered);
        }
        self.newest = self.newest.max(seen.time);
    }

    fn begin(&mut self, seen: &Seen<'_>, out: &mut Out<'_>) {
        self.requests = Some(Requests::begin(seen.bth.psn, seen.ip_id));
        let Some(agreed) = self.agreed else {
            self.doubt(Reason::AgreementUnknown);
            return;
        };
        let psn = seen.bth.psn;
        let Some(first) = agreed.first_psn else {
            self.doubt(Reason::BegunBefore);
            return;
        };
        match psn.distance(first) {
            // The first packets may have been lost in front.
            0..=FIRST_LOST => {
                self.requests = Some(Requests::begin(first, seen.ip_id));
                // Both sides begin to count with nothing.
                (self.answers.base, self.answers.base_fits) = (Some((Msn::new(0), 0)), true);
            }
            _ => out.find(RuleId::CmPsn, &[seen.frame, agreed.frames[0], agreed.frames[1]], || {
                format!("the first request has psn {psn}, agreed was {first}")
            }),
        }
    }

    /// The first packets that the capture has of the conversation may have come behind others, which were lost in front or are late: the
    /// requester sends this PSN, or the responder asks for it. Then the conversation begins there, if nothing was answered yet; says whether it
    /// does.
    pub(super) fn begins_earlier(&mut self, psn: Psn) -> bool {
        let Some(requests) = &mut self.requests else { return false };
        let is_near = (-FIRST_LOST..0).contains(&psn.distance(requests.first));
        if !is_near || self.answers.high.is_some() {
            return false;
        }
        requests.missing += u64::from(requests.first.distance(psn).unsigned_abs());
        let first = requests.first;
        requests.begin_earlier(psn);
        // How many messages were in front was learnt with the other beginning.
        (self.answers.base, self.answers.other_base) = (None, None);
        // It may be the rest of a READ.
        if let Some(entry) = self.window.held_mut(first) {
            entry.is_unclear = true;
        }
        true
    }

    /// The last READ, of whose PSNs it is not known how many there are, takes none of this request's. It may take fewer than are in front
    /// of it: the capture may have missed others.
    fn settle(&mut self, seen: &Seen<'_>, kind: OperationKind) {
        if let Some(last) = self.window.len().checked_sub(1) {
            self.settle_before(last, seen, kind);
        }
        self.settle_last();
    }

    /// A READ, of whose PSNs it is not known how many there are, ends in front of this request, if it does not ask for the READ's rest.
    pub(super) fn settle_before(&mut self, at: usize, seen: &Seen<'_>, kind: OperationKind) {
        let Some(read) = self.window.get(at).filter(|read| !read.span_is_known) else { return };
        let Ok(room) = u32::try_from(seen.bth.psn.distance(read.psn)) else { return };
        let length = u32::try_from(read.target.length).unwrap_or(u32::MAX);
        let again = Entry::of(seen, kind, 1, true);
        let is_rest =
            self.sizes.iter().any(|size| packets(length, size) > room && again.is_rest_of(read, room, size));
        if !is_rest {
            self.sizes.keep(|size| packets(length, size) <= room);
        }
    }

    /// What the last READ takes, as far as the sizes that are left tell.
    pub(crate) fn settle_last(&mut self) {
        let Some(requests) = &mut self.requests else { return };
        let Some(last) = self.window.last_mut().filter(|last| !last.span_is_known) else { return };
        last.settle(self.sizes);
        let end = last.end();
        if requests.cursor == requests.next {
            requests.cursor = end;
        }
        if requests.walked == requests.next {
            requests.walked = end;
        }
        requests.next = end;
    }

    /// What the READ at this place takes, as far as the sizes that are left tell.
    pub(super) fn settle_at(&mut self, at: usize) {
        if at + 1 == self.window.len() {
            return self.settle_last();
        }
        let Some(read) = self.window.get_mut(at).filter(|read| !read.span_is_known) else { return };
        let end = read.end();
        read.settle(self.sizes);
        let Some(requests) = &mut self.requests else { return };
        if end.distance(requests.walked) > 0 {
            // Whoever takes the rest, the capture has missed it.
            requests.missing += u64::from(end.distance(read.end()).unsigned_abs());
        }
    }

    /// Something beyond all requests was answered. Now that another request is there, it is known whether that was sent.
    fn settle_ghost(&mut self, psn: Psn, out: &mut Out<'_>) {
        let Some((answered, name, frame)) = self.answers.ghost.take() else { return };
        let Some(next) = self.requests.as_ref().map(|requests| requests.next) else { return };
        // Between the requests before and this one there is a gap: what was answered was in it.
        let was_missed = psn != next && answered.distance(psn) < 0;
        if !was_missed && self.broken != Some(answered) && !self.reasons.has(Reason::Reordered) {
            out.find(RuleId::AckUnsent, &[frame], || {
                format!("{name} psn {answered} answers what was not sent: the next request has psn {psn}")
            });
        }
    }

    fn new_request(&mut self, seen: &Seen<'_>, kind: OperationKind, gap: i32, out: &mut Out<'_>) {
        let psn = seen.bth.psn;
        if gap > 0 {
            let missing = gap.unsigned_abs();
            self.stats.lost_ahead += u64::from(missing);
            if let Some(requests) = &mut self.requests {
                requests.gaps.open(Missing { from: psn.sub(missing), to: psn, frame: seen.frame });
            }
        }
        let mut entry = self.entry(seen, kind, out);
        // Behind a gap, a READ may be the rest of one that the capture missed.
        entry.is_unclear = gap > 0;
        self.lengths(seen, &entry, out);
        let front = self.window.get(0).map(|front| front.end());
        if self.window.len() >= crate::flow::window::MOST_ENTRIES {
            // Nobody has answered for it; judged as it is.
            self.doubt(Reason::TooMany);
            if let Some(front) = front {
                self.walk_to(front, 0, out);
            }
        }
        let Some(requests) = &mut self.requests else { return };
        requests.missing += u64::try_from(gap).unwrap_or_default();
        requests.ends += u64::from(entry.ends_message());
        if requests.cursor.distance(requests.next) < 0 {
            requests.interrupted = requests.cause.map(|cause| (requests.cursor, cause));
        }
        requests.next = entry.end();
        requests.cursor = entry.end();
        requests.cause = None;
        self.window.insert(entry);
        self.settle_gaps(out);
        self.credits(seen, out);
        if !seen.is_reliable() {
            // Nobody answers.
            self.walk_to(entry.end(), 0, out);
            self.complete(seen.frame, seen.time, out);
        }
    }

    pub(super) fn entry(&mut self, seen: &Seen<'_>, kind: OperationKind, out: &mut Out<'_>) -> Entry {
        if seen.is_cut {
            self.doubt(Reason::Cut);
        }
        let mut entry = Entry::of(seen, kind, 1, true);
        entry.run = self.requests.as_ref().map_or(0, |requests| requests.run);
        if kind == OperationKind::Read {
            entry.settle(self.sizes);
            if let Some(requests) = &mut self.requests {
                requests.has_unsettled |= !entry.span_is_known;
            }
        }
        if let Some(reth) = seen.headers.reth.filter(|reth| u64::from(reth.length) > LONGEST) {
            out.find(RuleId::MessageTooLong, &[seen.frame], || {
                format!("the RETH of psn {} says {} bytes", entry.psn, reth.length)
            });
            // Whatever it takes, nothing can be said of it.
            entry.span = 1;
        }
        entry
    }

    /// A new message that needs a receive, beyond the credits.
    fn credits(&mut self, seen: &Seen<'_>, out: &mut Out<'_>) {
        if !seen.row.consumes_receive || !seen.starts_message() {
            return;
        }
        let (Some((limit, told)), Some((base, 0)), Some(requests)) =
            (self.answers.credit, self.answers.base, &self.requests)
        else {
            return;
        };
        if requests.missing > 0 {
            return;
        }
        let before = requests.ends.saturating_sub(u64::from(seen.row.ends_message));
        // Counting is modulo 2^24.
        let number = base.add((before & 0xff_ffff) as u32).next();
        if number.distance(limit) <= 0 {
            return;
        }
        let question = self.answers.question.replace(number).filter(|question| question.distance(limit) > 0);
        if let Some(question) = question {
            out.find(RuleId::Credits, &[seen.frame, told], || {
                format!(
                    "message {number} needs a receive, credits end with message {limit}, and message {question} already \
                     asks for more"
                )
            });
        }
    }

    /// Judges what nobody has answered for: the conversation ends.
    pub(crate) fn finish(&mut self, out: &mut Out<'_>) {
        let Some(next) = self.requests.as_ref().map(|requests| requests.next) else { return };
        if let Some((answered, name, frame)) = self.answers.ghost.take()
            && self.broken != Some(answered)
        {
            out.find(RuleId::AckUnseen, &[frame], || {
                format!(
                    "{name} psn {answered} answers what is not in the capture, whose last request has psn {}",
                    next.sub(1)
                )
            });
        }
        self.confirm_detour(out);
        self.gaps_are_lost(out);
        self.never_told();
        self.presume_at_end(out);
        self.unanswered(out);
        self.walk_to(next, 0, out);
    }

    /// A packet that the capture cut may have been of this conversation: what there was is judged as it is, and what follows as if the
    /// capture began with it.
    pub(crate) fn interrupt(&mut self, why: Reason, out: &mut Out<'_>) {
        self.doubt(why);
        self.never_told();
        if let Some(next) = self.requests.as_ref().map(|requests| requests.next) {
            self.walk_to(next, 0, out);
        }
        let (sizes, agreed) = (self.sizes, self.agreed);
        self.begin_again();
        (self.sizes, self.agreed) = (sizes, agreed.map(|agreed| Agreed { first_psn: None, ..agreed }));
    }

    /// The last request that asks for an acknowledgement has none, for long.
    fn unanswered(&mut self, out: &mut Out<'_>) {
        let Some((psn, frame, time)) = self.requests.as_mut().and_then(|requests| requests.asked.take())
        else {
            return;
        };
        let is_over = self.answers.failed.is_some() || self.peer.is_none();
        if is_over || out.now.saturating_sub(time) < ANSWERED_WITHIN {
            return;
        }
        let passed = out.now.saturating_sub(time) as f64 / 1e9;
        out.find(RuleId::AckRequest, &[frame], || {
            format!("psn {psn} asks for an acknowledgement, and has none in the {passed:.1} s behind it")
        });
    }
}
