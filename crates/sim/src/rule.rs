//! Rules: each looks at one frame and says what becomes of it.
//!
//! A rule only decides. What is decided is carried out and counted by whoever asked: [`crate::RuleSet`]
//! keeps the counts and the random numbers, [`crate::Link`] carries out. A rule's `Display` is the reason
//! that reports give: "random loss of 5 %".

mod chance;
mod filter;
mod nth;

use std::fmt;

pub use chance::{Chance, corrupt, corrupt_behind, delay, duplicate, lose, mark, mark_above, reorder};
pub use filter::{Custom, From, Only, custom, from, only};
pub use nth::{Nth, nth, range};

use crate::{End, Random, ecn};

/// A frame as it passes by.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// The frame, from the destination MAC address on.
    pub bytes: &'a [u8],
    /// Who sent it.
    pub from: End,
    /// How many frames that end sent before this one; inside [`only`], how many of those it lets through.
    pub index: u64,
    /// When, in nanoseconds.
    pub now: u64,
    /// Bytes waiting in front of it to be sent; 0 where there is no queue.
    pub queued: usize,
}

/// What becomes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verdict {
    /// It passes as it is.
    #[default]
    Deliver,
    /// It is lost.
    Drop,
    /// It arrives twice, one right behind the other.
    Duplicate,
    /// It arrives this many nanoseconds later than it would; frames behind it may overtake it.
    Delay(u64),
    /// It arrives right behind the next frame of its direction that is itself not held back; when none
    /// comes, this many nanoseconds late. Frames held back keep their order.
    BehindNext {
        /// Nanoseconds to wait for the next frame.
        at_most: u64,
    },
    /// One bit arrives flipped: bit `bit % 8` (0 the least significant) of byte `bit / 8`, counted on from
    /// the front again where the frame is shorter. An empty frame passes as it is.
    Corrupt {
        /// Which bit.
        bit: u64,
    },
    /// Congestion Experienced is set in its IP header. A frame of a sender that is not ECN-capable, or that
    /// is marked already, passes as it is.
    Mark,
}

impl Verdict {
    /// Changes the bytes as the verdict wants them changed: flips the bit, sets the mark, or nothing. Whether
    /// they changed.
    pub fn apply(self, bytes: &mut [u8]) -> bool {
        match self {
            Self::Corrupt { bit } => {
                let byte =
                    (bit / 8).checked_rem(bytes.len() as u64).and_then(|at| bytes.get_mut(at as usize));
                byte.map(|byte| *byte ^= 1 << (bit % 8)).is_some()
            }
            Self::Mark => ecn::mark(bytes),
            Self::Deliver | Self::Drop | Self::Duplicate | Self::Delay(_) | Self::BehindNext { .. } => false,
        }
    }

    /// Whether it makes any difference to this frame.
    pub(crate) fn matters_to(self, bytes: &[u8]) -> bool {
        match self {
            Self::Deliver => false,
            Self::Corrupt { .. } => !bytes.is_empty(),
            Self::Mark => ecn::markable(bytes),
            Self::Drop | Self::Duplicate | Self::Delay(_) | Self::BehindNext { .. } => true,
        }
    }
}

impl fmt::Display for Verdict {
    /// What happened to the frame, as a participle.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deliver => formatter.write_str("delivered"),
            Self::Drop => formatter.write_str("lost"),
            Self::Duplicate => formatter.write_str("duplicated"),
            Self::Delay(nanoseconds) => write!(formatter, "delayed by {nanoseconds} ns"),
            Self::BehindNext { .. } => formatter.write_str("held back behind the next frame"),
            Self::Corrupt { bit } => write!(formatter, "corrupted in bit {} of byte {}", bit % 8, bit / 8),
            Self::Mark => formatter.write_str("marked: congestion experienced"),
        }
    }
}

/// Decides what becomes of each frame. Its `Display` names it as a reason.
pub trait Rule: fmt::Display {
    /// The fate of `frame`. Called once for each frame in the order of sending, also for frames that another
    /// rule of the set has disposed of already: a rule's numbers do not depend on its neighbours.
    fn judge(&mut self, frame: &Frame<'_>, random: &mut Random) -> Verdict;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrupting_flips_one_bit_and_wraps_around_short_frames() {
        let mut bytes = [0; 3];
        assert!(Verdict::Corrupt { bit: 10 }.apply(&mut bytes));
        assert_eq!(bytes, [0, 4, 0]);
        assert!(Verdict::Corrupt { bit: 24 + 10 }.apply(&mut bytes));
        assert_eq!(bytes, [0, 0, 0]);
        assert!(Verdict::Corrupt { bit: u64::MAX }.apply(&mut bytes));
        assert!(!Verdict::Corrupt { bit: 1 }.apply(&mut []));
    }
}
