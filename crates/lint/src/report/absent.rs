//! What rows say that the capture does not have.

use super::{Report, Stats, StreamStats};

/// How many, and of what.
type Count = (u64, &'static str);

impl Stats {
    pub(super) fn absent(&self) -> [Count; 3] {
        [
            (self.lost_ahead, "PSNs of requests lost in front of the place of capture"),
            (self.responses_missing, "answers lost in front of the place of capture"),
            (self.responses_uncaptured, "answers that only the capture lacks"),
        ]
    }
}

impl StreamStats {
    pub(super) fn absent(&self) -> [Count; 2] {
        [
            (self.lost_ahead, "segments lost in front of the place of capture"),
            (self.missing_bytes, "bytes of the stream that the capture does not have"),
        ]
    }
}

impl Report {
    /// What is not in the capture, as the rows say it, of all flows and streams together; nothing of what there is none of.
    pub fn absent(&self) -> Vec<(&'static str, u64)> {
        let of_flows = self.flows.iter().flat_map(|flow| flow.stats.absent());
        let of_streams = self.streams.iter().flat_map(|stream| stream.stats.absent());
        let mut all: Vec<(&'static str, u64)> = Vec::new();
        for (count, what) in of_flows.chain(of_streams).filter(|(count, _)| *count > 0) {
            match all.iter_mut().find(|(known, _)| *known == what) {
                Some((_, sum)) => *sum = sum.saturating_add(count),
                None => all.push((what, count)),
            }
        }
        all
    }
}
