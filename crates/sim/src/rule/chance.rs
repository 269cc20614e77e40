//! Rules that act at random, or (for [`mark_above`]) where the queue is long.

use std::fmt;

use super::{Frame, Rule, Verdict};
use crate::random::scaled;
use crate::{Probability, Random};

/// One effect, on each frame with the same probability, independently.
#[derive(Debug, Clone)]
pub struct Chance {
    probability: Probability,
    effect: Effect,
}

#[derive(Debug, Clone)]
enum Effect {
    Lose,
    Duplicate,
    Reorder { at_most: u64 },
    Delay { least: u64, most: u64 },
    Corrupt { behind: usize },
    Mark { above: usize },
}

/// Loses frames.
#[must_use]
pub fn lose(probability: Probability) -> Chance {
    Chance { probability, effect: Effect::Lose }
}

/// Delivers frames twice.
#[must_use]
pub fn duplicate(probability: Probability) -> Chance {
    Chance { probability, effect: Effect::Duplicate }
}

/// Holds frames back behind the next one, or for `at_most` nanoseconds when none comes.
#[must_use]
pub fn reorder(probability: Probability, at_most: u64) -> Chance {
    Chance { probability, effect: Effect::Reorder { at_most } }
}

/// Delays frames by `least` to `most` nanoseconds, evenly spread; others may overtake them.
#[must_use]
pub fn delay(probability: Probability, least: u64, most: u64) -> Chance {
    Chance { probability, effect: Effect::Delay { least, most } }
}

/// Flips one bit anywhere in the frame.
#[must_use]
pub fn corrupt(probability: Probability) -> Chance {
    corrupt_behind(probability, 0)
}

/// Flips one bit somewhere behind the first `bytes` bytes: 14 spare the Ethernet header, so that the frame
/// still reaches the host it is for. Shorter frames pass as they are.
#[must_use]
pub fn corrupt_behind(probability: Probability, bytes: usize) -> Chance {
    Chance { probability, effect: Effect::Corrupt { behind: bytes } }
}

/// Marks frames of ECN-capable senders as having experienced congestion.
#[must_use]
pub fn mark(probability: Probability) -> Chance {
    mark_above(probability, 0)
}

/// As [`mark`], but only frames that find at least `bytes` bytes in front of them in the link's queue.
#[must_use]
pub fn mark_above(probability: Probability, bytes: usize) -> Chance {
    Chance { probability, effect: Effect::Mark { above: bytes } }
}

impl Rule for Chance {
    fn judge(&mut self, frame: &Frame<'_>, random: &mut Random) -> Verdict {
        // Two numbers for each frame, used or not: whether it happens, and how. So a change in what one
        // frame holds does not shift the fates of those behind it.
        let happens = random.happens(self.probability);
        let choice = random.number();
        if !happens {
            return Verdict::Deliver;
        }
        match self.effect {
            Effect::Lose => Verdict::Drop,
            Effect::Duplicate => Verdict::Duplicate,
            Effect::Reorder { at_most } => Verdict::BehindNext { at_most },
            Effect::Delay { least, most } => {
                let spread = most.saturating_sub(least).saturating_add(1);
                Verdict::Delay(least.saturating_add(scaled(choice, spread)))
            }
            Effect::Corrupt { behind } => match frame.bytes.len().checked_sub(behind) {
                None | Some(0) => Verdict::Deliver,
                Some(bytes) => Verdict::Corrupt { bit: 8 * behind as u64 + scaled(choice, 8 * bytes as u64) },
            },
            Effect::Mark { above } if frame.queued >= above => Verdict::Mark,
            Effect::Mark { .. } => Verdict::Deliver,
        }
    }
}

impl fmt::Display for Chance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let probability = self.probability;
        match self.effect {
            Effect::Lose => write!(formatter, "random loss of {probability}"),
            Effect::Duplicate => write!(formatter, "random duplication of {probability}"),
            Effect::Reorder { .. } => write!(formatter, "random reordering of {probability}"),
            Effect::Delay { least, most } => {
                write!(formatter, "random delay of {probability} by {least} to {most} ns")
            }
            Effect::Corrupt { .. } => write!(formatter, "random corruption of {probability}"),
            Effect::Mark { above: 0 } => write!(formatter, "random congestion of {probability}"),
            Effect::Mark { above } => {
                write!(formatter, "congestion of {probability} above {above} bytes in the queue")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{End, Seed};

    fn verdicts(mut rule: Chance, length: usize, queued: usize, count: u64) -> Vec<Verdict> {
        let mut random = Seed::new(5).random();
        let bytes = vec![0; length];
        let frame = |index| Frame { bytes: &bytes, from: End::A, index, now: 0, queued };
        (0..count).map(|index| rule.judge(&frame(index), &mut random)).collect()
    }

    #[test]
    fn random_delays_stay_between_their_limits_and_reach_both() {
        let mut seen = [0; 3];
        for verdict in verdicts(delay(Probability::ONE, 10, 12), 64, 0, 1000) {
            let Verdict::Delay(by) = verdict else { panic!("{verdict:?}") };
            seen[by as usize - 10] += 1;
        }
        assert!(seen.iter().all(|&count| count > 250), "{seen:?}");
        let whole_range = verdicts(delay(Probability::ONE, 0, u64::MAX), 64, 0, 10);
        assert!(whole_range.iter().all(|verdict| matches!(verdict, Verdict::Delay(_))));
        assert_eq!(verdicts(delay(Probability::ONE, 9, 3), 64, 0, 1), [Verdict::Delay(9)]);
    }

    #[test]
    fn random_corruption_spares_the_bytes_it_is_told_to() {
        for verdict in verdicts(corrupt_behind(Probability::ONE, 14), 16, 0, 1000) {
            let Verdict::Corrupt { bit } = verdict else { panic!("{verdict:?}") };
            assert!((14 * 8..16 * 8).contains(&bit));
        }
        assert_eq!(verdicts(corrupt_behind(Probability::ONE, 14), 14, 0, 1), [Verdict::Deliver]);
        assert_eq!(verdicts(corrupt(Probability::ONE), 0, 0, 1), [Verdict::Deliver]);
    }

    #[test]
    fn marking_by_queue_length_begins_at_the_threshold() {
        assert_eq!(verdicts(mark_above(Probability::ONE, 1000), 64, 999, 1), [Verdict::Deliver]);
        assert_eq!(verdicts(mark_above(Probability::ONE, 1000), 64, 1000, 1), [Verdict::Mark]);
    }

    #[test]
    fn what_one_frame_holds_does_not_shift_the_fates_behind_it() {
        let half = Probability::new(0.5).unwrap();
        let happened = |length| -> Vec<bool> {
            let all = verdicts(corrupt_behind(half, 14), length, 0, 100);
            all.iter().map(|verdict| *verdict != Verdict::Deliver).collect()
        };
        assert_eq!(happened(15), happened(9000));
    }
}
