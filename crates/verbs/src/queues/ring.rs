//! A ring of requests with room for the elements of each.

use alloc::boxed::Box;
use alloc::vec;

use crate::work::{PostError, Sge};

/// A ring of `T` with a fixed number of elements for each entry.
#[derive(Debug)]
pub(super) struct Ring<T> {
    /// Each with the number of its elements.
    entries: Box<[Option<(T, u16)>]>,
    elements: Box<[Sge]>,
    per_entry: usize,
    head: usize,
    used: usize,
}

impl<T: Copy> Ring<T> {
    pub(super) fn new(capacity: u32, per_entry: u32) -> Self {
        let (capacity, per_entry) = (capacity as usize, per_entry as usize);
        Self {
            entries: vec![None; capacity].into(),
            elements: vec![Sge::default(); capacity * per_entry].into(),
            per_entry,
            head: 0,
            used: 0,
        }
    }

    /// The slot of the entry `place` behind the oldest; the entry stays in it.
    #[inline]
    pub(super) fn index(&self, place: usize) -> Option<usize> {
        if place >= self.used {
            return None;
        }
        let index = self.head + place;
        Some(if index >= self.entries.len() { index - self.entries.len() } else { index })
    }

    #[inline]
    pub(super) fn get(&self, place: usize) -> Option<(&T, &[Sge])> {
        let index = self.index(place)?;
        let (entry, count) = self.entries[index].as_ref()?;
        let start = index * self.per_entry;
        Some((entry, &self.elements[start..start + usize::from(*count)]))
    }

    pub(super) fn check(&self, elements: &[Sge]) -> Result<(), PostError> {
        if self.used == self.entries.len() {
            return Err(PostError::QueueFull { capacity: self.entries.len() as u32 });
        }
        if elements.len() > self.per_entry {
            return Err(PostError::TooManyElements { limit: self.per_entry as u32 });
        }
        Ok(())
    }

    /// Adds an entry that [`check`](Self::check) let through, and returns its slot.
    pub(super) fn push(&mut self, entry: T, elements: &[Sge]) -> Option<usize> {
        self.used += 1;
        let index = self.index(self.used - 1)?;
        let start = index * self.per_entry;
        self.entries[index] = Some((entry, elements.len() as u16));
        self.elements[start..start + elements.len()].copy_from_slice(elements);
        Some(index)
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        let index = self.index(0)?;
        self.head = if index + 1 == self.entries.len() { 0 } else { index + 1 };
        self.used -= 1;
        self.entries[index].take().map(|(entry, _)| entry)
    }

    pub(super) fn len(&self) -> usize {
        self.used
    }

    pub(super) fn capacity(&self) -> usize {
        self.entries.len()
    }
}

/// Bytes that elements hold in all.
pub(super) fn total(elements: &[Sge]) -> u64 {
    elements.iter().map(|element| u64::from(element.length)).sum()
}
