//! Why a game ended early.

use std::io;
use std::time::Duration;

use rdmalab_device::{CompletionStatus, DeviceError, ModifyError, PostError};

use super::report::Report;
use crate::meeting::{NoSuchGid, hint};

/// Why a game of ping-pong could not be begun or finished.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PingpongError {
    /// The device.
    #[error("{0}")]
    Device(#[from] DeviceError),
    /// The queue pair could not be brought into a state.
    #[error("cannot connect the queue pair: {0}")]
    Modify(#[from] ModifyError),
    /// A request was not taken.
    #[error("cannot post a request: {0}")]
    Post(#[from] PostError),
    /// There is no such entry in the GID table.
    #[error("{0}")]
    NoSuchGid(#[from] NoSuchGid),
    /// The TCP connection broke.
    #[error("the exchange of addresses over TCP failed: {0}")]
    Tcp(#[from] io::Error),
    /// The peer closed the TCP connection too early.
    #[error(
        "the peer closed the connection after {got} of the {expected} bytes of its address message; it may have said why: \
         is it another program (-p), or was it told another number of queue pairs (-q)?"
    )]
    Hangup {
        /// Bytes that came.
        got: usize,
        /// Bytes of the message.
        expected: usize,
    },
    /// The peer sent back what we told it.
    #[error("the peer announced our own queue pair: it is an echo, not a peer")]
    Echo,
    /// The peer's first message is not what the program sends.
    #[error("the peer's address message is not of {program}: {found:?}")]
    NotAnAddress {
        /// The program that we speak.
        program: &'static str,
        /// The line that is none.
        found: String,
    },
    /// The peer's first message is that of another program.
    #[error("this is {program}, and the peer is a program of perftest {version}: its port is another (-p)")]
    Perftest {
        /// The program that we speak.
        program: &'static str,
        /// The version that it says.
        version: String,
    },
    /// The peer has another number of queue pairs.
    #[error("the peer has {peer} queue pairs and we have {ours}: both sides need the same number (-q)")]
    QueuePairs {
        /// The peer's.
        peer: usize,
        /// Ours.
        ours: usize,
    },
    /// There are fewer receives than queue pairs that draw from them.
    #[error("{receives} receives (-r) are too few for {queue_pairs} queue pairs: each needs one")]
    Receives {
        /// Receives asked for.
        receives: u32,
        /// Queue pairs asked for.
        queue_pairs: u32,
    },
    /// Queue pairs asked for: none, or more than the program has places for.
    #[error("{0} queue pairs (-q) are not possible: the address message has places for 1 to 256")]
    NoSuchNumber(u32),
    /// A datagram is one packet, and that one would be too long.
    #[error("a datagram of {size} bytes (-s) is not possible: the link carries {most} at most")]
    TooLong {
        /// Bytes asked for.
        size: u32,
        /// The link's path MTU.
        most: usize,
    },
    /// All buffers together are too large.
    #[error(
        "the messages need {0} bytes of memory: that is too much, ask for shorter ones (-s) or fewer (-r)"
    )]
    Memory(u64),
    /// The peer's queue pair has an address of another family than ours.
    #[error("the peer's GID {peer} and ours, {local}, are not of one family; choose another with -g")]
    Families {
        /// Ours.
        local: std::net::IpAddr,
        /// The peer's.
        peer: std::net::IpAddr,
    },
    /// The peer did not do its part.
    #[error("{what} did not come within {} s", patience.map_or(0, |patience| patience.as_secs()))]
    Silence {
        /// What was waited for.
        what: &'static str,
        /// How long.
        patience: Option<Duration>,
    },
    /// A message did not come, and the transport sends nothing again.
    #[error(
        "round {round}: no message came within {} s: over {transport} a lost message is lost for good, and ends the game",
        patience.map_or(0, |patience| patience.as_secs())
    )]
    Lost {
        /// Rounds done so far.
        round: u32,
        /// UC or UD.
        transport: &'static str,
        /// How long was waited.
        patience: Option<Duration>,
    },
    /// A message came before the peer had our answer to its last one.
    #[error("round {round}: the peer sent a message out of its turn")]
    OutOfTurn {
        /// Rounds done so far.
        round: u32,
    },
    /// The device was stopped in the middle.
    #[error("interrupted after {} rounds", .0.rounds)]
    Interrupted(Report),
    /// A request failed.
    #[error("round {round}: the {request} failed with {status}: {}", hint(*status))]
    Failed {
        /// Rounds done so far.
        round: u32,
        /// What failed.
        request: &'static str,
        /// How.
        status: CompletionStatus,
    },
    /// A message had another length.
    #[error(
        "round {round}: a message of {found} bytes came, {expected} were expected: was the peer started for another size (-s)?"
    )]
    Length {
        /// Rounds done so far.
        round: u32,
        /// Bytes that came.
        found: u32,
        /// Bytes expected.
        expected: u32,
    },
    /// The data is not what was sent.
    #[error("round {round}: byte {offset} is {found:#04x}, {expected:#04x} was expected")]
    Data {
        /// Rounds done so far.
        round: u32,
        /// The first wrong byte.
        offset: usize,
        /// What is there.
        found: u8,
        /// What should be.
        expected: u8,
    },
}
