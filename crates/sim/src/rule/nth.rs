//! Rules that pick frames by number: "lose the third", for tests that go through them all.

use std::fmt;
use std::ops::Range;

use super::{Frame, Rule, Verdict};
use crate::{End, Random};

/// One verdict on some consecutive frames of one end, the first frame being number 0.
#[derive(Debug, Clone)]
pub struct Nth {
    from: End,
    indices: Range<u64>,
    verdict: Verdict,
}

/// `verdict` on the frame number `index` from `from`. Inside [`super::only`] the numbers count what that
/// lets through.
#[must_use]
pub fn nth(from: End, index: u64, verdict: Verdict) -> Nth {
    range(from, index..index.saturating_add(1), verdict)
}

/// `verdict` on all frames from `from` whose numbers are in `indices`.
#[must_use]
pub fn range(from: End, indices: Range<u64>, verdict: Verdict) -> Nth {
    Nth { from, indices, verdict }
}

impl Rule for Nth {
    fn judge(&mut self, frame: &Frame<'_>, _: &mut Random) -> Verdict {
        if frame.from == self.from && self.indices.contains(&frame.index) {
            self.verdict
        } else {
            Verdict::Deliver
        }
    }
}

impl fmt::Display for Nth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { start, end } = self.indices;
        match end.saturating_sub(start) {
            1 => write!(formatter, "frame {start} from {}", self.from),
            _ => write!(formatter, "frames {start} to {} from {}", end.saturating_sub(1), self.from),
        }
    }
}
