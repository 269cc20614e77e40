//! DDP's segments: reserved bits, the numbers of messages, where their pieces go, which piece is the last; and operations that
//! need no answer.

use rdmalab_trace::Fpdu;
use rdmalab_wire::iwarp::{Header, Opcode, Place, RawBody, RawSegment, Stag};

use super::Heard;
use super::terminate::turned;
use crate::iwarp::side::{Message, Sent};
use crate::iwarp::{At, Stream};
use crate::observer::{StreamOperation, UnitRole};
use crate::packet::OperationKind;
use crate::reason::Reason;
use crate::rules::RuleId;

/// Bytes of an RDMAP header that a Terminate message repeats, at most.
pub(super) const RDMAP_HEADER: usize = 52;

/// The kind of what a side asks for by an opcode.
fn kind(opcode: Opcode) -> Option<OperationKind> {
    Some(match opcode {
        Opcode::WRITE => OperationKind::Write,
        Opcode::SEND | Opcode::SEND_INV | Opcode::SEND_SE | Opcode::SEND_SE_INV => OperationKind::Send,
        Opcode::IMMEDIATE | Opcode::IMMEDIATE_SE => OperationKind::Send,
        Opcode::READ_REQUEST => OperationKind::Read,
        Opcode::ATOMIC_REQUEST => OperationKind::Atomic,
        _ => return None,
    })
}

impl Stream {
    /// A segment whose header is legal.
    pub(super) fn segment_of(
        &mut self,
        side: usize,
        fpdu: &Fpdu,
        is_ready: bool,
        heard: Heard,
        at: &mut At<'_>,
    ) -> (usize, UnitRole) {
        let segment = fpdu.segment();
        let Some(header) = segment.header else { return (side, UnitRole::Broken) };
        self.reserved(side, &header, fpdu, at);
        self.use_of_tags(side, &header, &segment, at);
        let [ours, theirs] = self.both_mut(side);
        let rdmap = matches!(header.opcode, Opcode::READ_REQUEST | Opcode::ATOMIC_REQUEST)
            .then(|| fpdu.ulpdu.get(header.length()..).unwrap_or_default())
            .map(|body| crc32fast::hash(body.get(..RDMAP_HEADER).unwrap_or(body)));
        ours.remember(Sent { header, length: fpdu.ulpdu.len(), rdmap_sum: rdmap, frame: at.frame });
        // It may have told the other side of a tag that is to be used again.
        theirs.invalidated.clear();
        if header.opcode == Opcode::TERMINATE {
            // What was under way ends with it.
            ours.message = None;
            self.terminate(side, &header, fpdu, heard, at);
            return (side, UnitRole::Terminate);
        }
        if header.opcode == Opcode::READ_RESPONSE {
            self.begins_in_turn(side, &header, at);
            return self.read_response(side, &header, segment.payload.len(), heard, fpdu, at);
        }
        let message = self.place(side, &header, segment.payload.len(), at);
        match segment.body {
            Some(RawBody::ReadRequest(request)) => {
                self.read_request(side, &header, &request, is_ready, heard, at)
            }
            Some(RawBody::AtomicRequest(request)) => self.atomic_request(side, &header, &request, heard, at),
            Some(RawBody::AtomicResponse(response)) => {
                return self.atomic_response(side, &response, heard, fpdu, at);
            }
            _ => {}
        }
        if let Some(message) = message {
            self.whole(side, &header, &message, segment.body, is_ready, at);
        }
        (side, if is_ready { UnitRole::Ready } else { UnitRole::Request })
    }

    fn reserved(&mut self, side: usize, header: &Header, fpdu: &Fpdu, at: &mut At<'_>) {
        let invalidates = header.opcode.row().is_some_and(|row| row.invalidates);
        let upper = match header.place {
            Place::Untagged { upper, .. } if !invalidates => upper,
            _ => 0,
        };
        let body = match fpdu.segment().body {
            Some(RawBody::Terminate(terminate)) => {
                let is_turned = turned(fpdu.ulpdu.get(header.length()..).unwrap_or_default()).is_some();
                if is_turned { 0 } else { terminate.reserved.into() }
            }
            Some(RawBody::AtomicRequest(request)) => request.reserved,
            _ => 0,
        };
        let bits = [
            (u32::from(header.ddp_reserved), "DDP's control field"),
            (u32::from(header.rdmap_reserved), "RDMAP's control field"),
            (upper, "what DDP reserves for the layer above"),
            (body, "the body"),
        ];
        if let Some((bits, place)) = bits.into_iter().find(|(bits, _)| *bits != 0) {
            let flow = self.both(side)[0].number;
            at.find(RuleId::DdpReserved, flow, &[at.frame], || {
                format!("{}: the reserved bits of {place} are {bits:#x}", header.opcode)
            });
        }
    }

    /// A tag that this side made unusable, and uses all the same.
    fn use_of_tags(&mut self, side: usize, header: &Header, segment: &RawSegment<'_>, at: &mut At<'_>) {
        let used = match (header.place, segment.body) {
            (Place::Tagged { stag, .. }, _)
                if header.opcode == Opcode::WRITE && !segment.payload.is_empty() =>
            {
                stag
            }
            (_, Some(RawBody::ReadRequest(request))) if request.length > 0 => request.source_stag,
            (_, Some(RawBody::AtomicRequest(request))) => request.stag,
            _ => return,
        };
        let [ours, _] = self.both(side);
        let Some((_, frame)) = ours.invalidated.iter().find(|(stag, _)| *stag == used.value()) else {
            return;
        };
        let (flow, frame) = (ours.number, *frame);
        at.find(RuleId::StagInvalidated, flow, &[at.frame, frame], || {
            format!("{} uses the tag {used}, which its sender has invalidated", header.opcode)
        });
    }

    /// A READ response may begin only where no other message is under way.
    fn begins_in_turn(&mut self, side: usize, header: &Header, at: &mut At<'_>) {
        let [ours, _] = self.both_mut(side);
        if let Some(open) = ours.message.filter(|open| open.opcode != header.opcode) {
            ours.message = None;
            unfinished(ours.number, &open, header, at);
        }
    }

    /// The place of a segment in its message. Gives the message when it is whole.
    fn place(&mut self, side: usize, header: &Header, length: usize, at: &mut At<'_>) -> Option<Message> {
        let [ours, _] = self.both_mut(side);
        let flow = ours.number;
        let (number, stag, offset) = match header.place {
            Place::Tagged { stag, offset } => (None, stag.value(), offset),
            Place::Untagged { queue, msn, offset, .. } => (Some((queue, msn)), 0, u64::from(offset)),
        };
        let open = ours.message.take().filter(|open| {
            let goes_on = open.opcode == header.opcode
                && (open.number == number || (number.is_some() && offset == open.next && offset > 0));
            if !goes_on {
                unfinished(flow, open, header, at);
            }
            goes_on
        });
        let mut message = match open {
            Some(mut open) => {
                if open.number != number {
                    let (_, was) = open.number.unwrap_or_default();
                    let (_, is) = number.unwrap_or_default();
                    at.find(RuleId::DdpMsn, flow, &[at.frame, open.begun.0], || {
                        format!("{}: a piece of message {was} has the number {is}", header.opcode)
                    });
                } else if offset != open.next || stag != open.stag {
                    at.find(RuleId::DdpOffset, flow, &[at.frame, open.last_frame], || {
                        let expected = match header.place {
                            Place::Tagged { .. } => {
                                place(Place::Tagged { stag: Stag::new(open.stag), offset: open.next })
                            }
                            Place::Untagged { .. } => format!("{:#x}", open.next),
                        };
                        let is = place(header.place);
                        format!("{}: the message goes on at {is}, should at {expected}", header.opcode)
                    });
                }
                // It goes on from where it is.
                (open.next, open.stag) = (offset, stag);
                open
            }
            None => {
                if let Some((queue, msn)) = number
                    && let Some(next) = ours.numbers.get_mut(queue as usize)
                {
                    if let Some(expected) = next.filter(|next| *next != msn) {
                        at.find(RuleId::DdpMsn, flow, &[at.frame], || {
                            format!("{}: message {msn} of queue {queue}, should be {expected}", header.opcode)
                        });
                    }
                    *next = Some(msn);
                }
                let is_partial = ours.is_between && (number.is_none() || offset > 0);
                if number.is_some() && offset > 0 && !ours.is_between {
                    at.find(RuleId::DdpOffset, flow, &[at.frame], || {
                        format!("{}: a message begins at {offset} within itself", header.opcode)
                    });
                }
                Message {
                    opcode: header.opcode,
                    number,
                    stag,
                    next: offset,
                    bytes: 0,
                    begun: (at.frame, at.time),
                    last_frame: at.frame,
                    is_partial,
                }
            }
        };
        ours.is_between = false;
        message.next = message.next.wrapping_add(length as u64);
        message.bytes = message.bytes.saturating_add(length as u64);
        message.last_frame = at.frame;
        if !header.last {
            ours.message = Some(message);
            return None;
        }
        if let Some((queue, msn)) = message.number
            && let Some(next) = ours.numbers.get_mut(queue as usize)
        {
            *next = Some(msn.wrapping_add(1));
        }
        Some(message)
    }

    /// A message is whole that needs no answer.
    fn whole(
        &mut self,
        side: usize,
        header: &Header,
        message: &Message,
        body: Option<RawBody<'_>>,
        is_ready: bool,
        at: &mut At<'_>,
    ) {
        let [ours, _] = self.both_mut(side);
        if let Place::Untagged { upper, .. } = header.place
            && header.opcode.row().is_some_and(|row| row.invalidates)
        {
            ours.invalidates(upper, at.frame);
        }
        let Some(kind) = kind(header.opcode).filter(|kind| !kind.is_answered()) else { return };
        if is_ready {
            return;
        }
        if message.is_partial {
            ours.doubt(Reason::BegunBefore);
            return;
        }
        let bytes = if body.is_some() { 8 } else { message.bytes };
        ours.stats.operations.add(kind, bytes);
        at.observer.stream_operation(&StreamOperation {
            flow: ours.number,
            kind,
            bytes,
            msn: message.number.map(|(_, msn)| msn),
            begun: message.begun,
            completed: (at.frame, at.time),
        });
    }
}

fn unfinished(flow: u64, open: &Message, header: &Header, at: &mut At<'_>) {
    at.find(RuleId::DdpLast, flow, &[at.frame, open.last_frame], || {
        format!("{} begins though the {} before has had no last segment", header.opcode, open.opcode)
    });
}

fn place(place: Place) -> String {
    match place {
        Place::Tagged { stag, offset } => format!("{offset:#x} of the tag {stag}"),
        Place::Untagged { offset, .. } => format!("{offset:#x}"),
    }
}
