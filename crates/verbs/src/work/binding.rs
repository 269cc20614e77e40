//! Work that gives a key its meaning.

use rdmalab_wire::RKey;

use crate::access::Access;

/// Binds a memory window to a piece of a region (`ibv_bind_mw`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowBinding {
    /// The window's present key.
    pub window: RKey,
    /// Its key from then on, which differs from the present one at most in the low 8 bits.
    pub key: RKey,
    /// The local key of the region.
    pub region: u32,
    /// Where the window begins, in the region's own addresses.
    pub address: u64,
    /// Bytes; 0 unbinds a window of type 1.
    pub length: u64,
    /// What peers may do through the window, and whether its addresses count from 0.
    pub access: Access,
}

/// Maps a piece of the memory of a fast-registration region. It stands for the page list of `IB_WR_REG_MR`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FastRegistration {
    /// The region's present key.
    pub region: RKey,
    /// Its key from then on, which differs from the present one at most in the low 8 bits.
    pub key: RKey,
    /// Where in the region's memory the piece begins, in bytes.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// The virtual address of the first of them; of no account if the region is to be zero-based.
    pub address: u64,
    /// What may be done, as for an ordinary region.
    pub access: Access,
}
