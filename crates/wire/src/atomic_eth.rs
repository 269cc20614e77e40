//! Atomic extended transport header (AtomicETH): the eight bytes of remote memory an atomic operation
//! changes, and how.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 64 | virtual address |
//! | 8 | 32 | remote key |
//! | 12 | 64 | swap data (COMPARE_SWAP) or add data (FETCH_ADD) |
//! | 20 | 64 | compare data (COMPARE_SWAP) |

use crate::numbers::RKey;

/// The atomic extended header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct AtomicEth {
    /// Where in the responder's memory the eight bytes lie; must be a multiple of eight.
    pub virtual_address: u64,
    /// The key that gives access to them.
    pub key: RKey,
    /// What to swap in, or to add.
    pub swap_or_add: u64,
    /// What must be there for the swap to happen; of no meaning to FETCH_ADD.
    pub compare: u64,
}

impl AtomicEth {
    /// Length in bytes.
    pub const LENGTH: usize = 28;

    /// From the bytes of the wire.
    #[inline]
    pub const fn decode(bytes: &[u8; 28]) -> Self {
        let [
            v0,
            v1,
            v2,
            v3,
            v4,
            v5,
            v6,
            v7, //
            k0,
            k1,
            k2,
            k3, //
            s0,
            s1,
            s2,
            s3,
            s4,
            s5,
            s6,
            s7, //
            c0,
            c1,
            c2,
            c3,
            c4,
            c5,
            c6,
            c7,
        ] = *bytes;
        AtomicEth {
            virtual_address: u64::from_be_bytes([v0, v1, v2, v3, v4, v5, v6, v7]),
            key: RKey::new(u32::from_be_bytes([k0, k1, k2, k3])),
            swap_or_add: u64::from_be_bytes([s0, s1, s2, s3, s4, s5, s6, s7]),
            compare: u64::from_be_bytes([c0, c1, c2, c3, c4, c5, c6, c7]),
        }
    }

    /// To the bytes of the wire.
    #[inline]
    pub const fn encode(&self) -> [u8; 28] {
        let [v0, v1, v2, v3, v4, v5, v6, v7] = self.virtual_address.to_be_bytes();
        let [k0, k1, k2, k3] = self.key.value().to_be_bytes();
        let [s0, s1, s2, s3, s4, s5, s6, s7] = self.swap_or_add.to_be_bytes();
        let [c0, c1, c2, c3, c4, c5, c6, c7] = self.compare.to_be_bytes();
        [
            v0, v1, v2, v3, v4, v5, v6, v7, //
            k0, k1, k2, k3, //
            s0, s1, s2, s3, s4, s5, s6, s7, //
            c0, c1, c2, c3, c4, c5, c6, c7,
        ]
    }
}
