//! Reliable datagram extended transport header (RDETH): which end-to-end context a packet belongs to.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 8 | reserved |
//! | 1 | 24 | end-to-end context |

use crate::reader::{byte_and_24, low24};

/// The reliable datagram extended header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Rdeth {
    /// Reserved: sent as zero, ignored on receipt.
    pub reserved: u8,
    /// The receiver's end-to-end context, 24 bits.
    pub ee_context: u32,
}

impl Rdeth {
    /// Length in bytes.
    pub const LENGTH: usize = 4;

    /// From the bytes of the wire.
    #[inline]
    pub const fn decode(bytes: &[u8; 4]) -> Self {
        Rdeth { reserved: bytes[0], ee_context: low24(bytes) }
    }

    /// To the bytes of the wire.
    #[inline]
    pub const fn encode(&self) -> [u8; 4] {
        byte_and_24(self.reserved, self.ee_context)
    }
}
