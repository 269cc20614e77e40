//! A protection domain of a live device, and what is made in it.

use std::sync::Arc;

use rdmalab_verbs::{Access, Capabilities, Path, ProtectionDomainId, QueuePairType, WindowType};

use super::Shared;
use super::address_handle::AddressHandle;
use super::completion_queue::CompletionQueue;
use super::error::DeviceError;
use super::fast_region::FastRegion;
use super::memory_region::MemoryRegion;
use super::memory_window::MemoryWindow;
use super::queue_pair::{QueuePair, QueuePairOptions};
use super::shared_receive_queue::{SharedReceiveQueue, SharedReceiveQueueOptions};

/// A protection domain: what is in one domain may work together.
///
/// Drop it behind all that is in it.
pub struct ProtectionDomain {
    pub(super) shared: Arc<Shared>,
    pub(super) id: ProtectionDomainId,
}

impl ProtectionDomain {
    pub(super) fn new(shared: &Arc<Shared>) -> Result<Self, DeviceError> {
        let id = shared.lock().port().context.allocate_protection_domain()?;
        Ok(Self { shared: Arc::clone(shared), id })
    }

    /// Allocates and registers `length` bytes of zero.
    pub fn register(&self, length: usize, access: Access) -> Result<MemoryRegion, DeviceError> {
        MemoryRegion::new(self, length, access)
    }

    /// Allocates `length` bytes of zero for fast registration: peers reach them when
    /// [`Operation::FastRegister`](rdmalab_verbs::Operation::FastRegister) has mapped them.
    pub fn fast_region(&self, length: usize) -> Result<FastRegion, DeviceError> {
        FastRegion::new(self, length)
    }

    /// Makes a memory window, not yet bound.
    pub fn window(&self, kind: WindowType) -> Result<MemoryWindow, DeviceError> {
        MemoryWindow::new(self, kind)
    }

    /// Makes a reliable connected queue pair, in RESET.
    pub fn queue_pair(
        &self,
        send: &CompletionQueue,
        receive: &CompletionQueue,
        capabilities: Capabilities,
    ) -> Result<QueuePair, DeviceError> {
        let usual = QueuePairOptions::new(QueuePairType::Rc, send);
        self.queue_pair_with(&QueuePairOptions { receive, capabilities, ..usual })
    }

    /// Makes a queue pair of any kind, in RESET.
    pub fn queue_pair_with(&self, options: &QueuePairOptions<'_>) -> Result<QueuePair, DeviceError> {
        QueuePair::new(self, options)
    }

    /// Makes a shared receive queue, whose elements lie in this domain.
    pub fn shared_receive_queue(
        &self,
        options: &SharedReceiveQueueOptions<'_>,
    ) -> Result<SharedReceiveQueue, DeviceError> {
        SharedReceiveQueue::new(self, options)
    }

    /// Makes an address handle for datagrams.
    pub fn address_handle(&self, path: Path) -> Result<AddressHandle, DeviceError> {
        AddressHandle::new(self, path)
    }
}

impl Drop for ProtectionDomain {
    fn drop(&mut self) {
        // While something is in it, it stays; it goes with the device.
        let _ = self.shared.lock().port().context.deallocate_protection_domain(self.id);
    }
}
