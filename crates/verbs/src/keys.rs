//! The keys of memory regions and windows, and the table that finds what they stand for.
//!
//! A key is 20 bits of index and 12 bits of generation. The low 8 bits of the generation are the consumer's where the
//! verbs leave them to it: in windows and in fast-registration regions.
//!
//! Invariants: a look-up is O(1), and finds an entry only if the *whole* key equals the entry's present one. The keys
//! of an entry that is gone never match again: an entry without consumer's bits uses up one of the 4096 generations of
//! its index, one with them uses up a block of 256, whatever keys it had in its life, and the next entry at that index
//! begins behind. An index without generations left is never used again.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::table::Full;

#[cfg(test)]
mod tests;

/// A key as a number; local and remote keys are the same.
pub(crate) type Key = u32;

const GENERATION_BITS: u32 = 12;
const GENERATIONS: u16 = 1 << GENERATION_BITS;
const CONSUMER_BITS: u32 = 8;
const CONSUMER_MASK: Key = (1 << CONSUMER_BITS) - 1;
const BLOCK: u16 = 1 << CONSUMER_BITS;
/// Index 0 stays unused, so that a key of 0, as in zeroed memory, never matches.
const FIRST_INDEX: u32 = 1;
const INDICES: usize = (1 << (32 - GENERATION_BITS)) - FIRST_INDEX as usize;

/// Whose the low 8 bits of an entry's keys are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LowBits {
    /// The table's; the key never changes.
    Ours,
    /// The consumer's; it changes them whenever it gives the key a new meaning.
    Consumers,
}

#[derive(Debug)]
struct Slot<T> {
    /// The first generation that the next entry here may use.
    next: u16,
    entry: Option<Entry<T>>,
}

#[derive(Debug)]
struct Entry<T> {
    /// The present key.
    key: Key,
    value: T,
}

/// Entries by their keys. A freed index goes to the end of the free list, so that it comes back as late as possible.
#[derive(Debug)]
pub(crate) struct KeyTable<T> {
    slots: Vec<Slot<T>>,
    free: VecDeque<u32>,
    /// The most slots there may be, used up ones too: the table cannot grow without bound by coming and going.
    most: usize,
}

impl<T> KeyTable<T> {
    pub(crate) fn new() -> Self {
        Self::with_indices(INDICES)
    }

    fn with_indices(most: usize) -> Self {
        Self { slots: Vec::new(), free: VecDeque::new(), most }
    }

    /// Puts an entry in and returns its first key.
    pub(crate) fn insert(&mut self, low_bits: LowBits, value: T) -> Result<Key, Full> {
        let index = self.take_index(low_bits)?;
        let slot = &mut self.slots[index as usize];
        let generation = slot.first_generation(low_bits);
        slot.next = match low_bits {
            LowBits::Ours => generation + 1,
            LowBits::Consumers => generation + BLOCK,
        };
        let key = (index + FIRST_INDEX) << GENERATION_BITS | u32::from(generation);
        slot.entry = Some(Entry { key, value });
        Ok(key)
    }

    /// An index with enough generations left.
    fn take_index(&mut self, low_bits: LowBits) -> Result<u32, Full> {
        // Each index that is passed over here has less than a block left and retires with that, so that the loop costs
        // as much as the entries that were there before.
        while let Some(index) = self.free.pop_front() {
            if self.slots[index as usize].has_room(low_bits) {
                return Ok(index);
            }
        }
        if self.slots.len() >= self.most {
            return Err(Full);
        }
        self.slots.push(Slot { next: 0, entry: None });
        Ok((self.slots.len() - 1) as u32)
    }

    pub(crate) fn get(&self, key: Key) -> Option<&T> {
        let slot = self.slots.get(index(key)?)?;
        slot.entry.as_ref().filter(|entry| entry.key == key).map(|entry| &entry.value)
    }

    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let slot = self.slots.get_mut(index(key)?)?;
        slot.entry.as_mut().filter(|entry| entry.key == key).map(|entry| &mut entry.value)
    }

    /// The present key of the entry that a key belongs to, whatever the consumer's bits are.
    pub(crate) fn present(&self, key: Key) -> Option<Key> {
        let slot = self.slots.get(index(key)?)?;
        slot.entry.as_ref().map(|entry| entry.key).filter(|present| is_same_block(*present, key))
    }

    /// Gives the consumer's entry of a key another key, which must be of the [same block](is_same_block).
    pub(crate) fn rekey(&mut self, old: Key, new: Key) {
        let slot = index(old).and_then(|index| self.slots.get_mut(index));
        if let Some(entry) = slot.and_then(|slot| slot.entry.as_mut())
            && entry.key == old
            && is_same_block(old, new)
        {
            entry.key = new;
        }
    }

    /// Takes an entry out; none of the keys that it had finds anything from now on.
    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        let index = index(key)?;
        let slot = self.slots.get_mut(index)?;
        let entry = slot.entry.take_if(|entry| entry.key == key)?;
        if slot.has_room(LowBits::Ours) {
            self.free.push_back(index as u32);
        }
        Some(entry.value)
    }
}

impl<T> Slot<T> {
    fn first_generation(&self, low_bits: LowBits) -> u16 {
        match low_bits {
            LowBits::Ours => self.next,
            LowBits::Consumers => self.next.next_multiple_of(BLOCK),
        }
    }

    fn has_room(&self, low_bits: LowBits) -> bool {
        self.first_generation(low_bits) < GENERATIONS
    }
}

/// Whether two keys differ in the consumer's bits only.
pub(crate) fn is_same_block(one: Key, other: Key) -> bool {
    (one ^ other) & !CONSUMER_MASK == 0
}

fn index(key: Key) -> Option<usize> {
    (key >> GENERATION_BITS).checked_sub(FIRST_INDEX).map(|index| index as usize)
}
