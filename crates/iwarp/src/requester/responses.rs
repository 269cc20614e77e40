//! What the peer answers: READ responses and atomic responses, for the oldest request that waits.

use rdmalab_verbs::{CompletionStatus, Context, Invalidation, Operation};
use rdmalab_wire::iwarp::{AtomicResponse, Stag, TerminateError};

use super::Requester;
use super::transmit::READY_STAG;
use crate::fault::Fault;
use crate::settings::Settings;

impl Requester {
    /// Whether a segment of a READ response may come so: into the sink of the oldest READ, exactly where its data goes on,
    /// and with the last bit exactly at its end.
    pub(crate) fn check_read_response(
        &self,
        stag: Stag,
        offset: u64,
        length: usize,
        last: bool,
    ) -> Result<(), Fault> {
        let bad = |error| Err(Fault::of_segment(error).with_request(CompletionStatus::BadResponse));
        if self.ready_is_read {
            let is_answer = stag == READY_STAG && offset == 0 && length == 0 && last;
            return if is_answer { Ok(()) } else { bad(TerminateError::DDP_INVALID_STAG) };
        }
        let read = match self.queue.get(0) {
            Some((work, _)) if self.reads > 0 && !work.operation.is_atomic() => *work,
            _ => return Err(Fault::of_segment(TerminateError::RDMAP_UNEXPECTED_OPCODE)),
        };
        let sink = self.sink(0);
        if stag.value() != sink.key {
            return bad(TerminateError::DDP_INVALID_STAG);
        }
        let end = self.received as usize + length;
        if offset != sink.address.wrapping_add(u64::from(self.received)) || end > read.length as usize {
            return bad(TerminateError::DDP_BOUNDS);
        }
        if last && end < read.length as usize {
            return bad(TerminateError::RDMAP_OPERATION_UNSPECIFIED);
        }
        Ok(())
    }

    /// Puts a piece of a READ response that was checked into the elements of the oldest READ.
    pub(crate) fn place_read_response(
        &mut self,
        context: &Context,
        settings: &Settings,
        bytes: &[u8],
    ) -> Result<(), Fault> {
        let Some((_, elements)) = self.queue.get(0) else { return Ok(()) };
        context
            .scatter(settings.accessor.protection_domain, elements, self.received, bytes)
            .map_err(|_| Fault::of_ours().with_request(CompletionStatus::LocalProtectionError))?;
        self.received += bytes.len() as u32;
        Ok(())
    }

    /// The last segment of a READ response came.
    pub(crate) fn finish_read(&mut self, context: &mut Context, settings: &Settings) -> Result<(), Fault> {
        if core::mem::take(&mut self.ready_is_read) {
            return Ok(());
        }
        if let Some((work, _)) = self.queue.get(0)
            && let Operation::RdmaReadWithInvalidate(_, key) = work.operation
        {
            context
                .invalidate(&settings.accessor, key, Invalidation::Local)
                .map_err(|_| Fault::of_ours().with_request(CompletionStatus::LocalQueuePairOperationError))?;
        }
        self.finish_oldest(context, settings);
        Ok(())
    }

    /// An atomic response came; responses have numbers of their own, and name their request (RFC 7306 §5.2).
    pub(crate) fn finish_atomic(
        &mut self,
        context: &mut Context,
        settings: &Settings,
        response: AtomicResponse,
    ) -> Result<(), Fault> {
        let Some((work, elements)) = self.queue.get(0) else { return Ok(()) };
        if self.reads == 0 || !work.operation.is_atomic() || response.request_id != self.answered {
            let bad = Fault::of_segment(TerminateError::RDMAP_OPERATION_UNSPECIFIED);
            return Err(bad.with_request(CompletionStatus::BadResponse));
        }
        context
            .scatter(settings.accessor.protection_domain, elements, 0, &response.original.to_ne_bytes())
            .map_err(|_| Fault::of_ours().with_request(CompletionStatus::LocalProtectionError))?;
        self.answered = self.answered.wrapping_add(1);
        self.finish_oldest(context, settings);
        Ok(())
    }

    /// Whether an atomic response may come at all, with this message number.
    pub(crate) fn check_atomic_response(&self, msn: u32) -> Result<(), Fault> {
        let waits = self.reads > 0 && self.queue.get(0).is_some_and(|(work, _)| work.operation.is_atomic());
        if !waits || self.ready_is_read {
            return Err(Fault::of_segment(TerminateError::DDP_NO_BUFFER));
        }
        if msn != self.answered.wrapping_add(1) {
            let bad = Fault::of_segment(TerminateError::DDP_MSN_RANGE);
            return Err(bad.with_request(CompletionStatus::BadResponse));
        }
        Ok(())
    }

    fn finish_oldest(&mut self, context: &mut Context, settings: &Settings) {
        self.complete(context, settings, CompletionStatus::Success);
        self.complete_sent(context, settings);
    }
}
