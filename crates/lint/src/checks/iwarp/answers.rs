//! What answers READs and atomics.

use rdmalab_trace::Fpdu;
use rdmalab_wire::iwarp::{AtomicResponse, Header, Place, queue};

use super::Heard;
use crate::iwarp::side::{Asked, Message, Pending, Side};
use crate::iwarp::tcp::is_before;
use crate::iwarp::{At, Stream};
use crate::observer::{StreamOperation, UnitRole};
use crate::packet::OperationKind;
use crate::reason::Reason;
use crate::rules::RuleId;

/// Requests that are looked through for one that an answer fits.
const LOOKED_THROUGH: usize = 256;

/// Whether all that the sender has heard of the other side is known, so that what is not there was not said.
pub(super) fn hears_only_what_is_known(heard: Heard, other: &Side) -> bool {
    match (heard.to, other.end) {
        (Some(to), Some(end)) => !is_before(end, to),
        // The other side has said nothing.
        (Some(to), None) => heard.from == Some(to),
        (None, _) => false,
    }
}

impl Stream {
    /// A segment of an answer to a READ of the other side.
    pub(super) fn read_response(
        &mut self,
        side: usize,
        header: &Header,
        length: usize,
        heard: Heard,
        fpdu: &Fpdu,
        at: &mut At<'_>,
    ) -> (usize, UnitRole) {
        let Place::Tagged { stag, offset } = header.place else { return (side, UnitRole::Broken) };
        let end = fpdu.end_sequence;
        let [ours, theirs] = self.both_mut(side);
        ours.is_between = false;
        ours.message = (!header.last).then_some(Message {
            opcode: header.opcode,
            number: None,
            stag: stag.value(),
            next: offset.wrapping_add(length as u64),
            bytes: 0,
            begun: (at.frame, at.time),
            last_frame: at.frame,
            is_partial: true,
        });
        // Not more than a ULPDU can have.
        let length = length as u32;
        if theirs.next_answer.is_none() {
            resume(theirs, stag.value(), offset, length, heard);
        }
        let Some(next) = theirs.next_answer else {
            return unknown(ours, theirs, side);
        };
        let begun = theirs.begun_unasked.filter(|(msn, _)| *msn == next);
        let Some(oldest) = theirs.waiting(next) else {
            let is_certain = match begun {
                Some((_, is_certain)) => is_certain,
                None => unasked(ours, theirs, next, heard, header, at),
            };
            theirs.begun_unasked = (!header.last).then_some((next, is_certain));
            if header.last && !is_certain {
                theirs.next_answer = Some(next.wrapping_add(1));
            }
            return (side, UnitRole::Unasked);
        };
        if begun.is_some() {
            // Its request stands behind the beginning in the capture.
            if header.last {
                oldest.answered = Some(end);
                let done = *oldest;
                theirs.begun_unasked = None;
                answered(theirs, &done, at);
            }
            return (1 - side, UnitRole::Answer);
        }
        let fault = match oldest.asked {
            Asked::Atomic { .. } => Some("answers an atomic".to_owned()),
            Asked::Read { stag: sink, offset: begin, length: whole } => {
                misplaced(header, length, (sink, begin, whole), oldest.received)
            }
        };
        if let Some(fault) = fault {
            let (first, msn) = (oldest.begun.0, oldest.msn);
            at.find(RuleId::RdmapAnswer, ours.number, &[at.frame, first], || {
                format!("the answer to the oldest request, message {msn}, {fault}")
            });
            ours.message = None;
            theirs.lose_answers();
            return (1 - side, UnitRole::Answer);
        }
        oldest.received = oldest.received.saturating_add(length);
        if header.last {
            oldest.answered = Some(end);
            let done = *oldest;
            answered(theirs, &done, at);
        }
        (1 - side, UnitRole::Answer)
    }

    pub(super) fn atomic_response(
        &mut self,
        side: usize,
        response: &AtomicResponse,
        heard: Heard,
        fpdu: &Fpdu,
        at: &mut At<'_>,
    ) -> (usize, UnitRole) {
        let [ours, theirs] = self.both_mut(side);
        let (Some(next), Some(header)) = (theirs.next_answer, fpdu.segment().header) else {
            return unknown(ours, theirs, side);
        };
        let Some(oldest) = theirs.waiting(next) else {
            if !unasked(ours, theirs, next, heard, &header, at) {
                theirs.next_answer = Some(next.wrapping_add(1));
            }
            return (side, UnitRole::Unasked);
        };
        if oldest.asked != (Asked::Atomic { id: response.request_id }) {
            let first = oldest.begun.0;
            let asked = match oldest.asked {
                Asked::Read { .. } => "a READ".to_owned(),
                Asked::Atomic { id } => format!("the atomic {id:#x}"),
            };
            at.find(RuleId::RdmapAnswer, ours.number, &[at.frame, first], || {
                format!("answers the atomic {:#x}, the oldest request is {asked}", response.request_id)
            });
            theirs.lose_answers();
            return (1 - side, UnitRole::Answer);
        }
        oldest.answered = Some(fpdu.end_sequence);
        let done = *oldest;
        answered(theirs, &done, at);
        (1 - side, UnitRole::Answer)
    }
}

/// What is wrong with a segment of a READ's answer, whose sink is a tag with an offset and a length, so many bytes having come.
fn misplaced(header: &Header, length: u32, sink: (u32, u64, u32), received: u32) -> Option<String> {
    let Place::Tagged { stag, offset } = header.place else { return None };
    let (tag, begin, whole) = sink;
    let expected = begin.wrapping_add(received.into());
    let sum = u64::from(received) + u64::from(length);
    if stag.value() != tag {
        Some(format!("goes to the tag {stag}, the sink is {tag:#x}"))
    } else if offset != expected {
        Some(format!("goes to {offset:#x}, should to {expected:#x}"))
    } else if sum > u64::from(whole) {
        Some(format!("brings {sum} bytes, asked for were {whole}"))
    } else if header.last && sum < u64::from(whole) {
        Some(format!("is the last one and brings {sum} of {whole} bytes"))
    } else if !header.last && sum == u64::from(whole) && length > 0 {
        Some(format!("brings the last of {whole} bytes and does not say so"))
    } else {
        None
    }
}

/// Behind answers that were lost, the place is found again by one that fits a single READ of those that may wait, if all of
/// those are known.
fn resume(asking: &mut Side, stag: u32, offset: u64, length: u32, heard: Heard) {
    let Some(first) = asking.at_least.filter(|_| asking.pending.len() <= LOOKED_THROUGH) else { return };
    if !asking.knows_all_from(first) || !hears_only_what_is_known(heard, asking) {
        return;
    }
    let fits = |pending: &Pending| match pending.asked {
        Asked::Read { stag: sink, offset: begin, length: whole } => {
            let at = offset.wrapping_sub(begin);
            pending.answered.is_none()
                && sink == stag
                && at.checked_add(length.into()).is_some_and(|end| end <= whole.into())
        }
        Asked::Atomic { .. } => false,
    };
    let mut fitting = asking.pending.iter_mut().filter(|pending| fits(pending));
    let (Some(found), None) = (fitting.next(), fitting.next()) else { return };
    if let Asked::Read { offset: begin, .. } = found.asked {
        found.received = u32::try_from(offset.wrapping_sub(begin)).unwrap_or_default();
    }
    let msn = found.msn;
    asking.pending.retain(|pending| !is_before(pending.msn, msn));
    asking.next_answer = Some(msn);
}

/// An answer, of which nobody knows to which of the requests.
fn unknown(ours: &mut Side, asking: &mut Side, side: usize) -> (usize, UnitRole) {
    ours.doubt(Reason::RequestsUnknown);
    asking.is_answered_early |= asking.start.is_none();
    (side, UnitRole::Unasked)
}

/// An answer that no request is known of. Says whether there surely is none.
fn unasked(
    ours: &mut Side,
    asking: &Side,
    next: u32,
    heard: Heard,
    header: &Header,
    at: &mut At<'_>,
) -> bool {
    let to_come = asking.numbers.get(queue::REQUEST as usize).copied().flatten();
    let is_certain = to_come == Some(next) && hears_only_what_is_known(heard, asking);
    if is_certain {
        at.find(RuleId::RdmapUnasked, ours.number, &[at.frame], || {
            format!("{} answers nothing: no request waits", header.opcode)
        });
    } else {
        ours.doubt(Reason::RequestsUnknown);
    }
    is_certain
}

/// A request has its answer.
fn answered(asking: &mut Side, done: &Pending, at: &mut At<'_>) {
    asking.next_answer = Some(done.msn.wrapping_add(1));
    if done.is_ready {
        return;
    }
    let (kind, bytes) = match done.asked {
        Asked::Read { length, .. } => (OperationKind::Read, length.into()),
        Asked::Atomic { .. } => (OperationKind::Atomic, 8),
    };
    asking.stats.answers += 1;
    asking.stats.operations.add(kind, bytes);
    asking.stats.answer_times.add_between(done.begun.1, at.time);
    at.observer.stream_operation(&StreamOperation {
        flow: asking.number,
        kind,
        bytes,
        msn: Some(done.msn),
        begun: done.begun,
        completed: (at.frame, at.time),
    });
}
