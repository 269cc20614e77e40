//! The order of opcodes, the length of messages, and operations from their first packet to what completes them.
//!
//! Both walks go over the window in the order of PSNs, when the responder has answered for it: repetitions, duplicates and
//! packets that came late have found their places by then.

use rdmalab_wire::Psn;
use rdmalab_wire::opcode::Position;

use crate::flow::entry::Entry;
use crate::flow::{Flow, Message, Out};
use crate::observer::Operation;
use crate::packet::OperationKind;
use crate::reason::Reason;
use crate::rules::RuleId;

/// A requester that has sent so many packets behind a READ without asking for it again has its answer, even if the capture
/// lacks some of it.
const GIVEN_UP: usize = 1024;

impl Flow {
    /// Walks over all requests in front of a PSN, which the responder has answered for in this frame (0: it has not, they
    /// are judged as they are).
    pub(crate) fn walk_to(&mut self, to: Psn, acknowledged_by: u64, out: &mut Out<'_>) {
        let Some(requests) = &self.requests else { return };
        let mut at = self.window.lower_bound(requests.walked);
        while let Some(walked) = self.requests.as_ref().map(|requests| requests.walked)
            && walked.distance(to) < 0
        {
            let entry = self.window.get(at).copied().filter(|entry| entry.psn.distance(to) < 0);
            let begin = entry.map_or(to, |entry| entry.psn);
            if begin != walked {
                self.walk_over_gap(walked, begin, acknowledged_by, out);
            }
            let Some(entry) = entry else { return };
            self.step(&entry, out);
            at += 1;
        }
    }

    fn walk_over_gap(&mut self, from: Psn, to: Psn, acknowledged_by: u64, out: &mut Out<'_>) {
        let count = to.distance(from);
        if acknowledged_by != 0 && self.broken != Some(from) {
            out.find(RuleId::AckUnseen, &[acknowledged_by], || match count {
                1 => format!("psn {from} is acknowledged, but no packet with it is in the capture"),
                _ => format!(
                    "psn {from} to {} are acknowledged, but no packets with them are in the capture",
                    to.sub(1)
                ),
            });
        }
        self.gaps_are_lost(out);
        self.doubt(Reason::LostAhead);
        self.doubt(Reason::CountLost);
        self.answers.base = None;
        self.answers.credit = None;
        if let Some(requests) = &mut self.requests {
            requests.walked = to;
            requests.gap_end = Some(to);
            requests.before = None;
            requests.message = None;
            requests.missing = requests.missing.saturating_sub(count.unsigned_abs().into());
        }
    }

    /// One request in its place.
    fn step(&mut self, entry: &Entry, out: &mut Out<'_>) {
        let Some(requests) = &mut self.requests else { return };
        let starts = entry.starts_message();
        let name = entry.row.name;
        match requests.before {
            Some((kind, true, frame)) if starts => {
                out.find(RuleId::OpcodeOrder, &[entry.first_frame, frame], || {
                    format!(
                        "{name} psn {} begins a message though the {} before has not ended",
                        entry.psn,
                        kind.name()
                    )
                });
            }
            Some((kind, true, frame)) if kind != entry.kind => {
                out.find(RuleId::OpcodeOrder, &[entry.first_frame, frame], || {
                    format!("{name} psn {} goes on with a {}", entry.psn, kind.name())
                });
            }
            Some((_, false, frame)) if !starts => {
                out.find(RuleId::OpcodeOrder, &[entry.first_frame, frame], || {
                    format!("{name} psn {} goes on with a message that has ended", entry.psn)
                });
            }
            None if !starts => self.reasons.add(Reason::BegunBefore),
            _ => {}
        }
        if starts {
            requests.message = Some(Message::of(entry));
        } else if let Some(message) = &mut requests.message {
            message.take(entry);
        }
        requests.before = Some((entry.kind, !entry.ends_message(), entry.first_frame));
        requests.walked = entry.end();
        if (entry.is_unclear || !entry.span_is_known) && entry.kind == OperationKind::Read {
            // It may be the rest of a READ that the capture missed, of which others are the rest, too: one message, not several. Or it
            // takes less than it can, and the capture missed what takes the others.
            requests.gap_end = Some(entry.end());
            self.answers.base = None;
            self.reasons.add(Reason::CountLost);
        }
        if entry.ends_message() {
            requests.ends_walked += 1;
            if let Some(message) = requests.message.take()
                && let Some(stated) = message
                    .stated
                    .filter(|stated| *stated != message.bytes && !(message.is_cut && *stated < message.bytes))
            {
                out.find(RuleId::MessageLength, &[entry.first_frame, message.begun.0], || {
                    format!(
                        "WRITE psn {} carries {} bytes, its RETH says {stated}",
                        message.first_psn, message.bytes
                    )
                });
            }
        }
    }

    /// Completes what can be, in order, because of this frame.
    pub(crate) fn complete(&mut self, frame: u64, time: i64, out: &mut Out<'_>) {
        let Some(requests) = &mut self.requests else { return };
        let mut at = self.window.lower_bound(requests.completed);
        let begun = requests.completed;
        let mut part = 0;
        let length = self.window.len();
        let mut has_presumed = false;
        while let Some(entry) = self.window.get_mut(at) {
            if has_presumed {
                // What came by of its answer has been taken, too.
                entry.was_taken();
            }
            if entry.kind.is_answered() && !entry.is_answered() {
                let stuck = length - at > GIVEN_UP && requests.walked.distance(entry.end()) >= 0;
                if !stuck && entry.end().distance(requests.presumed) > 0 {
                    part = if requests.walked.distance(entry.psn) > 0 { entry.answered } else { 0 };
                    break;
                }
                self.reasons.add(Reason::LostAhead);
                if entry.is_bare() && !entry.was_passed {
                    let (name, psn, first) = (entry.row.name, entry.psn, entry.first_frame);
                    out.find(RuleId::AckRead, &[first, frame], || {
                        format!("the {name} psn {psn} is not answered, though what is behind it is, and the requester goes on")
                    });
                }
                self.stats.answers_lacking(entry.lack());
                has_presumed = true;
            } else if entry.end().distance(requests.walked) > 0 {
                break;
            }
            if entry.psn != requests.completed {
                requests.completing = None;
            }
            if entry.starts_message() {
                requests.completing = Some(Message::of(entry));
            } else if let Some(message) = &mut requests.completing {
                message.take(entry);
            }
            requests.completed = entry.end();
            if entry.ends_message()
                && let Some(message) = requests.completing.take()
                && entry.end().distance(requests.counted) > 0
            {
                requests.counted = entry.end();
                self.stats.operation(message.kind, message.bytes, message.begun.1, time);
                out.observer.operation(&Operation {
                    flow: out.flow,
                    kind: message.kind,
                    bytes: message.bytes,
                    first_psn: message.first_psn,
                    last_psn: entry.end().sub(1),
                    begun: message.begun,
                    completed: (frame, time),
                    repeated: message.repeated,
                });
            }
            at += 1;
        }
        let completed = requests.completed;
        if completed != begun || part > 0 {
            requests.was_at(completed);
            requests.was_at(completed.add(part));
        }
        self.passed(completed);
        self.window.forget_before(completed);
    }
}

impl Message {
    fn of(entry: &Entry) -> Message {
        let (bytes, stated) = match entry.kind {
            OperationKind::Read => (entry.target.length, None),
            OperationKind::Write => (entry.payload_length.into(), Some(entry.target.length)),
            OperationKind::Atomic => (8, None),
            OperationKind::Send | OperationKind::Flush | OperationKind::AtomicWrite => {
                (entry.payload_length.into(), None)
            }
        };
        // A first packet of several is as long as it is; that the message is, too, is known at its end.
        debug_assert!(matches!(entry.row.position, Position::First | Position::Only));
        Message {
            kind: entry.kind,
            first_psn: entry.psn,
            begun: (entry.first_frame, entry.first_time),
            bytes,
            is_cut: entry.is_cut,
            stated,
            repeated: entry.sends.saturating_sub(1).into(),
        }
    }

    fn take(&mut self, entry: &Entry) {
        self.bytes += u64::from(entry.payload_length);
        self.is_cut |= entry.is_cut;
        self.repeated += u64::from(entry.sends.saturating_sub(1));
    }
}
