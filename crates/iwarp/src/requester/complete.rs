//! How requests end: in order, each exactly once.

use rdmalab_verbs::{Completion, CompletionStatus, Context, Operation, SendFlags, SendWork};
use rdmalab_wire::iwarp::{Opcode, Place, Terminate, TerminateError, queue};

use super::{Requester, Stage, takes_send_msn};
use crate::settings::Settings;

impl Requester {
    /// Ends the begun requests that nothing in front of waits for an answer.
    pub(super) fn complete_sent(&mut self, context: &mut Context, settings: &Settings) {
        while self.begun > 0 && self.queue.get(0).is_some_and(|(work, _)| !work.operation.is_read_or_atomic())
        {
            self.complete(context, settings, CompletionStatus::Success);
        }
    }

    /// Ends the oldest request.
    pub(super) fn complete(&mut self, context: &mut Context, settings: &Settings, status: CompletionStatus) {
        let Some(work) = self.queue.pop() else { return };
        if self.begun > 0 {
            self.begun -= 1;
            if work.operation.is_read_or_atomic() {
                self.reads -= 1;
                self.received = 0;
            }
        }
        report(context, &work, settings, status);
    }

    /// Ends the request so many places behind the oldest with a status, and all others as flushed.
    pub(crate) fn fail(
        &mut self,
        context: &mut Context,
        settings: &Settings,
        place: usize,
        status: CompletionStatus,
    ) {
        for at in 0..self.queue.len() {
            let status = if at == place { status } else { CompletionStatus::WorkRequestFlushed };
            self.complete(context, settings, status);
        }
        self.stage = Stage::Waiting;
        self.blocked = false;
        self.ready = None;
        self.ready_is_read = false;
    }

    /// Ends the request that the peer's Terminate message is about with the status that fits, if it is still here, and all
    /// others as flushed. SENDs and WRITEs are done once they are sent; those that are here stand behind a READ, or were
    /// not sent to their end.
    pub(crate) fn fail_terminated(
        &mut self,
        context: &mut Context,
        settings: &Settings,
        terminate: &Terminate<'_>,
    ) {
        let place = self.blamed(terminate).unwrap_or(usize::MAX);
        self.fail(context, settings, place, status(terminate.error));
    }

    /// Which request a Terminate message is about.
    fn blamed(&self, terminate: &Terminate<'_>) -> Option<usize> {
        // One that is being sent counts.
        let sent = self.begun as usize + usize::from(self.is_in_message());
        let works = || (0..sent).filter_map(|at| self.queue.get(at).map(|(work, _)| (at, *work)));
        let header = terminate.segment?.header;
        match header.place {
            Place::Untagged { queue: queue::REQUEST, msn, .. } => {
                let nth = msn.wrapping_sub(self.oldest_request_msn()) as usize;
                let mut numbered =
                    works().filter(|(_, work)| work.operation.is_read_or_atomic()).zip(0_usize..);
                let Some(request) = terminate.read_request() else {
                    return numbered.nth(nth).map(|((at, _), _)| at);
                };
                // The request itself tells more than its number, in whose place Linux' siw has the READ's length (`docs/SIW.md`).
                // Of several that ask for the same, it is the one with that number, if any, and else the oldest.
                let is_it = |at: usize, work: &SendWork| self.read_request(at, work) == Some(request);
                let alike = numbered.filter(|((at, work), _)| is_it(*at, work));
                alike.min_by_key(|(_, number)| *number != nth).map(|((at, _), _)| at)
            }
            Place::Untagged { queue: queue::SEND, msn, .. } => {
                let begun =
                    works().take(self.begun as usize).filter(|(_, work)| takes_send_msn(work)).count();
                let nth = msn.wrapping_sub(self.send_msn.wrapping_sub(begun as u32)) as usize;
                works().filter(|(_, work)| takes_send_msn(work)).nth(nth).map(|(at, _)| at)
            }
            Place::Tagged { stag, offset } if header.opcode == Opcode::WRITE => {
                let is_of = |work: &SendWork| match work.operation {
                    Operation::RdmaWrite(remote) | Operation::RdmaWriteWithImmediate(remote, _) => {
                        remote.key.value() == stag.value()
                            && offset.wrapping_sub(remote.address) < u64::from(work.length.max(1))
                    }
                    _ => false,
                };
                works().find(|(_, work)| is_of(work)).map(|(at, _)| at)
            }
            _ => None,
        }
    }
}

/// How a request ends that the peer names this error for.
fn status(error: TerminateError) -> CompletionStatus {
    match error {
        TerminateError { layer: 0, error_type: 1, .. } | TerminateError { layer: 1, error_type: 1, .. }
            if error != TerminateError::DDP_TAGGED_VERSION =>
        {
            CompletionStatus::RemoteAccessError
        }
        TerminateError::DDP_NO_BUFFER
        | TerminateError::RDMAP_STREAM_CATASTROPHIC
        | TerminateError::RDMAP_GLOBAL_CATASTROPHIC => CompletionStatus::RemoteOperationError,
        TerminateError { layer: 0 | 1, error_type: 0, .. } | TerminateError { layer: 2, .. } => {
            CompletionStatus::RemoteOperationError
        }
        _ => CompletionStatus::RemoteInvalidRequest,
    }
}

/// Tells the application how a request ended. Success is told only where it was asked for.
fn report(context: &mut Context, work: &SendWork, settings: &Settings, status: CompletionStatus) {
    let is_success = status == CompletionStatus::Success;
    if is_success && !work.flags.contains(SendFlags::SIGNALED) && !settings.signals_all {
        return;
    }
    let has_data = work.operation.is_read_or_atomic();
    let completion = Completion {
        id: work.id,
        status,
        kind: work.operation.completion_kind(),
        length: if is_success && has_data { work.length } else { 0 },
        queue_pair: settings.number,
        ..Completion::default()
    };
    context.complete(settings.send_queue, completion);
}
