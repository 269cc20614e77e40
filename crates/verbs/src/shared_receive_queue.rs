//! Shared receive queues: receives that many queue pairs draw from.

use crate::completion_queue::CompletionQueueId;
use crate::context::ProtectionDomainId;
use crate::queues::ReceiveQueue;
use crate::xrc_domain::XrcDomainId;

/// Names a shared receive queue of a [`Context`](crate::Context), and, in XRC packets, of the peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SharedReceiveQueueId(pub(crate) u32);

impl SharedReceiveQueueId {
    /// The number that XRC peers use for it, below 2^24.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The queue of a number that a peer told or a packet carries. It need not exist.
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }
}

/// What makes a shared receive queue one for XRC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XrcUse {
    /// Only queue pairs of this domain reach it.
    pub domain: XrcDomainId,
    /// Gets the completions of its receives, whatever queue pair filled them.
    pub completions: CompletionQueueId,
}

/// What a shared receive queue is made with (`ibv_srq_init_attr_ex`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedReceiveQueueConfig {
    /// Receives that may be queued.
    pub max_requests: u32,
    /// Elements of a receive.
    pub max_elements: u32,
    /// When the number of receives falls below this, an event tells so; 0 for none.
    pub limit: u32,
    /// For XRC.
    pub xrc: Option<XrcUse>,
}

impl Default for SharedReceiveQueueConfig {
    fn default() -> Self {
        Self { max_requests: 128, max_elements: 4, limit: 0, xrc: None }
    }
}

/// Receives in the order in which they were posted.
#[derive(Debug)]
pub struct SharedReceiveQueue {
    pub(crate) queue: ReceiveQueue,
    domain: ProtectionDomainId,
    xrc: Option<XrcUse>,
    max_requests: u32,
    max_elements: u32,
    /// 0 while it is not armed.
    limit: u32,
    /// Whether an event about the limit waits to be taken out; while it does, none is added.
    told: bool,
    /// How many queue pairs draw from it; it can only go when there are none.
    pub(crate) users: u32,
}

impl SharedReceiveQueue {
    pub(crate) fn new(domain: ProtectionDomainId, config: &SharedReceiveQueueConfig) -> Self {
        let SharedReceiveQueueConfig { max_requests, max_elements, limit, xrc } = *config;
        let queue = ReceiveQueue::new(max_requests, max_elements);
        Self { queue, domain, xrc, max_requests, max_elements, limit, told: false, users: 0 }
    }

    /// Receives queued.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether no receive is queued.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// How many receives fit.
    pub fn max_requests(&self) -> u32 {
        self.max_requests
    }

    /// Elements that a receive may have.
    pub fn max_elements(&self) -> u32 {
        self.max_elements
    }

    /// The limit that is armed, 0 for none.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// The protection domain of its elements, whatever queue pair draws from it.
    pub fn domain(&self) -> ProtectionDomainId {
        self.domain
    }

    /// Where its completions go, if it is one for XRC; otherwise they go where the queue pair's go.
    pub fn completions(&self) -> Option<CompletionQueueId> {
        self.xrc.map(|xrc| xrc.completions)
    }

    /// Whose queue pairs reach it, if it is one for XRC.
    pub fn xrc_domain(&self) -> Option<XrcDomainId> {
        self.xrc.map(|xrc| xrc.domain)
    }

    /// Arms the limit, or disarms it with 0.
    pub(crate) fn arm(&mut self, limit: u32) {
        self.limit = limit;
    }

    /// Whether the number of receives is below the armed limit now and that is news; disarms the limit then.
    pub(crate) fn fell_below_limit(&mut self) -> bool {
        if self.queue.len() >= self.limit as usize {
            return false;
        }
        self.limit = 0;
        !core::mem::replace(&mut self.told, true)
    }

    /// The event about the limit was taken out.
    pub(crate) fn event_taken(&mut self) {
        self.told = false;
    }
}
