//! Networks that misbehave on purpose and repeatably: virtual time, links, and rules that lose, duplicate,
//! delay, reorder, damage and mark frames.
//!
//! Frames are bytes here. The one thing this crate knows about their content is where an IP header keeps
//! its ECN bits, because a congested switch sets them ([`ecn`]).
//!
//! - A [`Rule`] judges one frame: what becomes of it. [`rule`] has the ready-made ones.
//! - A [`RuleSet`] is a list of rules with their random numbers and their counts. It needs no link and no
//!   simulation: it judges live traffic at a TAP device just as well.
//! - A [`Link`] is a cable between two [`End`]s with latency, bandwidth, a queue and a rule set. Its time is
//!   handed in: a [`Clock`] in a simulation, the machine's clock in front of a live device.
//!
//! Deterministic (rule): everything random comes from one [`Seed`], and the same seed with the same frames
//! at the same times gives the same fates, byte for byte, on every machine. Nothing here reads a clock,
//! starts a thread or keeps a hash map. Times are u64 nanoseconds.
//!
//! ```
//! use rdmalab_sim::{Clock, End, Link, LinkConfig, Probability, RuleSet, Seed, Verdict, rule};
//!
//! let rules = RuleSet::new(Seed::new(7))
//!     .with(rule::nth(End::A, 1, Verdict::Drop))
//!     .with(rule::only("long frames", |frame| frame.bytes.len() > 1000, rule::lose(Probability::ONE)));
//! let mut link = Link::new(LinkConfig { latency: 5_000, ..LinkConfig::default() }, rules);
//! let mut clock = Clock::new();
//!
//! link.send(clock.now(), End::A, b"first");
//! let report = link.send(clock.now(), End::A, b"second");
//! assert_eq!(link.rules().explain(&report.judgement).to_string(), "lost (frame 1 from A)");
//!
//! clock.advance_to(link.next_arrival().unwrap());
//! let delivery = link.receive(clock.now()).unwrap();
//! assert_eq!((delivery.to, delivery.frame, delivery.arrived_at), (End::B, &b"first"[..], 5_000));
//! assert!(link.receive(clock.now()).is_none());
//! ```

#![forbid(unsafe_code)]

mod clock;
pub mod ecn;
mod link;
mod random;
pub mod rule;
mod rules;

pub use clock::Clock;
pub use link::{Delivery, Link, LinkConfig, LinkCounts, Report};
pub use random::{Probability, Random, Seed};
pub use rule::{Frame, Rule, Verdict};
pub use rules::{Counts, Explanation, Judgement, RuleSet};

/// One of the two ends of a link. In front of a live device, [`End::A`] is by custom the emulated side and
/// [`End::B`] the kernel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// The one end.
    A,
    /// The other end.
    B,
}

impl End {
    /// Where a frame that this end sends comes out.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

impl std::fmt::Display for End {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::A => "A",
            Self::B => "B",
        })
    }
}

/// One value for each direction, named by the end that sends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PerEnd<T> {
    /// What [`End::A`] sends.
    pub a: T,
    /// What [`End::B`] sends.
    pub b: T,
}

impl<T> std::ops::Index<End> for PerEnd<T> {
    type Output = T;

    fn index(&self, from: End) -> &T {
        match from {
            End::A => &self.a,
            End::B => &self.b,
        }
    }
}

impl<T> std::ops::IndexMut<End> for PerEnd<T> {
    fn index_mut(&mut self, from: End) -> &mut T {
        match from {
            End::A => &mut self.a,
            End::B => &mut self.b,
        }
    }
}
