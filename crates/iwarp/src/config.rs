//! What a queue pair is made with, and what it is connected with.

use rdmalab_verbs::{
    Access, Attachment, Capabilities, CompletionQueueId, LimitReached, ProtectionDomainId,
    SharedReceiveQueueId,
};
use rdmalab_wire::Qpn;

use crate::profile::Profile;

/// What a [`QueuePair`](crate::QueuePair) is made with (`ibv_qp_init_attr`).
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
    /// Where receives come from, instead of a queue of its own.
    pub shared_receive_queue: Option<SharedReceiveQueueId>,
    /// Every send request is reported, whether it asks for it or not (`sq_sig_all`).
    pub signals_all: bool,
    /// What peers may do through it; only the remote rights count. They need those of the key besides.
    pub access: Access,
}

impl QueuePairConfig {
    /// With one completion queue for both directions and nothing shared. Peers may do what their keys let them.
    pub fn new(
        protection_domain: ProtectionDomainId,
        completions: CompletionQueueId,
        capabilities: Capabilities,
    ) -> Self {
        Self {
            protection_domain,
            send_queue: completions,
            receive_queue: completions,
            capabilities,
            shared_receive_queue: None,
            signals_all: false,
            access: Access::REMOTE,
        }
    }

    /// The objects it holds on to.
    pub(crate) fn attachment(&self) -> Attachment {
        Attachment {
            protection_domain: Some(self.protection_domain),
            send_queue: Some(self.send_queue),
            receive_queue: Some(self.receive_queue),
            shared: self.shared_receive_queue,
            xrc_domain: None,
        }
    }

    pub(crate) fn check(&self) -> Result<(), CreateError> {
        let Capabilities {
            max_send_requests,
            max_receive_requests,
            max_send_elements,
            max_receive_elements,
            max_inline,
        } = self.capabilities;
        let within = |what, asked: u32, limit: u32| {
            let reached = LimitReached { what, limit: limit as usize };
            if asked <= limit { Ok(()) } else { Err(CreateError::LimitReached(reached)) }
        };
        within("requests of a queue", max_send_requests.max(max_receive_requests), MAX_REQUESTS)?;
        within("elements of a request", max_send_elements.max(max_receive_elements), MAX_ELEMENTS)?;
        within("bytes of inline data", max_inline, MAX_INLINE)
    }
}

/// Most requests that a send or receive queue may be made for.
const MAX_REQUESTS: u32 = 1 << 15;
/// Most elements of a request.
pub(crate) const MAX_ELEMENTS: u32 = 32;
/// Most bytes of inline data of a request.
const MAX_INLINE: u32 = 1024;

/// By which names a queue pair is known; whoever keeps the table of queue pairs gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Stands in completions. Peers never see it: over iWARP they name no queue pairs.
    pub number: Qpn,
    /// A number that no other queue pair of the [`Context`](rdmalab_verbs::Context) ever has, over whichever transport: windows
    /// of type 2 are bound to it.
    pub accessor: u64,
}

/// What a connection needs to know besides what the start-up has settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamSettings {
    /// Bytes of a TCP segment (EMSS): an FPDU, its markers counted, is no longer. Taken as if it were long enough for a ULPDU
    /// of 128 bytes, which every sender has room for (RFC 5044 §5.1).
    pub segment_size: usize,
    /// The operations of RFC 7306 may be used: atomics and immediate data. Without, they are refused in both directions.
    pub rfc7306: bool,
    /// The peer's Terminate may come with the halves of its first byte and the bits of its third in the opposite order, as
    /// Linux siw sends them. Ours never does.
    pub swapped_terminates: bool,
    /// A responder sends no FPDU before it has the initiator's first (RFC 5044 §7.1.2). Without, it does only where a
    /// ready-to-receive message was agreed on, and else whoever owns the stream gives the initiator time to get ready.
    pub waits_for_initiator: bool,
}

impl StreamSettings {
    /// For segments of a size, with all operations, as the RFCs have it.
    pub fn new(segment_size: usize) -> Self {
        Self { segment_size, rfc7306: true, swapped_terminates: false, waits_for_initiator: true }
    }

    /// For segments of a size, with the habits of an implementation.
    pub fn of(profile: &Profile, segment_size: usize) -> Self {
        let Profile { rfc7306, swapped_terminates, waits_for_initiator, .. } = *profile;
        Self { segment_size, rfc7306, swapped_terminates, waits_for_initiator }
    }
}

/// Why a queue pair was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateError {
    /// A queue is to be too large.
    LimitReached(LimitReached),
    /// The protection domain, a completion queue or the shared receive queue does not exist.
    NoSuchObject,
}

impl core::fmt::Display for CreateError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::LimitReached(limit) => limit.fmt(f),
            Self::NoSuchObject => f.write_str(
                "the protection domain, a completion queue or the shared receive queue does not exist",
            ),
        }
    }
}

impl core::error::Error for CreateError {}
