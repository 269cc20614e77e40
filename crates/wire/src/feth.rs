//! Flush extended transport header (FETH): how far a FLUSH pushes what was written.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 24 | reserved |
//! | 3 | 4 | selectivity: 0 a range, 1 the whole memory region |
//! | 3 | 4 | placement: bit 0 global visibility, bit 1 persistence |

/// The flush extended header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Feth {
    /// 24 reserved bits: sent as zero, ignored on receipt.
    pub reserved: u32,
    /// What is flushed, 4 bits.
    pub selectivity: u8,
    /// How far it is flushed, 4 bits.
    pub placement: u8,
}

impl Feth {
    /// Length in bytes.
    pub const LENGTH: usize = 4;

    /// From the bytes of the wire.
    pub const fn decode(bytes: &[u8; 4]) -> Self {
        Feth {
            reserved: u32::from_be_bytes(*bytes) >> 8,
            selectivity: bytes[3] >> 4,
            placement: bytes[3] & 0x0f,
        }
    }

    /// To the bytes of the wire. Bits that do not fit their field are cut off.
    pub const fn encode(&self) -> [u8; 4] {
        let low = (self.selectivity as u32 & 0x0f) << 4 | (self.placement as u32 & 0x0f);
        (self.reserved << 8 | low).to_be_bytes()
    }
}
