//! Where messages that need a receive find one: the queue pair's own queue, or a shared one.
//!
//! A message *takes* its receive when it begins and *ends* it when it is delivered. The own queue keeps what is taken at
//! its head; from a shared queue it is moved here, since other queue pairs go on taking from there.
//!
//! Invariant: at most one receive is taken.

use alloc::vec::Vec;

use rdmalab_verbs::{
    Completion, CompletionStatus, Context, LocalFault, PostError, ProtectionDomainId, ReceiveQueue,
    ReceiveRequest, ReceiveWork, Sge,
};

use crate::config::MAX_ELEMENTS;
use crate::settings::Settings;

#[derive(Debug)]
pub(crate) struct Receives {
    taken: Option<Taken>,
    queue: ReceiveQueue,
    /// The elements of one that was moved from a shared queue. Nothing is posted to the own queue then.
    moved: Option<Vec<Sge>>,
}

#[derive(Clone, Copy, Debug)]
struct Taken {
    work: ReceiveWork,
    /// Where its memory is.
    domain: ProtectionDomainId,
}

impl Receives {
    pub(crate) fn new(requests: u32, elements: u32, is_shared: bool) -> Self {
        let queue = if is_shared { ReceiveQueue::new(0, 0) } else { ReceiveQueue::new(requests, elements) };
        let moved = || Vec::with_capacity(MAX_ELEMENTS as usize);
        Self { taken: None, queue, moved: is_shared.then(moved) }
    }

    pub(crate) fn post(&mut self, request: &ReceiveRequest<'_>) -> Result<(), PostError> {
        if self.moved.is_some() {
            return Err(PostError::SharedReceiveQueue);
        }
        self.queue.push(request)
    }

    /// Takes a receive, and says how many bytes it holds. None if there is none.
    pub(crate) fn take(&mut self, context: &mut Context, settings: &Settings) -> Option<u32> {
        let own = settings.accessor.protection_domain;
        let (work, domain) = match (settings.shared, &mut self.moved) {
            (Some(shared), Some(elements)) => {
                let domain = context.shared_receive_queue(shared).map_or(own, |queue| queue.domain());
                (context.take_shared_receive(shared, elements)?, domain)
            }
            _ => (self.queue.front()?.0, own),
        };
        self.taken = Some(Taken { work, domain });
        Some(work.length)
    }

    /// Puts a piece of a message into the receive that is taken, so many bytes behind its beginning.
    pub(crate) fn place(&self, context: &Context, offset: u32, bytes: &[u8]) -> Result<(), LocalFault> {
        let Some(taken) = self.taken else { return Err(LocalFault::Bounds) };
        let elements: &[Sge] = match &self.moved {
            Some(elements) => elements,
            None => self.queue.front().map_or(&[], |(_, elements)| elements),
        };
        context.scatter(taken.domain, elements, offset, bytes)
    }

    /// Completes the receive that is taken; its number is filled in.
    pub(crate) fn end(&mut self, context: &mut Context, settings: &Settings, completion: Completion) {
        let Some(taken) = self.taken.take() else { return };
        if self.moved.is_none() {
            self.queue.pop();
        }
        context.complete(settings.receive_queue, Completion { id: taken.work.id, ..completion });
    }

    /// Ends the receive that is taken with a status, and all others of this queue pair as flushed.
    pub(crate) fn flush(&mut self, context: &mut Context, settings: &Settings, taken: CompletionStatus) {
        self.end(context, settings, settings.receive(taken));
        let flushed = settings.receive(CompletionStatus::WorkRequestFlushed);
        while let Some(work) = self.queue.pop() {
            context.complete(settings.receive_queue, Completion { id: work.id, ..flushed });
        }
    }
}
