//! RDMA extended transport header (RETH): the remote memory a WRITE or READ is about.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 64 | virtual address |
//! | 8 | 32 | remote key |
//! | 12 | 32 | DMA length: bytes of the whole message |

use crate::numbers::RKey;

/// The RDMA extended header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Reth {
    /// Where in the responder's memory the message begins.
    pub virtual_address: u64,
    /// The key that gives access to it.
    pub key: RKey,
    /// Bytes of the whole message, not of one packet.
    pub length: u32,
}

impl Reth {
    /// Length in bytes.
    pub const LENGTH: usize = 16;

    /// From the bytes of the wire.
    #[inline]
    pub const fn decode(bytes: &[u8; 16]) -> Self {
        let [v0, v1, v2, v3, v4, v5, v6, v7, k0, k1, k2, k3, l0, l1, l2, l3] = *bytes;
        Reth {
            virtual_address: u64::from_be_bytes([v0, v1, v2, v3, v4, v5, v6, v7]),
            key: RKey::new(u32::from_be_bytes([k0, k1, k2, k3])),
            length: u32::from_be_bytes([l0, l1, l2, l3]),
        }
    }

    /// To the bytes of the wire.
    #[inline]
    pub const fn encode(&self) -> [u8; 16] {
        let [v0, v1, v2, v3, v4, v5, v6, v7] = self.virtual_address.to_be_bytes();
        let [k0, k1, k2, k3] = self.key.value().to_be_bytes();
        let [l0, l1, l2, l3] = self.length.to_be_bytes();
        [v0, v1, v2, v3, v4, v5, v6, v7, k0, k1, k2, k3, l0, l1, l2, l3]
    }
}
