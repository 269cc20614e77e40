//! A shared receive queue of a live device.

use std::sync::Arc;

use rdmalab_verbs::{
    PostError, ReceiveRequest, SharedReceiveQueueConfig, SharedReceiveQueueId, Target, XrcUse,
};

use super::completion_queue::CompletionQueue;
use super::error::DeviceError;
use super::protection_domain::ProtectionDomain;
use super::queue_pair::{RefusedRequest, each};
use super::xrc_domain::XrcDomain;
use super::{Shared, same_device};

/// What a shared receive queue of a live device is made with.
#[derive(Clone, Copy)]
pub struct SharedReceiveQueueOptions<'a> {
    /// Receives that may be queued.
    pub max_requests: u32,
    /// Elements of a receive.
    pub max_elements: u32,
    /// When the number of receives falls below this, an event tells so, once; 0 for none.
    pub limit: u32,
    /// For XRC: the domain through which peers reach it, and where its completions go.
    pub xrc: Option<(&'a XrcDomain, &'a CompletionQueue)>,
}

impl Default for SharedReceiveQueueOptions<'_> {
    fn default() -> Self {
        let SharedReceiveQueueConfig { max_requests, max_elements, limit, .. } = Default::default();
        Self { max_requests, max_elements, limit, xrc: None }
    }
}

/// Receives that many queue pairs draw from.
///
/// Drop it behind the queue pairs that draw from it: while there are any, it stays, and goes with the device. One for XRC
/// goes at once; the next message that names it is refused.
pub struct SharedReceiveQueue {
    shared: Arc<Shared>,
    id: SharedReceiveQueueId,
}

impl SharedReceiveQueue {
    pub(super) fn new(
        domain: &ProtectionDomain,
        options: &SharedReceiveQueueOptions<'_>,
    ) -> Result<Self, DeviceError> {
        let SharedReceiveQueueOptions { max_requests, max_elements, limit, xrc } = *options;
        if let Some((domain_of_xrc, completions)) = xrc {
            domain_of_xrc.belongs_to(&domain.shared)?;
            completions.belongs_to(&domain.shared)?;
        }
        let xrc =
            xrc.map(|(domain, completions)| XrcUse { domain: domain.id(), completions: completions.id() });
        let config = SharedReceiveQueueConfig { max_requests, max_elements, limit, xrc };
        let id = domain.shared.lock().port().context.create_shared_receive_queue(domain.id, &config)?;
        Ok(Self { shared: Arc::clone(&domain.shared), id })
    }

    /// What events call it. Its [number](SharedReceiveQueueId::number) is what XRC peers are told.
    pub fn id(&self) -> SharedReceiveQueueId {
        self.id
    }

    /// What an XRC initiator names in a send request, for the shared receive queue of a number that its peer told.
    pub fn target(number: u32) -> Target {
        Target::Xrc(SharedReceiveQueueId::from_number(number))
    }

    /// Receives queued.
    pub fn length(&self) -> usize {
        self.shared.lock().port().context.shared_receive_queue(self.id).map_or(0, |queue| queue.len())
    }

    /// Posts a receive for whichever queue pair needs it first.
    pub fn post_receive(&self, request: &ReceiveRequest<'_>) -> Result<(), PostError> {
        self.shared.lock().port().context.post_shared_receive(self.id, request)
    }

    /// Posts receives in their order, for the price of one.
    ///
    /// # Errors
    /// At the first that is refused; see [`QueuePair::post_receive_list`](super::QueuePair::post_receive_list).
    pub fn post_receive_list(&self, requests: &[ReceiveRequest<'_>]) -> Result<(), RefusedRequest> {
        let mut inner = self.shared.lock();
        let context = &mut inner.port().context;
        each(requests, |request| context.post_shared_receive(self.id, request))
    }

    /// Arms the limit: when the number of receives falls below it, one event tells so. 0 disarms it.
    pub fn set_limit(&self, limit: u32) -> Result<(), DeviceError> {
        Ok(self.shared.lock().port().context.set_shared_receive_limit(self.id, limit)?)
    }

    pub(super) fn belongs_to(&self, shared: &Arc<Shared>) -> Result<(), DeviceError> {
        same_device(&self.shared, shared)
    }
}

impl Drop for SharedReceiveQueue {
    fn drop(&mut self) {
        let _ = self.shared.lock().port().context.destroy_shared_receive_queue(self.id);
    }
}
