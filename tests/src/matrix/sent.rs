//! What our programs say they sent while a capture ran, which the linter's counts have to fit.

use super::game::Said;
use crate::Conduct;

/// Sums over games.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    /// Request packets sent again.
    again: u64,
    /// Of all packets, those that were lost on purpose, in front of any capture.
    lost: u64,
    /// A program did not say, or did not come to its end.
    is_unknown: bool,
}

impl Sent {
    /// What both programs of a game said, of which so many are ours.
    pub(super) fn of(said: &Said, ours: usize) -> Self {
        let mut sent = Self::default();
        let mut told = 0;
        for output in [&said.server, &said.client] {
            if let Some(again) = output.again() {
                told += 1;
                sent.again += again;
            }
            sent.lost += output.number_after("dropped by rule:").unwrap_or_default();
        }
        Self { is_unknown: told != ours, ..sent }
    }

    /// There was a game of which nothing is known.
    pub(super) const UNKNOWN: Self = Self { again: 0, lost: 0, is_unknown: true };

    pub(super) fn add(&mut self, other: Self) {
        self.again += other.again;
        self.lost += other.lost;
        self.is_unknown |= other.is_unknown;
    }

    /// `Err` if the capture has more packets again than were sent again, or fewer than of those can have been left.
    pub(super) fn fits(&self, conduct: &Conduct) -> Result<(), String> {
        if self.is_unknown { Ok(()) } else { conduct.fits(self.again, self.lost) }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_count_lies_between_what_was_sent_again_and_what_can_be_left_of_it() {
        let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pcaps/rxe/read_changed.pcap");
        let conduct = Conduct::of(&capture);
        assert_eq!(conduct.sent_again_by_us(), 7);
        let fits = |again, lost| Sent { again, lost, is_unknown: false }.fits(&conduct).is_ok();
        // Two of them need not be told from those that came twice.
        assert!(fits(5, 0) && fits(9, 0) && fits(11, 2) && fits(7, 100));
        assert!(!fits(4, 0) && !fits(4, 100) && !fits(10, 0) && !fits(12, 2));
        assert_eq!(Sent::UNKNOWN.fits(&conduct), Ok(()));
    }

    #[test]
    fn a_game_of_which_one_side_does_not_tell_makes_the_sum_unknown() {
        let output = |stdout: &str| crate::Output {
            status: Some(0),
            stdout: stdout.to_owned(),
            stderr: String::new(),
        };
        let told =
            || output("RoCE packets: 9 sent, 2 of them again; 8 received\ndropped by rule: 1 (seed 7)\n");
        let both = Sent::of(&Said { server: told(), client: told() }, 2);
        assert_eq!(both, Sent { again: 4, lost: 2, is_unknown: false });
        assert!(Sent::of(&Said { server: told(), client: output("") }, 2).is_unknown);
        let mut sum = both;
        sum.add(Sent::of(&Said { server: output(""), client: told() }, 1));
        assert_eq!(sum, Sent { again: 6, lost: 3, is_unknown: false });
    }
}
