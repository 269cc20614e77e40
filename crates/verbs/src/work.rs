//! Work requests: what an application posts.

use rdmalab_wire::{ImmDt, RKey};

/// A piece of a registered region on the local side (`ibv_sge`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sge {
    /// Virtual address of the first byte.
    pub address: u64,
    /// Bytes.
    pub length: u32,
    /// The region's local key.
    pub key: u32,
}

/// Where an RDMA operation reaches in the peer's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteAddress {
    /// Virtual address of the first byte.
    pub address: u64,
    /// The peer's remote key.
    pub key: RKey,
}

/// What a send work request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Fills a receive of the peer.
    Send,
    /// As [`Send`](Self::Send), with four bytes that arrive in the peer's completion.
    SendWithImmediate(ImmDt),
    /// Writes the peer's memory without telling it.
    RdmaWrite(RemoteAddress),
    /// Writes, then completes a receive of the peer with four bytes.
    RdmaWriteWithImmediate(RemoteAddress, ImmDt),
    /// Reads the peer's memory into the elements.
    RdmaRead(RemoteAddress),
    /// Replaces eight bytes if they equal `compare`; the value found goes into the element.
    CompareAndSwap {
        /// Must be a multiple of eight.
        remote: RemoteAddress,
        /// The value expected, in the peer's byte order.
        compare: u64,
        /// The value to store.
        swap: u64,
    },
    /// Adds to eight bytes; the value found goes into the element.
    FetchAndAdd {
        /// Must be a multiple of eight.
        remote: RemoteAddress,
        /// What to add, wrapping.
        add: u64,
    },
}

impl Operation {
    /// Whether the answer carries data and the operation counts against the limit of outstanding READs and atomics.
    pub fn is_read_or_atomic(&self) -> bool {
        matches!(self, Self::RdmaRead(_)) || self.is_atomic()
    }

    /// Whether this is one of the two atomics.
    pub fn is_atomic(&self) -> bool {
        matches!(self, Self::CompareAndSwap { .. } | Self::FetchAndAdd { .. })
    }
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

/// A work request for a send queue.
#[derive(Clone, Copy, Debug)]
pub struct SendRequest<'a> {
    /// Comes back in the completion.
    pub id: u64,
    /// What to do.
    pub operation: Operation,
    /// The local side, in order: the source, or the sink of READs and atomics.
    pub elements: &'a [Sge],
    /// How.
    pub flags: SendFlags,
}

/// A work request for a receive queue.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveRequest<'a> {
    /// Comes back in the completion.
    pub id: u64,
    /// Where the message goes, in order.
    pub elements: &'a [Sge],
}

/// Why a work request was not taken. Always the caller's doing; nothing was queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostError {
    /// The queue pair, or the queue, does not exist.
    NoSuchQueue,
    /// The queue pair's state takes no such request.
    WrongState(crate::State),
    /// As many requests are queued as the queue was made for.
    QueueFull {
        /// What it was made for.
        capacity: u32,
    },
    /// More elements than the queue was made for.
    TooManyElements {
        /// What it was made for.
        limit: u32,
    },
    /// The elements add up to more than a message may have.
    TooLong {
        /// The sum in bytes.
        length: u64,
        /// The most that is allowed.
        limit: u64,
    },
    /// An atomic's result needs elements of eight bytes in all.
    AtomicResultNotEightBytes,
    /// READs or atomics were not allowed for when the queue pair was made ready to send.
    NoReadsNegotiated,
}

impl core::fmt::Display for PostError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoSuchQueue => f.write_str("there is no such queue"),
            Self::WrongState(state) => write!(f, "a queue pair in state {state} does not take this request"),
            Self::QueueFull { capacity } => {
                write!(f, "all {capacity} places of the queue are taken; wait for completions")
            }
            Self::TooManyElements { limit } => {
                write!(f, "more than the {limit} elements the queue was made for")
            }
            Self::TooLong { length, limit } => {
                write!(f, "a message of {length} bytes exceeds the limit of {limit}")
            }
            Self::AtomicResultNotEightBytes => {
                f.write_str("the elements of an atomic must hold eight bytes in all")
            }
            Self::NoReadsNegotiated => f.write_str("max_rd_atomic of the queue pair is 0"),
        }
    }
}

impl core::error::Error for PostError {}
