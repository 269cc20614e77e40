//! Taking the stream apart: segments are judged when their header is here, placed as they arrive, and delivered at their end.
//!
//! Where CRCs are used, nothing is delivered before that of its FPDU was found right. An FPDU that lies whole in a piece is
//! checked before any of it is placed; of one that comes in pieces, what is wrong with its header is told at its end, since the
//! header itself may be what is damaged.

use rdmalab_verbs::Context;
use rdmalab_wire::RKey;
use rdmalab_wire::iwarp::{
    AtomicRequest, AtomicResponse, Event as Found, FpduEnd, FpduHead, Header, Opcode, OpcodeRow, PayloadRule,
    Place, ReadRequest, TerminateError,
};

use super::QueuePair;
use crate::event::Event;
use crate::fault::{Fault, of_tagged};
use crate::inbound::Inbound;
use crate::terminate::{Blamed, MAX_BODY, understand};

/// The segment that is coming in.
#[derive(Debug)]
pub(super) struct Arrival {
    header: Option<Header>,
    /// Bytes of the segment, its header counted.
    length: u16,
    /// Its CRC was found right already, or there are none.
    is_verified: bool,
    task: Task,
    /// What is wrong with it, to be told when its CRC was found right.
    fault: Option<Fault>,
    /// What is behind the header of a message that is a header of RDMAP's itself.
    body: [u8; MAX_BODY],
    body_length: usize,
}

/// What becomes of the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    /// Nothing.
    Skip,
    Send,
    Write {
        key: RKey,
        /// Where the next byte goes.
        offset: u64,
    },
    ReadResponse,
    /// It is kept, to be looked at when it is whole.
    Body,
}

impl Default for Arrival {
    fn default() -> Self {
        Self {
            header: None,
            length: 0,
            is_verified: false,
            task: Task::Skip,
            fault: None,
            body: [0; MAX_BODY],
            body_length: 0,
        }
    }
}

impl Arrival {
    fn body(&self) -> &[u8] {
        self.body.get(..self.body_length).unwrap_or_default()
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = self.body.get_mut(self.body_length..).unwrap_or_default();
        let length = bytes.len().min(room.len());
        room[..length].copy_from_slice(&bytes[..length]);
        self.body_length += length;
    }
}

impl QueuePair {
    /// Takes the next bytes of the stream, in pieces of any size. All are used up; nothing is kept but what a segment's end
    /// needs. Bytes behind the end of the connection are dropped.
    pub fn handle_bytes(&mut self, context: &mut Context, bytes: &[u8]) {
        self.notice_overrun(context);
        let mut piece = bytes;
        while self.state.receives() && !self.peer_ended {
            let Some(found) = self.framer.next_event(&mut piece) else { break };
            let result = match found {
                // Marker and length disagree: nothing behind is to be trusted (RFC 5044 §8).
                Found::Marker(marker) if !marker.is_right() => Err(Fault::new(TerminateError::MPA_MARKER)),
                Found::Marker(_) => Ok(()),
                Found::Head(head) => self.begin(context, &head),
                Found::Payload(bytes) => self.place(context, bytes),
                Found::End(end) => self.end(context, &end),
            };
            if let Err(fault) = result {
                self.fail_arrival(context, &fault);
            }
        }
        self.settle(context);
    }

    fn begin(&mut self, context: &mut Context, head: &FpduHead) -> Result<(), Fault> {
        let is_verified = match head.crc {
            _ if !self.crc => true,
            Some(check) if !check.is_right() => return Err(Fault::new(TerminateError::MPA_CRC)),
            check => check.is_some(),
        };
        let arrival = &mut self.arrival;
        (arrival.header, arrival.length, arrival.is_verified) = (None, head.ulpdu_length, is_verified);
        (arrival.task, arrival.fault, arrival.body_length) = (Task::Skip, None, 0);
        let task = self.judge(context, head);
        match task {
            Ok(task) => self.arrival.task = task,
            Err(fault) => self.note(fault)?,
        }
        Ok(())
    }

    /// Tells a fault now, or at the end of the FPDU if it may be damaged.
    fn note(&mut self, fault: Fault) -> Result<(), Fault> {
        if self.arrival.is_verified {
            return Err(fault);
        }
        self.arrival.task = Task::Skip;
        self.arrival.fault = Some(fault);
        Ok(())
    }

    /// Passes a segment's header through all checks, DDP's before RDMAP's.
    fn judge(&mut self, context: &mut Context, head: &FpduHead) -> Result<Task, Fault> {
        if head.ulpdu_length == 0 && self.held_back && self.expects_empty {
            return Ok(Task::Skip);
        }
        // Shorter than any header: there is none to send back, and no error made for it.
        let header = head.header().map_err(|_| Fault::new(TerminateError::RDMAP_OPERATION_UNSPECIFIED))?;
        self.arrival.header = Some(header);
        let row = header.check()?;
        if !self.rfc7306 && row.opcode.value() > Opcode::TERMINATE.value() {
            return Err(Fault::of_segment(TerminateError::RDMAP_UNEXPECTED_OPCODE));
        }
        let (opcode, length) = (row.opcode, head.payload_length());
        match header.place {
            Place::Tagged { stag, offset } if opcode == Opcode::WRITE => {
                Inbound::check_write(context, &self.settings, stag, offset, length)?;
                Ok(Task::Write { key: RKey::new(stag.value()), offset })
            }
            Place::Tagged { stag, offset } => {
                self.requester.check_read_response(stag, offset, length, header.last)?;
                Ok(Task::ReadResponse)
            }
            // Whatever its number, it is the end.
            Place::Untagged { .. } if opcode == Opcode::TERMINATE => Ok(Task::Body),
            Place::Untagged { msn, offset, .. } if row.consumes_receive => {
                self.inbound.check_msn(msn)?;
                if row.payload == PayloadRule::Any {
                    self.inbound.begin_send(context, &self.settings, opcode, offset, length)?;
                    return Ok(Task::Send);
                }
                check_body(row, &header, length)?;
                self.inbound.begin_immediate(context, &self.settings)?;
                Ok(Task::Body)
            }
            Place::Untagged { msn, .. } => {
                if row.wants_response {
                    self.responder.check(msn)?;
                } else {
                    self.requester.check_atomic_response(msn)?;
                }
                check_body(row, &header, length)?;
                Ok(Task::Body)
            }
        }
    }

    fn place(&mut self, context: &Context, bytes: &[u8]) -> Result<(), Fault> {
        let result = match &mut self.arrival.task {
            Task::Skip => Ok(()),
            Task::Send => self.inbound.place_send(context, bytes),
            Task::Write { key, offset } => {
                let (key, at) = (*key, *offset);
                *offset = at.wrapping_add(bytes.len() as u64);
                context
                    .remote_write(&self.settings.accessor, key, at, bytes)
                    .map_err(|fault| Fault::of_segment(of_tagged(fault, at, bytes.len())))
            }
            Task::ReadResponse => self.requester.place_read_response(context, &self.settings, bytes),
            Task::Body => {
                self.arrival.keep(bytes);
                Ok(())
            }
        };
        match result {
            Ok(()) => Ok(()),
            Err(fault) => self.note(fault),
        }
    }

    fn end(&mut self, context: &mut Context, end: &FpduEnd) -> Result<(), Fault> {
        if self.crc && !end.crc.is_right() {
            return Err(Fault::new(TerminateError::MPA_CRC));
        }
        if let Some(fault) = self.arrival.fault.take() {
            return Err(fault);
        }
        self.held_back = false;
        let Some(header) = self.arrival.header else { return Ok(()) };
        let Some(row) = header.opcode.row() else { return Ok(()) };
        self.deliver(context, &header, row)
    }

    fn deliver(&mut self, context: &mut Context, header: &Header, row: &OpcodeRow) -> Result<(), Fault> {
        let length = usize::from(self.arrival.length) - header.length();
        match self.arrival.task {
            Task::Skip => Ok(()),
            Task::Write { .. } => {
                self.inbound.deliver_write(length, header.last);
                Ok(())
            }
            Task::ReadResponse if header.last => self.requester.finish_read(context, &self.settings),
            Task::Send if header.last => {
                let Place::Untagged { upper, .. } = header.place else { return Ok(()) };
                self.inbound.deliver_send(context, &self.settings, row, upper)
            }
            Task::Send | Task::ReadResponse => Ok(()),
            Task::Body => self.deliver_body(context, row),
        }
    }

    /// Delivers a message that is a header of RDMAP's.
    fn deliver_body(&mut self, context: &mut Context, row: &OpcodeRow) -> Result<(), Fault> {
        let body = self.arrival.body();
        match row.opcode {
            // We have said that nothing more comes from us.
            Opcode::READ_REQUEST | Opcode::ATOMIC_REQUEST if self.events.has_told(Event::CloseSending) => {
                Err(Fault::of_segment(TerminateError::DDP_NO_BUFFER))
            }
            Opcode::READ_REQUEST => {
                self.inbound.forget_write();
                let Some(body) = body.first_chunk() else { return Ok(()) };
                self.responder.take_read(context, &self.settings, ReadRequest::decode(body))
            }
            Opcode::ATOMIC_REQUEST => {
                self.inbound.forget_write();
                let Some(body) = body.first_chunk() else { return Ok(()) };
                self.responder.take_atomic(context, &self.settings, &AtomicRequest::decode(body))
            }
            Opcode::ATOMIC_RESPONSE => {
                let Some(body) = body.first_chunk() else { return Ok(()) };
                self.requester.finish_atomic(context, &self.settings, AtomicResponse::decode(body))
            }
            Opcode::TERMINATE => {
                let (body, length) = (self.arrival.body, self.arrival.body_length);
                let body = body.get(..length).unwrap_or_default();
                let swapped = self.swapped_terminates;
                let understood = understand(body, swapped, |terminate| {
                    self.handle_terminate(context, terminate);
                });
                if understood.is_none() {
                    self.abort(context);
                }
                Ok(())
            }
            _ => {
                self.inbound.deliver_immediate(context, &self.settings, row, body);
                Ok(())
            }
        }
    }

    /// Ends the connection because of the segment at hand.
    fn fail_arrival(&mut self, context: &mut Context, fault: &Fault) {
        let (header, length) = (self.arrival.header, self.arrival.length);
        let (body, body_length) = (self.arrival.body, self.arrival.body_length);
        let body = body.get(..body_length).unwrap_or_default();
        let blamed = header.map(|header| Blamed { length, header, body });
        self.fail(context, fault, blamed);
    }
}

/// A message that is a header of RDMAP's comes in one segment of its length: every sender has room for it.
fn check_body(row: &OpcodeRow, header: &Header, length: usize) -> Result<(), Fault> {
    if let Place::Untagged { offset: 1.., .. } = header.place {
        return Err(Fault::of_segment(TerminateError::DDP_INVALID_MESSAGE_OFFSET));
    }
    match row.payload {
        PayloadRule::Exactly(most) if length > most => {
            Err(Fault::of_segment(TerminateError::DDP_MESSAGE_TOO_LONG))
        }
        rule if !rule.allows(length) || !header.last => {
            Err(Fault::of_segment(TerminateError::RDMAP_OPERATION_UNSPECIFIED))
        }
        _ => Ok(()),
    }
}
