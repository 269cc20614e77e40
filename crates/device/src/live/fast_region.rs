//! A region of a live device whose registration is work on a queue pair.

use std::sync::Arc;

use rdmalab_verbs::{Access, FastRegistration, HeapMemory, Memory, MemoryFault, RemoteAddress, Sge};
use rdmalab_wire::RKey;

use super::Shared;
use super::error::DeviceError;
use super::memory_window::next_key;
use super::protection_domain::ProtectionDomain;

/// Memory that is registered piece by piece, by work requests.
///
/// Post [`Operation::FastRegister`](rdmalab_verbs::Operation::FastRegister) with what [`registration`](Self::registration)
/// gives; end it with [`Operation::LocalInvalidate`](rdmalab_verbs::Operation::LocalInvalidate), or let the peer do it by a
/// SEND with invalidate. Dropping it ends it at once; but windows that are bound to it must be dropped first.
pub struct FastRegion {
    shared: Arc<Shared>,
    memory: Arc<HeapMemory>,
    address: u64,
    /// The first of its keys; the others differ in the low 8 bits.
    first: RKey,
}

impl FastRegion {
    pub(super) fn new(domain: &ProtectionDomain, length: usize) -> Result<Self, DeviceError> {
        let memory = Arc::new(HeapMemory::new(length));
        let mut inner = domain.shared.lock();
        let context = &mut inner.port().context;
        let address = context.reserve_address(length);
        let first = context.allocate_fast_region(domain.id, Arc::clone(&memory) as Arc<dyn Memory>)?;
        drop(inner);
        Ok(Self { shared: Arc::clone(&domain.shared), memory, address, first: RKey::new(first) })
    }

    /// Bytes of its memory.
    pub fn length(&self) -> usize {
        self.memory.length()
    }

    /// Its present key, that of the last registration that was carried out; the local key is the same.
    pub fn key(&self) -> RKey {
        self.shared.present_key(self.first)
    }

    /// A registration of `length` bytes from `offset` on, under the key behind the present one. Post it before another one
    /// is asked for. Each byte has the same address in all registrations, except in those that are zero-based.
    pub fn registration(&self, offset: u64, length: u64, access: Access) -> FastRegistration {
        let region = self.key();
        let address = self.address.wrapping_add(offset);
        FastRegistration { region, key: next_key(region), offset, length, address, access }
    }

    /// The place of a byte, for a peer, under the present key.
    pub fn remote(&self, offset: u64) -> RemoteAddress {
        RemoteAddress { address: self.address.wrapping_add(offset), key: self.key() }
    }

    /// An element of a work request, under the present key.
    pub fn element(&self, offset: u64, length: u32) -> Sge {
        Sge { address: self.address.wrapping_add(offset), length, key: self.key().value() }
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

impl Drop for FastRegion {
    fn drop(&mut self) {
        let key = self.key().value();
        let _ = self.shared.lock().port().context.deregister(key);
    }
}
