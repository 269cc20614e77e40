//! What the table orders from whoever has the byte streams, and what it tells connections.

use std::net::{IpAddr, SocketAddr};

use rdmalab_cm::DisconnectCause;
use rdmalab_wire::mad::RejReason;

use crate::connections::{CallFailure, Offer};

/// A byte stream, from connecting or accepting it to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StreamId(pub(super) u32);

/// A place where byte streams are accepted. Never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ListenerId(pub(super) u32);

/// Marks a listener's key.
const LISTENER: u64 = 1 << 32;

impl StreamId {
    /// A number that no listener has, for carriers that know their streams by number.
    pub(crate) fn key(self) -> u64 {
        self.0.into()
    }

    /// Undoes [`key`](Self::key).
    pub(crate) fn of_key(key: u64) -> Self {
        Self(key as u32)
    }
}

impl ListenerId {
    /// A number that no stream has.
    pub(crate) fn key(self) -> u64 {
        LISTENER | u64::from(self.0)
    }

    /// Undoes [`key`](Self::key).
    pub(crate) fn of_key(key: u64) -> Self {
        Self(key as u32)
    }
}

/// What the carrier is to do. Afterwards it tells what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Accept streams there; [`listens`](super::IwarpTable::listens) follows.
    Listen {
        /// The listener.
        listener: ListenerId,
        /// An unspecified address stands for all of its family, port 0 for any.
        at: SocketAddr,
    },
    /// Accept no more.
    StopListening(ListenerId),
    /// Begin a stream; [`connected`](super::IwarpTable::connected) or [`failed`](super::IwarpTable::failed) follows.
    Connect {
        /// The stream.
        stream: StreamId,
        /// Our address.
        source: IpAddr,
        /// Whom to.
        peer: SocketAddr,
    },
    /// All was written: finish sending.
    ShutDown(StreamId),
    /// Both sides have finished, or nothing more is of interest: let go of it.
    Close(StreamId),
    /// Reset it and let go of it.
    Reset(StreamId),
}

/// Why a stream did not come about, or was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The peer does not want it.
    Refused,
    /// The peer does not answer.
    TimedOut,
    /// Our own host keeps no more connections.
    NoRoom,
    /// The peer has reset it, or something else is in the way.
    Broken,
}

/// What happened to a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    /// A caller's request is here: accept or reject.
    Called { listener: ListenerId, stream: StreamId },
    /// Our call was accepted; the queue pair is in RTS.
    Accepted { stream: StreamId, offer: Offer, private_data: Vec<u8> },
    /// The caller knows that we have accepted.
    Established(StreamId),
    /// Our call was refused. The stream is gone.
    Rejected { stream: StreamId, reason: RejReason, private_data: Vec<u8> },
    /// The peer of our call does not answer. The stream is gone.
    Unreachable(StreamId),
    /// Our call came to nothing for another reason. The stream is gone, or soon will be.
    Failed(StreamId, CallFailure),
    /// A caller has gone before it was answered. The stream is gone.
    Gone(StreamId),
    /// A connection that stood is over. The stream is gone, or soon will be.
    Ended { stream: StreamId, cause: DisconnectCause },
}
