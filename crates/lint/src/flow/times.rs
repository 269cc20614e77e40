//! Times measured: median, 99 % and maximum, of any number of them in bounded memory.

/// Most times that are kept.
const KEPT: usize = 1024;

/// Times, in nanoseconds. Beyond 1024 of them every second one is forgotten, then every second one of the rest, and so on:
/// the maximum stays exact, the others become those of a sample.
#[derive(Clone, Debug, Default)]
pub struct Times {
    kept: Vec<u64>,
    /// Every so many is kept, less one.
    skip: u64,
    count: u64,
    maximum: u64,
}

/// What times come to, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimesSummary {
    /// How many were measured.
    pub count: u64,
    /// Half of them are at most so long.
    pub median: u64,
    /// 99 in 100 are at most so long.
    pub p99: u64,
    /// The longest.
    pub maximum: u64,
}

impl Times {
    /// Adds the time between two; nothing if the second is the earlier one.
    pub(crate) fn add_between(&mut self, from: i64, to: i64) {
        if let Some(time) = to.checked_sub(from).and_then(|time| u64::try_from(time).ok()) {
            self.add(time);
        }
    }

    fn add(&mut self, time: u64) {
        self.maximum = self.maximum.max(time);
        if self.count & self.skip == 0 {
            if self.kept.len() == KEPT {
                let mut index = 0;
                self.kept.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.skip = self.skip * 2 + 1;
            }
            if self.count & self.skip == 0 {
                self.kept.push(time);
            }
        }
        self.count += 1;
    }

    /// What they come to; nothing of none.
    pub fn summary(&self) -> Option<TimesSummary> {
        let mut sorted = self.kept.clone();
        sorted.sort_unstable();
        // The least value that so many of a hundred do not exceed.
        let at = |hundredths: usize| {
            let rank = (sorted.len() * hundredths).div_ceil(100).saturating_sub(1);
            sorted.get(rank).copied()
        };
        Some(TimesSummary { count: self.count, median: at(50)?, p99: at(99)?, maximum: self.maximum })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_times_are_summed_up_in_bounded_memory() {
        let mut times = Times::default();
        for time in 1..=1_000_000 {
            times.add(time);
        }
        let summary = times.summary().unwrap();
        assert!(times.kept.len() <= KEPT);
        assert_eq!((summary.count, summary.maximum), (1_000_000, 1_000_000));
        assert!(
            summary.median.abs_diff(500_000) < 2_000 && summary.p99.abs_diff(990_000) < 2_000,
            "{summary:?}"
        );
    }

    #[test]
    fn few_times_are_exact() {
        let mut times = Times::default();
        assert_eq!(times.summary(), None);
        for time in [5, 1, 9] {
            times.add(time);
        }
        assert_eq!(times.summary(), Some(TimesSummary { count: 3, median: 5, p99: 9, maximum: 9 }));
        times.add_between(10, 3);
        assert_eq!(times.count, 3);
    }
}
