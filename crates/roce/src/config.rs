//! What an endpoint and a queue pair are made with.

use alloc::vec::Vec;
use core::net::IpAddr;

use rdmalab_verbs::{Capabilities, CompletionQueueId, LimitReached, ProtectionDomainId};
use rdmalab_wire::{PKey, PathMtu};

/// What an [`Endpoint`](crate::Endpoint) is made with.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// The port's addresses, in the order of its GID table.
    pub addresses: Vec<IpAddr>,
    /// The largest path MTU that the link carries.
    pub max_mtu: PathMtu,
    /// The port's partition key.
    pub partition_key: PKey,
    /// How many queue pairs there may be, at most 2^17 - 1.
    pub max_queue_pairs: usize,
    /// Packets that a requester may have unacknowledged. The specification sets no such limit below 2^23; without one, a
    /// long message floods the receiver's queues and go-back-N repeats all of it.
    pub window: u32,
    /// A requester asks for an acknowledgement at least once in so many packets. At most `window`.
    pub ack_interval: u32,
    /// Whether requesters report each [`Event::Retry`](crate::Event::Retry). An application that does not take these
    /// out would lose the events of the verbs behind them.
    pub report_retries: bool,
}

impl EndpointConfig {
    /// The usual values for a port with these addresses.
    pub fn new(addresses: Vec<IpAddr>, max_mtu: PathMtu) -> Self {
        Self {
            addresses,
            max_mtu,
            partition_key: PKey::DEFAULT,
            max_queue_pairs: (1 << 17) - 1,
            window: 128,
            ack_interval: 64,
            report_retries: false,
        }
    }
}

/// What a queue pair is made with (`ibv_qp_init_attr`).
#[derive(Clone, Copy, Debug)]
pub struct QueuePairConfig {
    /// Where it lives.
    pub protection_domain: ProtectionDomainId,
    /// Gets the completions of send requests.
    pub send_queue: CompletionQueueId,
    /// Gets the completions of receives; may be the same.
    pub receive_queue: CompletionQueueId,
    /// Its sizes.
    pub capabilities: Capabilities,
}

/// Most requests that a send or receive queue may be made for.
pub(crate) const MAX_REQUESTS: u32 = 1 << 15;
/// Most elements of a request.
pub(crate) const MAX_ELEMENTS: u32 = 32;

/// Why a queue pair was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateError {
    /// There are too many, or a queue is to be too large.
    LimitReached(LimitReached),
    /// The protection domain or a completion queue does not exist.
    NoSuchObject,
}

impl core::fmt::Display for CreateError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::LimitReached(limit) => limit.fmt(f),
            Self::NoSuchObject => f.write_str("the protection domain or a completion queue does not exist"),
        }
    }
}

impl core::error::Error for CreateError {}
