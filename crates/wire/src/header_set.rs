//! Which extended transport headers stand behind the base header. Their order on the wire is fixed, so a set
//! says everything.

use crate::error::Layer;

/// An extended transport header. The variants are in the order of the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Header {
    /// Reliable datagram: the end-to-end context.
    Rdeth,
    /// Extended reliable connection: the shared receive queue.
    Xrceth,
    /// Datagram: the key and the source queue pair.
    Deth,
    /// Flush: how far.
    Feth,
    /// RDMA: the remote memory.
    Reth,
    /// Atomic operation: the remote memory and the operands.
    AtomicEth,
    /// The responder's verdict.
    Aeth,
    /// The original value of an atomic operation.
    AtomicAckEth,
    /// Immediate data.
    ImmDt,
    /// The key to invalidate.
    Ieth,
}

impl Header {
    /// All headers in the order of the wire.
    pub const ALL: [Header; 10] = [
        Header::Rdeth,
        Header::Xrceth,
        Header::Deth,
        Header::Feth,
        Header::Reth,
        Header::AtomicEth,
        Header::Aeth,
        Header::AtomicAckEth,
        Header::ImmDt,
        Header::Ieth,
    ];

    /// Length in bytes.
    pub const fn length(self) -> usize {
        match self {
            Header::Rdeth => crate::Rdeth::LENGTH,
            Header::Xrceth => crate::Xrceth::LENGTH,
            Header::Deth => crate::Deth::LENGTH,
            Header::Feth => crate::Feth::LENGTH,
            Header::Reth => crate::Reth::LENGTH,
            Header::AtomicEth => crate::AtomicEth::LENGTH,
            Header::Aeth => crate::Aeth::LENGTH,
            Header::AtomicAckEth => crate::AtomicAckEth::LENGTH,
            Header::ImmDt => crate::ImmDt::LENGTH,
            Header::Ieth => crate::Ieth::LENGTH,
        }
    }

    /// The layer that errors name.
    pub const fn layer(self) -> Layer {
        match self {
            Header::Rdeth => Layer::Rdeth,
            Header::Xrceth => Layer::Xrceth,
            Header::Deth => Layer::Deth,
            Header::Feth => Layer::Feth,
            Header::Reth => Layer::Reth,
            Header::AtomicEth => Layer::AtomicEth,
            Header::Aeth => Layer::Aeth,
            Header::AtomicAckEth => Layer::AtomicAckEth,
            Header::ImmDt => Layer::ImmDt,
            Header::Ieth => Layer::Ieth,
        }
    }
}

/// A set of extended transport headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct HeaderSet(u16);

impl HeaderSet {
    /// No header.
    pub const EMPTY: HeaderSet = HeaderSet(0);

    /// The set of these headers.
    pub const fn of(headers: &[Header]) -> Self {
        let mut set = HeaderSet::EMPTY;
        let mut index = 0;
        while index < headers.len() {
            set = set.with(headers[index]);
            index += 1;
        }
        set
    }

    /// This set and one header more.
    #[must_use]
    pub const fn with(self, header: Header) -> Self {
        HeaderSet(self.0 | 1 << header as u16)
    }

    /// Whether the header is in the set.
    pub const fn contains(self, header: Header) -> bool {
        self.0 & 1 << header as u16 != 0
    }

    /// The headers in the order of the wire.
    pub fn iter(self) -> impl Iterator<Item = Header> {
        Header::ALL.into_iter().filter(move |header| self.contains(*header))
    }

    /// Length of all headers together, in bytes; the base header is not among them.
    pub const fn length(self) -> usize {
        let mut length = 0;
        let mut index = 0;
        while index < Header::ALL.len() {
            if self.contains(Header::ALL[index]) {
                length += Header::ALL[index].length();
            }
            index += 1;
        }
        length
    }
}
