//! What a [`Context`](crate::Context) tells an application without being asked (asynchronous events of the verbs).

use alloc::collections::VecDeque;

use crate::completion_queue::CompletionQueueId;
use crate::shared_receive_queue::SharedReceiveQueueId;

/// Something happened to a queue that queue pairs share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ContextEvent {
    /// A completion was lost because the queue was full (`IBV_EVENT_CQ_ERR`). Told once for each queue. Its queue pairs go
    /// into ERR, and each tells so.
    CompletionQueueOverrun(CompletionQueueId),
    /// A completion was put into a queue that was armed for it, which is disarmed now (what
    /// `ibv_get_cq_event` gives). Told once for each time that it was armed.
    Completion(CompletionQueueId),
    /// The number of receives fell below the armed limit, which is disarmed now (`IBV_EVENT_SRQ_LIMIT_REACHED`).
    SharedReceiveLimit(SharedReceiveQueueId),
}

/// Events that wait to be taken out.
///
/// Invariants: room for every event that may wait is made together with the queue that it is about, so that adding one
/// never allocates and none is ever lost; whoever adds sees to it that one queue has one event of a kind waiting at most.
#[derive(Debug, Default)]
pub(crate) struct Events {
    waiting: VecDeque<ContextEvent>,
    /// Events that may wait.
    sources: usize,
}

impl Events {
    /// Makes room for a new queue's events, so many at once.
    pub(crate) fn add_sources(&mut self, events: usize) {
        self.sources += events;
        self.waiting.reserve(self.sources - self.waiting.len());
    }

    /// Forgets the event of a queue that is gone.
    pub(crate) fn remove_source(&mut self, event: ContextEvent) {
        self.sources -= 1;
        self.waiting.retain(|waiting| *waiting != event);
    }

    pub(crate) fn push(&mut self, event: ContextEvent) {
        self.waiting.push_back(event);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn pop(&mut self) -> Option<ContextEvent> {
        self.waiting.pop_front()
    }
}
