//! What a TCP segment is, in words, and whether its bytes were sent before.
//!
//! Follows the one connection of the demonstration from its SYN on, as somebody who sees each segment as it is sent: both
//! ends are ours, so there is no gap and nothing is broken. The FPDUs of a stream are found when their last byte is first
//! sent; their words are kept until the peer has confirmed them, so that a segment that is sent again can say them again.

mod stream;

use std::collections::VecDeque;

use etherparse::{SlicedPacket, TcpSlice, TransportSlice};
use rdmalab_explain::{Explanation, frames};
use rdmalab_sim::{End, PerEnd};

use super::packet::{Role, Seen, other};
use stream::{Stream, Wishes};

/// Both directions.
#[derive(Default)]
pub struct Conversation {
    ends: PerEnd<Direction>,
}

/// Why TCP sends again, as far as it shows in what it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The peer has confirmed nothing for so many nanoseconds.
    Timeout(u64),
    /// The peer has confirmed the same again and again, having got something behind a gap.
    Duplicates,
}

/// What one end has sent.
#[derive(Default)]
struct Direction {
    /// Its first sequence number, that of its SYN.
    first: Option<u32>,
    /// One behind the last sequence number that was sent, counted from the first.
    next: u32,
    /// What the peer has confirmed, counted likewise, by segments that were not lost.
    confirmed: u32,
    /// Where the last segment began that was sent again, if the last one was.
    again: Option<u32>,
    /// When the last segment with bytes was sent.
    sent: u64,
    stream: Stream,
    /// Frames and FPDUs in words, what they are, and where the segment began that ended them.
    words: VecDeque<Said>,
}

/// A frame or an FPDU.
struct Said {
    /// Where the segment began that ended it.
    at: u32,
    words: String,
    topics: Vec<&'static Explanation>,
}

/// Silence after which a repetition follows from a timer and not from what the peer said: far more than the link takes, far
/// less than any timer of TCP's (RFC 6298 §2.4: a second).
const SILENCE: u64 = 100_000_000;

impl Conversation {
    /// Looks at the next frame of an end. Only where words are asked for there is a label.
    pub fn look(&mut self, now: u64, from: End, frame: &[u8], is_lost: bool, in_words: bool) -> Seen {
        let sliced = SlicedPacket::from_ethernet(frame).ok();
        let Some(TransportSlice::Tcp(tcp)) = sliced.and_then(|sliced| sliced.transport) else {
            return Seen { label: in_words.then(|| other(frame)), ..Seen::default() };
        };
        let peer = from.opposite();
        if !is_lost && tcp.ack() {
            let theirs = &mut self.ends[peer];
            theirs.confirm(tcp.acknowledgment_number());
        }
        let acknowledged =
            tcp.ack().then(|| tcp.acknowledgment_number().wrapping_sub(self.ends[peer].first.unwrap_or(0)));
        let theirs = self.ends[peer].stream.wishes();
        let ours = &mut self.ends[from];
        if tcp.syn() {
            ours.first.get_or_insert(tcp.sequence_number());
        }
        let at = tcp.sequence_number().wrapping_sub(ours.first.unwrap_or(0));
        let Passed { again, is_alive, cause } = ours.pass(now, at, &tcp, theirs);
        let label = in_words.then(|| {
            let length = tcp.payload().len() as u32;
            let has_bytes = length > 0 && !is_alive;
            let sign = match flags(&tcp) {
                _ if is_alive => "keep-alive ".to_owned(),
                // With bytes there is always an acknowledgement.
                flags if has_bytes && flags == "ACK" => String::new(),
                flags => flags + " ",
            };
            let mut label = format!("TCP {sign}seq={at}");
            if let Some(acknowledged) = acknowledged {
                label += &format!(" ack={acknowledged}");
            }
            if has_bytes {
                label += &format!(" len={length}");
                for words in ours.words_in(at, length) {
                    label += &format!(" | {words}");
                }
            }
            label
        });
        let topics = match (in_words, again) {
            (true, false) => ours.topics(at, &tcp, is_alive),
            _ => Vec::new(),
        };
        let has_bytes = !tcp.payload().is_empty();
        Seen { label, role: Some(Role::Segment), again, cause, has_bytes, topics }
    }

    /// Whether each end has confirmed all that the other has sent.
    pub fn is_settled(&self) -> bool {
        [&self.ends.a, &self.ends.b].iter().all(|end| end.next == end.confirmed)
    }
}

/// What a segment is for its direction.
struct Passed {
    again: bool,
    is_alive: bool,
    cause: Option<Cause>,
}

impl Direction {
    /// The peer has confirmed everything before a sequence number.
    fn confirm(&mut self, number: u32) {
        let Some(first) = self.first else { return };
        let confirmed = number.wrapping_sub(first);
        if confirmed <= self.next {
            self.confirmed = self.confirmed.max(confirmed);
        }
        let confirmed = self.confirmed;
        while self.words.front().is_some_and(|said| said.at < confirmed) {
            self.words.pop_front();
        }
    }

    /// A segment is sent that begins here.
    fn pass(&mut self, now: u64, at: u32, tcp: &TcpSlice<'_>, theirs: Wishes) -> Passed {
        let payload = tcp.payload();
        let length = payload.len() as u32 + u32::from(tcp.syn()) + u32::from(tcp.fin());
        let nothing = Passed { again: false, is_alive: false, cause: None };
        if length == 0 {
            return nothing;
        }
        // Of an idle connection the peer is asked by an old byte whether it is still there (RFC 9293 §3.8.4).
        if payload.len() <= 1 && at.wrapping_add(1) == self.next && self.confirmed == self.next {
            return Passed { is_alive: true, ..nothing };
        }
        let again = at < self.next;
        let mut cause = None;
        if again {
            // A row of repetitions has one reason.
            if self.again.is_none_or(|last| at <= last) {
                let silence = now.saturating_sub(self.sent);
                cause = Some(if silence >= SILENCE { Cause::Timeout(silence) } else { Cause::Duplicates });
            }
            self.again = Some(at);
        } else {
            self.again = None;
        }
        self.sent = now;
        let known = self.next.saturating_sub(at.wrapping_add(u32::from(tcp.syn())));
        let new = payload.get(known as usize..).unwrap_or_default();
        self.next = self.next.max(at.wrapping_add(length));
        let words = &mut self.words;
        self.stream.read(new, theirs, |said, topics| words.push_back(Said { at, words: said, topics }));
        Passed { again, is_alive: false, cause }
    }

    /// What was ended by segments that began in these bytes.
    fn words_in(&self, at: u32, length: u32) -> impl Iterator<Item = &str> {
        self.said_in(at, length).map(|said| said.words.as_str())
    }

    fn said_in(&self, at: u32, length: u32) -> impl Iterator<Item = &Said> {
        let range = at..at.saturating_add(length);
        self.words.iter().filter(move |said| range.contains(&said.at))
    }

    /// What a segment is, that is sent for the first time.
    fn topics(&self, at: u32, tcp: &TcpSlice<'_>, is_alive: bool) -> Vec<&'static Explanation> {
        let mut topics = Vec::new();
        let length = tcp.payload().len() as u32;
        if is_alive {
            topics.push(&frames::TCP_KEEP_ALIVE);
        } else if tcp.rst() {
            topics.push(&frames::TCP_RESET);
        } else if tcp.syn() {
            topics.push(&frames::TCP_HANDSHAKE);
        } else if length == 0 && !tcp.fin() {
            topics.push(&frames::TCP_ACK);
        }
        topics.extend(self.said_in(at, length).flat_map(|said| &said.topics));
        if tcp.fin() {
            topics.push(&frames::TCP_END);
        }
        topics
    }
}

fn flags(tcp: &TcpSlice<'_>) -> String {
    let flags = [(tcp.syn(), "SYN"), (tcp.fin(), "FIN"), (tcp.rst(), "RST"), (tcp.ack(), "ACK")];
    let set: Vec<&str> = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, name)| name).collect();
    set.join(",")
}

#[cfg(test)]
mod tests;
