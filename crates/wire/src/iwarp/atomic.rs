//! Atomic Request and Atomic Response (RFC 7306 §5.2). Both are headers of RDMAP's behind an untagged DDP
//! header; a response finds its request by the request identifier.
//!
//! Atomic Request:
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 28 | reserved |
//! | 3 | 4 | atomic operation: 0 FetchAdd, 2 CmpSwap |
//! | 4 | 32 | request identifier |
//! | 8 | 32 | remote STag |
//! | 12 | 64 | remote tagged offset |
//! | 20 | 64 | add data, or swap data |
//! | 28 | 64 | add mask, or swap mask |
//! | 36 | 64 | compare data |
//! | 44 | 64 | compare mask |
//!
//! Atomic Response:
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 32 | original request identifier |
//! | 4 | 64 | original remote data value |
//!
//! There is no plain Swap: the number 1, which early drafts gave it, has no meaning in the RFC. A CmpSwap
//! whose compare mask is zero does the same.

use core::fmt;

use super::fields::{put, u32_at, u64_at};
use super::stag::Stag;

/// What an Atomic Request does to the eight bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AtomicOperation {
    /// Adds. The mask has a bit where a carry is not to go on, so that a word can be several counters.
    #[default]
    FetchAdd,
    /// Compares under the compare mask and, if equal, swaps under the swap mask.
    CompareSwap,
    /// A number without meaning, 4 bits.
    Unknown(u8),
}

impl AtomicOperation {
    /// The operation of the low four bits of `code`.
    pub const fn from_code(code: u8) -> Self {
        match code & 0x0f {
            0 => AtomicOperation::FetchAdd,
            2 => AtomicOperation::CompareSwap,
            other => AtomicOperation::Unknown(other),
        }
    }

    /// The four bits of the wire.
    pub const fn code(self) -> u8 {
        match self {
            AtomicOperation::FetchAdd => 0,
            AtomicOperation::CompareSwap => 2,
            AtomicOperation::Unknown(code) => code & 0x0f,
        }
    }
}

impl fmt::Display for AtomicOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AtomicOperation::FetchAdd => f.write_str("fetch_add"),
            AtomicOperation::CompareSwap => f.write_str("compare_swap"),
            AtomicOperation::Unknown(code) => write!(f, "{code:#x}"),
        }
    }
}

/// The body of an Atomic Request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct AtomicRequest {
    /// 28 bits, zero when sent.
    pub reserved: u32,
    /// What to do.
    pub operation: AtomicOperation,
    /// Comes back in the response.
    pub request_id: u32,
    /// The responder's buffer.
    pub stag: Stag,
    /// Where in it the eight bytes lie; must be a multiple of eight.
    pub offset: u64,
    /// What to add, or to swap in.
    pub add_or_swap: u64,
    /// The bits where carries end, or the bits to swap.
    pub add_or_swap_mask: u64,
    /// What must be there for the swap to happen; of no meaning to FetchAdd.
    pub compare: u64,
    /// The bits to compare.
    pub compare_mask: u64,
}

impl AtomicRequest {
    /// Length in bytes.
    pub const LENGTH: usize = 52;

    /// From the bytes of the wire.
    pub const fn decode(bytes: &[u8; 52]) -> Self {
        let first = u32_at::<0, _>(bytes);
        AtomicRequest {
            reserved: first >> 4,
            operation: AtomicOperation::from_code(bytes[3]),
            request_id: u32_at::<4, _>(bytes),
            stag: Stag::new(u32_at::<8, _>(bytes)),
            offset: u64_at::<12, _>(bytes),
            add_or_swap: u64_at::<20, _>(bytes),
            add_or_swap_mask: u64_at::<28, _>(bytes),
            compare: u64_at::<36, _>(bytes),
            compare_mask: u64_at::<44, _>(bytes),
        }
    }

    /// To the bytes of the wire. Reserved bits that do not fit are cut off.
    pub const fn encode(&self) -> [u8; 52] {
        let mut bytes = [0; 52];
        let first = self.reserved << 4 | self.operation.code() as u32;
        put::<0, 4, _>(&mut bytes, first.to_be_bytes());
        put::<4, 4, _>(&mut bytes, self.request_id.to_be_bytes());
        put::<8, 4, _>(&mut bytes, self.stag.value().to_be_bytes());
        put::<12, 8, _>(&mut bytes, self.offset.to_be_bytes());
        put::<20, 8, _>(&mut bytes, self.add_or_swap.to_be_bytes());
        put::<28, 8, _>(&mut bytes, self.add_or_swap_mask.to_be_bytes());
        put::<36, 8, _>(&mut bytes, self.compare.to_be_bytes());
        put::<44, 8, _>(&mut bytes, self.compare_mask.to_be_bytes());
        bytes
    }
}

/// The body of an Atomic Response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct AtomicResponse {
    /// The identifier of the request.
    pub request_id: u32,
    /// What was there before the operation.
    pub original: u64,
}

impl AtomicResponse {
    /// Length in bytes.
    pub const LENGTH: usize = 12;

    /// From the bytes of the wire.
    pub const fn decode(bytes: &[u8; 12]) -> Self {
        AtomicResponse { request_id: u32_at::<0, _>(bytes), original: u64_at::<4, _>(bytes) }
    }

    /// To the bytes of the wire.
    pub const fn encode(&self) -> [u8; 12] {
        let mut bytes = [0; 12];
        put::<0, 4, _>(&mut bytes, self.request_id.to_be_bytes());
        put::<4, 8, _>(&mut bytes, self.original.to_be_bytes());
        bytes
    }
}
