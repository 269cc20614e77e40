//! Why a test ended early.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use rdmalab_device::{CompletionStatus, DeviceError, ModifyError, PostError};

use crate::connect_error::ConnectError;
use crate::meeting::{NoSuchGid, hint};

/// Why a performance test could not be begun or finished.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PerfError {
    /// The options contradict each other, or ask for what cannot be: our caller's doing.
    #[error("{0}")]
    Options(String),
    /// The device.
    #[error("{0}")]
    Device(#[from] DeviceError),
    /// A queue pair could not be brought into a state.
    #[error("cannot connect the queue pairs: {0}")]
    Modify(#[from] ModifyError),
    /// A request was not taken.
    #[error("cannot post a request: {0}")]
    Post(#[from] PostError),
    /// A connection by rdma_cm did not come about.
    #[error("{0}")]
    Connect(#[from] ConnectError),
    /// There is no such entry in the GID table.
    #[error("{0}")]
    NoSuchGid(#[from] NoSuchGid),
    /// The TCP connection broke.
    #[error("the exchange over TCP failed at {what}: {error}")]
    Tcp {
        /// What was to be said or heard.
        what: &'static str,
        /// How it broke.
        error: io::Error,
    },
    /// The peer closed the TCP connection too early.
    #[error(
        "the peer closed the connection after {got} of the {expected} bytes of {what}; it may have said why: were both sides \
         told the same test, -c, -s and -n?"
    )]
    Hangup {
        /// What was waited for.
        what: &'static str,
        /// Bytes that came.
        got: usize,
        /// Bytes of the message.
        expected: usize,
    },
    /// The server says nothing to our first word.
    #[error("TCP port {port} (-p) is not one of perftest, or its server takes no more clients: {cause}")]
    TurnedAway {
        /// The server's port.
        port: u16,
        /// How the conversation ended.
        cause: Box<PerfError>,
    },
    /// The peer's first message is no version, or one whose exchange is another.
    #[error("the peer is not a program of perftest of version 5.70 or later: its first message is {0:?}")]
    Version(String),
    /// A message of the peer is not what the programs send.
    #[error("{what} of the peer is not of perftest's exchange: {found:?}")]
    Garbage {
        /// What was waited for.
        what: &'static str,
        /// What came, unprintable bytes escaped.
        found: String,
    },
    /// The peer names other queue pairs than before.
    #[error(
        "the peer goes on with another queue pair than the one it announced: it was started for another number of queue \
         pairs (-q), or another test"
    )]
    OtherQueuePairs,
    /// The peer's queue pair has an address of another family than ours.
    #[error("the peer's GID {peer} and ours, {local}, are not of one family; choose another with -x")]
    Families {
        /// Ours.
        local: IpAddr,
        /// The peer's.
        peer: IpAddr,
    },
    /// The peer did not do its part.
    #[error("{what} did not come within {} s", patience.as_secs_f32())]
    Silence {
        /// What was waited for.
        what: &'static str,
        /// How long.
        patience: Duration,
    },
    /// The peer says that it has done something, and nothing of it came here.
    #[error(
        "none of the {sent} messages that the client tells of has arrived here: was it started for another connection than \
         this side (-c), or does the network lose all?"
    )]
    NothingArrived {
        /// Messages of the client's result.
        sent: u64,
    },
    /// The client is through with fewer messages than were to come.
    #[error(
        "the client is done, and {received} of {expected} messages have arrived: was it told another number (-n), or another \
         connection (-c), or does the network lose some?"
    )]
    Fewer {
        /// Messages that have come.
        received: u64,
        /// Messages that were to come.
        expected: u64,
    },
    /// The peer left in the middle.
    #[error("the peer has gone before the test was over; it may have said why")]
    Gone,
    /// The program was told to end.
    #[error("interrupted")]
    Interrupted,
    /// A request failed.
    #[error("queue pair {queue_pair}: {request} {number} failed with {status}: {}", hint(*status))]
    Failed {
        /// Which one, from 0.
        queue_pair: usize,
        /// What failed.
        request: &'static str,
        /// Which one, from 1.
        number: u64,
        /// How.
        status: CompletionStatus,
    },
    /// A message had another length.
    #[error(
        "a message of {found} bytes came, {expected} were expected: the peer was started for another size (-s)?"
    )]
    Length {
        /// Bytes that came.
        found: u32,
        /// Bytes expected.
        expected: u32,
    },
    /// An atomic found something that cannot be there.
    #[error("atomic {number} of queue pair {queue_pair} found {found:#x}, {expected:#x} was expected")]
    Value {
        /// Which one, from 0.
        queue_pair: usize,
        /// Which one, from 1.
        number: u64,
        /// What it found.
        found: u64,
        /// What our atomics before it made of it.
        expected: u64,
    },
}
