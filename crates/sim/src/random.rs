//! Randomness from one seed: ChaCha8, whose output is specified, arithmetic on integers only.

use std::fmt;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Where random numbers start from. A seed has branches that have nothing to do with each other, so that
/// one number on the command line feeds every link and every rule without one shifting the other's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed([u8; 32]);

impl Seed {
    /// The seed that a person names by a number.
    #[must_use]
    pub fn new(number: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        Self(bytes)
    }

    /// The `n`-th branch: as unlike this seed and its other branches as if they were named by chance.
    #[must_use]
    pub fn branch(self, n: u64) -> Self {
        let mut generator = ChaCha8Rng::from_seed(self.0);
        // Stream 0 is for the numbers that the seed itself gives.
        generator.set_stream(n.wrapping_add(1));
        let mut bytes = [0; 32];
        generator.fill_bytes(&mut bytes);
        Self(bytes)
    }

    /// The numbers of this seed, from their beginning.
    #[must_use]
    pub fn random(self) -> Random {
        Random(ChaCha8Rng::from_seed(self.0))
    }
}

/// A sequence of random numbers.
#[derive(Debug, Clone)]
pub struct Random(ChaCha8Rng);

impl Random {
    /// Any u64.
    pub fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from 0 to `limit - 1`; 0 when `limit` is 0. (Scaled, not rejected: a bias below
    /// `limit / 2^64`, and always exactly one number drawn.)
    pub fn below(&mut self, limit: u64) -> u64 {
        scaled(self.number(), limit)
    }

    /// Whether something of this probability happens this time. Always draws exactly one number.
    pub fn happens(&mut self, probability: Probability) -> bool {
        self.number() >> (64 - Probability::BITS) < probability.0
    }

    /// Fills `bytes`.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }
}

/// `number`, evenly spread over all u64, brought down to 0 to `limit - 1` (0 when `limit` is 0).
pub(crate) fn scaled(number: u64, limit: u64) -> u64 {
    let product = u128::from(number) * u128::from(limit);
    (product >> 64) as u64
}

/// How likely something is, from 0 to 1, in steps of 2^-53 (an integer, so that no machine rounds it
/// differently).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Probability(u64);

impl Probability {
    const BITS: u32 = 53;
    /// Never.
    pub const ZERO: Self = Self(0);
    /// Always.
    pub const ONE: Self = Self(1 << Self::BITS);

    /// `probability` as a fraction: 0.05 is 5 %. `None` when it is not from 0 to 1.
    #[must_use]
    pub fn new(probability: f64) -> Option<Self> {
        // Multiplying by a power of two is exact; the cast cuts off what lies below the last step.
        (0.0..=1.0).contains(&probability).then_some(Self((probability * Self::ONE.0 as f64) as u64))
    }

    /// As a fraction.
    #[must_use]
    pub fn fraction(self) -> f64 {
        self.0 as f64 / Self::ONE.0 as f64
    }
}

impl fmt::Display for Probability {
    /// In percent, rounded to a millionth of one.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = (self.fraction() * 1e8).round() / 1e6;
        write!(formatter, "{percent} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_numbers_that_chacha8_specifies() {
        // Computed by another implementation of ChaCha8 (key: the seed; block 0; the branch as the stream).
        // A change here would change every capture that was ever made from a seed.
        let mut random = Seed::new(7).random();
        assert_eq!(
            [random.number(), random.number()],
            [14_095_323_943_061_994_099, 8_595_031_940_432_502_117]
        );
        let mut branch = Seed::new(7).branch(1).random();
        assert_eq!(branch.number(), 391_827_882_342_619_592);
    }

    #[test]
    fn branches_differ_from_each_other_and_from_their_seed() {
        let seed = Seed::new(1);
        let mut first: Vec<u64> = (0..100).map(|n| seed.branch(n).random().number()).collect();
        first.push(seed.random().number());
        first.push(seed.branch(0).branch(0).random().number());
        first.push(seed.branch(u64::MAX).branch(0).random().number());
        first.sort_unstable();
        first.dedup();
        assert_eq!(first.len(), 103);
    }

    #[test]
    fn probability_zero_never_and_one_always_happens() {
        let mut random = Seed::new(3).random();
        assert!((0..10_000).all(|_| !random.happens(Probability::ZERO)));
        assert!((0..10_000).all(|_| random.happens(Probability::ONE)));
        let five_percent = Probability::new(0.05).unwrap();
        let hits = (0..100_000).filter(|_| random.happens(five_percent)).count();
        assert!((4_700..5_300).contains(&hits), "{hits}");
    }

    #[test]
    fn probability_outside_zero_to_one_is_refused() {
        for bad in [-0.1, 1.000_001, f64::NAN, f64::INFINITY] {
            assert_eq!(Probability::new(bad), None);
        }
        assert_eq!(Probability::new(1.0), Some(Probability::ONE));
        assert_eq!(Probability::new(-0.0), Some(Probability::ZERO));
        assert_eq!(Probability::new(0.05).unwrap().to_string(), "5 %");
        assert_eq!(Probability::new(0.001_25).unwrap().to_string(), "0.125 %");
    }

    #[test]
    fn below_stays_below_and_reaches_everything() {
        let mut random = Seed::new(3).random();
        let mut seen = [false; 7];
        for _ in 0..1000 {
            seen[random.below(7) as usize] = true;
        }
        assert_eq!(seen, [true; 7]);
        assert_eq!((random.below(0), random.below(1)), (0, 0));
    }
}
