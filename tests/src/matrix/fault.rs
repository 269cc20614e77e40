//! What happens to RoCE packets on their way, in both directions: by netem in the guest, by our own rules on our side.

use std::fmt;

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

    /// Whether it is so frequent that it strikes in every game, at both ends.
    pub(super) fn always_strikes(self) -> bool {
        !matches!(self, Self::None | Self::Loss1)
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
