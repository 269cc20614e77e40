//! Accesses that peers ask for. Every one is checked anew, since keys may lose their meaning between two packets.

use rdmalab_wire::RKey;

use super::Context;
use crate::access::Access;
use crate::fault::RemoteFault;
use crate::memory::Atomic64;
use crate::region::{Accessor, Keyed, Reach, Window, WindowType};

impl Context {
    /// Checks an access that a peer asks for. `length` may be anything a packet can say.
    pub fn check_remote(
        &self,
        accessor: &Accessor,
        key: RKey,
        address: u64,
        length: u64,
        access: Access,
    ) -> Result<(), RemoteFault> {
        self.remote(accessor, key, address, length, access).map(drop)
    }

    /// Checks that a peer may do something with all that a key gives access to, as a FLUSH of a whole region does.
    pub fn check_remote_key(
        &self,
        accessor: &Accessor,
        key: RKey,
        access: Access,
    ) -> Result<(), RemoteFault> {
        self.resolve(accessor, key, access).map(drop)
    }

    /// Copies out of memory that a peer READs.
    pub fn remote_read(
        &self,
        accessor: &Accessor,
        key: RKey,
        address: u64,
        out: &mut [u8],
    ) -> Result<(), RemoteFault> {
        let (reach, offset) = self.remote(accessor, key, address, out.len() as u64, Access::REMOTE_READ)?;
        reach.memory.read(offset, out).map_err(|_| RemoteFault::Bounds)
    }

    /// Copies into memory that a peer WRITEs.
    pub fn remote_write(
        &self,
        accessor: &Accessor,
        key: RKey,
        address: u64,
        data: &[u8],
    ) -> Result<(), RemoteFault> {
        let (reach, offset) = self.remote(accessor, key, address, data.len() as u64, Access::REMOTE_WRITE)?;
        reach.memory.write(offset, data).map_err(|_| RemoteFault::Bounds)
    }

    /// Runs an atomic that a peer asks for and returns the value found before it. An ATOMIC WRITE needs the right to
    /// write, as its name says, the others that to atomics. That `address` is a multiple of eight is for the caller to
    /// check, since a peer is told of it in another way.
    pub fn remote_atomic(
        &self,
        accessor: &Accessor,
        key: RKey,
        address: u64,
        operation: Atomic64,
    ) -> Result<u64, RemoteFault> {
        let access = match operation {
            Atomic64::Swap { .. } => Access::REMOTE_WRITE,
            Atomic64::CompareAndSwap { .. }
            | Atomic64::FetchAndAdd { .. }
            | Atomic64::MaskedCompareAndSwap { .. }
            | Atomic64::MaskedFetchAndAdd { .. } => Access::REMOTE_ATOMIC,
        };
        let (reach, offset) = self.remote(accessor, key, address, 8, access)?;
        reach.memory.atomic64(offset, operation).map_err(|_| RemoteFault::Bounds)
    }

    fn remote(
        &self,
        accessor: &Accessor,
        key: RKey,
        address: u64,
        length: u64,
        access: Access,
    ) -> Result<(Reach<'_>, usize), RemoteFault> {
        let reach = self.resolve(accessor, key, access)?;
        let offset = reach.offset(address, length).ok_or(RemoteFault::Bounds)?;
        Ok((reach, offset))
    }

    /// What a key gives access to: the one place where a remote key is looked up.
    fn resolve(&self, accessor: &Accessor, key: RKey, access: Access) -> Result<Reach<'_>, RemoteFault> {
        let keyed = self.keys.get(key.value()).ok_or(RemoteFault::UnknownKey)?;
        if keyed.protection_domain() != accessor.protection_domain {
            return Err(RemoteFault::ProtectionDomain);
        }
        match keyed {
            Keyed::Region(region) if !region.is_valid() => Err(RemoteFault::UnknownKey),
            Keyed::Region(region) if !region.access.contains(access) => Err(RemoteFault::Access),
            Keyed::Region(region) => Ok(region.reach()),
            Keyed::Window(window) => self.resolve_window(accessor, window, access),
        }
    }

    fn resolve_window(
        &self,
        accessor: &Accessor,
        window: &Window,
        access: Access,
    ) -> Result<Reach<'_>, RemoteFault> {
        let binding = window.binding.as_ref().ok_or(RemoteFault::UnknownKey)?;
        if window.kind == WindowType::Two && binding.queue_pair != accessor.queue_pair {
            return Err(RemoteFault::QueuePair);
        }
        // The window's own rights count, whatever peers may do to the region by the region's key.
        if !binding.access.contains(access) {
            return Err(RemoteFault::Access);
        }
        let region = self.region(binding.region).ok_or(RemoteFault::UnknownKey)?;
        let base = binding.access.base(binding.address);
        region.reach().part(binding.address, binding.length, base).ok_or(RemoteFault::Bounds)
    }
}
