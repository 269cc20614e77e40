//! A queue of send requests.

use alloc::boxed::Box;
use alloc::vec;

use super::ring::{Ring, total};
use crate::work::{Operation, PostError, SendFlags, SendRequest, Sge, Target};

/// A queued send request without its elements. What connections need of a SEND, WRITE or READ comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SendWork {
    /// Bytes of the message: what the elements hold in all, or the inline bytes.
    pub length: u32,
    /// How.
    pub flags: SendFlags,
    /// Whether the message is in the queue itself, in place of elements.
    pub inline: bool,
    /// The application's number for it.
    pub id: u64,
    /// What to do.
    pub operation: Operation,
    /// Whom it is for.
    pub target: Target,
}

/// Send requests in the order in which they were posted.
#[derive(Debug)]
#[repr(C)]
pub struct SendQueue {
    ring: Ring<SendWork>,
    /// `inline_limit` bytes for each slot of the ring.
    inline: Box<[u8]>,
    inline_limit: u32,
}

impl SendQueue {
    /// Room for `capacity` requests of at most `elements` elements, or `inline` bytes, each.
    pub fn new(capacity: u32, elements: u32, inline: u32) -> Self {
        Self {
            ring: Ring::new(capacity, elements),
            inline: vec![0; capacity as usize * inline as usize].into(),
            inline_limit: inline,
        }
    }

    /// Takes a request, of at most `limit` bytes.
    ///
    /// What depends on the kind of the queue pair is not checked here, but by [`SendRequest::check`].
    pub fn push(&mut self, request: &SendRequest<'_>, limit: u32) -> Result<(), PostError> {
        let SendRequest { id, operation, target, elements, inline, flags } = *request;
        self.ring.check(elements)?;
        if let Some(bytes) = inline {
            self.check_inline(request, bytes)?;
        }
        if operation.is_without_elements() && !elements.is_empty() {
            return Err(PostError::HasElements { operation: operation.name() });
        }
        let length = inline.map_or(total(elements), |bytes| bytes.len() as u64);
        if length > u64::from(limit) {
            return Err(PostError::TooLong { length, limit: u64::from(limit) });
        }
        if operation.is_atomic() && length != 8 {
            return Err(PostError::AtomicResultNotEightBytes);
        }
        let inline_bytes = inline.unwrap_or_default();
        let work = SendWork { id, operation, target, flags, inline: inline.is_some(), length: length as u32 };
        if let Some(slot) = self.ring.push(work, elements)
            && inline.is_some()
        {
            let start = slot * self.inline_limit as usize;
            self.inline[start..start + inline_bytes.len()].copy_from_slice(inline_bytes);
        }
        Ok(())
    }

    fn check_inline(&self, request: &SendRequest<'_>, bytes: &[u8]) -> Result<(), PostError> {
        if !request.operation.may_be_inline() {
            return Err(PostError::InlineNotAllowed { operation: request.operation.name() });
        }
        if !request.elements.is_empty() {
            return Err(PostError::InlineAndElements);
        }
        if bytes.len() > self.inline_limit as usize {
            return Err(PostError::InlineTooLong { length: bytes.len(), limit: self.inline_limit });
        }
        Ok(())
    }

    /// The request `place` behind the oldest, with its elements.
    #[inline]
    pub fn get(&self, place: usize) -> Option<(&SendWork, &[Sge])> {
        self.ring.get(place)
    }

    /// The message of the request `place` behind the oldest, if it was handed over inline.
    pub fn inline(&self, place: usize) -> Option<&[u8]> {
        let (work, _) = self.ring.get(place)?;
        let start = self.ring.index(place)? * self.inline_limit as usize;
        if work.inline { self.inline.get(start..start + work.length as usize) } else { None }
    }

    /// Takes the oldest request out.
    #[inline]
    pub fn pop(&mut self) -> Option<SendWork> {
        self.ring.pop()
    }

    /// Requests queued.
    #[inline]
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Whether nothing is queued.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ring.len() == 0
    }

    /// How many requests fit.
    pub fn capacity(&self) -> usize {
        self.ring.capacity()
    }
}
