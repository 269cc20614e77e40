//! The rings that hold posted work until it completes.
//!
//! Everything is allocated when a queue is made: posting and completing never allocate. A place in a ring is named by
//! its distance from the oldest request.

use alloc::boxed::Box;
use alloc::vec;

use crate::work::{Operation, PostError, ReceiveRequest, SendFlags, SendRequest, Sge};

/// A queued send request without its elements.
#[derive(Clone, Copy, Debug)]
pub struct SendWork {
    /// The application's number for it.
    pub id: u64,
    /// What to do.
    pub operation: Operation,
    /// How.
    pub flags: SendFlags,
    /// Bytes that the elements hold in all.
    pub length: u32,
}

/// A queued receive without its elements.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveWork {
    /// The application's number for it.
    pub id: u64,
    /// Bytes that the elements hold in all.
    pub length: u32,
}

/// A ring of `T` with a fixed number of elements for each entry.
#[derive(Debug)]
struct Ring<T> {
    /// Each with the number of its elements.
    entries: Box<[Option<(T, u16)>]>,
    elements: Box<[Sge]>,
    per_entry: usize,
    head: usize,
    used: usize,
}

impl<T: Copy> Ring<T> {
    fn new(capacity: u32, per_entry: u32) -> Self {
        let (capacity, per_entry) = (capacity as usize, per_entry as usize);
        Self {
            entries: vec![None; capacity].into(),
            elements: vec![Sge::default(); capacity * per_entry].into(),
            per_entry,
            head: 0,
            used: 0,
        }
    }

    fn index(&self, place: usize) -> Option<usize> {
        if place >= self.used {
            return None;
        }
        let index = self.head + place;
        Some(if index >= self.entries.len() { index - self.entries.len() } else { index })
    }

    fn get(&self, place: usize) -> Option<(T, &[Sge])> {
        let index = self.index(place)?;
        let (entry, count) = self.entries[index]?;
        let start = index * self.per_entry;
        Some((entry, &self.elements[start..start + usize::from(count)]))
    }

    fn check(&self, elements: &[Sge]) -> Result<(), PostError> {
        if self.used == self.entries.len() {
            return Err(PostError::QueueFull { capacity: self.entries.len() as u32 });
        }
        if elements.len() > self.per_entry {
            return Err(PostError::TooManyElements { limit: self.per_entry as u32 });
        }
        Ok(())
    }

    /// Adds an entry that [`check`](Self::check) let through.
    fn push(&mut self, entry: T, elements: &[Sge]) {
        self.used += 1;
        let Some(index) = self.index(self.used - 1) else { return };
        let start = index * self.per_entry;
        self.entries[index] = Some((entry, elements.len() as u16));
        self.elements[start..start + elements.len()].copy_from_slice(elements);
    }

    fn pop(&mut self) -> Option<T> {
        let index = self.index(0)?;
        self.head = if index + 1 == self.entries.len() { 0 } else { index + 1 };
        self.used -= 1;
        self.entries[index].take().map(|(entry, _)| entry)
    }
}

fn total(elements: &[Sge]) -> u64 {
    elements.iter().map(|element| u64::from(element.length)).sum()
}

/// Send requests in the order in which they were posted.
#[derive(Debug)]
pub struct SendQueue(Ring<SendWork>);

impl SendQueue {
    /// Room for `capacity` requests of at most `elements` elements each.
    pub fn new(capacity: u32, elements: u32) -> Self {
        Self(Ring::new(capacity, elements))
    }

    /// Takes a request, of at most `limit` bytes.
    pub fn push(&mut self, request: &SendRequest<'_>, limit: u32) -> Result<(), PostError> {
        self.0.check(request.elements)?;
        let length = total(request.elements);
        if length > u64::from(limit) {
            return Err(PostError::TooLong { length, limit: u64::from(limit) });
        }
        if request.operation.is_atomic() && length != 8 {
            return Err(PostError::AtomicResultNotEightBytes);
        }
        let SendRequest { id, operation, flags, elements } = *request;
        self.0.push(SendWork { id, operation, flags, length: length as u32 }, elements);
        Ok(())
    }

    /// The request `place` behind the oldest, with its elements.
    pub fn get(&self, place: usize) -> Option<(SendWork, &[Sge])> {
        self.0.get(place)
    }

    /// Takes the oldest request out.
    pub fn pop(&mut self) -> Option<SendWork> {
        self.0.pop()
    }

    /// Requests queued.
    pub fn len(&self) -> usize {
        self.0.used
    }

    /// Whether nothing is queued.
    pub fn is_empty(&self) -> bool {
        self.0.used == 0
    }

    /// How many requests fit.
    pub fn capacity(&self) -> usize {
        self.0.entries.len()
    }
}

/// Receives in the order in which they were posted.
#[derive(Debug)]
pub struct ReceiveQueue(Ring<ReceiveWork>);

impl ReceiveQueue {
    /// Room for `capacity` receives of at most `elements` elements each.
    pub fn new(capacity: u32, elements: u32) -> Self {
        Self(Ring::new(capacity, elements))
    }

    /// Takes a receive.
    pub fn push(&mut self, request: &ReceiveRequest<'_>) -> Result<(), PostError> {
        self.0.check(request.elements)?;
        let length = total(request.elements);
        if length > u64::from(u32::MAX) {
            return Err(PostError::TooLong { length, limit: u64::from(u32::MAX) });
        }
        self.0.push(ReceiveWork { id: request.id, length: length as u32 }, request.elements);
        Ok(())
    }

    /// The oldest receive with its elements.
    pub fn front(&self) -> Option<(ReceiveWork, &[Sge])> {
        self.0.get(0)
    }

    /// Takes the oldest receive out.
    pub fn pop(&mut self) -> Option<ReceiveWork> {
        self.0.pop()
    }

    /// Receives queued.
    pub fn len(&self) -> usize {
        self.0.used
    }

    /// Whether nothing is queued.
    pub fn is_empty(&self) -> bool {
        self.0.used == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(id: u64) -> ReceiveRequest<'static> {
        ReceiveRequest { id, elements: &[] }
    }

    #[test]
    fn a_ring_gives_back_in_order_across_its_end() {
        let mut queue = ReceiveQueue::new(3, 0);
        for id in 0..10 {
            queue.push(&receive(id)).unwrap();
            queue.push(&receive(id + 100)).unwrap();
            assert_eq!(queue.front().unwrap().0.id, id);
            assert_eq!(queue.pop().unwrap().id, id);
            assert_eq!(queue.pop().unwrap().id, id + 100);
            assert!(queue.pop().is_none());
        }
    }

    #[test]
    fn a_full_queue_refuses_and_keeps_what_it_has() {
        let mut queue = ReceiveQueue::new(1, 0);
        queue.push(&receive(1)).unwrap();
        assert_eq!(queue.push(&receive(2)), Err(PostError::QueueFull { capacity: 1 }));
        assert_eq!(queue.pop().unwrap().id, 1);
    }

    #[test]
    fn a_queue_for_no_requests_refuses_all() {
        assert_eq!(ReceiveQueue::new(0, 4).push(&receive(1)), Err(PostError::QueueFull { capacity: 0 }));
    }

    #[test]
    fn elements_are_added_up_without_overflow() {
        let element = Sge { address: 0, length: u32::MAX, key: 0 };
        let mut queue = ReceiveQueue::new(4, 2);
        let refused = queue.push(&ReceiveRequest { id: 0, elements: &[element, element] });
        assert!(matches!(refused, Err(PostError::TooLong { .. })));
    }
}
