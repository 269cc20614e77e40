//! Immediate data (ImmDt): four bytes that go with a message into the receiver's completion.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 32 | immediate data |
//!
//! They are bytes, not a number: an application that puts a number into them converts it itself.

/// Immediate data, in the order of the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ImmDt(pub [u8; 4]);

impl ImmDt {
    /// Length in bytes.
    pub const LENGTH: usize = 4;

    /// From four bytes, which go over as they are.
    #[inline]
    pub const fn new(bytes: [u8; 4]) -> Self {
        ImmDt(bytes)
    }

    /// From the bytes of the wire.
    #[inline]
    pub const fn decode(bytes: &[u8; 4]) -> Self {
        ImmDt(*bytes)
    }

    /// To the bytes of the wire.
    #[inline]
    pub const fn encode(&self) -> [u8; 4] {
        self.0
    }
}
