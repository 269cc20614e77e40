//! Where the applications of a scenario put their messages and receives.
//!
//! Each side's memory has three parts. Peers reach the first; the second is where requests take data from and put it;
//! the third holds receives. An application must not touch what a request under way uses, and neither does this one.

use crate::oracle::Piece;

/// Bytes of each side's memory.
pub const MEMORY: usize = 256 * 1024;
/// Where the parts of requests and of receives begin.
pub const REQUESTS: usize = 64 * 1024;
const RECEIVES: usize = 160 * 1024;
/// Bytes that stay free behind each element.
const GAP: usize = 3;

/// What a buffer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Request,
    Receive,
}

/// Where the next buffer of each side and use goes.
#[derive(Debug)]
pub struct Rooms {
    next: [[usize; 2]; 2],
}

impl Default for Rooms {
    fn default() -> Self {
        Self { next: [[REQUESTS, RECEIVES]; 2] }
    }
}

impl Rooms {
    /// A buffer in pieces, with free bytes between them and the last piece first, that nothing under way uses.
    pub fn take(
        &mut self,
        side: usize,
        what_for: Use,
        length: usize,
        cuts: &[usize],
        is_in_use: impl Fn(&Piece) -> bool,
    ) -> Option<Vec<Piece>> {
        let (first, end) = match what_for {
            Use::Request => (REQUESTS, RECEIVES),
            Use::Receive => (RECEIVES, MEMORY),
        };
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (length + 1)).chain([0, length]).collect();
        cuts.sort_unstable();
        let size = length + GAP * cuts.len();
        let next = &mut self.next[side][what_for as usize];
        let start = if *next + size > end { first } else { *next };
        if is_in_use(&(start..start + size)) {
            return None;
        }
        *next = start + size;
        let mut top = start + size;
        let pieces = cuts.windows(2).map(|cut| {
            top -= cut[1] - cut[0] + GAP;
            top..top + cut[1] - cut[0]
        });
        Some(pieces.collect())
    }
}
