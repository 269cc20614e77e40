//! Atomic acknowledge extended transport header (AtomicAckETH).
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 64 | original remote data |

/// The atomic acknowledge extended header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct AtomicAckEth {
    /// What the memory held before the operation.
    pub original: u64,
}

impl AtomicAckEth {
    /// Length in bytes.
    pub const LENGTH: usize = 8;

    /// From the bytes of the wire.
    #[inline]
    pub const fn decode(bytes: &[u8; 8]) -> Self {
        AtomicAckEth { original: u64::from_be_bytes(*bytes) }
    }

    /// To the bytes of the wire.
    #[inline]
    pub const fn encode(&self) -> [u8; 8] {
        self.original.to_be_bytes()
    }
}
