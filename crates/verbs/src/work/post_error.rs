//! Why a work request is refused when it is posted.

use crate::queue_pair_type::QueuePairType;

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
    /// More inline bytes than the queue was made for.
    InlineTooLong {
        /// How many came.
        length: usize,
        /// What the queue was made for.
        limit: u32,
    },
    /// Both elements and inline bytes were given.
    InlineAndElements,
    /// Inline bytes were given to an operation that sends none.
    InlineNotAllowed {
        /// The operation's name.
        operation: &'static str,
    },
    /// Elements were given to an operation that takes none.
    HasElements {
        /// The operation's name.
        operation: &'static str,
    },
    /// Queue pairs of this kind cannot do it.
    NotSupported {
        /// The operation's name.
        operation: &'static str,
        /// What the queue pair is.
        kind: QueuePairType,
    },
    /// The target is not one for a queue pair of this kind.
    WrongTarget(QueuePairType),
    /// The address handle of the target does not exist (any more), lives in another protection domain, or leads from an
    /// address that the queue pair's port does not have.
    NoSuchAddressHandle,
    /// The queue pair takes its receives from a shared receive queue.
    SharedReceiveQueue,
    /// The queue pair is connected over iWARP, which has no such operation, or the peer does not know it.
    NotOverIwarp {
        /// The operation's name.
        operation: &'static str,
    },
    /// The queue pair is connected over RoCE, which has no such operation.
    OnlyOverIwarp {
        /// The operation's name.
        operation: &'static str,
    },
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
            Self::InlineTooLong { length, limit } => write!(
                f,
                "{length} inline bytes exceed the {limit} that the queue was made for; ask for a larger max_inline, \
                 or post elements"
            ),
            Self::InlineAndElements => {
                f.write_str("a request has elements or inline bytes, not both; leave one out")
            }
            Self::InlineNotAllowed { operation } => {
                write!(f, "{operation} sends no inline bytes; only SEND and RDMA WRITE do")
            }
            Self::HasElements { operation } => {
                write!(f, "{operation} takes no elements; leave them out")
            }
            Self::NotSupported { operation, kind: QueuePairType::XrcTarget } => {
                write!(f, "an XRC_TGT queue pair has no send queue; post {operation} to an XRC_INI one")
            }
            Self::NotSupported { operation, kind } => {
                write!(f, "a queue pair of type {kind} cannot do {operation}; RC can")
            }
            Self::WrongTarget(QueuePairType::Ud) => f.write_str(
                "a UD queue pair sends datagrams; name an address handle, a queue pair and a queue key",
            ),
            Self::WrongTarget(QueuePairType::XrcInitiator) => {
                f.write_str("an XRC_INI queue pair must name the shared receive queue of the peer")
            }
            Self::WrongTarget(kind) => {
                write!(f, "a queue pair of type {kind} has one peer; its requests name no other target")
            }
            Self::NoSuchAddressHandle => {
                f.write_str("no address handle of that number is in the queue pair's protection domain and leads from its port")
            }
            Self::SharedReceiveQueue => {
                f.write_str("the queue pair takes its receives from a shared receive queue; post them there")
            }
            Self::NotOverIwarp { operation } => {
                write!(f, "iWARP has no {operation}, or the peer of this connection does not know it; use SEND, WRITE or READ")
            }
            Self::OnlyOverIwarp { operation } => {
                write!(f, "RoCE has no {operation}; a connection over iWARP does")
            }
        }
    }
}

impl core::error::Error for PostError {}
