//! A queue of fixed size in one allocation.
//!
//! It is what a `VecDeque` is, in fewer bytes, and begins at its first place again whenever it is empty: one that never
//! holds much stays in the same cache line.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hint::black_box;

/// Invariant: `head` is a place, or 0 where there are none; `used` entries from there on, around the end, count.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Ring<T> {
    places: Box<[T]>,
    head: u32,
    used: u32,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self { places: Box::default(), head: 0, used: 0 }
    }
}

impl<T: Copy + Default> Ring<T> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { places: alloc::vec![T::default(); capacity].into(), head: 0, used: 0 }
    }

    /// Gives it another capacity; the newest entries stay.
    pub(crate) fn resize(&mut self, capacity: usize) {
        if capacity == self.places.len() {
            return;
        }
        let excess = self.len().saturating_sub(capacity);
        let mut kept: Vec<T> = self.iter().skip(excess).copied().collect();
        let used = kept.len() as u32;
        kept.resize(capacity, T::default());
        *self = Self { places: kept.into(), head: 0, used };
    }

    pub(crate) fn len(&self) -> usize {
        self.used as usize
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Where the entry `place` behind the oldest stands.
    #[inline]
    fn index(&self, place: usize) -> Option<usize> {
        if place >= self.len() {
            return None;
        }
        let index = self.head as usize + place;
        Some(if index >= self.places.len() { index - self.places.len() } else { index })
    }

    #[inline]
    pub(crate) fn get(&self, place: usize) -> Option<&T> {
        self.index(place).and_then(|index| self.places.get(index))
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        self.index(place).and_then(|index| self.places.get_mut(index))
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        self.get(0)
    }

    #[inline]
    pub(crate) fn front_mut(&mut self) -> Option<&mut T> {
        self.get_mut(0)
    }

    /// Reads something of the oldest entry, or of where the first will be, so that its cache line is here.
    pub(crate) fn touch(&self) {
        if let Some(entry) = self.places.get(self.head as usize) {
            black_box(*entry);
        }
    }

    pub(crate) fn back_mut(&mut self) -> Option<&mut T> {
        self.get_mut(self.len().checked_sub(1)?)
    }

    /// Adds an entry; `false` if there is no room.
    #[inline]
    pub(crate) fn push(&mut self, entry: T) -> bool {
        if self.len() == self.places.len() {
            return false;
        }
        self.used += 1;
        if let Some(last) = self.back_mut() {
            *last = entry;
        }
        true
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let index = self.index(0)?;
        self.used -= 1;
        self.head = if self.used == 0 || index + 1 == self.places.len() { 0 } else { index as u32 + 1 };
        self.places.get(index).copied()
    }

    /// Keeps the oldest `length` entries only.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.used = self.used.min(length as u32);
    }

    pub(crate) fn clear(&mut self) {
        (self.head, self.used) = (0, 0);
    }

    /// The entries, oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        (0..self.len()).filter_map(|place| self.get(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_ring_agrees_with_a_queue_without_end(
            steps in prop::collection::vec((0u8..10, 0usize..6), 0..200)
        ) {
            let (mut ring, mut queue, mut capacity) = (Ring::<usize>::default(), VecDeque::new(), 0);
            for (n, (step, size)) in steps.into_iter().enumerate() {
                match step {
                    0 => {
                        ring.resize(size);
                        queue.drain(..queue.len().saturating_sub(size));
                        capacity = size;
                    }
                    1 => {
                        ring.truncate(size);
                        queue.truncate(size);
                    }
                    2..5 => prop_assert_eq!(ring.pop(), queue.pop_front()),
                    _ => {
                        let fits = queue.len() < capacity;
                        prop_assert_eq!(ring.push(n), fits);
                        if fits {
                            queue.push_back(n);
                        }
                    }
                }
                prop_assert!(ring.iter().eq(queue.iter()));
                prop_assert_eq!(ring.front(), queue.front());
                prop_assert_eq!(ring.back_mut().copied(), queue.back().copied());
            }
        }
    }
}
