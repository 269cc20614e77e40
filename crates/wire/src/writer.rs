//! A place in a buffer where headers are put one behind the other. It counts on when the buffer is full, so
//! that the error can say how much was needed.

use crate::error::EncodeError;

pub(crate) struct Writer<'a> {
    out: &'a mut [u8],
    length: usize,
}

impl<'a> Writer<'a> {
    #[inline]
    pub(crate) const fn new(out: &'a mut [u8]) -> Self {
        Writer { out, length: 0 }
    }

    #[inline]
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        let end = self.length.saturating_add(bytes.len());
        if let Some(place) = self.out.get_mut(self.length..end) {
            place.copy_from_slice(bytes);
        }
        self.length = end;
    }

    /// How many bytes were put.
    #[inline]
    pub(crate) const fn finish(self) -> Result<usize, EncodeError> {
        if self.length <= self.out.len() {
            Ok(self.length)
        } else {
            Err(EncodeError::BufferTooSmall { need: self.length, have: self.out.len() })
        }
    }
}
