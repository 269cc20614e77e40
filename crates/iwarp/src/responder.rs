//! The responder: READs and atomics of the peer that wait for their answers, and the answers.
//!
//! An atomic is carried out when its request is delivered. What a READ asks for is read when the answer is sent, so that it
//! may see what came behind it (RFC 5040 §5.5 lets it); its right is looked at both when it is taken and for each segment.
//!
//! Invariant: no more requests wait than were agreed on (IRD), and the one that is being answered counts until its last
//! segment was written.

use alloc::collections::VecDeque;

use rdmalab_verbs::{Access, Atomic64, Context};
use rdmalab_wire::RKey;
use rdmalab_wire::iwarp::{
    AtomicOperation, AtomicRequest, AtomicResponse, Header, Opcode, Place, ReadRequest, TerminateError, queue,
};

use crate::fault::{Fault, of_source};
use crate::negotiated::{Negotiated, ReadyToReceive, Role};
use crate::outlet::{NotWritten, Outlet};
use crate::settings::Settings;

#[derive(Debug, Default)]
pub(crate) struct Responder {
    waiting: VecDeque<Answer>,
    /// How many may wait (IRD).
    most: usize,
    /// Bytes of the first answer that were sent; its message is under way.
    sent: Option<u32>,
    /// The number of the next request.
    expected: u32,
    /// Of the next atomic response.
    response_msn: u32,
}

#[derive(Clone, Copy, Debug)]
enum Answer {
    Read { msn: u32, request: ReadRequest },
    Atomic(AtomicResponse),
}

/// A READ cannot be answered, or not to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unanswerable {
    pub(crate) fault: Fault,
    pub(crate) msn: u32,
    pub(crate) request: ReadRequest,
}

impl Responder {
    pub(crate) fn start(&mut self, negotiated: &Negotiated) {
        // The ready-to-receive READ finds a place even where there are to be no READs.
        let gets_read =
            negotiated.role == Role::Responder && negotiated.ready_to_receive == Some(ReadyToReceive::Read);
        self.most = usize::from(negotiated.ird.max(u16::from(gets_read)));
        self.waiting.reserve_exact(self.most);
        (self.expected, self.response_msn) = (1, 1);
    }

    /// Whether a request may come at all, with this message number.
    pub(crate) fn check(&self, msn: u32) -> Result<(), Fault> {
        if msn != self.expected {
            return Err(Fault::of_segment(TerminateError::DDP_MSN_RANGE));
        }
        if self.waiting.len() >= self.most {
            return Err(Fault::of_segment(TerminateError::DDP_NO_BUFFER));
        }
        Ok(())
    }

    /// Takes a READ request that was delivered.
    pub(crate) fn take_read(
        &mut self,
        context: &Context,
        settings: &Settings,
        request: ReadRequest,
    ) -> Result<(), Fault> {
        check_read(context, settings, &request, request.source_offset, u64::from(request.length))?;
        self.waiting.push_back(Answer::Read { msn: self.expected, request });
        self.expected = self.expected.wrapping_add(1);
        Ok(())
    }

    /// Carries out an atomic request that was delivered.
    pub(crate) fn take_atomic(
        &mut self,
        context: &Context,
        settings: &Settings,
        request: &AtomicRequest,
    ) -> Result<(), Fault> {
        let Some(operation) = operation(request) else {
            return Err(Fault::of_request(TerminateError::RDMAP_UNEXPECTED_OPCODE));
        };
        if !settings.access.contains(Access::REMOTE_ATOMIC) {
            return Err(Fault::of_request(TerminateError::RDMAP_ACCESS));
        }
        if !request.offset.is_multiple_of(8) {
            return Err(Fault::of_request(TerminateError::RDMAP_OPERATION_UNSPECIFIED));
        }
        let key = RKey::new(request.stag.value());
        let original = context
            .remote_atomic(&settings.accessor, key, request.offset, operation)
            .map_err(|fault| Fault::of_request(of_source(fault, request.offset, 8)))?;
        self.waiting.push_back(Answer::Atomic(AtomicResponse { request_id: request.request_id, original }));
        self.expected = self.expected.wrapping_add(1);
        Ok(())
    }

    /// Whether an answer, or the rest of one, can be sent.
    pub(crate) fn may_send(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether the message of an answer was begun and not ended.
    pub(crate) fn is_in_message(&self) -> bool {
        self.sent.is_some()
    }

    /// Forgets all that waits.
    pub(crate) fn forget(&mut self) {
        self.waiting.clear();
        self.sent = None;
    }

    /// Writes the next segment of the first answer; `None` if the buffer is too small.
    pub(crate) fn send(
        &mut self,
        context: &Context,
        settings: &Settings,
        outlet: &mut Outlet,
        out: &mut [u8],
    ) -> Result<Option<usize>, Unanswerable> {
        match self.waiting.front().copied() {
            None => Ok(None),
            Some(Answer::Read { msn, request }) => self
                .send_read(context, settings, &request, outlet, out)
                .map_err(|fault| Unanswerable { fault, msn, request }),
            Some(Answer::Atomic(response)) => {
                let (queue, msn) = (queue::ATOMIC_RESPONSE, self.response_msn);
                let place = Place::Untagged { upper: 0, queue, msn, offset: 0 };
                let header = Header::new(Opcode::ATOMIC_RESPONSE, true, place);
                let written = outlet.put_bytes(&header, &response.encode(), out);
                if written.is_some() {
                    self.response_msn = self.response_msn.wrapping_add(1);
                    self.waiting.pop_front();
                }
                Ok(written)
            }
        }
    }

    fn send_read(
        &mut self,
        context: &Context,
        settings: &Settings,
        request: &ReadRequest,
        outlet: &mut Outlet,
        out: &mut [u8],
    ) -> Result<Option<usize>, Fault> {
        let sent = self.sent.unwrap_or(0);
        let rest = request.length - sent;
        let length = rest.min(outlet.tagged_payload());
        let last = length == rest;
        let source = request.source_offset.wrapping_add(u64::from(sent));
        let place = Place::Tagged {
            stag: request.sink_stag,
            offset: request.sink_offset.wrapping_add(u64::from(sent)),
        };
        let header = Header::new(Opcode::READ_RESPONSE, last, place);
        let key = RKey::new(request.source_stag.value());
        let written = outlet.put(&header, length as usize, out, |offset, data| {
            context.remote_read(&settings.accessor, key, source.wrapping_add(u64::from(offset)), data)
        });
        let written = match written {
            Ok(written) => written,
            Err(NotWritten::NoRoom) => return Ok(None),
            Err(NotWritten::Payload(fault)) => {
                return Err(Fault::of_request(of_source(fault, source, u64::from(length))));
            }
        };
        if last {
            self.sent = None;
            self.waiting.pop_front();
        } else {
            self.sent = Some(sent + length);
        }
        Ok(Some(written))
    }
}

/// Whether a READ may read; nothing is looked at if it reads no bytes.
fn check_read(
    context: &Context,
    settings: &Settings,
    request: &ReadRequest,
    offset: u64,
    length: u64,
) -> Result<(), Fault> {
    if length == 0 {
        return Ok(());
    }
    if !settings.access.contains(Access::REMOTE_READ) {
        return Err(Fault::of_request(TerminateError::RDMAP_ACCESS));
    }
    let key = RKey::new(request.source_stag.value());
    context
        .check_remote(&settings.accessor, key, offset, length, Access::REMOTE_READ)
        .map_err(|fault| Fault::of_request(of_source(fault, offset, length)))
}

fn operation(request: &AtomicRequest) -> Option<Atomic64> {
    let AtomicRequest { add_or_swap, add_or_swap_mask, compare, compare_mask, .. } = *request;
    Some(match request.operation {
        AtomicOperation::FetchAdd if add_or_swap_mask == 0 => Atomic64::FetchAndAdd { add: add_or_swap },
        AtomicOperation::FetchAdd => {
            Atomic64::MaskedFetchAndAdd { add: add_or_swap, boundary: add_or_swap_mask }
        }
        AtomicOperation::CompareSwap => Atomic64::MaskedCompareAndSwap {
            compare,
            compare_mask,
            swap: add_or_swap,
            swap_mask: add_or_swap_mask,
        },
        AtomicOperation::Unknown(_) => return None,
    })
}
