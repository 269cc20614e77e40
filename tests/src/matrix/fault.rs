//! What happens to RoCE packets on their way, in both directions: by netem in the guest, by our own rules on our side.

use std::fmt;

use crate::Way;

/// What happens to RoCE packets. TCP and address resolution are spared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// One in a hundred is lost.
    Loss1,
    /// One in ten is lost.
    Loss10,
    /// One in ten comes twice.
    Duplication,
    /// Some come behind later ones.
    Reordering,
    /// All come later.
    Delay,
}

impl Fault {
    /// All that is one.
    pub const ALL: [Self; 5] = [Self::Loss1, Self::Loss10, Self::Duplication, Self::Reordering, Self::Delay];

    /// What netem is told; nothing if there is to be none.
    pub(super) fn netem(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Loss1 => Some("loss 1%"),
            Self::Loss10 => Some("loss 10%"),
            Self::Duplication => Some("duplicate 10%"),
            // Of those that are late by a millisecond some are not, and overtake.
            Self::Reordering => Some("delay 1ms reorder 5%"),
            Self::Delay => Some("delay 3ms"),
        }
    }

    /// What our programs are told, and the word with which they say how often it happened.
    pub(super) fn ours(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::None => None,
            Self::Loss1 => Some(("--drop-rate 0.01", "dropped")),
            Self::Loss10 => Some(("--drop-rate 0.1", "dropped")),
            Self::Duplication => Some(("--duplicate-rate 0.1", "duplicated")),
            Self::Reordering => Some(("--reorder-rate 0.05", "reordered")),
            Self::Delay => Some(("--delay 3", "delayed")),
        }
    }

    /// Whether it is so frequent that it strikes the guest's packets in every game.
    pub(super) fn always_strikes(self) -> bool {
        !matches!(self, Self::None | Self::Loss1)
    }

    /// Whether it has struck at least one of so many packets that we sent: it misses all of them once in 20,000 times at most.
    pub(super) fn certainly_strikes(self, sent: u64) -> bool {
        let of_a_hundred = match self {
            Self::None => 0,
            Self::Delay => return sent > 0,
            Self::Loss1 => 1,
            Self::Reordering => 5,
            Self::Loss10 | Self::Duplication => 10,
        };
        sent.saturating_mul(of_a_hundred) >= 1000
    }

    /// What it means for packets on their way.
    pub(super) fn way(self) -> Way {
        match self {
            Self::None => Way::Clean,
            Self::Duplication | Self::Reordering | Self::Delay => Way::Disturbed,
            Self::Loss1 | Self::Loss10 => Way::Lossy,
        }
    }

    /// Whether it takes packets away.
    pub(super) fn loses(self) -> bool {
        matches!(self, Self::Loss1 | Self::Loss10)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "",
            Self::Loss1 => "1 % loss",
            Self::Loss10 => "10 % loss",
            Self::Duplication => "duplication",
            Self::Reordering => "reordering",
            Self::Delay => "delay",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_packets_may_all_be_spared() {
        assert!(!Fault::Reordering.certainly_strikes(199) && Fault::Reordering.certainly_strikes(200));
        assert!(Fault::Delay.certainly_strikes(1) && !Fault::Delay.certainly_strikes(0));
        assert!(!Fault::None.certainly_strikes(u64::MAX));
        for (fault, share) in [(Fault::Loss1, 0.01_f64), (Fault::Loss10, 0.1), (Fault::Reordering, 0.05)] {
            let enough = (1..).find(|sent| fault.certainly_strikes(*sent)).unwrap();
            assert!((1.0 - share).powf(enough as f64) < 1.0 / 20_000.0, "{fault:?}");
        }
    }
}
