//! A queue of receives.

use super::ring::{Ring, total};
use crate::work::{PostError, ReceiveRequest, Sge};

/// A queued receive without its elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiveWork {
    /// The application's number for it.
    pub id: u64,
    /// Bytes that the elements hold in all.
    pub length: u32,
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
    #[inline]
    pub fn front(&self) -> Option<(ReceiveWork, &[Sge])> {
        self.0.get(0).map(|(work, elements)| (*work, elements))
    }

    /// Takes the oldest receive out.
    #[inline]
    pub fn pop(&mut self) -> Option<ReceiveWork> {
        self.0.pop()
    }

    /// Receives queued.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing is queued.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.len() == 0
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
