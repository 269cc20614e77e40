//! How much a [`Context`](crate::Context) may hold.

/// How much an application may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Protection domains.
    pub protection_domains: usize,
    /// Memory regions. With the windows at most 2^20 - 1.
    pub regions: usize,
    /// Memory windows.
    pub windows: usize,
    /// Completion queues.
    pub completion_queues: usize,
    /// Entries of a completion queue.
    pub completion_queue_entries: u32,
    /// Shared receive queues, at most 2^16 - 1.
    pub shared_receive_queues: usize,
    /// Receives in a shared receive queue.
    pub shared_receive_requests: u32,
    /// Elements of a receive in a shared receive queue, at most 2^16 - 1.
    pub shared_receive_elements: u32,
    /// XRC domains.
    pub xrc_domains: usize,
    /// Address handles.
    pub address_handles: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            protection_domains: 1 << 16,
            regions: 1 << 19,
            windows: 1 << 18,
            completion_queues: 1 << 16,
            completion_queue_entries: 1 << 20,
            shared_receive_queues: 1 << 15,
            shared_receive_requests: 1 << 15,
            shared_receive_elements: 32,
            xrc_domains: 1 << 15,
            address_handles: 1 << 18,
        }
    }
}
