//! Waiting for completions by a descriptor.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use rdmalab_net::Signal;
use rdmalab_verbs::CompletionQueueId;

use super::error::DeviceError;
use super::notices::ChannelId;
use super::sleepers::Awaited;
use super::{Shared, same_device};

/// Where completion queues that are [armed](super::CompletionQueue::arm) tell that they got something
/// (`ibv_comp_channel`). Its descriptor can be waited for with `poll(2)` and the like: it is readable while events wait
/// here, and for ever once the device has ended.
///
/// Events need not be acknowledged: those of a queue that is dropped vanish. Dropping the channel leaves its queues without
/// one.
///
/// The usual round, which misses nothing: arm the queue; take out what is in it; wait here; take the event out; again.
pub struct CompletionChannel {
    shared: Arc<Shared>,
    id: ChannelId,
    signal: Arc<Signal>,
}

impl CompletionChannel {
    pub(super) fn new(shared: &Arc<Shared>) -> Result<Self, DeviceError> {
        let (id, signal) = shared.lock().notices.open()?;
        Ok(Self { shared: Arc::clone(shared), id, signal })
    }

    pub(super) fn id(&self, shared: &Arc<Shared>) -> Result<ChannelId, DeviceError> {
        same_device(&self.shared, shared).map(|()| self.id)
    }

    /// Takes the oldest event out, if there is one: which queue it is about. One for each time that a queue was armed.
    pub fn poll(&self) -> Result<Option<CompletionQueueId>, DeviceError> {
        self.wait(Some(Duration::ZERO))
    }

    /// Waits for an event (`ibv_get_cq_event`); without a timeout, for ever. `None` if the time is up.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<Option<CompletionQueueId>, DeviceError> {
        self.shared
            .wait_for_inner(Awaited::CompletionEvent(self.id), timeout, |inner| inner.notices.next(self.id))
    }
}

impl AsFd for CompletionChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.signal.as_fd()
    }
}

impl Drop for CompletionChannel {
    fn drop(&mut self) {
        self.shared.lock().notices.close(self.id);
    }
}
