//! XRC domains: which shared receive queues a queue pair that receives over XRC may reach.

/// Names an XRC domain of a [`Context`](crate::Context).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct XrcDomainId(pub(crate) u32);

/// Invariant: it can only go when nobody uses it.
#[derive(Debug, Default)]
pub(crate) struct XrcDomain {
    /// Queue pairs and shared receive queues in it.
    pub(crate) users: u32,
}
