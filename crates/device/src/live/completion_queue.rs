//! A completion queue of a live device.

use std::sync::Arc;
use std::time::Duration;

use rdmalab_verbs::{Completion, CompletionQueueId, NotifyOn};

use super::completion_channel::CompletionChannel;
use super::error::DeviceError;
use super::sleepers::Awaited;
use super::{Shared, same_device};

/// Where completions of queue pairs arrive. Any thread may take them out.
pub struct CompletionQueue {
    shared: Arc<Shared>,
    id: CompletionQueueId,
}

impl CompletionQueue {
    pub(super) fn new(
        shared: &Arc<Shared>,
        entries: u32,
        channel: Option<&CompletionChannel>,
    ) -> Result<Self, DeviceError> {
        let channel = channel.map(|channel| channel.id(shared)).transpose()?;
        let mut inner = shared.lock();
        let id = inner.port().context.create_completion_queue(entries)?;
        if let Some(channel) = channel {
            inner.notices.attach(id, channel);
        }
        drop(inner);
        Ok(Self { shared: Arc::clone(shared), id })
    }

    /// What events call it.
    pub fn id(&self) -> CompletionQueueId {
        self.id
    }

    pub(super) fn belongs_to(&self, shared: &Arc<Shared>) -> Result<(), DeviceError> {
        same_device(&self.shared, shared)
    }

    /// Takes the oldest completion out, if there is one.
    pub fn poll(&self) -> Option<Completion> {
        self.shared.lock().port().context.poll_completion(self.id)
    }

    /// Arms it (`ibv_req_notify_cq`): of the next completion that is put into it, or the next that is solicited or failed,
    /// its channel tells once. Of what is in it already nothing is told: take that out behind arming it. One that is armed
    /// for solicited completions can be armed for all, not the other way.
    ///
    /// # Errors
    /// [`DeviceError::NoChannel`] where it was made without one, or that is gone.
    pub fn arm(&self, on: NotifyOn) -> Result<(), DeviceError> {
        let mut inner = self.shared.lock();
        if !inner.notices.is_attached(self.id) {
            return Err(DeviceError::NoChannel);
        }
        // It is there as long as its handle is.
        let _ = inner.port().context.arm_completion_queue(self.id, on);
        Ok(())
    }

    /// Waits for a completion; without a timeout, for ever. `None` if the time is up.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<Option<Completion>, DeviceError> {
        self.shared.wait(Awaited::Completion(self.id), timeout, |port| port.context.poll_completion(self.id))
    }

    /// Whether completions were lost because the queue was full.
    pub fn is_overrun(&self) -> bool {
        self.shared.lock().port().context.is_overrun(self.id)
    }
}

impl Drop for CompletionQueue {
    fn drop(&mut self) {
        let mut inner = self.shared.lock();
        inner.notices.detach(self.id);
        // While queue pairs complete into it, it stays; it goes with the device.
        let _ = inner.port().context.destroy_completion_queue(self.id);
    }
}
