//! A table whose handles carry an index and a generation, so that a look-up is O(1) and a stale handle finds nothing.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// What a table hands out for an entry: `index << generation_bits | generation`.
pub type Handle = u32;

/// The table holds as many entries as its limit allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The generation stands in front of the value in the same cache line, so that a look-up waits for memory once.
#[derive(Debug)]
#[repr(C, align(64))]
struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

/// Entries by [`Handle`].
///
/// Invariants: a freed index goes to the end of the free list, so that it comes back as late as possible, with the next
/// generation. Where `retires` is set, an index whose generations are used up is never used again, so a handle can
/// never mean two things; otherwise generations wrap.
#[derive(Debug)]
pub struct Table<T> {
    slots: Vec<Slot<T>>,
    free: VecDeque<u32>,
    generation_bits: u32,
    first_index: u32,
    first_generation: u32,
    limit: usize,
    used: usize,
    retires: bool,
}

/// A slot that nobody uses.
fn vacant<T>() -> Slot<T> {
    Slot { generation: 0, value: None }
}

impl<T> Table<T> {
    /// A table of at most `limit` entries whose handles use `generation_bits` for the generation. Indices below
    /// `first_index` are never given out; [`insert_at`](Self::insert_at) may use them.
    pub fn new(limit: usize, generation_bits: u32, first_index: u32, retires: bool) -> Self {
        Self {
            slots: (0..first_index).map(|_| vacant()).collect(),
            free: VecDeque::new(),
            generation_bits,
            first_index,
            first_generation: 0,
            limit,
            used: 0,
            retires,
        }
    }

    /// Lets the generations of fresh indices begin here, so that handles differ from those of another table.
    pub fn beginning_at(mut self, generation: u32) -> Self {
        self.first_generation = self.generation(generation);
        self
    }

    /// Puts an entry in and returns its handle.
    pub fn insert(&mut self, value: T) -> Result<Handle, Full> {
        self.insert_with(|_| value)
    }

    /// As [`insert`](Self::insert), for an entry that knows its own handle.
    pub fn insert_with(&mut self, value: impl FnOnce(Handle) -> T) -> Result<Handle, Full> {
        if self.used >= self.limit {
            return Err(Full);
        }
        let index = match self.free.pop_front() {
            Some(index) => index,
            // Retired slots count here, so a table cannot grow without bound by coming and going.
            None if self.slots.len() < self.slot_limit() => {
                self.slots.push(Slot { generation: self.first_generation, ..vacant() });
                (self.slots.len() - 1) as u32
            }
            None => return Err(Full),
        };
        self.used += 1;
        let slot = &mut self.slots[index as usize];
        let handle = index << self.generation_bits | slot.generation;
        slot.value = Some(value(handle));
        Ok(handle)
    }

    /// Puts an entry at a handle that is never given out: one below the first index. Each such index has room for one
    /// entry at a time, which the table's limit does not count.
    pub fn insert_at(&mut self, handle: Handle, value: T) -> Result<(), Full> {
        let generation = self.generation(handle);
        let index = handle >> self.generation_bits;
        match self.slots.get_mut(index as usize) {
            Some(slot) if index < self.first_index && slot.value.is_none() => {
                *slot = Slot { generation, value: Some(value) };
                Ok(())
            }
            _ => Err(Full),
        }
    }

    /// Indices that the 32 bits of a handle leave room for, or those that the limit needs where nothing retires.
    fn slot_limit(&self) -> usize {
        let representable = 1usize << (32 - self.generation_bits);
        if self.retires { representable } else { (self.limit + self.first_index as usize).min(representable) }
    }

    /// The entry of a handle, if it is alive.
    pub fn get(&self, handle: Handle) -> Option<&T> {
        let slot = self.slots.get(self.index(handle)?)?;
        if slot.generation == self.generation(handle) { slot.value.as_ref() } else { None }
    }

    /// The entry of a handle, to be changed.
    pub fn get_mut(&mut self, handle: Handle) -> Option<&mut T> {
        let (index, generation) = (self.index(handle)?, self.generation(handle));
        let slot = self.slots.get_mut(index)?;
        if slot.generation == generation { slot.value.as_mut() } else { None }
    }

    /// Takes an entry out; its handle finds nothing from now on.
    pub fn remove(&mut self, handle: Handle) -> Option<T> {
        let (index, generation) = (self.index(handle)?, self.generation(handle));
        let slot = self.slots.get_mut(index)?;
        if slot.generation != generation {
            return None;
        }
        let value = slot.value.take()?;
        if index < self.first_index as usize {
            return Some(value);
        }
        self.used -= 1;
        let last = (1u32 << self.generation_bits) - 1;
        if slot.generation < last || !self.retires {
            slot.generation = if slot.generation == last { 0 } else { slot.generation + 1 };
            self.free.push_back(index as u32);
        }
        Some(value)
    }

    /// The dense place of a handle's entry, for tables kept beside this one. Says nothing about being alive.
    pub fn index(&self, handle: Handle) -> Option<usize> {
        let index = (handle >> self.generation_bits) as usize;
        (index < self.slots.len()).then_some(index)
    }

    /// The entry at a dense place.
    pub fn at(&self, index: usize) -> Option<&T> {
        self.slots.get(index)?.value.as_ref()
    }

    /// The entry at a dense place, to be changed.
    pub fn at_mut(&mut self, index: usize) -> Option<&mut T> {
        self.slots.get_mut(index)?.value.as_mut()
    }

    /// One behind the last dense place.
    pub fn places(&self) -> usize {
        self.slots.len()
    }

    /// All living entries, lowest index first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|slot| slot.value.as_ref())
    }

    /// How many entries are alive, those of [`insert_at`](Self::insert_at) not counted.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Whether no entry is alive.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    fn generation(&self, handle: Handle) -> u32 {
        handle & ((1 << self.generation_bits) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_handle_finds_nothing_even_after_its_place_is_used_again() {
        let mut table = Table::new(1, 7, 1, false);
        let old = table.insert("old").unwrap();
        assert_eq!(old, 0x80);
        assert_eq!(table.remove(old), Some("old"));
        let new = table.insert("new").unwrap();
        assert_eq!(new, 0x81);
        assert_eq!(table.get(old), None);
        assert_eq!(table.remove(old), None);
        assert_eq!(table.get(new), Some(&"new"));
    }

    #[test]
    fn handles_begin_with_the_generation_that_was_asked_for_and_go_round() {
        let mut table = Table::new(2, 2, 1, false).beginning_at(3);
        assert_eq!(table.insert(()), Ok(0b111));
        assert_eq!(table.insert(()), Ok(0b1011));
        assert_eq!(table.remove(0b111), Some(()));
        assert_eq!(table.insert(()), Ok(0b100), "behind the last generation comes the first");
    }

    #[test]
    fn a_retiring_table_never_gives_a_handle_twice() {
        let mut table = Table::new(1, 2, 0, true);
        let mut seen = alloc::collections::BTreeSet::new();
        for _ in 0..100 {
            let handle = table.insert(()).unwrap();
            assert!(seen.insert(handle), "handle {handle:#x} was given twice");
            table.remove(handle);
        }
    }

    #[test]
    fn the_limit_holds() {
        let mut table = Table::new(2, 4, 0, true);
        table.insert(1).unwrap();
        table.insert(2).unwrap();
        assert_eq!(table.insert(3), Err(Full));
        assert_eq!(table.len(), 2);
    }

    #[test]
    fn handles_below_the_first_index_find_nothing() {
        let mut table = Table::new(4, 7, 1, false);
        table.insert(()).unwrap();
        assert_eq!(table.get(0), None);
        assert_eq!(table.get(0x7f), None);
    }

    #[test]
    fn an_entry_below_the_first_index_is_found_by_its_very_handle() {
        let mut table = Table::new(1, 7, 1, false);
        assert_eq!(table.insert_at(1, "special"), Ok(()));
        assert_eq!(table.insert_at(2, "its place is taken"), Err(Full));
        assert_eq!(table.insert_at(0x80, "not below"), Err(Full));
        assert_eq!(table.insert("ordinary"), Ok(0x80), "the limit does not count the special one");
        assert_eq!((table.get(0), table.get(1), table.get(2)), (None, Some(&"special"), None));
        assert_eq!(table.remove(1), Some("special"));
        assert_eq!(table.insert_at(1, "again"), Ok(()));
        assert_eq!(table.len(), 1);
    }
}
