//! Memory that the device and its peers reach.

use std::sync::Arc;

use rdmalab_verbs::{Access, HeapMemory, Memory, MemoryFault, RemoteAddress, Sge};
use rdmalab_wire::RKey;

use super::Shared;
use super::error::DeviceError;
use super::protection_domain::ProtectionDomain;

/// A registered region of memory. Dropping it ends the registration: peers are refused from then on. But while a window
/// is bound to it, it stays and goes with the device, so windows are to be dropped first.
///
/// The application reads and writes it by copying, at the same time as the device does.
pub struct MemoryRegion {
    shared: Arc<Shared>,
    memory: Arc<HeapMemory>,
    address: u64,
    key: u32,
}

impl MemoryRegion {
    pub(super) fn new(domain: &ProtectionDomain, length: usize, access: Access) -> Result<Self, DeviceError> {
        let memory = Arc::new(HeapMemory::new(length));
        let mut inner = domain.shared.lock();
        let context = &mut inner.port().context;
        let address = context.reserve_address(length);
        let key = context.register(domain.id, address, Arc::clone(&memory) as Arc<dyn Memory>, access)?;
        drop(inner);
        Ok(Self { shared: Arc::clone(&domain.shared), memory, address, key })
    }

    /// Bytes.
    pub fn length(&self) -> usize {
        self.memory.length()
    }

    /// Virtual address of the first byte, as peers and elements name it.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The remote key, which is the local key too.
    pub fn key(&self) -> RKey {
        RKey::new(self.key)
    }

    /// The place of a byte, for a peer.
    pub fn remote(&self, offset: u64) -> RemoteAddress {
        RemoteAddress { address: self.address.wrapping_add(offset), key: self.key() }
    }

    /// An element of a work request. That the bytes lie in the region is checked when the device uses it.
    pub fn element(&self, offset: u64, length: u32) -> Sge {
        Sge { address: self.address.wrapping_add(offset), length, key: self.key }
    }

    /// Copies bytes out.
    pub fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), MemoryFault> {
        self.memory.read(offset, out)
    }

    /// Copies bytes in.
    pub fn write(&self, offset: usize, data: &[u8]) -> Result<(), MemoryFault> {
        self.memory.write(offset, data)
    }
}

impl Drop for MemoryRegion {
    fn drop(&mut self) {
        let _ = self.shared.lock().port().context.deregister(self.key);
    }
}
