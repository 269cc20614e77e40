//! What may be done to a memory region, through a memory window, or through a queue pair.

bitflags::bitflags! {
    /// Rights of a memory region or window (`IBV_ACCESS_*`, with the verbs' bits), and of a queue pair, where only the
    /// remote ones count.
    ///
    /// Reading locally is always allowed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct Access: u16 {
        /// The device may write: needed for receives, READ responses and results of atomics.
        const LOCAL_WRITE = 1;
        /// A peer may RDMA WRITE and ATOMIC WRITE.
        const REMOTE_WRITE = 2;
        /// A peer may RDMA READ.
        const REMOTE_READ = 4;
        /// A peer may compare and swap, and fetch and add.
        const REMOTE_ATOMIC = 8;
        /// Memory windows may be bound to the region.
        const MW_BIND = 0x10;
        /// Addresses count from 0 at the first byte, not from the virtual address.
        const ZERO_BASED = 0x20;
        /// A peer may FLUSH, so that everybody sees what it wrote.
        const FLUSH_GLOBAL = 0x100;
        /// A peer may FLUSH, so that what it wrote outlives a loss of power.
        const FLUSH_PERSISTENT = 0x200;
    }
}

impl Access {
    /// All rights that a peer can have.
    pub const REMOTE: Self = Self::REMOTE_WRITE
        .union(Self::REMOTE_READ)
        .union(Self::REMOTE_ATOMIC)
        .union(Self::FLUSH_GLOBAL)
        .union(Self::FLUSH_PERSISTENT);

    /// Every right there is. Not `all()`: [`ZERO_BASED`](Self::ZERO_BASED) is no right, and changes all addresses.
    pub const FULL: Self = Self::REMOTE.union(Self::LOCAL_WRITE).union(Self::MW_BIND);

    /// Whether a peer may change the memory without the device being allowed to: no region, and no window on it, may be
    /// like this.
    pub(crate) fn lacks_local_write(self, region: Self) -> bool {
        self.intersects(Self::REMOTE_WRITE | Self::REMOTE_ATOMIC) && !region.contains(Self::LOCAL_WRITE)
    }

    /// The address by which the first byte is known, of something at this virtual address.
    pub(crate) fn base(self, address: u64) -> u64 {
        if self.contains(Self::ZERO_BASED) { 0 } else { address }
    }
}
