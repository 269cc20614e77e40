//! Datagram extended transport header (DETH): who sent a datagram, and the key that lets it in.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 32 | queue key |
//! | 4 | 8 | reserved |
//! | 5 | 24 | source queue pair |

use crate::numbers::{QKey, Qpn};
use crate::reader::{byte_and_24, low24};

/// The datagram extended header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Deth {
    /// The key the receiving queue pair must have.
    pub queue_key: QKey,
    /// Reserved: sent as zero, ignored on receipt.
    pub reserved: u8,
    /// The queue pair that sent the datagram, where answers go.
    pub source: Qpn,
}

impl Deth {
    /// Length in bytes.
    pub const LENGTH: usize = 8;

    /// From the bytes of the wire.
    #[inline]
    pub const fn decode(bytes: &[u8; 8]) -> Self {
        let [k0, k1, k2, k3, r, s0, s1, s2] = *bytes;
        Deth {
            queue_key: QKey::new(u32::from_be_bytes([k0, k1, k2, k3])),
            reserved: r,
            source: Qpn::new(low24(&[r, s0, s1, s2])),
        }
    }

    /// To the bytes of the wire.
    #[inline]
    pub const fn encode(&self) -> [u8; 8] {
        let [k0, k1, k2, k3] = self.queue_key.value().to_be_bytes();
        let [r, s0, s1, s2] = byte_and_24(self.reserved, self.source.value());
        [k0, k1, k2, k3, r, s0, s1, s2]
    }
}
