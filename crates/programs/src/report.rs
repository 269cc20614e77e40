//! What a client of rping, ucmatose or udaddy has done.

use std::time::Duration;

/// What a client has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Connections that were made, or datagram services that were found.
    pub connections: u64,
    /// Messages that went to and fro, each counted once.
    pub messages: u64,
    /// Bytes of a message.
    pub size: u32,
    /// How long making the connections took.
    pub connecting: Duration,
    /// How long the messages took.
    pub time: Duration,
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { connections, messages, size, connecting, time } = self;
        let seconds = time.as_secs_f64();
        let each = if *messages == 0 { 0.0 } else { seconds * 1e6 / *messages as f64 };
        writeln!(f, "{connections} connected in {:.3} ms", connecting.as_secs_f64() * 1e3)?;
        write!(f, "{messages} messages of {size} bytes to and fro in {seconds:.2} s = {each:.2} usec each")
    }
}
