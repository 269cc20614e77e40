//! Deadlines, at most one for each queue pair: an indexed binary heap, so that each can be changed in O(log n).

use alloc::vec::Vec;

const ABSENT: u32 = u32::MAX;

/// Invariant: `places[heap[i].1] == i`, and no entry is earlier than its parent.
#[derive(Debug, Default)]
pub(crate) struct TimerHeap {
    heap: Vec<(u64, u32)>,
    places: Vec<u32>,
}

impl TimerHeap {
    /// Makes room for keys below `keys`, so that setting them does not allocate.
    pub(crate) fn reserve(&mut self, keys: usize) {
        if self.places.len() < keys {
            self.places.resize(keys, ABSENT);
            self.heap.reserve(keys - self.heap.len());
        }
    }

    /// The earliest deadline and its key.
    pub(crate) fn first(&self) -> Option<(u64, u32)> {
        self.heap.first().copied()
    }

    /// Sets, changes or removes the deadline of a key.
    pub(crate) fn set(&mut self, key: u32, deadline: Option<u64>) {
        let Some(&place) = self.places.get(key as usize) else { return };
        match (place, deadline) {
            (ABSENT, None) => {}
            (ABSENT, Some(deadline)) => {
                self.heap.push((deadline, key));
                self.places[key as usize] = (self.heap.len() - 1) as u32;
                self.rise(self.heap.len() - 1);
            }
            (place, Some(deadline)) => {
                let place = place as usize;
                if self.heap[place].0 != deadline {
                    self.heap[place].0 = deadline;
                    self.settle(place);
                }
            }
            (place, None) => {
                let place = place as usize;
                self.heap.swap_remove(place);
                self.places[key as usize] = ABSENT;
                if place < self.heap.len() {
                    self.places[self.heap[place].1 as usize] = place as u32;
                    self.settle(place);
                }
            }
        }
    }

    fn settle(&mut self, place: usize) {
        let place = self.rise(place);
        self.sink(place);
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.places[self.heap[a].1 as usize] = a as u32;
        self.places[self.heap[b].1 as usize] = b as u32;
    }

    fn rise(&mut self, mut place: usize) -> usize {
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.heap[parent] <= self.heap[place] {
                break;
            }
            self.swap(place, parent);
            place = parent;
        }
        place
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            let mut least = place;
            if left < self.heap.len() && self.heap[left] < self.heap[least] {
                least = left;
            }
            if right < self.heap.len() && self.heap[right] < self.heap[least] {
                least = right;
            }
            if least == place {
                return;
            }
            self.swap(place, least);
            place = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_heap_agrees_with_an_ordered_map(
            steps in prop::collection::vec((0u32..20, prop::option::of(0u64..50)), 0..200)
        ) {
            let mut heap = TimerHeap::default();
            heap.reserve(20);
            let mut model = BTreeMap::new();
            for (key, deadline) in steps {
                heap.set(key, deadline);
                match deadline {
                    Some(deadline) => model.insert(key, deadline),
                    None => model.remove(&key),
                };
                let first = model.iter().map(|(&key, &deadline)| (deadline, key)).min();
                prop_assert_eq!(heap.first(), first);
            }
            while let Some((deadline, key)) = heap.first() {
                prop_assert_eq!(model.remove(&key), Some(deadline));
                heap.set(key, None);
            }
            prop_assert!(model.is_empty());
        }
    }
}
