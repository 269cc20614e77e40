//! How much a description may ask for. What it makes is streamed, so these bound time and disk, not memory.

/// Longest packet, in bytes; what [`Reader`](rdmalab_trace::Reader) reads.
pub const LONGEST_PACKET: usize = rdmalab_trace::LONGEST_PACKET as usize;
/// Longest description, in bytes. It is held in memory, with all its entries.
pub const LONGEST_SPEC: usize = 256 * 1024 * 1024;
/// Most interfaces of a capture that is crafted.
pub const MOST_INTERFACES: usize = 1024;
/// Most hosts, and most flows, that a description made from a capture names. Packets of further ones are
/// described as raw bytes.
pub const MOST_FLOWS: usize = 65_536;

/// How much one description may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most packets.
    pub packets: u64,
    /// Most bytes of packets, in sum.
    pub bytes: u64,
}

impl Default for Limits {
    /// A billion packets, a tebibyte.
    fn default() -> Self {
        Limits { packets: 1_000_000_000, bytes: 1 << 40 }
    }
}
