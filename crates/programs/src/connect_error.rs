//! Why a program that connects by address and port (rping, ucmatose, udaddy) ended early.

use std::net::SocketAddr;
use std::time::Duration;

use rdmalab_device::{
    CallFailure, CompletionStatus, DeviceError, DisconnectCause, ModifyError, PostError, RejReason,
    SidrStatus,
};

use crate::reasons::{not_served, refused};

/// Why an exchange could not be begun or finished.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The device.
    #[error("{0}")]
    Device(#[from] DeviceError),
    /// A request was not taken.
    #[error("cannot post a request: {0}")]
    Post(#[from] PostError),
    /// The queue pair could not be brought into a state.
    #[error("cannot connect the queue pair: {0}")]
    Modify(#[from] ModifyError),
    /// The peer refused.
    #[error("{peer} refused the connection: {}", refused(*reason))]
    Rejected {
        /// Who.
        peer: SocketAddr,
        /// Why.
        reason: RejReason,
    },
    /// The peer refused to say where its datagram service is.
    #[error("{peer} has no such datagram service for us: {}", not_served(*status))]
    NoService {
        /// Who.
        peer: SocketAddr,
        /// Why.
        status: SidrStatus,
    },
    /// The peer does not answer, or went away before it did.
    #[error("no connection to {0}: it does not answer, or gives up")]
    Unreachable(SocketAddr),
    /// The peer answered something that leads to no connection.
    #[error("no connection to {peer}: {failure}")]
    Call {
        /// Who.
        peer: SocketAddr,
        /// What is wrong.
        failure: CallFailure,
    },
    /// The peer ended the connection early. One that has done nothing of it may be another program.
    #[error("the connection ended after {done}{} messages: {cause}{}", beyond(*of), if *done == 0 { PORT } else { "" })]
    Disconnected {
        /// Messages done.
        done: u64,
        /// Messages that were to be, if that is known.
        of: Option<u64>,
        /// Who ended it.
        cause: DisconnectCause,
    },
    /// The peer did not do its part.
    #[error("{what} did not come within {} s", patience.as_secs())]
    Silence {
        /// What was waited for.
        what: &'static str,
        /// How long.
        patience: Duration,
    },
    /// A request failed.
    #[error("message {message}: the {request} failed with {status}: {}", status.meaning())]
    Failed {
        /// Messages done before.
        message: u64,
        /// What failed.
        request: &'static str,
        /// How.
        status: CompletionStatus,
    },
    /// A message had another length.
    #[error("message {message}: {found} bytes came, {expected} were expected")]
    Length {
        /// Messages done before.
        message: u64,
        /// Bytes that came.
        found: u32,
        /// Bytes expected.
        expected: u32,
    },
    /// The server of ucmatose sends more messages than were told of.
    #[error(
        "the server sends more than the {told} messages that were told of: start both sides with the same number (-C)"
    )]
    TooMany {
        /// Messages that were told of.
        told: u32,
    },
    /// The data is not what it must be.
    #[error("message {message}: byte {offset} is {found:#04x}, {expected:#04x} was expected")]
    Data {
        /// Messages done before.
        message: u64,
        /// The first wrong byte.
        offset: usize,
        /// What is there.
        found: u8,
        /// What should be.
        expected: u8,
    },
    /// The peer does something that the program never does.
    #[error("the peer does not speak {program}: {what}")]
    Foreign {
        /// What we speak.
        program: &'static str,
        /// What it did.
        what: &'static str,
    },
    /// Datagrams were lost, which is no fault of anybody's.
    #[error("{missing} of {of} datagrams did not come back")]
    Lost {
        /// How many are missing.
        missing: u64,
        /// Of how many.
        of: u64,
    },
    /// A datagram is one packet, and that one would be too long.
    #[error("a datagram of {size} bytes (-S) is not possible: the link carries {most} at most")]
    TooLong {
        /// Bytes asked for.
        size: u32,
        /// The link's path MTU.
        most: usize,
    },
    /// A port of ours cannot be had.
    #[error("{error}")]
    Port {
        /// Its number.
        port: u16,
        /// Why.
        error: DeviceError,
    },
    /// The program was told to end.
    #[error("interrupted")]
    Interrupted,
    /// The options make no sense.
    #[error("{0}")]
    Options(&'static str),
}

/// Of how many, if that is known.
fn beyond(of: Option<u64>) -> String {
    of.map(|of| format!(" of {of}")).unwrap_or_default()
}

/// What to look at where nothing has been done.
const PORT: &str = "; is that the port of this program, and were both sides told alike?";
