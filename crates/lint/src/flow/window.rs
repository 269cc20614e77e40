//! The requests of one direction, by PSN: those that are under way, and some behind them, since they may come again.
//!
//! Invariant: entries are in the order of their PSNs and do not overlap; all lie within 2^23 of each other. At most
//! [`MOST_ENTRIES`] are kept; the oldest make room.

use std::collections::VecDeque;

use rdmalab_wire::Psn;

use super::entry::Entry;

/// Most requests that are kept of one direction.
pub(crate) const MOST_ENTRIES: usize = 4096;
/// How many of them may be complete: a repetition is compared with these.
pub(crate) const HISTORY: usize = 192;

/// The requests of one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    entries: VecDeque<Entry>,
}

impl Window {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn clear(&mut self) {
        self.entries.clear();
    }

    pub fn get(&self, index: usize) -> Option<&Entry> {
        self.entries.get(index)
    }

    pub fn get_mut(&mut self, index: usize) -> Option<&mut Entry> {
        self.entries.get_mut(index)
    }

    pub fn last_mut(&mut self) -> Option<&mut Entry> {
        self.entries.back_mut()
    }

    /// Index of the first entry that is not in front of this PSN.
    pub fn lower_bound(&self, psn: Psn) -> usize {
        // Most often it is the last one, or the one behind it.
        match self.entries.back() {
            Some(last) if psn.distance(last.psn) > 0 => self.entries.len(),
            Some(last) if psn == last.psn => self.entries.len() - 1,
            _ => self.entries.partition_point(|entry| entry.psn.distance(psn) < 0),
        }
    }

    /// The entry that takes this PSN, which may be in the middle of a READ.
    pub fn holding(&self, psn: Psn) -> Option<usize> {
        let at = self.lower_bound(psn);
        if self.entries.get(at).is_some_and(|entry| entry.psn == psn) {
            return Some(at);
        }
        let before = at.checked_sub(1)?;
        let entry = self.entries.get(before)?;
        (psn.distance(entry.end()) < 0).then_some(before)
    }

    /// As [`holding`](Self::holding), the entry itself.
    pub fn held(&self, psn: Psn) -> Option<&Entry> {
        self.get(self.holding(psn)?)
    }

    /// As [`held`](Self::held), to be changed.
    pub fn held_mut(&mut self, psn: Psn) -> Option<&mut Entry> {
        self.get_mut(self.holding(psn)?)
    }

    /// Adds an entry, most often behind all others. Says where it is, and whether another one had to make room.
    pub fn insert(&mut self, entry: Entry) -> (usize, bool) {
        let at = self.lower_bound(entry.psn);
        if at == self.entries.len() {
            self.entries.push_back(entry);
        } else {
            self.entries.insert(at, entry);
        }
        let is_full = self.entries.len() > MOST_ENTRIES;
        if is_full {
            self.entries.pop_front();
        }
        (at.saturating_sub(is_full.into()), is_full)
    }

    /// Forgets all in front of this PSN.
    pub fn drop_before(&mut self, psn: Psn) {
        while self.entries.front().is_some_and(|entry| entry.psn.distance(psn) < 0) {
            self.entries.pop_front();
        }
    }

    /// Forgets the oldest of those in front of this PSN, but for the last of them.
    pub fn forget_before(&mut self, psn: Psn) {
        while self.entries.get(HISTORY).is_some_and(|entry| entry.end().distance(psn) <= 0) {
            self.entries.pop_front();
        }
    }
}
