//! The frames' bytes, packed in pieces, so that the page unpacks only those it shows something of.
//!
//! Pieces are packed beside the reading, each in a thread of its own: packing is a good part of the work.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crate::columns::packed;

/// Bytes of a piece, before it is packed; one frame more may be in it.
const PIECE: usize = 1 << 20;
/// Pieces that are packed at a time, however many processors there are.
const MOST_AT_ONCE: usize = 8;

/// All frames, one behind the other.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// Packed pieces, and how many frames are in each.
    pub pieces: Vec<(Vec<u8>, u64)>,
    /// Those that are being packed, in their order.
    packing: VecDeque<(JoinHandle<Vec<u8>>, u64)>,
    open: Vec<u8>,
    in_open: u64,
    /// Bytes of all frames.
    pub bytes: u64,
}

impl Frames {
    pub(crate) fn push(&mut self, frame: &[u8]) {
        self.bytes += frame.len() as u64;
        self.open.extend_from_slice(frame);
        self.in_open += 1;
        if self.open.len() >= PIECE {
            self.pack();
        }
    }

    /// Packs what is left, and waits for the rest.
    pub(crate) fn close(&mut self) {
        while self.take_oldest() {}
        if self.in_open > 0 {
            self.pieces.push((packed(&self.open), self.in_open));
            self.open = Vec::new();
            self.in_open = 0;
        }
    }

    /// Has a piece packed, as soon as there is a processor for it.
    fn pack(&mut self) {
        let most = thread::available_parallelism().map_or(1, NonZero::get).min(MOST_AT_ONCE);
        while self.packing.len() >= most {
            self.take_oldest();
        }
        let piece = Arc::new(std::mem::replace(&mut self.open, Vec::with_capacity(PIECE + PIECE / 8)));
        let frames = std::mem::take(&mut self.in_open);
        let theirs = Arc::clone(&piece);
        match thread::Builder::new().spawn(move || packed(&theirs)) {
            Ok(packing) => self.packing.push_back((packing, frames)),
            // The system has no more threads for us.
            Err(_) => {
                while self.take_oldest() {}
                self.pieces.push((packed(&piece), frames));
            }
        }
    }

    /// Waits for the piece that has been packed longest; says whether there was one.
    fn take_oldest(&mut self) -> bool {
        let Some((packing, frames)) = self.packing.pop_front() else { return false };
        let piece = packing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        self.pieces.push((piece, frames));
        true
    }
}
