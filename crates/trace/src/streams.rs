//! TCP connections followed through a capture, to find what iWARP says in them.
//!
//! [`Streams`] takes packets apart in their order and adds to each the start-up frames and FPDUs whose last byte
//! it brought. Segments may come late, twice or overlapping; FPDUs may span segments and share them; the capture may
//! have joined the conversation late or lost some of it. This is the only part of the crate whose memory depends on
//! what a capture holds, and it has limits: [`MOST_CONNECTIONS`] connections, [`MOST_BYTES`] bytes together; beyond
//! them those that were silent the longest are forgotten, and [`Streams::forgotten`] says how many.

mod assembly;
mod early;
mod search;
mod talk;
mod unit;

use std::collections::BTreeMap;
use std::net::IpAddr;

use etherparse::TcpSlice;

use crate::dissect::{Content, Dissection};
use crate::record::Record;
use assembly::{Assembly, Piece};
use talk::{Agreed, Talk};

pub use assembly::Left;
pub use early::MOST_HELD;
pub use talk::MOST_SEARCHED;
pub use unit::{Fpdu, IwarpUnit, StartUp};

/// How many connections are followed at once.
pub const MOST_CONNECTIONS: usize = 16_384;
/// How many bytes of memory they take together: bytes that are held, and what each connection and each segment
/// costs beside them.
pub const MOST_BYTES: usize = 64 << 20;
/// What a connection costs of which nothing is held: its places in the two maps, whose nodes are half empty at worst, and
/// in the nodes above those.
const CONNECTION_COST: usize = 3 * (size_of::<Connection>() + 2 * size_of::<Key>() + 2 * size_of::<u64>());

/// So many bytes behind a SYN, of which none is acknowledged yet, a sender may have sent: a capture that has some of them in front of it has
/// put it out of order.
const MOST_IN_FRONT_OF_A_SYN: u32 = 1 << 16;

/// TCP connections being followed.
#[derive(Debug, Default)]
pub struct Streams {
    connections: BTreeMap<Key, Connection>,
    /// Who was last heard when; each connection stands here once.
    heard: BTreeMap<u64, Key>,
    clock: u64,
    bytes: usize,
    forgotten: u64,
    given_up: u64,
    /// What was left of those that are forgotten.
    left: Left,
}

/// Address and port.
type End = (IpAddr, u16);
/// Both ends of a connection, the lower one first.
type Key = (End, End);

#[derive(Debug)]
struct Connection {
    heard: u64,
    /// Sequence numbers of the first byte of each side, known from a SYN or else of the first byte seen.
    begins: [Option<u32>; 2],
    /// From the lower end to the other, and back.
    sides: [Option<Side>; 2],
    is_foreign: bool,
    /// What was left of earlier connections of these ports.
    left_before: Left,
}

#[derive(Debug)]
struct Side {
    assembly: Assembly,
    talk: Talk,
}

impl Streams {
    /// None yet.
    pub fn new() -> Streams {
        Streams::default()
    }

    /// Takes the next packet of a capture apart, iWARP included.
    pub fn dissect<'a>(&mut self, record: &Record<'a>) -> Dissection<'a> {
        let mut dissection = Dissection::of(record);
        let units = match (&dissection.content, dissection.tcp()) {
            (Content::Tcp { tcp, length, .. }, Some(segment)) => {
                self.segment((segment.source, segment.destination), tcp, *length)
            }
            _ => return dissection,
        };
        dissection.add_iwarp(units);
        dissection
    }

    /// How many connections were forgotten because of the limits: what came of them later was taken for the middle
    /// of a conversation.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// How often missing bytes were given up because [`MOST_HELD`] bytes behind them were held.
    pub fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Bytes of iWARP that no packet told of, as the capture or the connection ends there. Looks at each connection.
    pub fn left(&self) -> Left {
        let mut left = self.left;
        self.connections.values().for_each(|connection| left.add(connection.left()));
        left
    }

    /// Bytes of memory that the connections take now, at most [`MOST_BYTES`].
    pub fn held_bytes(&self) -> usize {
        self.bytes
    }

    fn segment(&mut self, (from, to): (End, End), tcp: &TcpSlice<'_>, length: usize) -> Vec<IwarpUnit> {
        let (key, side) = if from <= to { ((from, to), 0) } else { ((to, from), 1) };
        let mut units = Vec::new();
        // What says nothing of a connection that is not known need not be remembered.
        if length == 0 && !tcp.syn() && !self.connections.contains_key(&key) {
            return units;
        }
        self.clock += 1;
        let before = self.connections.get(&key).map_or(0, Connection::memory);
        let connection = self.connections.entry(key).or_insert_with(|| Connection::new(self.clock));
        self.heard.remove(&connection.heard);
        connection.heard = self.clock;
        self.heard.insert(self.clock, key);
        if connection.take(side, tcp, length, &mut units) {
            self.given_up += 1;
        }
        self.bytes = (self.bytes + connection.memory()).saturating_sub(before);
        while self.connections.len() > MOST_CONNECTIONS || self.bytes > MOST_BYTES {
            let Some((_, key)) = self.heard.pop_first() else { break };
            let Some(connection) = self.connections.remove(&key) else { continue };
            self.bytes = self.bytes.saturating_sub(connection.memory());
            self.left.add(connection.left());
            self.forgotten += 1;
        }
        units
    }
}

impl Connection {
    fn new(heard: u64) -> Connection {
        Connection {
            heard,
            begins: [None, None],
            sides: [None, None],
            is_foreign: false,
            left_before: Left::default(),
        }
    }

    /// What would be left of it if the capture ended here, if it is iWARP's.
    fn left(&self) -> Left {
        let mut left = self.left_before;
        let is_iwarp = self.sides.iter().flatten().any(|side| side.talk.is_iwarp());
        for side in self.sides.iter().flatten().filter(|_| is_iwarp) {
            left.add(side.assembly.left());
        }
        left
    }

    /// Bytes of memory that it takes.
    fn memory(&self) -> usize {
        let of = |side: &Side| side.assembly.memory() + side.talk.memory();
        CONNECTION_COST + self.sides.iter().flatten().map(of).sum::<usize>()
    }

    /// Takes a segment of one side. Says whether bytes were given up.
    fn take(&mut self, side: usize, tcp: &TcpSlice<'_>, length: usize, units: &mut Vec<IwarpUnit>) -> bool {
        let mut sequence = tcp.sequence_number();
        if tcp.syn() {
            sequence = sequence.wrapping_add(1);
            self.begin(side, sequence, tcp.ack());
        }
        if self.is_foreign {
            return false;
        }
        let [lower, upper] = &mut self.sides;
        let (ours, theirs) = if side == 0 { (lower, upper) } else { (upper, lower) };
        // Whoever has not answered the SYN may still speak of an earlier connection of these ports (RFC 9293 §3.10.7.4).
        if tcp.ack()
            && let Some(theirs) = theirs
            && (tcp.syn() || ours.is_some() || !theirs.assembly.is_fresh())
        {
            theirs.assembly.acknowledge(tcp.acknowledgment_number());
        }
        if length == 0 && ours.is_none() {
            return false;
        }
        if let Some(begin) = self.begins.get_mut(side) {
            begin.get_or_insert(sequence);
        }
        let ours =
            ours.get_or_insert_with(|| Side { assembly: Assembly::new(sequence), talk: Talk::new(false) });
        let wishes = |side: &Side| side.talk.wishes;
        let their_wishes = theirs.as_ref().and_then(wishes);
        let Side { assembly, talk } = ours;
        let they_are_iwarp = theirs.as_ref().is_some_and(|side| side.talk.is_iwarp());
        if tcp.fin() {
            assembly.end(sequence.wrapping_add(length as u32));
        }
        let present = tcp.payload();
        let present = present.get(..length).unwrap_or(present);
        let gave_up = assembly.take(sequence, present, length, &mut |piece: Piece<'_>| {
            let agreed = Agreed {
                markers: their_wishes.is_some_and(|wishes| wishes.markers),
                crc: [their_wishes, talk.wishes].iter().flatten().any(|wishes| wishes.crc),
                is_iwarp: they_are_iwarp || talk.is_iwarp(),
            };
            talk.take(&piece, agreed, units);
        });
        // Neither direction of another protocol is of interest.
        if talk.is_foreign() && !they_are_iwarp {
            self.is_foreign = true;
            self.sides = [None, None];
        }
        gave_up
    }

    /// A SYN: the connection begins, unless it is one that came twice, however late: to take that for a new
    /// connection would forget what the start-up agreed on.
    fn begin(&mut self, side: usize, sequence: u32, is_answer: bool) {
        if self.begins.get(side) == Some(&Some(sequence)) {
            return;
        }
        let is_new = self.is_foreign || self.sides.get(side).is_some_and(Option::is_some);
        // Behind bytes that follow it closely it is late.
        let begin = self.begins.get(side).copied().flatten();
        let is_late = begin.is_some_and(|begin| begin.wrapping_sub(sequence) <= MOST_IN_FRONT_OF_A_SYN);
        if is_new && !is_answer {
            self.is_foreign = false;
            if !is_late {
                // The ports are used again.
                self.left_before = self.left();
                self.begins = [None, None];
                self.sides = [None, None];
            }
        }
        if let (Some(side), Some(begin)) = (self.sides.get_mut(side), self.begins.get_mut(side))
            && (side.is_none() || !is_answer)
        {
            *begin = Some(sequence);
            *side = Some(Side { assembly: Assembly::new(sequence), talk: Talk::new(true) });
        }
    }
}
