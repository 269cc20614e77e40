//! An XRC domain of a live device.

use std::sync::Arc;

use rdmalab_verbs::XrcDomainId;

use super::error::DeviceError;
use super::{Shared, same_device};

/// An XRC domain: its shared receive queues can be reached through all XRC targets in it.
///
/// Drop it behind all that is in it.
pub struct XrcDomain {
    shared: Arc<Shared>,
    id: XrcDomainId,
}

impl XrcDomain {
    pub(super) fn new(shared: &Arc<Shared>) -> Result<Self, DeviceError> {
        let id = shared.lock().port().context.allocate_xrc_domain()?;
        Ok(Self { shared: Arc::clone(shared), id })
    }

    pub(super) fn id(&self) -> XrcDomainId {
        self.id
    }

    pub(super) fn belongs_to(&self, shared: &Arc<Shared>) -> Result<(), DeviceError> {
        same_device(&self.shared, shared)
    }
}

impl Drop for XrcDomain {
    fn drop(&mut self) {
        // While something is in it, it stays; it goes with the device.
        let _ = self.shared.lock().port().context.deallocate_xrc_domain(self.id);
    }
}
