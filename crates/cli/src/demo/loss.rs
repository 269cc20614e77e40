//! The rule that loses packets: RoCE packets only, in both directions.
//!
//! ARP is spared, since a lost ARP packet teaches nothing about RoCE. (`rule::only` would do the same, but would repeat
//! in each reason that it is about RoCE.)

use std::fmt;

use rdmalab_sim::rule::{self, Chance, Frame};
use rdmalab_sim::{Probability, Random, Rule, Verdict};
use rdmalab_wire::is_roce_v2;

/// Loses RoCE packets by chance.
pub struct LoseRoce(Chance);

impl LoseRoce {
    /// With this probability.
    pub fn new(probability: Probability) -> Self {
        Self(rule::lose(probability))
    }
}

impl Rule for LoseRoce {
    fn judge(&mut self, frame: &Frame<'_>, random: &mut Random) -> Verdict {
        if is_roce_v2(frame.bytes) { self.0.judge(frame, random) } else { Verdict::Deliver }
    }
}

impl fmt::Display for LoseRoce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
