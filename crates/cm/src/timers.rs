//! Deadlines, one for each owner at most. Whoever is due first is found without looking at the others.

use alloc::collections::BTreeSet;

/// Whose deadline it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    Connection(u32),
    /// A question of ours.
    Asked(u32),
    /// A question of a peer's.
    Question(u32),
}

/// All deadlines in order. Each owner keeps a copy of its own, and only these functions write it.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    due: BTreeSet<(u64, Owner)>,
}

impl Timers {
    /// Sets the deadline of an owner, in place of the one it has.
    pub fn arm(&mut self, owner: Owner, deadline: &mut Option<u64>, at: u64) {
        self.disarm(owner, deadline);
        self.due.insert((at, owner));
        *deadline = Some(at);
    }

    pub fn disarm(&mut self, owner: Owner, deadline: &mut Option<u64>) {
        if let Some(at) = deadline.take() {
            self.due.remove(&(at, owner));
        }
    }

    pub fn first(&self) -> Option<u64> {
        self.due.first().map(|(at, _)| *at)
    }

    /// The owner that has waited longest for what was due; its copy is then out of date.
    pub fn pop_due(&mut self, now: u64) -> Option<Owner> {
        let (at, owner) = *self.due.first()?;
        if at > now {
            return None;
        }
        self.due.pop_first();
        Some(owner)
    }

    /// Whether exactly this deadline is set.
    pub fn has(&self, owner: Owner, deadline: Option<u64>) -> bool {
        deadline.is_none_or(|at| self.due.contains(&(at, owner)))
    }

    pub fn len(&self) -> usize {
        self.due.len()
    }
}
