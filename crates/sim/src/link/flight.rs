//! The frames on a link, both directions together, in the order of their arrival; and their buffers.
//!
//! Invariants. A frame is in exactly one slot, and a slot with a frame in flight has exactly one entry in
//! `order` that names its current sequence number; entries with an older one are stale and never on top.
//! Sequence numbers only grow, so that equal times come out in the order of launching. Slots without a
//! frame are in `free`, but for the one whose frame was handed out last: its bytes are lent to the caller.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{End, Judgement};

/// What is known of a frame on the way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passage {
    pub(super) from: End,
    pub(super) index: u64,
    pub(super) is_copy: bool,
    pub(super) judgement: Judgement,
    pub(super) sent_at: u64,
}

/// Names one launched frame, for ever.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ticket {
    slot: usize,
    sequence: u64,
}

/// A frame that arrived.
pub(super) struct Landed<'a> {
    pub(super) passage: Passage,
    pub(super) arrived_at: u64,
    pub(super) bytes: &'a [u8],
}

#[derive(Debug)]
struct Slot {
    bytes: Vec<u8>,
    passage: Passage,
    arrival: u64,
    /// The sequence number of the frame in flight.
    flying: Option<u64>,
}

/// When, in which order among equals, in which slot.
type Entry = Reverse<(u64, u64, usize)>;

#[derive(Debug)]
pub(super) struct Flight {
    slots: Vec<Slot>,
    free: Vec<usize>,
    lent: Option<usize>,
    order: BinaryHeap<Entry>,
    flying: usize,
    next_sequence: u64,
    /// Bytes that all buffers can hold, and above which the buffer of a landed frame is given back.
    capacity: usize,
    capacity_limit: usize,
}

impl Flight {
    pub(super) fn new(capacity_limit: usize) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            lent: None,
            order: BinaryHeap::new(),
            flying: 0,
            next_sequence: 0,
            capacity: 0,
            capacity_limit,
        }
    }

    /// Puts a copy of `bytes` on its way, changed as its verdict wants it.
    pub(super) fn launch(&mut self, arrival: u64, passage: Passage, bytes: &[u8]) -> Ticket {
        self.take_back();
        let sequence = self.sequence();
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { bytes: Vec::new(), passage, arrival, flying: None });
            self.slots.len() - 1
        });
        let place = &mut self.slots[slot];
        let before = place.bytes.capacity();
        place.bytes.clear();
        place.bytes.extend_from_slice(bytes);
        self.capacity += place.bytes.capacity() - before;
        passage.judgement.verdict.apply(&mut place.bytes);
        (place.passage, place.arrival, place.flying) = (passage, arrival, Some(sequence));
        self.flying += 1;
        self.order.push(Reverse((arrival, sequence, slot)));
        Ticket { slot, sequence }
    }

    /// Lets a frame arrive at `arrival`, behind those that already do, unless it arrives sooner anyway.
    pub(super) fn hasten(&mut self, ticket: Ticket, arrival: u64) {
        if !self.is_flying(ticket) || self.slots[ticket.slot].arrival < arrival {
            return;
        }
        let sequence = self.sequence();
        let place = &mut self.slots[ticket.slot];
        (place.arrival, place.flying) = (arrival, Some(sequence));
        self.order.push(Reverse((arrival, sequence, ticket.slot)));
        self.drop_stale_entries();
    }

    /// Whether the frame has not landed yet. (Of one that was hastened, an old ticket says no.)
    pub(super) fn is_flying(&self, ticket: Ticket) -> bool {
        self.slots[ticket.slot].flying == Some(ticket.sequence)
    }

    pub(super) fn next_arrival(&self) -> Option<u64> {
        self.order.peek().map(|Reverse((arrival, ..))| *arrival)
    }

    /// The next frame that arrives no later than `now`.
    pub(super) fn land(&mut self, now: u64) -> Option<Landed<'_>> {
        self.take_back();
        if self.next_arrival()? > now {
            return None;
        }
        let Reverse((arrived_at, _, slot)) = self.order.pop()?;
        self.slots[slot].flying = None;
        self.flying -= 1;
        self.lent = Some(slot);
        self.drop_stale_entries();
        let place = &self.slots[slot];
        Some(Landed { passage: place.passage, arrived_at, bytes: &place.bytes })
    }

    /// Nobody looks at the bytes of the last landed frame any more.
    fn take_back(&mut self) {
        let Some(slot) = self.lent.take() else { return };
        self.free.push(slot);
        if self.capacity > self.capacity_limit {
            let bytes = std::mem::take(&mut self.slots[slot].bytes);
            self.capacity -= bytes.capacity();
        }
    }

    fn sequence(&mut self) -> u64 {
        self.next_sequence += 1;
        self.next_sequence
    }

    /// Keeps the top entry current, and stale ones fewer than current ones.
    fn drop_stale_entries(&mut self) {
        let slots = &self.slots;
        let current = |&Reverse((_, sequence, slot)): &Entry| slots[slot].flying == Some(sequence);
        while self.order.peek().is_some_and(|entry| !current(entry)) {
            self.order.pop();
        }
        if self.order.len() > 2 * self.flying + 16 {
            self.order.retain(current);
        }
    }

    /// Slots, bytes that their buffers can hold, and entries of the order.
    #[cfg(test)]
    pub(super) fn memory(&self) -> (usize, usize, usize) {
        assert_eq!(self.capacity, self.slots.iter().map(|slot| slot.bytes.capacity()).sum::<usize>());
        (self.slots.len(), self.capacity, self.order.len())
    }
}
