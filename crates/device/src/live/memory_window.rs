//! A memory window of a live device.

use std::sync::Arc;

use rdmalab_verbs::{Access, WindowBinding, WindowType};
use rdmalab_wire::RKey;

use super::Shared;
use super::error::DeviceError;
use super::memory_region::MemoryRegion;
use super::protection_domain::ProtectionDomain;

/// A memory window: rights to a piece of a region that can be given and taken back by work requests.
///
/// Bind it by posting [`Operation::BindWindow`](rdmalab_verbs::Operation::BindWindow) with what [`binding`](Self::binding)
/// gives; take the rights back with [`Operation::LocalInvalidate`](rdmalab_verbs::Operation::LocalInvalidate), or let the
/// peer do it by a SEND with invalidate; one of type 1 is bound to no bytes instead. Dropping it takes the rights back at
/// once. Drop it before the region that it is bound to.
pub struct MemoryWindow {
    shared: Arc<Shared>,
    /// The first of its keys; the others differ in the low 8 bits.
    first: RKey,
}

impl MemoryWindow {
    pub(super) fn new(domain: &ProtectionDomain, kind: WindowType) -> Result<Self, DeviceError> {
        let first = domain.shared.lock().port().context.allocate_window(domain.id, kind)?;
        Ok(Self { shared: Arc::clone(&domain.shared), first })
    }

    /// Its present key, that of the last binding that was carried out.
    pub fn key(&self) -> RKey {
        self.shared.present_key(self.first)
    }

    /// A binding to `length` bytes of a region from `offset` on, under the key behind the present one. Post it before
    /// another one is asked for.
    pub fn binding(&self, region: &MemoryRegion, offset: u64, length: u64, access: Access) -> WindowBinding {
        let window = self.key();
        let place = region.remote(offset);
        WindowBinding {
            window,
            key: next_key(window),
            region: place.key.value(),
            address: place.address,
            length,
            access,
        }
    }
}

impl Drop for MemoryWindow {
    fn drop(&mut self) {
        let key = self.key();
        let _ = self.shared.lock().port().context.deallocate_window(key);
    }
}

/// The key with the next value of the consumer's 8 bits.
pub(super) fn next_key(key: RKey) -> RKey {
    RKey::new(key.value() & !0xff | (key.value().wrapping_add(1) & 0xff))
}
