//! A completion queue of a live device.

use std::sync::Arc;
use std::time::Duration;

use rdmalab_verbs::{Completion, CompletionQueueId};

use super::error::DeviceError;
use super::{Shared, same_device};

/// Where completions of queue pairs arrive. Any thread may take them out.
pub struct CompletionQueue {
    shared: Arc<Shared>,
    id: CompletionQueueId,
}

impl CompletionQueue {
    pub(super) fn new(shared: &Arc<Shared>, entries: u32) -> Result<Self, DeviceError> {
        let id = shared.lock().port().context.create_completion_queue(entries)?;
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

    /// Waits for a completion; without a timeout, for ever. `None` if the time is up.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<Option<Completion>, DeviceError> {
        self.shared.wait(timeout, |port| port.context.poll_completion(self.id))
    }

    /// Whether completions were lost because the queue was full.
    pub fn is_overrun(&self) -> bool {
        self.shared.lock().port().context.is_overrun(self.id)
    }
}

impl Drop for CompletionQueue {
    fn drop(&mut self) {
        // While queue pairs complete into it, it stays; it goes with the device.
        let _ = self.shared.lock().port().context.destroy_completion_queue(self.id);
    }
}
