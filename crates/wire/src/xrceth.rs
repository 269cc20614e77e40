//! Extended reliable connection transport header (XRCETH): which shared receive queue a request is for.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 8 | reserved |
//! | 1 | 24 | shared receive queue |

use crate::reader::{byte_and_24, low24};

/// The extended reliable connection header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Xrceth {
    /// Reserved: sent as zero, ignored on receipt.
    pub reserved: u8,
    /// The receiver's shared receive queue, 24 bits.
    pub shared_receive_queue: u32,
}

impl Xrceth {
    /// Length in bytes.
    pub const LENGTH: usize = 4;

    /// From the bytes of the wire.
    #[inline]
    pub const fn decode(bytes: &[u8; 4]) -> Self {
        Xrceth { reserved: bytes[0], shared_receive_queue: low24(bytes) }
    }

    /// To the bytes of the wire.
    #[inline]
    pub const fn encode(&self) -> [u8; 4] {
        byte_and_24(self.reserved, self.shared_receive_queue)
    }
}
