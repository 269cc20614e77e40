//! Invalidate extended transport header (IETH): the key a SEND WITH INVALIDATE takes away at its receiver.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 32 | remote key |

use crate::numbers::RKey;

/// The invalidate extended header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Ieth {
    /// The key to invalidate.
    pub key: RKey,
}

impl Ieth {
    /// Length in bytes.
    pub const LENGTH: usize = 4;

    /// From the bytes of the wire.
    #[inline]
    pub const fn decode(bytes: &[u8; 4]) -> Self {
        Ieth { key: RKey::new(u32::from_be_bytes(*bytes)) }
    }

    /// To the bytes of the wire.
    #[inline]
    pub const fn encode(&self) -> [u8; 4] {
        self.key.value().to_be_bytes()
    }
}
