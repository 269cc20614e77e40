//! Memory that we allocate ourselves: safe, shared by threads, and as fast as plain copies of words.

use alloc::boxed::Box;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::{Atomic64, Memory, MemoryFault, apply, bounds};

const WORD: usize = size_of::<u64>();

/// Zeroed memory on the heap, aligned to eight bytes.
///
/// It is kept as atomic words, so that application and device may touch it at once without undefined behaviour. Whole
/// words move with plain loads and stores; only the ragged ends of a write need a compare-and-exchange.
#[derive(Debug)]
pub struct HeapMemory {
    words: Box<[AtomicU64]>,
    length: usize,
}

impl HeapMemory {
    /// `length` bytes of zero.
    pub fn new(length: usize) -> Self {
        Self { words: (0..length.div_ceil(WORD)).map(|_| AtomicU64::new(0)).collect(), length }
    }

    /// Replaces some bytes of one word and leaves its others as they are, whoever else is writing them.
    fn write_part(&self, word: usize, at: usize, part: &[u8]) {
        let Some(cell) = self.words.get(word) else { return };
        let merged = |old: u64| {
            let mut bytes = old.to_ne_bytes();
            bytes.get_mut(at..at + part.len())?.copy_from_slice(part);
            Some(u64::from_ne_bytes(bytes))
        };
        // Fails only if `part` does not fit into the word, which the caller rules out.
        let _ = cell.fetch_update(Release, Relaxed, merged);
    }

    fn read_part(&self, word: usize, at: usize, part: &mut [u8]) {
        let Some(cell) = self.words.get(word) else { return };
        let bytes = cell.load(Acquire).to_ne_bytes();
        if let Some(found) = bytes.get(at..at + part.len()) {
            part.copy_from_slice(found);
        }
    }
}

impl Memory for HeapMemory {
    fn length(&self) -> usize {
        self.length
    }

    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), MemoryFault> {
        let range = bounds(self.length, offset, out.len())?;
        let (mut word, at) = (range.start / WORD, range.start % WORD);
        let (head, rest) = out.split_at_mut(if at == 0 { 0 } else { (WORD - at).min(out.len()) });
        if !head.is_empty() {
            self.read_part(word, at, head);
            word += 1;
        }
        let mut chunks = rest.chunks_exact_mut(WORD);
        let whole = chunks.len();
        for (chunk, cell) in chunks.by_ref().zip(&self.words[word.min(self.words.len())..]) {
            chunk.copy_from_slice(&cell.load(Acquire).to_ne_bytes());
        }
        let tail = chunks.into_remainder();
        if !tail.is_empty() {
            self.read_part(word + whole, 0, tail);
        }
        Ok(())
    }

    fn write(&self, offset: usize, data: &[u8]) -> Result<(), MemoryFault> {
        let range = bounds(self.length, offset, data.len())?;
        let (mut word, at) = (range.start / WORD, range.start % WORD);
        let (head, rest) = data.split_at(if at == 0 { 0 } else { (WORD - at).min(data.len()) });
        if !head.is_empty() {
            self.write_part(word, at, head);
            word += 1;
        }
        let (whole, tail) = rest.as_chunks::<WORD>();
        for (chunk, cell) in whole.iter().zip(&self.words[word.min(self.words.len())..]) {
            // Release keeps the stores in order, so that a reader that sees a later word sees the earlier ones.
            cell.store(u64::from_ne_bytes(*chunk), Release);
        }
        if !tail.is_empty() {
            self.write_part(word + whole.len(), 0, tail);
        }
        Ok(())
    }

    fn atomic64(&self, offset: usize, operation: Atomic64) -> Result<u64, MemoryFault> {
        bounds(self.length, offset, WORD)?;
        if !offset.is_multiple_of(WORD) {
            return Err(MemoryFault);
        }
        self.words.get(offset / WORD).map(|cell| apply(cell, operation)).ok_or(MemoryFault)
    }
}
