//! What a send work request can do, and which queue pairs can do it.

use rdmalab_wire::{ImmDt, RKey};

use super::{FastRegistration, RemoteAddress, WindowBinding};
use crate::completion::CompletionKind;
use crate::queue_pair_type::QueuePairType;

bitflags::bitflags! {
    /// How far a FLUSH brings what was written (`IBV_FLUSH_*`, with the bits of the wire's header).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct Placement: u8 {
        /// Everybody on the peer's side sees it.
        const GLOBAL = 1;
        /// It outlives a loss of power.
        const PERSISTENT = 2;
    }
}

/// What a FLUSH covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Selectivity {
    /// The bytes that its address and length name.
    #[default]
    Range,
    /// All of the region that its key names; address and length are of no account.
    Region,
}

/// What a send work request does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Operation {
    /// Fills a receive of the peer.
    #[default]
    Send,
    /// As [`Send`](Self::Send), with four bytes that arrive in the peer's completion.
    SendWithImmediate(ImmDt),
    /// As [`Send`](Self::Send), and one of the peer's keys stops working before the peer's completion.
    SendWithInvalidate(RKey),
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
    /// Reads the peer's memory into the elements; then a key of ours stops working. Only over iWARP, as in Linux.
    RdmaReadWithInvalidate(RemoteAddress, RKey),
    /// As [`CompareAndSwap`](Self::CompareAndSwap), of some of the bits. Only over iWARP (RFC 7306 §5.1.2).
    MaskedCompareAndSwap {
        /// Must be a multiple of eight.
        remote: RemoteAddress,
        /// The value expected, in the peer's byte order.
        compare: u64,
        /// The bits that must be as expected.
        compare_mask: u64,
        /// The value to store.
        swap: u64,
        /// The bits of it that are stored.
        swap_mask: u64,
    },
    /// As [`FetchAndAdd`](Self::FetchAndAdd), of several numbers side by side. Only over iWARP (RFC 7306 §5.1.1).
    MaskedFetchAndAdd {
        /// Must be a multiple of eight.
        remote: RemoteAddress,
        /// What to add.
        add: u64,
        /// The highest bit of each number: behind it no carry goes on.
        boundary: u64,
    },
    /// Completes when what was written before has reached its `placement`.
    Flush {
        /// Where it begins.
        remote: RemoteAddress,
        /// Bytes.
        length: u32,
        /// How far.
        placement: Placement,
        /// Whether the range counts, or the whole region.
        selectivity: Selectivity,
    },
    /// Writes eight bytes that nobody ever sees half.
    AtomicWrite {
        /// Must be a multiple of eight.
        remote: RemoteAddress,
        /// The bytes, as they will lie in the peer's memory.
        value: [u8; 8],
    },
    /// A key of ours stops working.
    LocalInvalidate(RKey),
    /// Binds a memory window of ours.
    BindWindow(WindowBinding),
    /// Maps a fast-registration region of ours.
    FastRegister(FastRegistration),
}

impl Operation {
    /// Whether no packet is sent for it.
    pub fn is_local(&self) -> bool {
        matches!(self, Self::LocalInvalidate(_) | Self::BindWindow(_) | Self::FastRegister(_))
    }

    /// Whether it uses up a receive of the peer: what credits count, and what may raise a solicited event.
    pub fn consumes_receive(&self) -> bool {
        matches!(
            self,
            Self::Send
                | Self::SendWithImmediate(_)
                | Self::SendWithInvalidate(_)
                | Self::RdmaWriteWithImmediate(..)
        )
    }

    /// Whether this is one of the atomics that bring a value back.
    pub fn is_atomic(&self) -> bool {
        matches!(
            self,
            Self::CompareAndSwap { .. }
                | Self::FetchAndAdd { .. }
                | Self::MaskedCompareAndSwap { .. }
                | Self::MaskedFetchAndAdd { .. }
        )
    }

    /// Whether iWARP has it and RoCE does not.
    pub fn is_only_over_iwarp(&self) -> bool {
        matches!(
            self,
            Self::RdmaReadWithInvalidate(..)
                | Self::MaskedCompareAndSwap { .. }
                | Self::MaskedFetchAndAdd { .. }
        )
    }

    /// Whether it is answered by a response of its own and counts against the limit of outstanding READs and atomics
    /// (`max_rd_atomic`).
    pub fn is_read_or_atomic(&self) -> bool {
        matches!(
            self,
            Self::RdmaRead(_)
                | Self::RdmaReadWithInvalidate(..)
                | Self::Flush { .. }
                | Self::AtomicWrite { .. }
        ) || self.is_atomic()
    }

    /// Whether it takes no elements, because all it needs is in it.
    pub fn is_without_elements(&self) -> bool {
        self.is_local() || matches!(self, Self::Flush { .. } | Self::AtomicWrite { .. })
    }

    /// Whether its message may be handed over inline: only what is sent can be.
    pub fn may_be_inline(&self) -> bool {
        !self.is_read_or_atomic() && !self.is_local()
    }

    /// The name, as in `IBV_WR_*` where the verbs have one.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Send => "SEND",
            Self::SendWithImmediate(_) => "SEND_WITH_IMM",
            Self::SendWithInvalidate(_) => "SEND_WITH_INV",
            Self::RdmaWrite(_) => "RDMA_WRITE",
            Self::RdmaWriteWithImmediate(..) => "RDMA_WRITE_WITH_IMM",
            Self::RdmaRead(_) => "RDMA_READ",
            Self::CompareAndSwap { .. } => "ATOMIC_CMP_AND_SWP",
            Self::FetchAndAdd { .. } => "ATOMIC_FETCH_AND_ADD",
            Self::RdmaReadWithInvalidate(..) => "RDMA_READ_WITH_INV",
            Self::MaskedCompareAndSwap { .. } => "MASKED_ATOMIC_CMP_AND_SWP",
            Self::MaskedFetchAndAdd { .. } => "MASKED_ATOMIC_FETCH_AND_ADD",
            Self::Flush { .. } => "FLUSH",
            Self::AtomicWrite { .. } => "ATOMIC_WRITE",
            Self::LocalInvalidate(_) => "LOCAL_INV",
            Self::BindWindow(_) => "BIND_MW",
            Self::FastRegister(_) => "REG_MR",
        }
    }

    /// What its completion says that it was.
    pub fn completion_kind(&self) -> CompletionKind {
        match self {
            Self::Send | Self::SendWithImmediate(_) | Self::SendWithInvalidate(_) => CompletionKind::Send,
            Self::RdmaWrite(_) | Self::RdmaWriteWithImmediate(..) => CompletionKind::RdmaWrite,
            Self::RdmaRead(_) | Self::RdmaReadWithInvalidate(..) => CompletionKind::RdmaRead,
            Self::CompareAndSwap { .. } | Self::MaskedCompareAndSwap { .. } => CompletionKind::CompareAndSwap,
            Self::FetchAndAdd { .. } | Self::MaskedFetchAndAdd { .. } => CompletionKind::FetchAndAdd,
            Self::Flush { .. } => CompletionKind::Flush,
            Self::AtomicWrite { .. } => CompletionKind::AtomicWrite,
            Self::LocalInvalidate(_) => CompletionKind::LocalInvalidate,
            Self::BindWindow(_) => CompletionKind::BindWindow,
            Self::FastRegister(_) => CompletionKind::FastRegister,
        }
    }

    /// Whether a queue pair of this kind can do it: all that an opcode of its transport exists for, and local work
    /// wherever a key could be of use to the peer. RC stands for a connection over iWARP too; what only one of the two
    /// transports has is for that to say.
    pub fn supported_by(&self, kind: QueuePairType) -> bool {
        match kind {
            QueuePairType::Rc => true,
            QueuePairType::XrcInitiator => {
                !matches!(self, Self::Flush { .. } | Self::AtomicWrite { .. }) && !self.is_only_over_iwarp()
            }
            QueuePairType::Uc => {
                self.is_local()
                    || matches!(
                        self,
                        Self::Send
                            | Self::SendWithImmediate(_)
                            | Self::RdmaWrite(_)
                            | Self::RdmaWriteWithImmediate(..)
                    )
            }
            QueuePairType::Ud => matches!(self, Self::Send | Self::SendWithImmediate(_)),
            QueuePairType::XrcTarget => false,
        }
    }
}
