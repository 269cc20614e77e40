//! Completions: what became of a work request.

use rdmalab_wire::{ImmDt, Qpn, RKey};

/// How a work request ended; the names are those of `ibv_wc_status`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CompletionStatus {
    /// Done.
    #[default]
    Success,
    /// A receive was too small for the message, or a request did not fit the queue pair.
    LocalLengthError,
    /// The queue pair could not carry out the request.
    LocalQueuePairOperationError,
    /// A local element names no region, the wrong domain, or bytes outside, or lacks a right.
    LocalProtectionError,
    /// The queue pair went into the error state before the request was done.
    WorkRequestFlushed,
    /// A memory window could not be bound as asked for.
    MemoryWindowBindError,
    /// The peer's answer made no sense.
    BadResponse,
    /// The peer found the request invalid; of a receive, we found the message invalid that was filling it.
    RemoteInvalidRequest,
    /// The peer's key, bounds or rights forbid the access; of a receive, ours forbid what its message asked for.
    RemoteAccessError,
    /// The peer could not complete the request.
    RemoteOperationError,
    /// No acknowledgement after all retries.
    RetryExceeded,
    /// The peer had no receive after all retries.
    RnrRetryExceeded,
}

impl CompletionStatus {
    /// The name in `<infiniband/verbs.h>`.
    pub fn verbs_name(self) -> &'static str {
        match self {
            Self::Success => "IBV_WC_SUCCESS",
            Self::LocalLengthError => "IBV_WC_LOC_LEN_ERR",
            Self::LocalQueuePairOperationError => "IBV_WC_LOC_QP_OP_ERR",
            Self::LocalProtectionError => "IBV_WC_LOC_PROT_ERR",
            Self::WorkRequestFlushed => "IBV_WC_WR_FLUSH_ERR",
            Self::MemoryWindowBindError => "IBV_WC_MW_BIND_ERR",
            Self::BadResponse => "IBV_WC_BAD_RESP_ERR",
            Self::RemoteInvalidRequest => "IBV_WC_REM_INV_REQ_ERR",
            Self::RemoteAccessError => "IBV_WC_REM_ACCESS_ERR",
            Self::RemoteOperationError => "IBV_WC_REM_OP_ERR",
            Self::RetryExceeded => "IBV_WC_RETRY_EXC_ERR",
            Self::RnrRetryExceeded => "IBV_WC_RNR_RETRY_EXC_ERR",
        }
    }
}

impl CompletionStatus {
    /// What it means, for people.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Success => "it is done",
            Self::LocalLengthError => "a message did not fit the receive or the queue pair",
            Self::LocalQueuePairOperationError => "the queue pair could not carry it out",
            Self::LocalProtectionError => {
                "a region of this side is not there, too small, or not open for this"
            }
            Self::WorkRequestFlushed => "the queue pair had ended before it was done",
            Self::MemoryWindowBindError => "a memory window could not be bound so",
            Self::BadResponse => "the peer's answer made no sense",
            Self::RemoteInvalidRequest => "one side found the request of the other invalid",
            Self::RemoteAccessError => "a key or its rights do not allow the access",
            Self::RemoteOperationError => "the peer could not carry it out",
            Self::RetryExceeded => "no acknowledgement came, however often it was sent",
            Self::RnrRetryExceeded => "the peer had no receive for it, however often it was sent",
        }
    }
}

impl core::fmt::Display for CompletionStatus {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.verbs_name())
    }
}

/// Which kind of request completed (`ibv_wc_opcode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CompletionKind {
    /// A SEND, plain, with immediate data or with the invalidation of a key.
    #[default]
    Send,
    /// An RDMA WRITE, with or without immediate data.
    RdmaWrite,
    /// An RDMA READ.
    RdmaRead,
    /// A compare and swap.
    CompareAndSwap,
    /// A fetch and add.
    FetchAndAdd,
    /// A FLUSH.
    Flush,
    /// An ATOMIC WRITE.
    AtomicWrite,
    /// A key of ours was invalidated.
    LocalInvalidate,
    /// A memory window was bound.
    BindWindow,
    /// A fast-registration region got its mapping.
    FastRegister,
    /// A receive, filled by a SEND.
    Receive,
    /// A receive, used up by the immediate data of an RDMA WRITE.
    ReceiveRdmaWithImmediate,
}

/// An entry of a completion queue (`ibv_wc`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The work request's number.
    pub id: u64,
    /// How it ended. If this is not success, only `id` and `queue_pair` mean anything.
    pub status: CompletionStatus,
    /// What it was.
    pub kind: CompletionKind,
    /// Bytes received or read (for a WRITE with immediate data, bytes written); 0 for sends and writes. A datagram's
    /// count has the 40 bytes for the network header in it.
    pub length: u32,
    /// Immediate data that came with a message.
    pub immediate: Option<ImmDt>,
    /// The key of ours that the message invalidated.
    pub invalidated: Option<RKey>,
    /// Ours.
    pub queue_pair: Qpn,
    /// The queue pair that sent a datagram; only UD tells.
    pub source: Option<Qpn>,
    /// Whether the first 40 bytes of the receive hold the network header; always so for a datagram over RoCE.
    pub has_grh: bool,
    /// Index of the partition key with which a datagram came.
    pub partition_index: u16,
    /// Whether the sender asked for a solicited event.
    pub solicited: bool,
}
