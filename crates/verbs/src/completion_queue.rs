//! A completion queue: a ring of fixed size that engines fill and applications empty.
//!
//! An application that does not want to look again and again *arms* the queue: the next completion that is put into it, or
//! the next that matters, disarms it and is told by one event (`ibv_req_notify_cq`, whose manual page says what counts).
//! What is in the queue already is not told of.

use alloc::collections::VecDeque;

use crate::completion::{Completion, CompletionStatus};

/// Names a completion queue of a [`Context`](crate::Context).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CompletionQueueId(pub(crate) u32);

/// Of which completion an armed queue tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NotifyOn {
    /// The next that is solicited: of a message whose sender asked for it, or one that did not succeed.
    Solicited,
    /// The next of all.
    Any,
}

impl NotifyOn {
    fn is_met(self, completion: &Completion) -> bool {
        self == Self::Any || completion.solicited || completion.status != CompletionStatus::Success
    }
}

/// What came of adding a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// Nobody is to be told.
    Quietly,
    /// The queue was armed for it, and no event of that waits.
    Told,
    /// It is the first that was lost.
    Overrun,
}

/// Invariants: never holds more than `capacity` entries; what would be one more sets `overrun` and is lost, and so is
/// everything behind it: nothing can be put into a queue that has overrun, as the verbs have it. What was in it stays.
/// One event about an armed queue waits at most; those that are due besides are counted, one for each time it was armed.
#[derive(Debug)]
pub(crate) struct CompletionQueue {
    entries: VecDeque<Completion>,
    capacity: usize,
    overrun: bool,
    armed: Option<NotifyOn>,
    /// Somebody sleeps until it gets something.
    watched: bool,
    /// Events due, with the one that waits.
    due: u32,
    /// How many queue pairs deliver into it; it can only go when there are none.
    pub(crate) users: u32,
}

impl CompletionQueue {
    pub(crate) fn new(capacity: u32) -> Self {
        let capacity = capacity as usize;
        let entries = VecDeque::with_capacity(capacity);
        Self { entries, capacity, overrun: false, armed: None, watched: false, due: 0, users: 0 }
    }

    pub(crate) fn push(&mut self, completion: Completion) -> Added {
        if self.entries.len() >= self.capacity || self.overrun {
            let was_told = core::mem::replace(&mut self.overrun, true);
            return if was_told { Added::Quietly } else { Added::Overrun };
        }
        self.entries.push_back(completion);
        if self.armed.take_if(|on| on.is_met(&completion)).is_none() {
            return Added::Quietly;
        }
        self.due = self.due.saturating_add(1);
        if self.due == 1 { Added::Told } else { Added::Quietly }
    }

    /// Arms it; for all completions rather than for some, if it is armed already.
    pub(crate) fn arm(&mut self, on: NotifyOn) {
        self.armed = self.armed.max(Some(on));
    }

    /// Watches for the next completion.
    pub(crate) fn watch(&mut self) {
        self.watched = true;
    }

    /// Whether it was watched and has got something, which ends that.
    pub(crate) fn take_watched(&mut self) -> bool {
        !self.entries.is_empty() && core::mem::take(&mut self.watched)
    }

    /// The event that waited was taken out; whether another is due.
    pub(crate) fn event_taken(&mut self) -> bool {
        self.due = self.due.saturating_sub(1);
        self.due > 0
    }

    /// A queue that runs empty begins at its first place again: one that is large and never deep would otherwise wander
    /// through all of its memory.
    pub(crate) fn pop(&mut self) -> Option<Completion> {
        let completion = self.entries.pop_front();
        if self.entries.is_empty() {
            self.entries.clear();
        }
        completion
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_overrun(&self) -> bool {
        self.overrun
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_is_never_deep_stays_in_the_same_places() {
        let mut queue = CompletionQueue::new(1000);
        let mut places = alloc::collections::BTreeSet::new();
        for _ in 0..5000 {
            for _ in 0..2 {
                queue.push(Completion::default());
                places.insert(queue.entries.as_slices().0.as_ptr_range().end as usize);
            }
            assert!(queue.pop().is_some() && queue.pop().is_some());
        }
        assert_eq!(places.len(), 2);
    }
}
