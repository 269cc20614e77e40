//! The rule that loses packets: those of the transport only, in both directions.
//!
//! ARP is spared, since a lost ARP packet teaches nothing about RoCE or iWARP. (`rule::only` would do the same, but would
//! repeat in each reason what it is about.)

use std::fmt;

use rdmalab_sim::rule::{self, Chance, Frame};
use rdmalab_sim::{Probability, Random, Rule, Verdict};
use rdmalab_wire::is_roce_v2;

use super::transport::Transport;
use crate::link::is_tcp;

/// Loses packets of a transport by chance.
pub struct Lose {
    chance: Chance,
    concerns: fn(&[u8]) -> bool,
}

impl Lose {
    /// With this probability.
    pub fn new(transport: Transport, probability: Probability) -> Self {
        let concerns = if transport == Transport::Iwarp { is_tcp } else { is_roce_v2 };
        Self { chance: rule::lose(probability), concerns }
    }
}

impl Rule for Lose {
    fn judge(&mut self, frame: &Frame<'_>, random: &mut Random) -> Verdict {
        if (self.concerns)(frame.bytes) { self.chance.judge(frame, random) } else { Verdict::Deliver }
    }
}

impl fmt::Display for Lose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chance.fmt(f)
    }
}
