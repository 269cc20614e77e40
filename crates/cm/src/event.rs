//! What the owner is told. Each event has its like among librdmacm's:
//!
//! | event | librdmacm's |
//! |---|---|
//! | [`ConnectRequest`](Event::ConnectRequest), [`ServiceRequest`](Event::ServiceRequest) | `CONNECT_REQUEST` |
//! | [`ConnectResponse`](Event::ConnectResponse) | `CONNECT_RESPONSE`, or with the queue pair's moves and [`confirm`](crate::Cm::confirm) `ESTABLISHED` |
//! | [`Established`](Event::Established), [`ServiceResolved`](Event::ServiceResolved) | `ESTABLISHED` |
//! | [`Rejected`](Event::Rejected) | `REJECTED`, status the reason |
//! | [`Unreachable`](Event::Unreachable) | `UNREACHABLE`, status -ETIMEDOUT |
//! | [`ServiceUnreachable`](Event::ServiceUnreachable), [`ServiceRefused`](Event::ServiceRefused) | `UNREACHABLE`, status -ETIMEDOUT or the status of the answer |
//! | [`ConnectError`](Event::ConnectError) | `CONNECT_ERROR` |
//! | [`Disconnected`](Event::Disconnected) | `DISCONNECTED` |
//! | [`TimeWaitExit`](Event::TimeWaitExit) | `TIMEWAIT_EXIT` |

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use rdmalab_wire::Qpn;
use rdmalab_wire::iwarp::TerminateError;
use rdmalab_wire::mad::{RejMessage, RejReason};

use crate::call::{ConnectionCall, ConnectionReply};
use crate::ids::{ConnectionId, ListenerId, ResolutionId};
use crate::resolution::{ServiceAnswer, ServiceCall, ServiceRefusal};

/// What has happened. Of each connection one of `ConnectRequest` and `ConnectResponse` at most comes first, then
/// `Established` at most once, then one of `Rejected`, `Unreachable`, `ConnectError` and `Disconnected`, and last
/// `TimeWaitExit` where time-wait was entered. After [`destroy`](crate::Cm::destroy) there are no new events of a
/// connection; those on their way still come.
///
/// Private data always has all bytes of its field; what the peer left out is zero. How many of them it meant is not on
/// the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Somebody calls. [`accept`](crate::Cm::accept) or [`reject`](crate::Cm::reject).
    ConnectRequest {
        /// Who was called.
        listener: ListenerId,
        /// The new connection.
        id: ConnectionId,
        /// What the caller asks for.
        call: Box<ConnectionCall>,
    },
    /// Our call was accepted. Move the queue pair to RTS, then [`confirm`](crate::Cm::confirm), or
    /// [`reject`](crate::Cm::reject).
    ConnectResponse {
        /// The connection.
        id: ConnectionId,
        /// The peer's side of the connection.
        reply: Box<ConnectionReply>,
    },
    /// The caller is ready; the connection that was accepted is made. The caller itself has no such event: for it, the
    /// connection is made when [`confirm`](crate::Cm::confirm) returns.
    Established {
        /// The connection.
        id: ConnectionId,
        /// How we know.
        by: EstablishedBy,
    },
    /// The peer refused, or gave up a call that nobody has answered. The connection is over; what follows is `TimeWaitExit`
    /// if [`time_wait`](Rejection::time_wait) says so, otherwise nothing.
    Rejected {
        /// The connection.
        id: ConnectionId,
        /// What the peer said.
        rejection: Box<Rejection>,
    },
    /// The peer did not answer, however often it was asked. The connection is over; an accepted one is in time-wait.
    Unreachable {
        /// The connection.
        id: ConnectionId,
        /// What did not come.
        missing: Missing,
    },
    /// The connection cannot be made for a reason of this side. It is over.
    ConnectError {
        /// The connection.
        id: ConnectionId,
        /// The reason, which the peer was told as well.
        reason: RejReason,
    },
    /// A connection that was made has ended; it is in time-wait.
    Disconnected {
        /// The connection.
        id: ConnectionId,
        /// Who ended it.
        cause: DisconnectCause,
        /// Private data of the DREQ or DREP; empty where there was none of them.
        private_data: Vec<u8>,
    },
    /// Time-wait is over: nothing of the connection can be under way any more, its queue pair may be used again. The
    /// connection is forgotten.
    TimeWaitExit {
        /// The connection.
        id: ConnectionId,
        /// Our queue pair.
        qpn: Qpn,
    },
    /// Somebody asks for the queue pair behind a datagram service. [`answer`](crate::Cm::answer).
    ServiceRequest {
        /// Who was asked.
        listener: ListenerId,
        /// The question.
        id: ResolutionId,
        /// What the asker says.
        call: Box<ServiceCall>,
    },
    /// Our question is answered: the queue pair and its key.
    ServiceResolved {
        /// The question, which is over.
        id: ResolutionId,
        /// The answer.
        answer: Box<ServiceAnswer>,
    },
    /// Our question is answered: no.
    ServiceRefused {
        /// The question, which is over.
        id: ResolutionId,
        /// Why.
        refusal: Box<ServiceRefusal>,
    },
    /// Our question was not answered, however often it was asked.
    ServiceUnreachable {
        /// The question, which is over.
        id: ResolutionId,
    },
}

/// How an accepted connection came to be known as made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EstablishedBy {
    /// The caller said so, with its private data.
    ReadyToUse(Vec<u8>),
    /// A packet came on the queue pair: [`communication_established`](crate::Cm::communication_established).
    Data,
    /// The caller ends the connection, and so it must have been made.
    Release,
}

/// A message that did not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// The answer to our call.
    Reply,
    /// That the caller is ready.
    ReadyToUse,
}

/// What a peer said when it refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// Why. Redirections are reported like other reasons: nothing here follows them.
    pub reason: RejReason,
    /// Which of our messages it is about.
    pub message: RejMessage,
    /// What would have been accepted, by reason.
    pub additional_information: Vec<u8>,
    /// The application's.
    pub private_data: Vec<u8>,
    /// Whether the queue pair is in time-wait, so that a [`TimeWaitExit`](Event::TimeWaitExit) follows.
    pub time_wait: bool,
}

/// Who ended a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisconnectCause {
    /// We did, and the peer has agreed.
    Ours,
    /// The peer did.
    Peer,
    /// Both at once.
    Both,
    /// We did, and the peer has not answered, however often it was asked.
    NoAnswer,
    /// The peer does not know the connection any more: it makes a new one with the same queue pair.
    Stale,
    /// The peer rejected what we hold for a connection.
    Rejected(RejReason),
    /// Over iWARP: a Terminate message of ours (RFC 5040 §5.4), which found this wrong with what the peer sent.
    TerminatedByUs(TerminateError),
    /// Over iWARP: a Terminate message of the peer's, which says that this was wrong with what we sent.
    TerminatedByPeer(TerminateError),
}

impl DisconnectCause {
    /// Whether a Terminate message of either side has ended it: something was wrong, however far the work had come.
    pub const fn is_terminate(self) -> bool {
        matches!(self, Self::TerminatedByUs(_) | Self::TerminatedByPeer(_))
    }
}

impl fmt::Display for DisconnectCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ours => f.write_str("this side ended it"),
            Self::Peer => f.write_str("the peer ended it"),
            Self::Both => f.write_str("both sides ended it at once"),
            Self::NoAnswer => f.write_str("this side ended it, and the peer does not answer"),
            Self::Stale => {
                f.write_str("the peer has forgotten it: it makes another with the same queue pair")
            }
            Self::Rejected(reason) => {
                write!(
                    f,
                    "the peer rejects what this side holds for a connection (REJ reason {}, {reason})",
                    reason.0
                )
            }
            Self::TerminatedByUs(error) => {
                write!(f, "this side ended it, since what the peer sent was wrong: TERMINATE, {error}")
            }
            Self::TerminatedByPeer(error) => {
                write!(f, "the peer ended it, since what this side sent was wrong: TERMINATE, {error}")
            }
        }
    }
}
