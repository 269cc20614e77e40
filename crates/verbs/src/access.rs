//! What may be done to a memory region, or through a queue pair.

bitflags::bitflags! {
    /// Rights of a memory region (`IBV_ACCESS_*`), and of a queue pair, where only the remote ones count.
    ///
    /// Reading locally is always allowed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct Access: u8 {
        /// The device may write: needed for receives, READ responses and results of atomics.
        const LOCAL_WRITE = 1;
        /// A peer may RDMA WRITE.
        const REMOTE_WRITE = 2;
        /// A peer may RDMA READ.
        const REMOTE_READ = 4;
        /// A peer may run atomic operations.
        const REMOTE_ATOMIC = 8;
    }
}
