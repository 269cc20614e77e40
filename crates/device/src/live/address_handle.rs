//! An address handle of a live device.

use std::sync::Arc;

use rdmalab_verbs::{AddressHandleId, Path, Target};
use rdmalab_wire::{QKey, Qpn};

use super::Shared;
use super::error::DeviceError;
use super::protection_domain::ProtectionDomain;

/// The way for datagrams to a peer or a multicast group. Dropping it makes requests for it that have not been sent yet
/// fail, so keep it until their completions are there.
pub struct AddressHandle {
    shared: Arc<Shared>,
    id: AddressHandleId,
}

impl AddressHandle {
    pub(super) fn new(domain: &ProtectionDomain, path: Path) -> Result<Self, DeviceError> {
        let id = domain.shared.lock().port().context.create_address_handle(domain.id, path)?;
        Ok(Self { shared: Arc::clone(&domain.shared), id })
    }

    /// What a send request names: this way, to a queue pair there ([`Qpn::MULTICAST`] for a group), with the queue key
    /// that it wants to see.
    pub fn target(&self, queue_pair: Qpn, queue_key: QKey) -> Target {
        Target::Datagram { path: self.id, queue_pair, queue_key }
    }
}

impl Drop for AddressHandle {
    fn drop(&mut self) {
        let _ = self.shared.lock().port().context.destroy_address_handle(self.id);
    }
}
