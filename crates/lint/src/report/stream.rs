//! A row for each direction of an iWARP stream.

use core::fmt;
use std::net::IpAddr;

use serde_json::{Value, json};

use super::json::{not_judged, times_json};
use super::operations::Operations;
use crate::flow::times::Times;
use crate::iwarp::ResentCause;
use crate::reason::Reasons;
use crate::words::Counted;

/// What was counted of a direction of a stream.
#[derive(Clone, Debug, Default)]
pub struct StreamStats {
    /// TCP segments with data, those sent again included.
    pub segments: u64,
    /// FPDUs.
    pub fpdus: u64,
    /// Complete operations that this side asked for, and their bytes.
    pub operations: Operations,
    /// Answers to READs and atomics of this side that are complete.
    pub answers: u64,
    /// Terminate messages.
    pub terminates: u64,
    /// Segments sent again, because of duplicate acknowledgements and by a timer.
    pub resent: [u64; 2],
    /// Of them, those that the capture has for the first time: the originals were lost in front of the place of capture.
    pub lost_ahead: u64,
    /// Segments that came behind later ones.
    pub late: u64,
    /// Segments that are in the capture twice.
    pub duplicates: u64,
    /// Bytes of the stream that the capture does not have.
    pub missing_bytes: u64,
    /// Bytes at the end of the stream that make no whole FPDU.
    pub unread_bytes: u64,
    /// Connections before this one between the same ports.
    pub conversations: u64,
    /// From a READ's or atomic's request to the end of its answer.
    pub answer_times: Times,
    /// Times of the first and last packet, in nanoseconds.
    pub times: Option<(i64, i64)>,
    /// Frames of the first and last packet.
    pub frames: Option<(u64, u64)>,
}

impl StreamStats {
    pub(crate) fn saw(&mut self, frame: u64, time: i64) {
        let (first, _) = *self.frames.get_or_insert((frame, frame));
        self.frames = Some((first, frame));
        let (first, _) = *self.times.get_or_insert((time, time));
        self.times = Some((first, time));
    }

    pub(crate) fn resent(&mut self, cause: ResentCause) {
        if let Some(count) = self.resent.get_mut(cause as usize) {
            *count += 1;
        }
    }

    /// Bits of complete operations in a second, from the first packet to the last; none of a stream that takes no time.
    pub fn goodput(&self) -> Option<f64> {
        super::goodput(self.times?, self.operations.bytes())
    }
}

/// One direction of an iWARP stream: what its sender asks for, and what came of that.
#[derive(Clone, Debug)]
pub struct StreamReport {
    /// Flows and directions of streams are numbered together, in the order in which they began.
    pub number: u64,
    /// The number of the other direction.
    pub peer: u64,
    /// Who sends: address and port.
    pub source: (IpAddr, u16),
    /// Who receives.
    pub destination: (IpAddr, u16),
    /// Whether the sender opened by MPA's request, where the capture has the start-up.
    pub is_initiator: Option<bool>,
    /// The revision of MPA in the sender's start-up frame.
    pub revision: Option<u8>,
    /// Whether CRCs are used, where the capture has the start-up of both.
    pub crc: Option<bool>,
    /// Whether this direction has markers, where the receiver's start-up frame tells.
    pub markers: Option<bool>,
    /// READs and atomics that the sender may have under way at once, where that was agreed on.
    pub depth: Option<u16>,
    /// What was counted.
    pub stats: StreamStats,
    /// Why some rules could not be judged.
    pub reasons: Reasons,
}

/// As an address with its port: `10.0.0.1:7174`, `[fd00::1]:7174`.
fn end((address, port): (IpAddr, u16)) -> std::net::SocketAddr {
    (address, port).into()
}

impl StreamReport {
    /// The row as an object.
    pub(super) fn json(&self) -> Value {
        let stats = &self.stats;
        let [by_acknowledgements, by_timer] = stats.resent;
        json!({
            "number": self.number,
            "transport": "iWARP",
            "source": end(self.source).to_string(),
            "destination": end(self.destination).to_string(),
            "peer": self.peer,
            "initiator": self.is_initiator,
            "revision": self.revision,
            "crc": self.crc,
            "markers": self.markers,
            "depth": self.depth,
            "frames": stats.frames.map(|(first, last)| [first, last]),
            "times": stats.times.map(|(first, last)| [first, last]),
            "segments": stats.segments,
            "fpdus": stats.fpdus,
            "operations": stats.operations.json(),
            "bytes": stats.operations.bytes(),
            "goodput": stats.goodput(),
            "answers": stats.answers,
            "terminates": stats.terminates,
            "resent_segments": { "duplicate ACKs": by_acknowledgements, "timer": by_timer },
            "lost_ahead": stats.lost_ahead,
            "late": stats.late,
            "duplicates": stats.duplicates,
            "missing_bytes": stats.missing_bytes,
            "unread_bytes": stats.unread_bytes,
            "earlier_conversations": stats.conversations,
            "answer_times": times_json(&stats.answer_times),
            "not_judged": not_judged(self.reasons, true),
        })
    }
}

/// A direction as lines: who, what, and below it only what there is.
impl fmt::Display for StreamReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stats = &self.stats;
        write!(f, "flow {}: iWARP {} > {}", self.number, end(self.source), end(self.destination))?;
        if let Some(depth) = self.depth {
            write!(f, " ord={depth}")?;
        }
        for (is_so, name) in [(self.crc, " crc"), (self.markers, " markers")] {
            f.write_str(if is_so == Some(true) { name } else { "" })?;
        }
        let segments = Counted(stats.segments, "segment", "");
        write!(f, ": {segments}, {}", Counted(stats.fpdus, "FPDU", ""))?;
        write!(f, "{}", stats.operations)?;
        if let Some(goodput) = stats.goodput().filter(|_| stats.operations.bytes() > 0) {
            write!(f, "\n  goodput      {:>8.3} Mbit/s", goodput / 1e6)?;
        }
        for (count, cause) in stats.resent.iter().zip(["duplicate acknowledgements", "timer"]) {
            if *count > 0 {
                let what = if *count == 1 { "segment" } else { "segments" };
                write!(f, "\n  sent again   {count:>8}  {what}, cause {cause}")?;
            }
        }
        let [lost_ahead, missing] = stats.absent();
        let counts = [
            lost_ahead,
            (stats.late, "segments behind later ones"),
            (stats.duplicates, "segments in the capture twice"),
            missing,
            (stats.unread_bytes, "bytes of the stream that are no whole FPDU"),
            (stats.terminates, "Terminate messages"),
            (stats.conversations, "earlier connections between these ports"),
        ];
        for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, "\n  {what:<54} {count:>8}")?;
        }
        if let Some(summary) = stats.answer_times.summary() {
            write!(f, "\n  answer time     {summary}")?;
        }
        Ok(())
    }
}
