//! RDMA Read Request: which memory of the responder goes to which memory of the requester (RFC 5040 §4.4).
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 32 | data sink STag: the requester's buffer |
//! | 4 | 64 | data sink tagged offset |
//! | 12 | 32 | RDMA Read message size, in bytes |
//! | 16 | 32 | data source STag: the responder's buffer |
//! | 20 | 64 | data source tagged offset |

use super::fields::{put, u32_at, u64_at};
use super::stag::Stag;

/// The body of an RDMA Read Request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ReadRequest {
    /// The buffer of the requester that the response goes to.
    pub sink_stag: Stag,
    /// Where in it the response begins.
    pub sink_offset: u64,
    /// Bytes to read; none is legal.
    pub length: u32,
    /// The buffer of the responder that is read.
    pub source_stag: Stag,
    /// Where in it reading begins.
    pub source_offset: u64,
}

impl ReadRequest {
    /// Length in bytes.
    pub const LENGTH: usize = 28;

    /// From the bytes of the wire.
    pub const fn decode(bytes: &[u8; 28]) -> Self {
        ReadRequest {
            sink_stag: Stag::new(u32_at::<0, _>(bytes)),
            sink_offset: u64_at::<4, _>(bytes),
            length: u32_at::<12, _>(bytes),
            source_stag: Stag::new(u32_at::<16, _>(bytes)),
            source_offset: u64_at::<20, _>(bytes),
        }
    }

    /// To the bytes of the wire.
    pub const fn encode(&self) -> [u8; 28] {
        let mut bytes = [0; 28];
        put::<0, 4, _>(&mut bytes, self.sink_stag.value().to_be_bytes());
        put::<4, 8, _>(&mut bytes, self.sink_offset.to_be_bytes());
        put::<12, 4, _>(&mut bytes, self.length.to_be_bytes());
        put::<16, 4, _>(&mut bytes, self.source_stag.value().to_be_bytes());
        put::<20, 8, _>(&mut bytes, self.source_offset.to_be_bytes());
        bytes
    }
}
