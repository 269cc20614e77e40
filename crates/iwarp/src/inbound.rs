//! Messages that fill receives: the queue of the SENDs, with the immediate data among them, and what WRITEs came in front of
//! those.
//!
//! Invariants: a message in progress has taken its receive, and `placed` of its bytes lie there, no more than it holds.

use rdmalab_verbs::{
    Access, Completion, CompletionKind, CompletionStatus, Context, Invalidation, PostError, ReceiveRequest,
};
use rdmalab_wire::iwarp::{Opcode, OpcodeRow, Stag, TerminateError};
use rdmalab_wire::{ImmDt, RKey};

use crate::fault::{Fault, of_tagged};
use crate::receives::Receives;
use crate::settings::Settings;

#[derive(Debug)]
pub(crate) struct Inbound {
    receives: Receives,
    /// The number of the message in progress, or of the next one.
    expected: u32,
    message: Option<Message>,
    /// Bytes of a WRITE message whose last segment did not come yet.
    writing: Option<u32>,
    /// Bytes of the WRITE message directly in front, for the immediate data behind it.
    written: Option<u32>,
}

/// A SEND that was begun.
#[derive(Clone, Copy, Debug)]
struct Message {
    opcode: Opcode,
    placed: u32,
    room: u32,
}

impl Inbound {
    pub(crate) fn new(receives: Receives) -> Self {
        Self { receives, expected: 1, message: None, writing: None, written: None }
    }

    pub(crate) fn post(&mut self, request: &ReceiveRequest<'_>) -> Result<(), PostError> {
        self.receives.post(request)
    }

    /// Whether a message was begun and not ended.
    pub(crate) fn is_in_message(&self) -> bool {
        self.message.is_some() || self.writing.is_some()
    }

    /// Looks at the number of a message for this queue (RFC 5041 §7).
    pub(crate) fn check_msn(&self, msn: u32) -> Result<(), Fault> {
        if msn == self.expected { Ok(()) } else { Err(self.invalid(TerminateError::DDP_MSN_RANGE)) }
    }

    /// Begins a segment of a SEND: the first of a message takes a receive.
    pub(crate) fn begin_send(
        &mut self,
        context: &mut Context,
        settings: &Settings,
        opcode: Opcode,
        offset: u32,
        length: usize,
    ) -> Result<(), Fault> {
        let placed = self.message.map_or(0, |message| message.placed);
        if offset != placed {
            return Err(self.invalid(TerminateError::DDP_INVALID_MESSAGE_OFFSET));
        }
        let message = match self.message {
            Some(message) if message.opcode != opcode => {
                return Err(self.invalid(TerminateError::RDMAP_UNEXPECTED_OPCODE));
            }
            Some(message) => message,
            None => {
                let Some(room) = self.receives.take(context, settings) else {
                    return Err(Fault::of_segment(TerminateError::DDP_NO_BUFFER));
                };
                Message { opcode, placed: 0, room }
            }
        };
        self.message = Some(message);
        if u64::from(placed) + length as u64 > u64::from(message.room) {
            return Err(Fault::of_segment(TerminateError::DDP_MESSAGE_TOO_LONG)
                .with_receive(CompletionStatus::LocalLengthError));
        }
        Ok(())
    }

    /// Puts a piece of the segment into the receive.
    pub(crate) fn place_send(&mut self, context: &Context, bytes: &[u8]) -> Result<(), Fault> {
        let Some(message) = &mut self.message else { return Ok(()) };
        self.receives
            .place(context, message.placed, bytes)
            .map_err(|_| Fault::of_ours().with_receive(CompletionStatus::LocalProtectionError))?;
        message.placed += bytes.len() as u32;
        Ok(())
    }

    /// A SEND came to its end: invalidates what it says, then completes its receive (RFC 5040 §5.3).
    pub(crate) fn deliver_send(
        &mut self,
        context: &mut Context,
        settings: &Settings,
        row: &OpcodeRow,
        tag: u32,
    ) -> Result<(), Fault> {
        let invalidated = row.invalidates.then_some(RKey::new(tag));
        if let Some(key) = invalidated {
            context.invalidate(&settings.accessor, key, Invalidation::Remote).map_err(|_| {
                Fault::of_segment(TerminateError::RDMAP_CANNOT_INVALIDATE)
                    .with_receive(CompletionStatus::RemoteAccessError)
            })?;
        }
        let length = self.message.take().map_or(0, |message| message.placed);
        let completion = Completion {
            length,
            invalidated,
            solicited: row.solicited,
            ..settings.receive(CompletionStatus::Success)
        };
        self.end(context, settings, completion);
        Ok(())
    }

    /// Immediate data may come: not within a SEND, and there is a receive (RFC 7306 §6).
    pub(crate) fn begin_immediate(
        &mut self,
        context: &mut Context,
        settings: &Settings,
    ) -> Result<(), Fault> {
        if self.message.is_some() {
            return Err(self.invalid(TerminateError::RDMAP_UNEXPECTED_OPCODE));
        }
        match self.receives.take(context, settings) {
            Some(_) => Ok(()),
            None => Err(Fault::of_segment(TerminateError::DDP_NO_BUFFER)),
        }
    }

    /// Completes the receive that immediate data takes. Its length is that of the WRITE directly in front.
    pub(crate) fn deliver_immediate(
        &mut self,
        context: &mut Context,
        settings: &Settings,
        row: &OpcodeRow,
        data: &[u8],
    ) {
        let completion = Completion {
            kind: CompletionKind::ReceiveRdmaWithImmediate,
            length: self.written.unwrap_or(0),
            immediate: data.first_chunk().map(|bytes| ImmDt(*bytes)),
            solicited: row.solicited,
            ..settings.receive(CompletionStatus::Success)
        };
        self.end(context, settings, completion);
    }

    fn end(&mut self, context: &mut Context, settings: &Settings, completion: Completion) {
        self.receives.end(context, settings, completion);
        self.expected = self.expected.wrapping_add(1);
        self.written = None;
    }

    /// Whether a segment of a WRITE may go where it names. One without bytes may go anywhere.
    pub(crate) fn check_write(
        context: &Context,
        settings: &Settings,
        stag: Stag,
        offset: u64,
        length: usize,
    ) -> Result<(), Fault> {
        if length == 0 {
            return Ok(());
        }
        if !settings.access.contains(Access::REMOTE_WRITE) {
            return Err(Fault::of_segment(TerminateError::RDMAP_ACCESS));
        }
        let key = RKey::new(stag.value());
        context
            .check_remote(&settings.accessor, key, offset, length as u64, Access::REMOTE_WRITE)
            .map_err(|fault| Fault::of_segment(of_tagged(fault, offset, length)))
    }

    /// A segment of a WRITE was delivered.
    pub(crate) fn deliver_write(&mut self, length: usize, last: bool) {
        let length = self.writing.take().unwrap_or(0).saturating_add(length as u32);
        if last {
            self.written = Some(length);
        } else {
            self.writing = Some(length);
        }
    }

    /// Something came that is no WRITE: immediate data behind it belongs to none.
    pub(crate) fn forget_write(&mut self) {
        self.written = None;
    }

    /// Ends all receives: the one that is being filled with a status, the others as flushed.
    pub(crate) fn flush(&mut self, context: &mut Context, settings: &Settings, taken: CompletionStatus) {
        (self.message, self.writing, self.written) = (None, None, None);
        self.receives.flush(context, settings, taken);
    }

    /// A message that is being received is not as it must be.
    fn invalid(&self, error: TerminateError) -> Fault {
        let fault = Fault::of_segment(error);
        if self.message.is_some() {
            fault.with_receive(CompletionStatus::RemoteInvalidRequest)
        } else {
            fault
        }
    }
}
