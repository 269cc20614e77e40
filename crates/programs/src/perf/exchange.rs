//! The conversation of perftest's programs over one TCP connection, beside the RDMA. EXCHANGE.md tells it whole.
//!
//! It is a row of swaps: each message of the client is answered by one of the server of the same length and meaning. So
//! both sides make the same calls here, and only the order of writing and reading differs. It never looks at a queue pair.
//!
//! No wait is without an end. But the other side may be busy with millions of messages and have nothing to say: as long as
//! packets of it arrive, it is not silent.

mod words;

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rdmalab_device::PathMtu;

pub use words::{Figures, Side};

use super::Role;
use super::error::PerfError;
use crate::herald::{Herald, Vigil};
use words::{
    MANAGED_SIDE_LENGTH, OUR_VERSION, SIDE_LENGTH, decode_mtu, decode_version, encode_mtu, encode_version,
};

/// Addresses of one-sided operations go round in so many bytes, in both programs.
const CYCLE: u32 = 4096;
/// They are multiples of so many bytes apart.
const LINE: u32 = 64;
/// The largest of either that a peer may ask for.
const LARGEST: u32 = 1 << 20;

/// What both sides begin with, as errors call it.
pub(super) const FIRST_WORD: &str = "the version";

/// A connection on which reading can be told when to give up. So long, at most, one read may wait.
pub(super) trait Wait: Read + Write {
    fn set_patience(&mut self, patience: Option<Duration>);

    /// Whether the peer has ended it, or it broke; something may still wait to be read.
    fn is_over(&self) -> bool;
}

impl Wait for rdmalab_device::Stream {
    fn set_patience(&mut self, patience: Option<Duration>) {
        self.set_timeout(patience);
    }

    fn is_over(&self) -> bool {
        self.has_ended()
    }
}

/// What both sides hold to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Terms {
    /// The smaller one of the two.
    pub(super) mtu: PathMtu,
    /// Bytes in which the addresses of one-sided operations go round.
    pub(super) cycle: u32,
    /// Addresses are multiples of so many bytes apart.
    pub(super) line: u32,
}

/// Where the peer is, while data flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// At its part of the test.
    There,
    /// Through with it: it has said its next word.
    Done,
    /// It has left without one.
    Gone,
}

/// One side of a conversation.
pub(super) struct Exchange<'a, S> {
    stream: S,
    /// Connections are made by rdma_cm, whose queue pairs are announced in another form.
    is_managed: bool,
    role: Role,
    patience: Option<Duration>,
    stop: &'a AtomicBool,
    /// Counts packets that arrived: a peer that sends some is alive.
    heard: &'a dyn Fn() -> u64,
    vigil: Vigil,
    /// A byte of the peer's next message that was taken before its time.
    ahead: Option<u8>,
}

impl<'a, S: Wait> Exchange<'a, S> {
    pub(super) fn new(
        stream: S,
        role: Role,
        patience: Option<Duration>,
        stop: &'a AtomicBool,
        heard: &'a dyn Fn() -> u64,
    ) -> Self {
        Self { stream, is_managed: false, role, patience, stop, heard, vigil: Vigil::default(), ahead: None }
    }

    /// The same with connections by rdma_cm.
    pub(super) fn managed(self) -> Self {
        Self { is_managed: true, ..self }
    }

    /// The same with somebody who is told what is waited for.
    pub(super) fn heralded(self, herald: &Herald) -> Self {
        Self { vigil: Vigil::new(herald), ..self }
    }

    /// Where connections are made by rdma_cm, those of the test are made between two swaps without meaning.
    pub(super) fn pause(&mut self) -> Result<(), PerfError> {
        self.swap("the word that a connection follows", &[0; MANAGED_SIDE_LENGTH]).map(|_| ())
    }

    /// Whether the peer is still at its part. As long as data flows, nobody has anything to say, and stays.
    pub(super) fn presence(&mut self) -> Presence {
        /// What has come is there at once.
        const GLANCE: Duration = Duration::from_millis(1);
        if self.ahead.is_none() {
            let mut byte = [0];
            self.stream.set_patience(Some(GLANCE));
            // An end or a failure is there at the next look, too.
            self.ahead = matches!(self.stream.read(&mut byte), Ok(1)).then_some(byte[0]);
        }
        match self.ahead {
            Some(_) => Presence::Done,
            None if self.stream.is_over() => Presence::Gone,
            None => Presence::There,
        }
    }

    /// The beginning: versions, the shape of memory, path MTUs.
    pub(super) fn agree(&mut self, mtu: PathMtu) -> Result<Terms, PerfError> {
        let theirs = self.swap(FIRST_WORD, &encode_version(OUR_VERSION))?;
        if decode_version(&theirs).is_none() {
            return Err(PerfError::Version(readable(&theirs)));
        }
        let cycle = self.number("the size of the cycle of addresses", CYCLE)?;
        let line = self.number("the size of a cache line", LINE)?;
        let theirs = self.swap("the path MTU", &encode_mtu(mtu))?;
        let theirs = decode_mtu(&theirs).ok_or_else(|| garbage("the path MTU", &theirs))?;
        let mtu = if theirs.bytes() < mtu.bytes() { theirs } else { mtu };
        Ok(Terms { mtu, cycle, line })
    }

    /// Either side's number, as four bytes, the largest counts.
    fn number(&mut self, what: &'static str, ours: u32) -> Result<u32, PerfError> {
        let theirs = self.swap(what, &ours.to_be_bytes())?;
        match u32::from_be_bytes(theirs) {
            number if number.is_power_of_two() && number <= LARGEST => Ok(number.max(ours)),
            _ => Err(garbage(what, &theirs)),
        }
    }

    /// The queue pairs of both sides, one after the other.
    pub(super) fn sides(&mut self, ours: &[Side]) -> Result<Vec<Side>, PerfError> {
        let mut theirs = Vec::with_capacity(ours.len());
        for side in ours {
            let side = self.side("the announcement of a queue pair", side)?;
            // One that has fewer queue pairs than we goes on and repeats them.
            if theirs.first().is_some_and(|first: &Side| first.queue_pair == side.queue_pair) {
                return Err(PerfError::OtherQueuePairs);
            }
            theirs.push(side);
        }
        Ok(theirs)
    }

    /// Both sides say all their queue pairs once more, to tell that they are connected.
    pub(super) fn connected(&mut self, ours: &[Side], theirs: &[Side]) -> Result<(), PerfError> {
        for (ours, theirs) in ours.iter().zip(theirs) {
            if self.side("the word that it is connected", ours)? != *theirs {
                return Err(PerfError::OtherQueuePairs);
            }
        }
        Ok(())
    }

    /// Both sides have come to the same point. They say so by their first queue pair.
    pub(super) fn meet(&mut self, ours: &[Side], theirs: &[Side]) -> Result<(), PerfError> {
        let (Some(ours), Some(theirs)) = (ours.first(), theirs.first()) else { return Ok(()) };
        // One that has more queue pairs than we is still announcing them.
        if self.side("the word that it is ready", ours)? == *theirs {
            Ok(())
        } else {
            Err(PerfError::OtherQueuePairs)
        }
    }

    fn side(&mut self, what: &'static str, ours: &Side) -> Result<Side, PerfError> {
        if self.is_managed {
            let theirs = self.swap(what, &ours.encode_managed())?;
            return Side::decode_managed(&theirs).ok_or_else(|| garbage(what, &theirs));
        }
        let theirs = self.swap(what, &ours.encode())?;
        Side::decode(&theirs).ok_or_else(|| garbage(what, &theirs))
    }

    /// What both sides measured. Who has measured nothing says whatever he likes; we say zeros.
    pub(super) fn figures(&mut self, ours: &Figures, peer_measures: bool) -> Result<Figures, PerfError> {
        let mut theirs = ours.encode();
        for message in &mut theirs {
            *message = self.swap("the results", message)?;
        }
        match Figures::decode(&theirs) {
            Some(figures) => Ok(figures),
            None if peer_measures => Err(garbage("the results", &theirs.concat())),
            None => Ok(Figures::default()),
        }
    }

    /// Leaves in the middle: what the peer says next is heard and not answered, so that it finds the conversation ended, and not
    /// broken off.
    pub(super) fn leave(&mut self) {
        const WHAT: &str = "the last word before we leave";
        // It may have left, too.
        let _ = match self.is_managed {
            true => self.hear::<MANAGED_SIDE_LENGTH>(WHAT).map(drop),
            false => self.hear::<SIDE_LENGTH>(WHAT).map(drop),
        };
    }

    /// The last word of both. Nobody waits for the other's.
    pub(super) fn done(&mut self) {
        if self.is_managed {
            return;
        }
        // Whoever has left already has heard enough.
        let _ = self.stream.write_all(b"done\0");
    }

    /// Says something and hears the peer's counterpart: the client speaks first.
    fn swap<const N: usize>(&mut self, what: &'static str, ours: &[u8; N]) -> Result<[u8; N], PerfError> {
        if self.role.is_client() {
            self.say(what, ours)?;
        }
        let theirs = self.hear(what)?;
        if !self.role.is_client() {
            self.say(what, ours)?;
        }
        Ok(theirs)
    }

    fn say(&mut self, what: &'static str, message: &[u8]) -> Result<(), PerfError> {
        self.stream.set_patience(self.patience);
        self.stream.write_all(message).map_err(|error| PerfError::Tcp { what, error })
    }

    fn hear<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], PerfError> {
        /// How often to look whether packets arrive.
        const LOOK: Duration = Duration::from_millis(500);
        self.stream.set_patience(Some(self.patience.map_or(LOOK, |patience| patience.min(LOOK))));
        let mut message = [0; N];
        let (mut got, mut heard, mut since) = (0, (self.heard)(), Instant::now());
        if let (Some(byte), Some(place)) = (self.ahead.take(), message.first_mut()) {
            (*place, got) = (byte, 1);
        }
        while got < N {
            match self.stream.read(&mut message[got..]) {
                Ok(0) => return Err(PerfError::Hangup { what, got, expected: N }),
                Ok(count) => {
                    got += count;
                    since = Instant::now();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    if self.stop.load(Ordering::Relaxed) {
                        return Err(PerfError::Interrupted);
                    }
                    let now = (self.heard)();
                    if now != heard {
                        (heard, since) = (now, Instant::now());
                        continue;
                    }
                    self.vigil.lasts(since.elapsed(), what);
                    if let Some(patience) = self.patience.filter(|&patience| since.elapsed() >= patience) {
                        return Err(PerfError::Silence { what, patience });
                    }
                }
                // One that has not read all that we said ends so.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                    return Err(PerfError::Hangup { what, got, expected: N });
                }
                Err(error) => return Err(PerfError::Tcp { what, error }),
            }
        }
        Ok(message)
    }
}

fn garbage(what: &'static str, found: &[u8]) -> PerfError {
    PerfError::Garbage { what, found: readable(found) }
}

/// Bytes of a peer as they may be shown to people.
fn readable(bytes: &[u8]) -> String {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    bytes[..end].escape_ascii().to_string()
}

#[cfg(test)]
mod tests;
