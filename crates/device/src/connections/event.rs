//! What a program that makes connections is told (`rdma_cm_event`).

use std::fmt;
use std::net::SocketAddr;

use rdmalab_cm::{CommandError, DisconnectCause};
use rdmalab_iwarp::StartUpFault;
use rdmalab_roce::CreateError;
use rdmalab_verbs::{LimitReached, ModifyError};
use rdmalab_wire::iwarp::TerminateError;
use rdmalab_wire::mad::{RejReason, SidrStatus};
use rdmalab_wire::{QKey, Qpn};

use super::CmId;

/// Something that happened to an identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CmEvent {
    /// Whom it happened to. Of [`CmEventKind::ConnectRequest`] a new one, which is the program's from then on.
    pub id: CmId,
    /// What.
    pub kind: CmEventKind,
}

/// What happened, by librdmacm's names.
///
/// Private data always has all bytes of its field; what the peer left out is zero. How many of them it meant is not on
/// the wire. Over iWARP it is as long as the peer's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CmEventKind {
    /// An address of ours leads to the peer's, and there is somebody on the link to hand packets to.
    AddressResolved,
    /// Packets to the peer would go nowhere. What the identifier has begun is over.
    AddressError(AddressError),
    /// A route is known.
    RouteResolved,
    /// Somebody calls: accept or reject.
    ConnectRequest {
        /// Who was called.
        listener: CmId,
        /// What the caller offers. Of datagram services there is nothing to offer.
        offer: Offer,
        /// The caller's.
        private_data: Vec<u8>,
    },
    /// The connection stands; the queue pair is in RTS.
    Established {
        /// What the peer offers; of a caller, what it offered with its call.
        offer: Offer,
        /// The peer's, if it accepted us.
        private_data: Vec<u8>,
    },
    /// The datagram service is behind this queue pair.
    ServiceResolved {
        /// The queue pair.
        queue_pair: Qpn,
        /// Its key.
        queue_key: QKey,
        /// The peer's.
        private_data: Vec<u8>,
    },
    /// The peer refused.
    Rejected {
        /// Why.
        reason: RejReason,
        /// The peer's.
        private_data: Vec<u8>,
    },
    /// The peer refused to say which queue pair is behind a datagram service.
    ServiceRefused(SidrStatus),
    /// The peer does not answer.
    Unreachable,
    /// The connection cannot be made, though the peer answered.
    ConnectError(CallFailure),
    /// The connection is over; the queue pair is in the error state.
    Disconnected(DisconnectCause),
    /// Nothing of the connection can be under way any more.
    TimeWaitExit,
}

/// Why a call came to nothing, though the peer answered and did not refuse it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFailure {
    /// This side could not go on; over InfiniBand a REJ with this reason told the peer so.
    Ours(RejReason),
    /// iWARP: what the peer said is no start-up of MPA that we can take. It was reset.
    StartUp(StartUpFault),
    /// iWARP: the peer accepted on terms that we cannot take; a Terminate message with this error told it so.
    Terms(TerminateError),
    /// iWARP: our emulated host keeps no more TCP connections than it has.
    NoRoom,
    /// iWARP: the TCP connection was closed or reset, by the peer or on the way, before there was a reply.
    Closed,
}

impl fmt::Display for CallFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ours(reason) => {
                write!(
                    f,
                    "this side could not make it, and told the peer so (REJ reason {}, {reason})",
                    reason.0
                )
            }
            Self::StartUp(fault) => fault.fmt(f),
            Self::Terms(error) => write!(f, "the peer accepted it on terms that we cannot take ({error})"),
            Self::NoRoom => f.write_str("our emulated host has as many TCP connections as it keeps"),
            Self::Closed => {
                f.write_str("its TCP connection was closed or reset before there was a reply of MPA")
            }
        }
    }
}

impl fmt::Display for CmEventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddressResolved => f.write_str("the way to the address is known"),
            Self::AddressError(error) => write!(f, "packets to the peer would go nowhere: {error}"),
            Self::RouteResolved => f.write_str("the route is known"),
            Self::ConnectRequest { .. } => f.write_str("somebody calls"),
            Self::Established { .. } => f.write_str("the connection stands"),
            Self::ServiceResolved { queue_pair, .. } => {
                write!(f, "the datagram service is behind queue pair {}", queue_pair.value())
            }
            Self::Rejected { reason, .. } => {
                write!(f, "the peer refused it (REJ reason {}, {reason})", reason.0)
            }
            Self::ServiceRefused(status) => {
                write!(f, "the peer has no such datagram service (SIDR status {}, {status})", status.0)
            }
            Self::Unreachable => f.write_str("the peer does not answer"),
            Self::ConnectError(failure) => failure.fmt(f),
            Self::Disconnected(cause) => write!(f, "it is over: {cause}"),
            Self::TimeWaitExit => f.write_str("nothing of the connection is under way any more"),
        }
    }
}

/// Why a peer's address leads nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Neither it nor, where it is beyond the link, the gateway answers ARP or neighbour discovery.
    #[error("nobody on the link answers for the address")]
    NoAnswer,
    /// It is in no prefix of ours, and there is no gateway.
    #[error("no prefix and no gateway leads to the address")]
    NoRoute,
}

/// How many READs and atomics may be under way, as the peer offers it (`rdma_conn_param`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// That it answers at once: the most that we may have outstanding.
    pub responder_resources: u8,
    /// That it will have outstanding at once.
    pub initiator_depth: u8,
}

/// Why an identifier could not do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CmError {
    /// It does not exist.
    #[error("there is no such identifier")]
    UnknownId,
    /// There is no such channel.
    #[error("there is no such event channel")]
    UnknownChannel,
    /// It is not far enough, or too far.
    #[error("not possible while the identifier is {0}")]
    WrongState(&'static str),
    /// It has no queue pair.
    #[error("the identifier has no queue pair")]
    NoQueuePair,
    /// The kind of queue pair does not go with the port space.
    #[error("datagram queue pairs go with the port space UDP, and connected ones with TCP")]
    WrongKind,
    /// No address of ours is of the peer's family, or the one asked for is not ours.
    #[error("no address of this port leads to {0}")]
    NoAddress(core::net::IpAddr),
    /// iWARP has no such thing.
    #[error("iWARP has no such thing: {0}")]
    NotOverIwarp(&'static str),
    /// Somebody listens there already.
    #[error("{0} is listened on already")]
    PortTaken(SocketAddr),
    /// The operating system, or the emulated host, does not listen there.
    #[error("cannot listen on {at}: {reason}")]
    NotListening {
        /// Where.
        at: SocketAddr,
        /// Why not.
        reason: std::io::ErrorKind,
    },
    /// The private data is too long for the message that it goes with.
    #[error("private data of {length} bytes, where {limit} are the most")]
    PrivateData {
        /// How long it is.
        length: usize,
        /// The most there may be.
        limit: usize,
    },
    /// The private data fits, but Linux' siw takes no more over iWARP: it refuses a longer request, and a longer reply stops its
    /// kernel. A profile whose `max_sent_private_data` is larger, as [`Profile::SPEC`](rdmalab_iwarp::Profile::SPEC) in
    /// [`IwarpSettings`](crate::IwarpSettings::profile), sends more.
    #[error(
        "private data of {length} bytes, where Linux' siw takes {limit}: it refuses a longer request, and a longer reply \
         stops its kernel; the iWARP profile spec sends up to {room} (--iwarp-profile spec)"
    )]
    PrivateDataForSiw {
        /// How long it is.
        length: usize,
        /// The most that siw takes.
        limit: usize,
        /// The most that a frame has room for.
        room: usize,
    },
    /// The port does not manage connections.
    #[error("the port does not manage connections")]
    NotManaged,
    /// Connection management refused.
    #[error("{0}")]
    Command(#[from] CommandError),
    /// A change of the queue pair's state was refused.
    #[error("{0}")]
    Modify(#[from] ModifyError),
    /// The queue pair was not made.
    #[error("{0}")]
    Create(#[from] CreateError),
    /// There are too many.
    #[error("{0}")]
    Limit(#[from] LimitReached),
}
