//! What a game came to.

use std::time::Duration;

/// The result of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Rounds played.
    pub rounds: u32,
    /// Bytes of a message.
    pub size: u32,
    /// From the first request to the last completion.
    pub time: Duration,
    /// The acknowledgement of our last message never came: the peer, done with its own part, had left.
    pub unacknowledged: bool,
}

impl std::fmt::Display for Report {
    /// The two lines of the real program.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.time.as_secs_f64();
        let bytes = 2 * u64::from(self.size) * u64::from(self.rounds);
        let megabits = if seconds > 0.0 { bytes as f64 * 8.0 / 1e6 / seconds } else { 0.0 };
        let each = seconds * 1e6 / f64::from(self.rounds.max(1));
        writeln!(f, "{bytes} bytes in {seconds:.2} seconds = {megabits:.2} Mbit/sec")?;
        write!(f, "{} iters in {seconds:.2} seconds = {each:.2} usec/iter", self.rounds)
    }
}
