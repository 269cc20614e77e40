//! Work requests: what an application posts.

mod binding;
mod operation;
mod post_error;

use rdmalab_wire::{QKey, Qpn, RKey};

use crate::address_handle::AddressHandleId;
use crate::queue_pair_type::QueuePairType;
use crate::shared_receive_queue::SharedReceiveQueueId;

pub use binding::{FastRegistration, WindowBinding};
pub use operation::{Operation, Placement, Selectivity};
pub use post_error::PostError;

/// A piece of a registered region on the local side (`ibv_sge`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sge {
    /// Virtual address of the first byte; in a zero-based region, its distance from the first.
    pub address: u64,
    /// Bytes.
    pub length: u32,
    /// The region's local key.
    pub key: u32,
}

/// Where an RDMA operation reaches in the peer's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemoteAddress {
    /// Virtual address of the first byte; where the key stands for something zero-based, its distance from the first.
    pub address: u64,
    /// The peer's remote key.
    pub key: RKey,
}

/// Whom a send request is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// The one peer of a connected queue pair.
    #[default]
    Connected,
    /// For UD: where the datagram goes.
    Datagram {
        /// The way there.
        path: AddressHandleId,
        /// The peer's queue pair, or [`Qpn::MULTICAST`].
        queue_pair: Qpn,
        /// What the peer wants to see. With the top bit set, the sender's own queue key is sent in its place.
        queue_key: QKey,
    },
    /// For XRC: the shared receive queue of the peer from which the message takes its receive, by its number there. What
    /// consumes no receive names one all the same.
    Xrc(SharedReceiveQueueId),
}

bitflags::bitflags! {
    /// How a send work request is to be treated (`IBV_SEND_*`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct SendFlags: u8 {
        /// Success is reported by a completion. Errors always are.
        const SIGNALED = 1;
        /// The peer's completion raises a solicited event.
        const SOLICITED = 2;
        /// Starts only when all READs and atomics before it are done.
        const FENCE = 4;
    }
}

/// A work request for a send queue. The default is an empty SEND to the connected peer, unsignaled.
#[derive(Clone, Copy, Debug, Default)]
pub struct SendRequest<'a> {
    /// Comes back in the completion.
    pub id: u64,
    /// What to do.
    pub operation: Operation,
    /// Whom it is for.
    pub target: Target,
    /// The local side, in order: the source, or the sink of READs and atomics.
    pub elements: &'a [Sge],
    /// In place of elements: bytes that are copied when the request is posted, so that they need no region and may
    /// change at once.
    pub inline: Option<&'a [u8]>,
    /// How.
    pub flags: SendFlags,
}

impl<'a> SendRequest<'a> {
    /// A SEND to the connected peer, whose completion is told. What is to be otherwise is set beside it:
    /// `SendRequest { id: 7, ..SendRequest::send(&elements) }`.
    pub const fn send(elements: &'a [Sge]) -> Self {
        Self::signaled(Operation::Send, elements)
    }

    /// An RDMA WRITE to a place at the connected peer, whose completion is told.
    pub const fn write(elements: &'a [Sge], to: RemoteAddress) -> Self {
        Self::signaled(Operation::RdmaWrite(to), elements)
    }

    /// An RDMA READ of a place at the connected peer, whose completion is told.
    pub const fn read(elements: &'a [Sge], from: RemoteAddress) -> Self {
        Self::signaled(Operation::RdmaRead(from), elements)
    }

    const fn signaled(operation: Operation, elements: &'a [Sge]) -> Self {
        Self {
            id: 0,
            operation,
            target: Target::Connected,
            elements,
            inline: None,
            flags: SendFlags::SIGNALED,
        }
    }

    /// Whether a queue pair of this kind takes such an operation for such a target. Operations that only concern us
    /// have no target, so theirs does not matter.
    pub fn check(&self, kind: QueuePairType) -> Result<(), PostError> {
        if !self.operation.supported_by(kind) {
            return Err(PostError::NotSupported { operation: self.operation.name(), kind });
        }
        let is_right = match self.target {
            Target::Connected => matches!(kind, QueuePairType::Rc | QueuePairType::Uc),
            Target::Datagram { .. } => kind == QueuePairType::Ud,
            Target::Xrc(_) => kind == QueuePairType::XrcInitiator,
        };
        if is_right || self.operation.is_local() { Ok(()) } else { Err(PostError::WrongTarget(kind)) }
    }
}

/// A work request for a receive queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReceiveRequest<'a> {
    /// Comes back in the completion.
    pub id: u64,
    /// Where the message goes, in order.
    pub elements: &'a [Sge],
}
