//! Memory that the application owns and we only know by address. The one place of this crate with `unsafe`.
#![allow(unsafe_code)]

use core::sync::atomic::Ordering::{Acquire, Release};
use core::sync::atomic::{AtomicU8, AtomicU64};

use super::{Atomic64, Memory, MemoryFault, apply, bounds};

const WORD: usize = size_of::<u64>();

/// A piece of the application's own memory.
///
/// It is touched through atomic loads and stores only (bytes at the ragged ends, aligned words between), never through
/// references, so that the application may write it at the same time without a data race on our side.
#[derive(Debug)]
pub struct RawMemory {
    start: *mut u8,
    length: usize,
}

// SAFETY: the pointer is only used for atomic accesses inside the range whose validity `from_raw_parts` demands.
unsafe impl Send for RawMemory {}
// SAFETY: as above; every access is atomic.
unsafe impl Sync for RawMemory {}

impl RawMemory {
    /// Describes `length` bytes from `start` on.
    ///
    /// # Safety
    /// The bytes must stay readable and writable, and must not be covered by a live Rust reference that forbids
    /// writes by others, until this value and every region registered from it are gone.
    pub unsafe fn from_raw_parts(start: *mut u8, length: usize) -> Self {
        Self { start, length }
    }

    fn byte(&self, offset: usize) -> &AtomicU8 {
        debug_assert!(offset < self.length);
        // SAFETY: callers checked that `offset` lies inside; a byte is always aligned.
        unsafe { AtomicU8::from_ptr(self.start.add(offset)) }
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset + WORD <= self.length);
        // SAFETY: callers checked that the eight bytes lie inside and that their address is a multiple of eight.
        unsafe { AtomicU64::from_ptr(self.start.add(offset).cast()) }
    }

    /// How many of `size` bytes come before the first aligned word.
    fn head(&self, offset: usize, size: usize) -> usize {
        (self.start.addr().wrapping_add(offset).wrapping_neg() % WORD).min(size)
    }
}

impl Memory for RawMemory {
    fn length(&self) -> usize {
        self.length
    }

    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), MemoryFault> {
        bounds(self.length, offset, out.len())?;
        let (head, rest) = out.split_at_mut(self.head(offset, out.len()));
        let mut at = offset;
        for byte in head {
            *byte = self.byte(at).load(Acquire);
            at += 1;
        }
        let mut words = rest.chunks_exact_mut(WORD);
        for word in words.by_ref() {
            word.copy_from_slice(&self.word(at).load(Acquire).to_ne_bytes());
            at += WORD;
        }
        for byte in words.into_remainder() {
            *byte = self.byte(at).load(Acquire);
            at += 1;
        }
        Ok(())
    }

    fn write(&self, offset: usize, data: &[u8]) -> Result<(), MemoryFault> {
        bounds(self.length, offset, data.len())?;
        let (head, rest) = data.split_at(self.head(offset, data.len()));
        let mut at = offset;
        for byte in head {
            self.byte(at).store(*byte, Release);
            at += 1;
        }
        let (words, tail) = rest.as_chunks::<WORD>();
        for word in words {
            self.word(at).store(u64::from_ne_bytes(*word), Release);
            at += WORD;
        }
        for byte in tail {
            self.byte(at).store(*byte, Release);
            at += 1;
        }
        Ok(())
    }

    fn atomic64(&self, offset: usize, operation: Atomic64) -> Result<u64, MemoryFault> {
        bounds(self.length, offset, WORD)?;
        if self.head(offset, WORD) != 0 {
            return Err(MemoryFault);
        }
        Ok(apply(self.word(offset), operation))
    }
}
