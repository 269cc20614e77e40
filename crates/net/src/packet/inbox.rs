//! Frames on their way in: taken from the kernel many at a time, handed up one at a time and whole.
//!
//! A frame's VLAN tag, which the kernel keeps beside it, is put back into the bytes; a checksum that its sender left
//! open is written; superframes are cut. What cannot be made whole is dropped and counted, never handed up.
//!
//! Bounds: [`BATCH`] buffers, allocated at the start, each for one superframe.

use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;

use super::offload::{Cut, Offload, put, write_checksum};
use super::system::{self, Arrival, BATCH, OFFLOAD_HEADER};
use crate::FRAME_CAPACITY;

/// Both MAC addresses, which stand in front of the tag.
const ADDRESSES: usize = 12;
const TAG: usize = 4;

#[derive(Debug)]
pub(super) struct Inbox {
    buffers: Box<[Box<[u8]>; BATCH]>,
    arrivals: [Arrival; BATCH],
    /// Buffers that were filled, and those of them that are done with.
    filled: usize,
    done: usize,
    /// The buffer before `done`, if there are frames left in it: where its superframe is, and what is cut from it.
    cut: Option<(usize, Cut)>,
    /// Frames that could not be made whole.
    pub(super) unusable: u64,
}

impl Inbox {
    pub(super) fn new() -> Self {
        let buffer = || vec![0; OFFLOAD_HEADER + FRAME_CAPACITY].into_boxed_slice();
        Self {
            buffers: Box::new(std::array::from_fn(|_| buffer())),
            arrivals: [Arrival::default(); BATCH],
            filled: 0,
            done: 0,
            cut: None,
            unusable: 0,
        }
    }

    /// Whether frames wait here.
    pub(super) fn is_empty(&self) -> bool {
        self.cut.is_none() && self.done == self.filled
    }

    /// Takes more frames from the kernel; only if none wait here.
    pub(super) fn fill(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        (self.filled, self.done) = (0, 0);
        self.filled = system::receive(socket, &mut self.buffers, &mut self.arrivals)?;
        Ok(())
    }

    /// Where the next frame is: in which buffer, and where there.
    pub(super) fn next(&mut self) -> Option<(usize, Range<usize>)> {
        loop {
            if let Some((start, cut)) = &mut self.cut {
                let buffer = &mut self.buffers[self.done - 1][*start..];
                if let Some(place) = cut.next(buffer) {
                    return Some((self.done - 1, *start + place.start..*start + place.end));
                }
                self.cut = None;
            }
            if self.done == self.filled {
                return None;
            }
            let index = self.done;
            self.done += 1;
            match prepare(&mut self.buffers[index], self.arrivals[index]) {
                Some(Ok(place)) => return Some((index, place)),
                Some(Err(superframe)) => self.cut = Some(superframe),
                None => self.unusable += 1,
            }
        }
    }

    /// A frame that [`next`](Self::next) has told of.
    pub(super) fn frame(&self, (index, place): (usize, Range<usize>)) -> &[u8] {
        &self.buffers[index][place]
    }
}

/// What becomes of a buffer: where its one frame is, or where its superframe begins and how that is cut.
type Prepared = Result<Range<usize>, (usize, Cut)>;

fn prepare(buffer: &mut [u8], arrival: Arrival) -> Option<Prepared> {
    let offload = Offload::decode(buffer.first_chunk()?);
    if arrival.cut_off || arrival.length < OFFLOAD_HEADER + ADDRESSES {
        return None;
    }
    let (start, offload) = match arrival.vlan {
        Some(tag) => (put_back(buffer, tag)?, offload.shifted(TAG)),
        None => (OFFLOAD_HEADER, offload),
    };
    let frame = buffer.get_mut(start..arrival.length)?;
    if offload.is_superframe() {
        return Some(Err((start, Cut::new(frame, &offload)?)));
    }
    if let Some(checksum) = offload.checksum {
        write_checksum(frame, checksum)?;
    }
    Some(Ok(start..arrival.length))
}

/// Puts a tag behind the addresses, which move to the front; where the frame begins now.
fn put_back(buffer: &mut [u8], (protocol, tag): (u16, u16)) -> Option<usize> {
    let start = OFFLOAD_HEADER - TAG;
    buffer.copy_within(OFFLOAD_HEADER..OFFLOAD_HEADER + ADDRESSES, start);
    put(buffer, start + ADDRESSES, protocol)?;
    put(buffer, start + ADDRESSES + 2, tag)?;
    Some(start)
}

#[cfg(test)]
mod tests;
