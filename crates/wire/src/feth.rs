//! Flush extended transport header (FETH): how far a FLUSH pushes what was written.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 26 | reserved |
//! | 3 | 2 | selectivity (SEL): 0 the range the RETH names, 1 the whole memory region of its key |
//! | 3 | 4 | placement (PLT): bit 0 global visibility, bit 1 persistence, bits 2 and 3 reserved |
//!
//! It stands in front of the RETH. Layout and order are those of the memory placement extensions, as the
//! authors of Linux's FLUSH describe them: <https://lore.kernel.org/linux-rdma/20211228080717.10666-1-lizhijian@cn.fujitsu.com/>

/// The flush extended header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Feth {
    /// 26 reserved bits: sent as zero, ignored on receipt.
    pub reserved: u32,
    /// What is flushed, 2 bits.
    pub selectivity: u8,
    /// How far it is flushed, 4 bits.
    pub placement: u8,
}

impl Feth {
    /// Length in bytes.
    pub const LENGTH: usize = 4;
    /// Selectivity: the range of the RETH.
    pub const RANGE: u8 = 0;
    /// Selectivity: the whole memory region of the RETH's key; its address and length do not count.
    pub const REGION: u8 = 1;
    /// Placement bit: everybody sees what was written.
    pub const GLOBAL_VISIBILITY: u8 = 0b01;
    /// Placement bit: what was written outlives a loss of power.
    pub const PERSISTENCE: u8 = 0b10;

    /// From the bytes of the wire.
    #[inline]
    pub const fn decode(bytes: &[u8; 4]) -> Self {
        Feth {
            reserved: u32::from_be_bytes(*bytes) >> 6,
            selectivity: bytes[3] >> 4 & 0b11,
            placement: bytes[3] & 0x0f,
        }
    }

    /// To the bytes of the wire. Bits that do not fit their field are cut off.
    #[inline]
    pub const fn encode(&self) -> [u8; 4] {
        let low = (self.selectivity as u32 & 0b11) << 4 | (self.placement as u32 & 0x0f);
        (self.reserved << 6 | low).to_be_bytes()
    }
}
