//! Steering tags: what iWARP calls the key of a memory region.

use core::fmt;

/// A steering tag: 32 bits that name a tagged buffer (RFC 5041 §2.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Stag(u32);

impl Stag {
    /// A tag of these 32 bits.
    pub const fn new(value: u32) -> Self {
        Stag(value)
    }

    /// All 32 bits.
    pub const fn value(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Stag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Debug for Stag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stag({:#x})", self.0)
    }
}

impl From<Stag> for u32 {
    fn from(stag: Stag) -> u32 {
        stag.0
    }
}
