//! A window onto a stream: the next bytes of it, as many as asked for, and where they stand in the file.
//!
//! The window grows only as far as it is asked to, and bytes are moved only when the window is exhausted,
//! once for each refill. Callers bound what they ask for.

use std::io::{self, Read};

/// What the window holds at first. Large enough that refills, which move the rest, are rare.
const INITIAL: usize = 256 * 1024;

pub(crate) struct Source<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// File offset of `buffer[start]`.
    offset: u64,
}

impl<R: Read> Source<R> {
    pub(crate) fn new(input: R) -> Self {
        Source { input, buffer: vec![0; INITIAL], start: 0, end: 0, offset: 0 }
    }

    /// File offset of the first byte of the window.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes that are in the window.
    pub(crate) fn window(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Makes the window at least `length` bytes long; false if the input ends before that.
    #[inline]
    pub(crate) fn fill(&mut self, length: usize) -> io::Result<bool> {
        if self.end - self.start >= length { Ok(true) } else { self.refill(length) }
    }

    #[cold]
    fn refill(&mut self, length: usize) -> io::Result<bool> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if length > self.buffer.len() {
            self.buffer.resize(length.next_multiple_of(INITIAL), 0);
        }
        while self.end < length {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(read) => self.end = (self.end + read).min(self.buffer.len()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Passes over the first `length` bytes, all of which are in the window.
    pub(crate) fn consume(&mut self, length: usize) {
        debug_assert!(length <= self.end - self.start);
        self.start = (self.start + length).min(self.end);
        self.offset += length as u64;
    }

    /// The `length` bytes just consumed, or fewer if there are not so many.
    pub(crate) fn consumed(&self, length: usize) -> &[u8] {
        self.buffer.get(self.start.saturating_sub(length)..self.start).unwrap_or_default()
    }
}
