//! Bytes of a stream on their way to TCP.
//!
//! Invariants: bytes come out in the order in which they went in. A stream without bytes has no buffer, so that idle
//! connections cost none; one whose peer does not read keeps exactly one.

/// Bytes of a buffer: two of the longest FPDUs, with their markers.
pub(super) const CAPACITY: usize = 2 * (65_535 + 1024);
/// Buffers that are kept for use again.
const SPARE_MAX: usize = 16;

/// The buffers that no stream has.
#[derive(Default)]
pub(super) struct Buffers {
    spare: Vec<Box<[u8]>>,
}

/// The bytes of one stream that TCP has not taken.
#[derive(Default)]
pub(super) struct Output {
    buffer: Option<Box<[u8]>>,
    start: usize,
    end: usize,
}

impl Output {
    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.buffer.as_ref().map_or(&[], |buffer| &buffer[self.start..self.end])
    }

    /// Adds what `write` puts into the room behind the bytes; `write` returns how much that is.
    pub(super) fn add(&mut self, buffers: &mut Buffers, write: impl FnOnce(&mut [u8]) -> usize) {
        let buffer = self.buffer.get_or_insert_with(|| buffers.take());
        let room = &mut buffer[self.end..];
        let most = room.len();
        self.end += write(room).min(most);
        if self.is_empty() {
            self.release(buffers);
        }
    }

    /// Adds bytes of a start-up frame, which always fit: nothing else comes before them.
    pub(super) fn push(&mut self, buffers: &mut Buffers, bytes: &[u8]) {
        self.add(buffers, |room| {
            let length = bytes.len().min(room.len());
            room[..length].copy_from_slice(&bytes[..length]);
            length
        });
    }

    /// TCP has taken so many.
    pub(super) fn take(&mut self, buffers: &mut Buffers, count: usize) {
        self.start = (self.start + count).min(self.end);
        if self.is_empty() {
            self.release(buffers);
        }
    }

    /// Drops all of it.
    pub(super) fn clear(&mut self, buffers: &mut Buffers) {
        self.start = self.end;
        self.release(buffers);
    }

    fn release(&mut self, buffers: &mut Buffers) {
        (self.start, self.end) = (0, 0);
        if let Some(buffer) = self.buffer.take()
            && buffers.spare.len() < SPARE_MAX
        {
            buffers.spare.push(buffer);
        }
    }
}

impl Buffers {
    fn take(&mut self) -> Box<[u8]> {
        self.spare.pop().unwrap_or_else(|| vec![0; CAPACITY].into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_in_order_and_an_empty_stream_holds_no_buffer() {
        let (mut buffers, mut output) = (Buffers::default(), Output::default());
        output.push(&mut buffers, b"abc");
        output.push(&mut buffers, b"def");
        output.take(&mut buffers, 2);
        assert_eq!(output.bytes(), b"cdef");
        output.take(&mut buffers, 4);
        assert!(output.is_empty() && output.buffer.is_none() && buffers.spare.len() == 1);
        output.add(&mut buffers, |_| 0);
        assert!(output.buffer.is_none() && buffers.spare.len() == 1);
        let mut many: Vec<Output> = (0..100).map(|_| Output::default()).collect();
        for output in &mut many {
            output.push(&mut buffers, b"x");
        }
        for output in &mut many {
            output.clear(&mut buffers);
        }
        assert_eq!(buffers.spare.len(), SPARE_MAX);
    }
}
