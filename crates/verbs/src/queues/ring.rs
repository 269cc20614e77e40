//! A ring of requests with room for the elements of each.
//!
//! Looking at a request that nobody has looked at for long costs a wait for memory for each cache line. The first
//! element therefore stands beside its request, and a ring that runs empty begins at its first slot again, so that
//! a queue that is never deep stays in the same few lines.

use alloc::boxed::Box;
use alloc::vec;
use core::slice;

use crate::work::{PostError, Sge};

/// A ring of `T` with a fixed number of elements for each entry.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Ring<T> {
    slots: Box<[Slot<T>]>,
    head: u32,
    used: u32,
    /// Of entries with more than one element, all of them: `per_entry` for each slot.
    elements: Box<[Sge]>,
    per_entry: u32,
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
struct Slot<T> {
    /// The only element, if it has one.
    only: Sge,
    /// How many elements it has.
    count: u32,
    entry: T,
}

impl<T: Copy + Default> Ring<T> {
    pub(super) fn new(capacity: u32, per_entry: u32) -> Self {
        let elements = if per_entry > 1 { capacity as usize * per_entry as usize } else { 0 };
        Self {
            slots: vec![Slot::default(); capacity as usize].into(),
            head: 0,
            used: 0,
            elements: vec![Sge::default(); elements].into(),
            per_entry,
        }
    }

    /// The slot of the entry `place` behind the oldest; the entry stays in it.
    #[inline]
    pub(super) fn index(&self, place: usize) -> Option<usize> {
        if place >= self.used as usize {
            return None;
        }
        let index = self.head as usize + place;
        Some(if index >= self.slots.len() { index - self.slots.len() } else { index })
    }

    #[inline]
    pub(super) fn get(&self, place: usize) -> Option<(&T, &[Sge])> {
        let index = self.index(place)?;
        let slot = &self.slots[index];
        let elements = match slot.count {
            0 => &[],
            1 => slice::from_ref(&slot.only),
            count => &self.elements[self.start(index)..][..count as usize],
        };
        Some((&slot.entry, elements))
    }

    pub(super) fn check(&self, elements: &[Sge]) -> Result<(), PostError> {
        if self.len() == self.capacity() {
            return Err(PostError::QueueFull { capacity: self.slots.len() as u32 });
        }
        if elements.len() > self.per_entry as usize {
            return Err(PostError::TooManyElements { limit: self.per_entry });
        }
        Ok(())
    }

    /// Adds an entry that [`check`](Self::check) let through, and returns its slot.
    pub(super) fn push(&mut self, entry: T, elements: &[Sge]) -> Option<usize> {
        self.used += 1;
        let index = self.index(self.used as usize - 1)?;
        let only = match elements {
            [] => Sge::default(),
            [only] => *only,
            _ => {
                let start = self.start(index);
                self.elements[start..start + elements.len()].copy_from_slice(elements);
                Sge::default()
            }
        };
        self.slots[index] = Slot { only, count: elements.len() as u32, entry };
        Some(index)
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        let index = self.index(0)?;
        self.used -= 1;
        self.head = if self.used == 0 || index + 1 == self.slots.len() { 0 } else { index as u32 + 1 };
        Some(self.slots[index].entry)
    }

    pub(super) fn len(&self) -> usize {
        self.used as usize
    }

    pub(super) fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// Where the elements of a slot begin.
    fn start(&self, index: usize) -> usize {
        index * self.per_entry as usize
    }
}

/// Bytes that elements hold in all.
pub(super) fn total(elements: &[Sge]) -> u64 {
    elements.iter().map(|element| u64::from(element.length)).sum()
}
