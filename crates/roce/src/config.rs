//! What an endpoint and a queue pair are made with.

use alloc::vec;
use alloc::vec::Vec;
use core::net::IpAddr;

use rdmalab_verbs::{
    Attachment, Capabilities, CompletionQueueId, LimitReached, ProtectionDomainId, QueuePairType,
    SharedReceiveQueueId, XrcDomainId,
};
use rdmalab_wire::{PKey, PathMtu};

use crate::congestion::CongestionControl;
use crate::ip_layer::IpLayer;
use crate::profile::Profile;

/// What an [`Endpoint`](crate::Endpoint) is made with.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// The port's addresses, in the order of its GID table.
    pub addresses: Vec<IpAddr>,
    /// The largest path MTU that the link carries.
    pub max_mtu: PathMtu,
    /// The port's table of partition keys, at most 2^16.
    pub partition_keys: Vec<PKey>,
    /// How many queue pairs there may be, at most 2^17 - 1.
    pub max_queue_pairs: usize,
    /// Packets that a requester may have unacknowledged. The specification sets no such limit below 2^23; without one, a
    /// long message floods the receiver's queues and go-back-N repeats all of it.
    pub window: u32,
    /// The implementation whose habits it has. Linux rxe's by default, with which anybody can compare.
    pub profile: Profile,
    /// What slows a flow down when the network is congested.
    pub congestion_control: CongestionControl,
    /// Whether requesters report each [`Event::Retry`](crate::Event::Retry). An application that does not take these
    /// out would lose the events of the verbs behind them.
    pub report_retries: bool,
    /// Who writes the IP header.
    pub ip_layer: IpLayer,
    /// With which of the 128 generations queue pair numbers begin. Peers remember the queue pairs of a port that comes back,
    /// and take equal ones for the same: where they outlive a run, the next should begin elsewhere.
    pub first_generation: u8,
}

impl EndpointConfig {
    /// The usual values for a port with these addresses.
    pub fn new(addresses: Vec<IpAddr>, max_mtu: PathMtu) -> Self {
        Self {
            addresses,
            max_mtu,
            partition_keys: vec![PKey::DEFAULT],
            max_queue_pairs: (1 << 17) - 1,
            window: 128,
            profile: Profile::RXE,
            congestion_control: CongestionControl::None,
            report_retries: false,
            ip_layer: IpLayer::Own,
            first_generation: 0,
        }
    }
}

impl EndpointConfig {
    /// The window that counts: a requester that may send nothing would never get on.
    pub(crate) fn effective_window(&self) -> u32 {
        self.window.max(1)
    }

    /// Packets after which an acknowledgement is asked for, at the latest when the window is full.
    pub(crate) fn ack_interval(&self) -> u32 {
        let window = self.effective_window();
        self.profile.ack_interval.unwrap_or(window.div_ceil(2)).clamp(1, window)
    }
}

/// What a queue pair is made with (`ibv_qp_init_attr`).
#[derive(Clone, Copy, Debug)]
pub struct QueuePairConfig {
    /// Its transport service.
    pub kind: QueuePairType,
    /// Where it lives. The memory that an XRC target's peers reach is that of the shared receive queue's domain.
    pub protection_domain: ProtectionDomainId,
    /// Gets the completions of send requests.
    pub send_queue: CompletionQueueId,
    /// Gets the completions of receives; may be the same. XRC shared receive queues have their own.
    pub receive_queue: CompletionQueueId,
    /// Its sizes.
    pub capabilities: Capabilities,
    /// Where receives come from, instead of a queue of its own. Not for XRC, where each packet names one.
    pub shared_receive_queue: Option<SharedReceiveQueueId>,
    /// The XRC domain, whose shared receive queues an XRC target's peers may name.
    pub xrc_domain: Option<XrcDomainId>,
    /// Every send request is reported, whether it asks for it or not (`sq_sig_all`).
    pub signals_all: bool,
}

impl QueuePairConfig {
    /// With one completion queue for both directions and nothing shared.
    pub fn new(
        kind: QueuePairType,
        protection_domain: ProtectionDomainId,
        completions: CompletionQueueId,
        capabilities: Capabilities,
    ) -> Self {
        Self {
            kind,
            protection_domain,
            send_queue: completions,
            receive_queue: completions,
            capabilities,
            shared_receive_queue: None,
            xrc_domain: None,
            signals_all: false,
        }
    }

    /// The objects it holds on to.
    pub(crate) fn attachment(&self) -> Attachment {
        Attachment {
            protection_domain: Some(self.protection_domain),
            send_queue: Some(self.send_queue),
            receive_queue: Some(self.receive_queue),
            shared: self.shared_receive_queue,
            xrc_domain: self.xrc_domain,
        }
    }

    /// What does not go together.
    pub(crate) fn check(&self) -> Result<(), CreateError> {
        if self.kind.is_xrc() && self.shared_receive_queue.is_some() {
            return Err(CreateError::NoSharedReceiveQueue);
        }
        if self.xrc_domain.is_some() != (self.kind == QueuePairType::XrcTarget) {
            return Err(CreateError::XrcDomain);
        }
        let Capabilities { max_send_requests, max_receive_requests, max_inline, .. } = self.capabilities;
        let limit =
            |what, limit: u32| Err(CreateError::LimitReached(LimitReached { what, limit: limit as usize }));
        if max_send_requests.max(max_receive_requests) > MAX_REQUESTS {
            return limit("requests of a queue", MAX_REQUESTS);
        }
        if self.capabilities.max_send_elements.max(self.capabilities.max_receive_elements) > MAX_ELEMENTS {
            return limit("elements of a request", MAX_ELEMENTS);
        }
        if max_inline > MAX_INLINE {
            return limit("bytes of inline data", MAX_INLINE);
        }
        Ok(())
    }
}

/// Most requests that a send or receive queue may be made for.
pub(crate) const MAX_REQUESTS: u32 = 1 << 15;
/// Most elements of a request.
pub(crate) const MAX_ELEMENTS: u32 = 32;
/// Most bytes of inline data of a request.
pub(crate) const MAX_INLINE: u32 = 1024;

/// Why a queue pair was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateError {
    /// There are too many, or a queue is to be too large.
    LimitReached(LimitReached),
    /// The protection domain, a completion queue, the shared receive queue or the XRC domain does not exist.
    NoSuchObject,
    /// XRC queue pairs have no shared receive queue of their own: each packet names one.
    NoSharedReceiveQueue,
    /// XRC targets, and only they, are made with an XRC domain.
    XrcDomain,
    /// The general services interface is a datagram queue pair (UD).
    NotDatagram,
}

impl core::fmt::Display for CreateError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::LimitReached(limit) => limit.fmt(f),
            Self::NoSuchObject => f.write_str(
                "the protection domain, a completion queue, the shared receive queue or the XRC domain does not exist",
            ),
            Self::NoSharedReceiveQueue => {
                f.write_str("an XRC queue pair takes no shared receive queue: its peer names one in each packet")
            }
            Self::XrcDomain => f.write_str("XRC targets, and only they, are made with an XRC domain"),
            Self::NotDatagram => f.write_str("the general services interface is a datagram queue pair (UD)"),
        }
    }
}

impl core::error::Error for CreateError {}
