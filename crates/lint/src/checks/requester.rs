//! What a requester sends: new requests, repetitions and why, and the limits of both.

use rdmalab_wire::{Psn, rnr_timer_nanoseconds};

use crate::finding::Reason;
use crate::flow::mtu::packets;
use crate::flow::window::Entry;
use crate::flow::{Flow, Out, Requests, Told};
use crate::observer::{Cause, Role};
use crate::packet::{OperationKind, Seen};
use crate::rules::RuleId;

/// A jump further than this is taken for another conversation of the same queue pair.
const FURTHEST: i32 = 16_384;
/// The longest message, in bytes.
const LONGEST: u64 = 1 << 31;
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
/// IP identifications below this are those of the pieces of one send, which the kernel cut up, and come again and again.
const IDENTIFIES: u16 = 64;

impl Flow {
    /// A request of a connection.
    pub(crate) fn request(&mut self, seen: &Seen<'_>, kind: OperationKind, out: &mut Out<'_>) -> Role {
        self.stats.saw_request(seen.frame, seen.time);
        let psn = seen.bth.psn;
        self.settle(seen, kind);
        let far = |requests: &Requests| {
            let distance = psn.distance(requests.next);
            !(-FURTHEST..=FURTHEST).contains(&distance)
        };
        if self.requests.as_ref().is_some_and(far) {
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
            self.settle_ghost(psn, out);
            self.new_request(seen, kind, distance, out);
            Role::Request
        } else {
            self.old_request(seen, kind, out)
        };
        if let Some(requests) = &mut self.requests {
            requests.last_time = seen.time;
        }
        role
    }

    fn begin(&mut self, seen: &Seen<'_>, out: &mut Out<'_>) {
        self.requests = Some(Requests::begin(seen.bth.psn, seen.ip_id));
        let Some(agreed) = self.agreed else {
            self.doubt(Reason::AgreementUnknown);
            return;
        };
        let psn = seen.bth.psn;
        match psn.distance(agreed.first_psn) {
            0 => {}
            // The first packets may have been lost in front.
            1..=LOST_REPETITIONS => self.doubt(Reason::BegunBefore),
            _ => out.find(RuleId::CmPsn, &[seen.frame, agreed.frames[0], agreed.frames[1]], || {
                format!("the first request has psn {psn}, agreed was {}", agreed.first_psn)
            }),
        }
    }

    /// How many PSNs the last READ takes, once the path MTU or the next request tells.
    fn settle(&mut self, seen: &Seen<'_>, kind: OperationKind) {
        let Some(last) = self.window.last_mut().copied().filter(|last| !last.span_is_known) else { return };
        let length = u32::try_from(last.target.length).unwrap_or(u32::MAX);
        let span = seen.bth.psn.distance(last.psn).cast_unsigned();
        let takes = |size: u32| packets(length, size) == span;
        // It may ask for the rest of the READ rather than be a new request.
        let again = Entry::of(seen, kind, 1, true);
        let is_rest =
            self.sizes.iter().any(|size| packets(length, size) > span && again.is_rest_of(&last, span, size));
        if !is_rest && self.sizes.iter().any(takes) {
            self.sizes.keep(takes);
        }
        self.settle_last();
    }

    /// What the last READ takes, if all sizes that are left say the same.
    pub(crate) fn settle_last(&mut self) {
        let Some(requests) = &mut self.requests else { return };
        let Some(last) = self.window.last_mut().filter(|last| !last.span_is_known) else { return };
        let length = u32::try_from(last.target.length).unwrap_or(u32::MAX);
        let mut spans = self.sizes.iter().map(|size| packets(length, size));
        let Some(span) = spans.next() else { return };
        if spans.any(|other| other != span) {
            return;
        }
        last.span = span;
        last.span_is_known = true;
        let end = last.end();
        if requests.cursor == requests.next {
            requests.cursor = end;
        }
        if requests.walked == requests.next {
            requests.walked = end;
        }
        requests.next = end;
    }

    /// Something beyond all requests was answered. Now that another request is there, it is known whether that was sent.
    fn settle_ghost(&mut self, psn: Psn, out: &mut Out<'_>) {
        let Some((answered, name, frame)) = self.answers.ghost.take() else { return };
        let Some(next) = self.requests.as_ref().map(|requests| requests.next) else { return };
        // Between the requests before and this one there is a gap: what was answered was in it.
        let was_missed = psn != next && answered.distance(psn) < 0;
        if !was_missed && !self.reasons.has(Reason::Reordered) {
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
            self.doubt(Reason::LostAhead);
            out.find(RuleId::MissingRequests, &[seen.frame], || match gap {
                1 => format!("psn {} is not in the capture", psn.sub(1)),
                _ => format!("psn {} to {} are not in the capture", psn.sub(missing), psn.sub(1)),
            });
        }
        let entry = self.entry(seen, kind, out);
        self.lengths(seen, &entry, out);
        let depth = self.agreed.map(|agreed| agreed.depth);
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
        requests.next = entry.end();
        requests.cursor = entry.end();
        requests.cause = None;
        if matches!(kind, OperationKind::Read | OperationKind::Atomic) {
            requests.outstanding += 1;
            let outstanding = requests.outstanding;
            if let Some(depth) = depth.filter(|depth| outstanding > u32::from(*depth))
                && self.peer.is_some()
            {
                if self.stats.responses_missing == 0 && !self.reasons.has(Reason::LostAhead) {
                    out.find(RuleId::Outstanding, &[seen.frame], || {
                        format!(
                            "psn {psn} makes {outstanding} READs and atomics at once, agreed were {depth}"
                        )
                    });
                } else {
                    self.doubt(Reason::LostAhead);
                }
            }
        }
        self.window.insert(entry);
        self.credits(seen, out);
        if !seen.is_reliable() {
            // Nobody answers.
            self.walk_to(entry.end(), 0, out);
            self.complete(seen.frame, seen.time, out);
        }
    }

    fn entry(&mut self, seen: &Seen<'_>, kind: OperationKind, out: &mut Out<'_>) -> Entry {
        if seen.is_cut {
            self.doubt(Reason::Cut);
        }
        let mut entry = Entry::of(seen, kind, 1, true);
        entry.run = self.requests.as_ref().map_or(0, |requests| requests.run);
        if kind == OperationKind::Read {
            let length = u32::try_from(entry.target.length).unwrap_or(u32::MAX);
            let spans = self.sizes.iter().map(|size| packets(length, size));
            let (least, most) =
                spans.fold((u32::MAX, 1), |(least, most), span| (least.min(span), most.max(span)));
            entry.span = most;
            entry.span_is_known = least == most;
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

    fn old_request(&mut self, seen: &Seen<'_>, kind: OperationKind, out: &mut Out<'_>) -> Role {
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
            if exact.is_some_and(|entry| (is_plain || is_hasty) && seen.time - entry.last_time < AT_ONCE) {
                self.stats.duplicates += 1;
                self.doubt(Reason::Duplicated);
                return Role::Duplicate;
            }
            if known.is_none() && is_plain && seen.time - requests.last_time < SOON {
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
        let entry = self.entry(seen, kind, out);
        self.lengths(seen, &entry, out);
        let Some(requests) = &mut self.requests else { return };
        if entry.psn.distance(requests.walked) >= 0 {
            requests.missing = requests.missing.saturating_sub(1);
            requests.ends += u64::from(entry.ends_message());
        }
        if matches!(kind, OperationKind::Read | OperationKind::Atomic)
            && entry.psn.distance(requests.completed) >= 0
        {
            requests.outstanding += 1;
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
        if may_have_missed && time - answers.last_time < NOTICED {
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
            let waited = seen.time - since;
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

    /// A repetition that began at no point to go back to is answered: it did not lack what it seemed to.
    pub(crate) fn settle_restart(&mut self, psn: Psn, out: &mut Out<'_>) {
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
    pub(crate) fn excuse_restart(&mut self, psn: Psn) {
        let Some(requests) = &mut self.requests else { return };
        if requests.restart.is_some_and(|restart| psn.distance(restart.0) < 0) {
            requests.restart = None;
            self.reasons.add(Reason::LostAhead);
        }
    }

    /// Whether what went back without a cause goes on from there, or was one packet twice.
    fn settle_suspect(&mut self, psn: Psn) {
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

    /// Whether a requester has waited as long as it was told. Places of capture have clocks of their own making: one in a
    /// hundred is granted.
    fn has_waited(told: &Told, time: i64) -> bool {
        time.saturating_sub(told.time) >= (told.wait - told.wait / 100).cast_signed()
    }

    /// Nanoseconds that an RNR NAK's timer code asks to wait.
    pub(crate) fn rnr_wait(timer: u8) -> u64 {
        rnr_timer_nanoseconds(timer)
    }

    /// Judges what nobody has answered for: the conversation ends.
    pub(crate) fn finish(&mut self, out: &mut Out<'_>) {
        let Some(next) = self.requests.as_ref().map(|requests| requests.next) else { return };
        if let Some((answered, name, frame)) = self.answers.ghost.take() {
            out.find(RuleId::AckUnseen, &[frame], || {
                format!(
                    "{name} psn {answered} answers what is not in the capture, whose last request has psn {}",
                    next.sub(1)
                )
            });
        }
        self.walk_to(next, 0, out);
    }
}
