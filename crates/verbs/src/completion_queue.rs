//! A completion queue: a ring of fixed size that engines fill and applications empty.

use alloc::collections::VecDeque;

use crate::completion::Completion;

/// Names a completion queue of a [`Context`](crate::Context).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CompletionQueueId(pub(crate) u32);

/// Invariants: never holds more than `capacity` entries; what would be one more sets `overrun` and is lost, and so is
/// everything behind it: nothing can be put into a queue that has overrun, as the verbs have it. What was in it stays.
#[derive(Debug)]
pub(crate) struct CompletionQueue {
    entries: VecDeque<Completion>,
    capacity: usize,
    overrun: bool,
    /// How many queue pairs deliver into it; it can only go when there are none.
    pub(crate) users: u32,
}

impl CompletionQueue {
    pub(crate) fn new(capacity: u32) -> Self {
        let capacity = capacity as usize;
        Self { entries: VecDeque::with_capacity(capacity), capacity, overrun: false, users: 0 }
    }

    /// Adds a completion; tells whether it is the first one that was lost.
    pub(crate) fn push(&mut self, completion: Completion) -> bool {
        if self.entries.len() < self.capacity && !self.overrun {
            self.entries.push_back(completion);
            return false;
        }
        !core::mem::replace(&mut self.overrun, true)
    }

    pub(crate) fn pop(&mut self) -> Option<Completion> {
        self.entries.pop_front()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_overrun(&self) -> bool {
        self.overrun
    }
}
