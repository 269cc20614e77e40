//! What the times say: bandwidths from posts and completions, latencies from rounds.

use std::time::Duration;

use super::exchange::Figures;

const MEBIBYTE: f64 = 1_048_576.0;
const NANOSECONDS: f64 = 1e9;

/// The posts and completions of a bandwidth test, in nanoseconds from its start.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// When each message was posted; only where a peak is looked for.
    posts: Option<Vec<u64>>,
    /// How many messages were done at which time; only with posts.
    dones: Vec<(u64, u64)>,
    /// Only what is done in this time counts.
    window: Option<(u64, u64)>,
    first: Option<u64>,
    last: u64,
    posted: u64,
    done: u64,
    counted: u64,
}

impl Tally {
    /// With a look for a peak, or a window, in which alone messages count.
    pub(super) fn new(peak: bool, window: Option<(u64, u64)>) -> Self {
        Self { posts: peak.then(Vec::new), window, ..Self::default() }
    }

    /// One more message was posted.
    pub(super) fn post(&mut self, now: u64) {
        self.begin(now);
        self.posted += 1;
        if let Some(posts) = &mut self.posts {
            posts.push(now);
        }
    }

    /// The clock runs, if it did not yet.
    pub(super) fn begin(&mut self, now: u64) {
        self.first.get_or_insert(now);
    }

    /// So many more messages are done.
    pub(super) fn done(&mut self, count: u64, now: u64) {
        self.begin(now);
        self.done += count;
        if self.window.is_none_or(|(from, to)| (from..=to).contains(&now)) {
            self.counted += count;
            self.last = now;
        }
        if self.posts.is_some() {
            self.dones.push((self.done, now));
        }
    }

    /// Messages that are done.
    pub(super) fn all_done(&self) -> u64 {
        self.done
    }

    /// The outcome for messages of this size, of a test that has ended so many nanoseconds after its start, if that was before
    /// its time. Then all is counted: its end was not foreseen, and margins might leave nothing.
    pub(super) fn figures(&self, size: u32, gigabits: bool, ended: Option<u64>) -> Figures {
        let (counted, time) = match (self.window, ended) {
            (Some(_), Some(ended)) => (self.done, ended),
            (Some((from, to)), None) => (self.counted, to.saturating_sub(from)),
            (None, _) => (self.counted, self.last.saturating_sub(self.first.unwrap_or(0))),
        };
        let unit = if gigabits { 1e9 / 8.0 } else { MEBIBYTE };
        let rate = if time == 0 { 0.0 } else { counted as f64 * NANOSECONDS / time as f64 };
        let bandwidth = |rate: f64| rate * f64::from(size) / unit;
        let average = bandwidth(rate);
        let peak = match &self.posts {
            // All messages are a run, too, but their peak and their average are not rounded alike.
            Some(posts) => {
                fastest(posts, &self.dones).map_or(0.0, |gap| bandwidth(NANOSECONDS / gap).max(average))
            }
            None => 0.0,
        };
        Figures { size: size.into(), iterations: counted, peak, average, rate: rate / 1e6 }
    }
}

/// The least time for one message, in nanoseconds, that any run of messages took on average, from the post of its first
/// to the completion of its last.
///
/// That is the least of (done[j] - post[i]) / (j - i + 1). For a guess g of it, done[j] - g·j - (post[i] - g·i) is below
/// zero for some pair exactly if a smaller one exists; the pair where it is least gives the next guess, and few guesses
/// lead to the answer, each in one pass.
fn fastest(posts: &[u64], dones: &[(u64, u64)]) -> Option<f64> {
    const GUESSES: usize = 64;
    let (&first, &(count, last)) = (posts.first()?, dones.last()?);
    let mut best = last.saturating_sub(first).max(1) as f64 / count.max(1) as f64;
    for _ in 0..GUESSES {
        let (mut latest, mut next_post) = (f64::NEG_INFINITY, 0);
        // The post that stands highest above the guess, of those that may begin a run.
        let mut from = 0;
        let mut least = (0.0, best);
        for &(count, time) in dones {
            while let Some(&post) = posts.get(next_post).filter(|_| (next_post as u64) < count) {
                let height = post as f64 - best * next_post as f64;
                if height > latest {
                    (latest, from) = (height, next_post);
                }
                next_post += 1;
            }
            let depth = time as f64 - best * count as f64 - latest;
            if depth < least.0 {
                let run = count - from as u64;
                least = (depth, time.saturating_sub(posts[from]).max(1) as f64 / run as f64);
            }
        }
        if least.1 >= best {
            break;
        }
        best = least.1;
    }
    Some(best)
}

/// The latencies of a test, in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Latencies {
    /// In the order in which they were measured.
    pub each: Vec<f64>,
    /// Of them.
    pub summary: Option<Summary>,
}

/// What is said of many latencies, in nanoseconds. As in the real program, the two longest are taken for accidents and
/// left out, but for the maximum, which is the shorter one of them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the columns of the table")]
pub struct Summary {
    pub least: f64,
    pub most: f64,
    pub typical: f64,
    pub average: f64,
    pub deviation: f64,
    pub percentile_99: f64,
    pub percentile_99_9: f64,
}

/// Latencies that are left out.
const ACCIDENTS: usize = 2;

impl Latencies {
    /// Of the times at which rounds began; each round has so many messages one after the other.
    pub(super) fn new(stamps: &[u64], messages: u32) -> Self {
        let gaps = stamps.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / f64::from(messages));
        let each: Vec<f64> = gaps.collect();
        let mut sorted = each.clone();
        sorted.sort_by(f64::total_cmp);
        Self { each, summary: Summary::of(&sorted) }
    }
}

impl Summary {
    fn of(sorted: &[f64]) -> Option<Self> {
        let count = sorted.len().checked_sub(ACCIDENTS).filter(|&count| count > 0)?;
        let counted = &sorted[..count];
        let average = counted.iter().sum::<f64>() / count as f64;
        let variance = counted.iter().map(|one| (one - average).powi(2)).sum::<f64>() / count as f64;
        let percentile = |share: f64| sorted[(count as f64 * share).ceil() as usize];
        Some(Self {
            least: sorted[0],
            most: sorted[count],
            typical: sorted[count / 2],
            average,
            deviation: variance.sqrt(),
            percentile_99: percentile(0.99),
            percentile_99_9: percentile(0.999),
        })
    }
}

/// The latency of a test that lasted a certain time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pace {
    /// Rounds that were counted.
    pub rounds: u64,
    /// In which time.
    pub time: Duration,
    /// Messages of a round, one after the other.
    pub messages: u32,
}

impl Pace {
    /// Average of a message, in nanoseconds.
    pub fn latency(&self) -> f64 {
        if self.rounds == 0 {
            return 0.0;
        }
        self.time.as_nanos() as f64 / self.rounds as f64 / f64::from(self.messages.max(1))
    }

    /// Rounds a second.
    pub fn rounds_a_second(&self) -> f64 {
        if self.time.is_zero() { 0.0 } else { self.rounds as f64 / self.time.as_secs_f64() }
    }
}

#[cfg(test)]
mod tests;
