//! A list of rules at work: their random numbers, which of them decides, and what each has done.
//!
//! Every rule sees every frame, in the order of sending; the first verdict of the list that makes a
//! difference to the frame is its fate, those behind it are void and count for nothing. So each rule's
//! random numbers and its idea of "the n-th frame" stay the same whatever else is in the list, and a rule
//! further up takes precedence.
//!
//! Needs no link. At a TAP device: [`RuleSet::judge`] each frame, lose it on [`Verdict::Drop`],
//! [`Verdict::apply`] what changes its bytes; where frames are to be late as well, put a [`crate::Link`]
//! without latency in front of the device and drive it with the machine's clock.

use std::fmt;

use crate::rule::{Frame, Rule, Verdict};
use crate::{End, PerEnd, Random, Seed};

/// What was decided about a frame, and by whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Judgement {
    /// The frame's fate.
    pub verdict: Verdict,
    /// The place in the list of the rule that decided; `None` where all let it pass.
    pub rule: Option<usize>,
}

/// Frames that met with each fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Lost.
    pub dropped: u64,
    /// Delivered twice.
    pub duplicated: u64,
    /// Delayed by a time.
    pub delayed: u64,
    /// Held back behind the next frame.
    pub reordered: u64,
    /// Delivered with a flipped bit.
    pub corrupted: u64,
    /// Marked with Congestion Experienced.
    pub marked: u64,
}

impl Counts {
    /// Frames that did not pass as they were.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.dropped + self.duplicated + self.delayed + self.reordered + self.corrupted + self.marked
    }

    fn count(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Deliver => {}
            Verdict::Drop => self.dropped += 1,
            Verdict::Duplicate => self.duplicated += 1,
            Verdict::Delay(_) => self.delayed += 1,
            Verdict::BehindNext { .. } => self.reordered += 1,
            Verdict::Corrupt { .. } => self.corrupted += 1,
            Verdict::Mark => self.marked += 1,
        }
    }
}

impl std::ops::Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            dropped: self.dropped + other.dropped,
            duplicated: self.duplicated + other.duplicated,
            delayed: self.delayed + other.delayed,
            reordered: self.reordered + other.reordered,
            corrupted: self.corrupted + other.corrupted,
            marked: self.marked + other.marked,
        }
    }
}

struct Entry {
    rule: Box<dyn Rule + Send>,
    random: Random,
    counts: PerEnd<Counts>,
}

/// An ordered list of rules.
pub struct RuleSet {
    seed: Seed,
    entries: Vec<Entry>,
    judged: PerEnd<u64>,
}

impl RuleSet {
    /// A set without rules: everything passes. Two sets in one simulation take two branches of its seed.
    #[must_use]
    pub fn new(seed: Seed) -> Self {
        Self { seed, entries: Vec::new(), judged: PerEnd::default() }
    }

    /// The set with one more rule, at the end of the list.
    #[must_use]
    pub fn with(mut self, rule: impl Rule + Send + 'static) -> Self {
        self.add(rule);
        self
    }

    /// Adds a rule at the end of the list: its place there.
    pub fn add(&mut self, rule: impl Rule + Send + 'static) -> usize {
        let place = self.entries.len();
        let random = self.seed.branch(place as u64).random();
        self.entries.push(Entry { rule: Box::new(rule), random, counts: PerEnd::default() });
        place
    }

    /// Decides about the next frame that `from` sends. `queued` bytes wait in front of it, 0 where there is
    /// no queue.
    pub fn judge(&mut self, now: u64, from: End, bytes: &[u8], queued: usize) -> Judgement {
        let frame = Frame { bytes, from, index: self.judged[from], now, queued };
        self.judged[from] += 1;
        let mut judgement = Judgement::default();
        for (place, entry) in self.entries.iter_mut().enumerate() {
            let verdict = entry.rule.judge(&frame, &mut entry.random);
            if judgement.rule.is_none() && verdict.matters_to(bytes) {
                judgement = Judgement { verdict, rule: Some(place) };
                entry.counts[from].count(verdict);
            }
        }
        judgement
    }

    /// Frames judged so far that `from` sent: the index of its next one.
    #[must_use]
    pub fn judged(&self, from: End) -> u64 {
        self.judged[from]
    }

    /// Each rule with what it did to the frames of each end, in the order of the list.
    pub fn iter(&self) -> impl Iterator<Item = (&(dyn Rule + Send), PerEnd<Counts>)> {
        self.entries.iter().map(|entry| (&*entry.rule, entry.counts))
    }

    /// What all rules together did to the frames that `from` sent.
    #[must_use]
    pub fn counts(&self, from: End) -> Counts {
        self.entries.iter().fold(Counts::default(), |sum, entry| sum + entry.counts[from])
    }

    /// A judgement of this set in words: "lost (random loss of 5 %)".
    #[must_use]
    pub fn explain(&self, judgement: &Judgement) -> Explanation<'_> {
        let rule = judgement.rule.and_then(|place| self.entries.get(place));
        Explanation { verdict: judgement.verdict, rule: rule.map(|entry| &*entry.rule) }
    }
}

impl fmt::Debug for RuleSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = self.entries.iter().map(|entry| (entry.rule.to_string(), entry.counts));
        formatter.debug_list().entries(rules).finish()
    }
}

/// What happened to a frame and why. For printing.
pub struct Explanation<'a> {
    verdict: Verdict,
    rule: Option<&'a (dyn Rule + Send)>,
}

impl fmt::Display for Explanation<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rule {
            Some(rule) => write!(formatter, "{} ({rule})", self.verdict),
            None => write!(formatter, "{}", self.verdict),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Probability, rule};

    fn half() -> Probability {
        Probability::new(0.5).unwrap()
    }

    fn drops(mut rules: RuleSet, frames: usize) -> Vec<bool> {
        (0..frames).map(|_| rules.judge(0, End::A, &[0; 60], 0).verdict == Verdict::Drop).collect()
    }

    #[test]
    fn the_first_rule_that_makes_a_difference_wins_and_alone_counts() {
        let mut rules = RuleSet::new(Seed::new(1))
            .with(rule::mark(Probability::ONE))
            .with(rule::nth(End::A, 1, Verdict::Duplicate))
            .with(rule::range(End::A, 1..3, Verdict::Drop));
        let verdicts: Vec<Judgement> = (0..4).map(|_| rules.judge(0, End::A, b"not IP", 0)).collect();
        assert_eq!(
            verdicts,
            [
                Judgement { verdict: Verdict::Deliver, rule: None },
                Judgement { verdict: Verdict::Duplicate, rule: Some(1) },
                Judgement { verdict: Verdict::Drop, rule: Some(2) },
                Judgement { verdict: Verdict::Deliver, rule: None },
            ],
            "a mark makes no difference to a frame that cannot be marked"
        );
        let counts: Vec<Counts> = rules.iter().map(|(_, counts)| counts.a).collect();
        assert_eq!(counts[0].total(), 0);
        assert_eq!(counts[1], Counts { duplicated: 1, ..Counts::default() });
        assert_eq!(counts[2], Counts { dropped: 1, ..Counts::default() });
        assert_eq!((rules.counts(End::A).total(), rules.counts(End::B).total()), (2, 0));
    }

    #[test]
    fn the_same_seed_gives_the_same_fates_and_another_seed_others() {
        let fates = |seed| drops(RuleSet::new(Seed::new(seed)).with(rule::lose(half())), 200);
        assert_eq!(fates(7), fates(7));
        assert_ne!(fates(7), fates(8));
    }

    #[test]
    fn a_rule_draws_the_same_numbers_whatever_stands_behind_it() {
        let alone = RuleSet::new(Seed::new(7)).with(rule::lose(half()));
        let crowded = RuleSet::new(Seed::new(7)).with(rule::lose(half())).with(rule::corrupt(half()));
        assert_eq!(drops(alone, 200), drops(crowded, 200));
    }

    #[test]
    fn only_counts_the_frames_it_lets_through() {
        let mut rules = RuleSet::new(Seed::new(1)).with(rule::only(
            "short frames",
            |frame| frame.bytes.len() < 3,
            rule::nth(End::B, 1, Verdict::Drop),
        ));
        let frames: [&[u8]; 5] = [b"long", b"1", b"long", b"2", b"3"];
        let fates = frames.map(|bytes| rules.judge(0, End::B, bytes, 0).verdict);
        assert_eq!(fates[3], Verdict::Drop);
        assert_eq!(rules.counts(End::B).total(), 1);
        let judgement = Judgement { verdict: Verdict::Drop, rule: Some(0) };
        assert_eq!(rules.explain(&judgement).to_string(), "lost (frame 1 from B, short frames only)");
    }

    #[test]
    fn from_spares_the_other_direction() {
        let mut rules = RuleSet::new(Seed::new(1)).with(rule::from(End::B, rule::lose(Probability::ONE)));
        assert_eq!(rules.judge(0, End::A, b"a", 0).verdict, Verdict::Deliver);
        assert_eq!(rules.judge(0, End::B, b"b", 0).verdict, Verdict::Drop);
    }

    #[test]
    fn a_closure_can_be_a_rule() {
        let mut rules = RuleSet::new(Seed::new(1)).with(rule::custom("link down", |frame, _| {
            if (10..20).contains(&frame.now) { Verdict::Drop } else { Verdict::Deliver }
        }));
        let fates = [9, 10, 19, 20].map(|now| rules.judge(now, End::A, b"a", 0).verdict);
        assert_eq!(fates, [Verdict::Deliver, Verdict::Drop, Verdict::Drop, Verdict::Deliver]);
    }
}
