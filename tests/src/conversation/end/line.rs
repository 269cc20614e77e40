//! The TCP connection on which the two ends of a conversation agree.

use std::io::{BufRead, BufReader, Read, Write};
use std::time::Duration;

use rdmalab_device::Stream;

use super::super::lines;

/// The longest line that the other end may send, in bytes.
const LONGEST_LINE: u64 = 10_000;

/// The TCP connection.
pub(super) struct Line(BufReader<Stream>);

impl Line {
    pub(super) fn new(stream: Stream) -> Self {
        Self(BufReader::new(stream))
    }

    /// Waits until the peer closes, so that our last line is not lost with our device.
    pub(super) fn wait_for_end(&mut self, limit: Duration) {
        self.0.get_mut().set_timeout(Some(limit));
        let _ = (&mut self.0).take(LONGEST_LINE).read_to_end(&mut Vec::new());
    }

    pub(super) fn send(&mut self, line: &str) -> Result<(), String> {
        let stream = self.0.get_mut();
        stream
            .write_all(format!("{line}\n").as_bytes())
            .map_err(|error| format!("the TCP connection: {error}"))
    }

    pub(super) fn receive(&mut self, key: &str) -> Result<String, String> {
        let mut line = String::new();
        let count = (&mut self.0).take(LONGEST_LINE).read_line(&mut line);
        match count {
            Err(error) => Err(format!("waiting for the peer's {key:?}: {error}")),
            Ok(0) => Err(format!("the peer closed the connection before it sent {key:?}")),
            Ok(_) => lines::expect(&line, key).map(|_| line),
        }
    }
}
