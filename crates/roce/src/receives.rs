//! Where messages that need a receive find one: the queue pair's own queue, or a shared one.
//!
//! A message *takes* its receive when it begins and *ends* it when it is done. The own queue keeps what is taken at
//! its head; from a shared queue it is moved here, since other queue pairs go on taking from there.
//!
//! Invariant: at most one receive is taken. A message of an unreliable connection that is given up leaves its receive
//! taken, for the next message.

use alloc::boxed::Box;
use alloc::vec::Vec;

use rdmalab_verbs::{
    Accessor, Completion, CompletionKind, CompletionQueueId, CompletionStatus, Context, LocalFault,
    PostError, ProtectionDomainId, ReceiveQueue, ReceiveRequest, ReceiveWork, Sge, SharedReceiveQueueId,
};
use rdmalab_wire::Qpn;

use crate::config::MAX_ELEMENTS;
use crate::settings::Settings;

/// Whose memory a request may touch, and where its receive comes from and is completed. A queue pair's own, except
/// that each XRC packet names a shared receive queue, which brings its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Landing {
    pub(crate) accessor: Accessor,
    pub(crate) shared: Option<SharedReceiveQueueId>,
    pub(crate) completions: CompletionQueueId,
}

#[derive(Clone, Copy, Debug)]
struct Taken {
    id: u64,
    length: u32,
    /// Where its memory is.
    domain: ProtectionDomainId,
    completions: CompletionQueueId,
    is_shared: bool,
}

#[derive(Debug)]
#[repr(C)]
pub(crate) struct Receives {
    taken: Option<Taken>,
    queue: ReceiveQueue,
    /// Where receives are moved to from a shared queue. Nothing is posted to the own queue then.
    moved: Option<Box<Moved>>,
}

/// A receive that was taken from a shared queue, but for what every receive has.
#[derive(Debug)]
struct Moved {
    elements: Vec<Sge>,
}

impl Receives {
    pub(crate) fn new(requests: u32, elements: u32, only_shared: bool) -> Self {
        let queue = if only_shared { ReceiveQueue::new(0, 0) } else { ReceiveQueue::new(requests, elements) };
        let moved = || Box::new(Moved { elements: Vec::with_capacity(MAX_ELEMENTS as usize) });
        Self { taken: None, queue, moved: only_shared.then(moved) }
    }

    pub(crate) fn post(&mut self, request: &ReceiveRequest<'_>) -> Result<(), PostError> {
        if self.moved.is_some() {
            return Err(PostError::SharedReceiveQueue);
        }
        self.queue.push(request)
    }

    /// The oldest receive of the own queue.
    pub(crate) fn next(&self) -> Option<ReceiveWork> {
        self.queue.front().map(|(work, _)| work)
    }

    /// Receives in the own queue, with one that is taken.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether a message that begins now would find a receive.
    pub(crate) fn is_ready(&self, context: &Context, landing: &Landing) -> bool {
        self.taken.is_some()
            || match landing.shared {
                None => !self.queue.is_empty(),
                Some(shared) => context.shared_receive_queue(shared).is_some_and(|queue| !queue.is_empty()),
            }
    }

    /// Takes a receive, unless one is taken already. `false` if there is none.
    pub(crate) fn take(&mut self, context: &mut Context, landing: &Landing) -> bool {
        if self.taken.is_some() {
            return true;
        }
        let work = match landing.shared {
            None => self.queue.front().map(|(work, _)| work),
            Some(shared) => {
                self.moved.as_mut().and_then(|moved| context.take_shared_receive(shared, &mut moved.elements))
            }
        };
        let (completions, is_shared) = (landing.completions, landing.shared.is_some());
        let domain = landing
            .shared
            .and_then(|shared| context.shared_receive_queue(shared))
            .map_or(landing.accessor.protection_domain, |queue| queue.domain());
        self.taken =
            work.map(|ReceiveWork { id, length }| Taken { id, length, domain, completions, is_shared });
        self.taken.is_some()
    }

    /// The receive that is taken, with its elements.
    pub(crate) fn taken(&self) -> Option<(ReceiveWork, &[Sge])> {
        match (self.taken?, &self.moved) {
            (Taken { id, length, is_shared: true, .. }, Some(moved)) => {
                Some((ReceiveWork { id, length }, &moved.elements))
            }
            _ => self.queue.front(),
        }
    }

    /// Puts a piece of a message into the receive that is taken, so many bytes behind its beginning.
    pub(crate) fn place(&self, context: &Context, offset: u32, bytes: &[u8]) -> Result<(), LocalFault> {
        let (Some(taken), Some((_, elements))) = (self.taken, self.taken()) else { return Ok(()) };
        context.scatter(taken.domain, elements, offset, bytes)
    }

    /// Completes the receive that is taken; its number is filled in.
    pub(crate) fn end(&mut self, context: &mut Context, completion: Completion) {
        let Some(taken) = self.taken.take() else { return };
        if !taken.is_shared {
            self.queue.pop();
        }
        context.complete(taken.completions, Completion { id: taken.id, ..completion });
    }

    /// Ends all receives of this queue pair as flushed: the one that is taken, and those of its own queue.
    pub(crate) fn flush(&mut self, context: &mut Context, number: Qpn, settings: &Settings) {
        let flushed = Completion {
            status: CompletionStatus::WorkRequestFlushed,
            kind: CompletionKind::Receive,
            queue_pair: number,
            ..Completion::default()
        };
        self.end(context, flushed);
        while let Some(work) = self.queue.pop() {
            context.complete(settings.receive_queue, Completion { id: work.id, ..flushed });
        }
    }

    /// Forgets everything, without completions.
    pub(crate) fn reset(&mut self) {
        self.taken = None;
        while self.queue.pop().is_some() {}
    }
}
