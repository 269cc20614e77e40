//! The frames' bytes, packed in pieces, so that the page unpacks only those it shows something of.

use crate::columns::packed;

/// Bytes of a piece, before it is packed; one frame more may be in it.
const PIECE: usize = 1 << 20;

/// All frames, one behind the other.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// Packed pieces, and how many frames are in each.
    pub pieces: Vec<(Vec<u8>, u64)>,
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
            self.close();
        }
    }

    /// Packs what is left.
    pub(crate) fn close(&mut self) {
        if self.in_open > 0 {
            self.pieces.push((packed(&self.open), self.in_open));
            self.open.clear();
            self.in_open = 0;
        }
    }
}
