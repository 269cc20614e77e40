//! Completion queues, and the events of all queues.

use super::{Context, remove_unused};
use crate::completion::Completion;
use crate::completion_queue::{Added, CompletionQueue, CompletionQueueId, NotifyOn};
use crate::error::{LimitReached, NoSuchObject, RemoveError};
use crate::event::ContextEvent;
use crate::table::Full;

impl Context {
    /// Makes a completion queue for at least one entry.
    pub fn create_completion_queue(&mut self, entries: u32) -> Result<CompletionQueueId, LimitReached> {
        let most = self.limits.completion_queue_entries;
        if entries > most {
            return Err(LimitReached { what: "entries of a completion queue", limit: most as usize });
        }
        let limit = LimitReached { what: "completion queues", limit: self.limits.completion_queues };
        let queue = CompletionQueue::new(entries.max(1));
        let id = self.completion_queues.insert(queue).map_err(|Full| limit)?;
        // One about an overrun, one because it is armed.
        self.events.add_sources(1);
        self.completion_events.add_sources(1);
        self.stirred.add_sources(1);
        Ok(CompletionQueueId(id))
    }

    /// Ends a completion queue that nothing delivers into any more, with what is in it.
    pub fn destroy_completion_queue(&mut self, queue: CompletionQueueId) -> Result<(), RemoveError> {
        remove_unused(&mut self.completion_queues, queue.0, |queue| queue.users)?;
        self.events.remove_source(ContextEvent::CompletionQueueOverrun(queue));
        self.completion_events.remove_source(ContextEvent::Completion(queue));
        self.stirred.remove_source(ContextEvent::Completion(queue));
        Ok(())
    }

    /// Arms a completion queue (`ibv_req_notify_cq`): one [`ContextEvent::Completion`] tells of the next completion that is
    /// put into it, and disarms it. An armed queue can be armed for all completions instead of the solicited ones, not the
    /// other way. Completions that are in the queue already are not told of: look once more after arming it.
    pub fn arm_completion_queue(
        &mut self,
        queue: CompletionQueueId,
        on: NotifyOn,
    ) -> Result<(), NoSuchObject> {
        self.completion_queues.get_mut(queue.0).ok_or(NoSuchObject)?.arm(on);
        Ok(())
    }

    /// Watches a completion queue: [`poll_stirred`](Self::poll_stirred) tells once that it has got something. Besides arming
    /// it, which is the application's: for those who let threads sleep until there is something to be taken out, and wake
    /// only these. Of completions that are in it already nothing is told.
    pub fn watch_completion_queue(&mut self, queue: CompletionQueueId) -> Result<(), NoSuchObject> {
        self.completion_queues.get_mut(queue.0).ok_or(NoSuchObject)?.watch();
        Ok(())
    }

    /// A [watched](Self::watch_completion_queue) queue that has got something; it is not watched any more. Take all out
    /// before watching again: then one that is watched again is told of once at most.
    pub fn poll_stirred(&mut self) -> Option<CompletionQueueId> {
        match self.stirred.pop()? {
            ContextEvent::Completion(queue) => Some(queue),
            _ => None,
        }
    }

    /// Takes the oldest completion out.
    pub fn poll_completion(&mut self, queue: CompletionQueueId) -> Option<Completion> {
        self.completion_queues.get_mut(queue.0)?.pop()
    }

    /// Completions that wait to be taken out.
    pub fn completions_waiting(&self, queue: CompletionQueueId) -> usize {
        self.completion_queues.get(queue.0).map_or(0, CompletionQueue::len)
    }

    /// How many completion queues have overrun so far. For engines, whose queue pairs end with their queues: they compare
    /// this with what it was.
    pub fn overruns(&self) -> u64 {
        self.overruns
    }

    /// Whether completions were lost because the queue was full. Nothing is put into it any more.
    pub fn is_overrun(&self, queue: CompletionQueueId) -> bool {
        self.completion_queues.get(queue.0).is_some_and(CompletionQueue::is_overrun)
    }

    /// Adds a completion; for engines.
    pub fn complete(&mut self, queue: CompletionQueueId, completion: Completion) {
        let Some(entries) = self.completion_queues.get_mut(queue.0) else { return };
        let added = entries.push(completion);
        if entries.take_watched() {
            self.stirred.push(ContextEvent::Completion(queue));
        }
        match added {
            Added::Quietly => {}
            Added::Told => self.completion_events.push(ContextEvent::Completion(queue)),
            Added::Overrun => {
                self.overruns += 1;
                self.events.push(ContextEvent::CompletionQueueOverrun(queue));
            }
        }
    }

    /// Takes the oldest event out; one of an armed completion queue only where there is no other.
    pub fn poll_event(&mut self) -> Option<ContextEvent> {
        self.poll_asynchronous_event().or_else(|| self.poll_completion_event().map(ContextEvent::Completion))
    }

    /// Takes the oldest event out that is not about an armed completion queue (`ibv_get_async_event`).
    pub fn poll_asynchronous_event(&mut self) -> Option<ContextEvent> {
        let event = self.events.pop()?;
        if let ContextEvent::SharedReceiveLimit(id) = event
            && let Some(queue) = self.shared_receive_queues.get_mut(id.0)
        {
            queue.event_taken();
        }
        Some(event)
    }

    /// Takes the oldest event of an armed completion queue out (`ibv_get_cq_event`).
    pub fn poll_completion_event(&mut self) -> Option<CompletionQueueId> {
        let event = self.completion_events.pop()?;
        let ContextEvent::Completion(id) = event else { return None };
        if self.completion_queues.get_mut(id.0).is_some_and(CompletionQueue::event_taken) {
            self.completion_events.push(event);
        }
        Some(id)
    }

    /// Whether events wait that are not about armed completion queues.
    pub fn has_asynchronous_events(&self) -> bool {
        !self.events.is_empty()
    }
}
