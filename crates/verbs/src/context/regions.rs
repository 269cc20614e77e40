//! Making and ending what keys stand for.

use alloc::sync::Arc;

use rdmalab_wire::RKey;

use super::{Context, ProtectionDomainId};
use crate::access::Access;
use crate::error::{LimitReached, RegisterError, RemoveError};
use crate::keys::LowBits;
use crate::memory::Memory;
use crate::region::{Keyed, Region, RegionUse, Window, WindowType};
use crate::table::Full;

impl Context {
    /// Registers memory at a virtual address and returns its key, both local and remote. A zero-based region has no
    /// address of its own: the one given is of no account.
    pub fn register(
        &mut self,
        protection_domain: ProtectionDomainId,
        address: u64,
        memory: Arc<dyn Memory>,
        access: Access,
    ) -> Result<u32, RegisterError> {
        if access.lacks_local_write(access) {
            return Err(RegisterError::NeedsLocalWrite);
        }
        let region = Region {
            protection_domain,
            address: access.base(address),
            access,
            start: 0,
            length: memory.length() as u64,
            memory,
            use_of: RegionUse::Ordinary,
            windows: 0,
        };
        self.insert_region(LowBits::Ours, region)
    }

    /// Makes a region over memory that [`fast_register`](Self::fast_register) maps piece by piece, and returns its
    /// first key. Until then the key gives access to nothing.
    pub fn allocate_fast_region(
        &mut self,
        protection_domain: ProtectionDomainId,
        memory: Arc<dyn Memory>,
    ) -> Result<u32, RegisterError> {
        let region = Region {
            protection_domain,
            address: 0,
            access: Access::empty(),
            memory,
            start: 0,
            length: 0,
            use_of: RegionUse::FastFree,
            windows: 0,
        };
        self.insert_region(LowBits::Consumers, region)
    }

    fn insert_region(&mut self, low_bits: LowBits, region: Region) -> Result<u32, RegisterError> {
        let domain = region.protection_domain;
        let limit = LimitReached { what: "memory regions", limit: self.limits.regions };
        let key = self.insert_keyed(low_bits, domain, Keyed::Region(region), self.regions, limit)?;
        self.regions += 1;
        Ok(key)
    }

    /// Ends a registration; of a region made for fast registration, with whatever mapping it has. Packets that use its
    /// key from now on are refused.
    pub fn deregister(&mut self, key: u32) -> Result<(), RemoveError> {
        let Some(Keyed::Region(region)) = self.keys.get(key) else { return Err(RemoveError::NoSuchObject) };
        if region.windows != 0 {
            return Err(RemoveError::InUse { users: region.windows });
        }
        let domain = region.protection_domain;
        self.keys.remove(key);
        self.regions -= 1;
        self.leave(domain);
        Ok(())
    }

    /// A region by its key, unless it is one for fast registration without a mapping.
    pub fn region(&self, key: u32) -> Option<&Region> {
        match self.keys.get(key) {
            Some(Keyed::Region(region)) if region.is_valid() => Some(region),
            _ => None,
        }
    }

    /// The present key of a memory window or of a region made for fast registration, by any key that it ever had: they
    /// differ in the low 8 bits only.
    pub fn present_key(&self, key: RKey) -> Option<RKey> {
        let present = self.keys.present(key.value())?;
        let has_consumers_keys = match self.keys.get(present)? {
            Keyed::Window(_) => true,
            Keyed::Region(region) => region.use_of != RegionUse::Ordinary,
        };
        (has_consumers_keys || present == key.value()).then(|| RKey::new(present))
    }

    /// Makes a memory window and returns its first key, which gives access to nothing until the window is bound.
    pub fn allocate_window(
        &mut self,
        protection_domain: ProtectionDomainId,
        kind: WindowType,
    ) -> Result<RKey, RegisterError> {
        let window = Keyed::Window(Window { protection_domain, kind, binding: None });
        let limit = LimitReached { what: "memory windows", limit: self.limits.windows };
        let key = self.insert_keyed(LowBits::Consumers, protection_domain, window, self.windows, limit)?;
        self.windows += 1;
        Ok(RKey::new(key))
    }

    /// Ends a memory window, whatever it is bound to.
    pub fn deallocate_window(&mut self, key: RKey) -> Result<(), RemoveError> {
        let Some(Keyed::Window(window)) = self.keys.get(key.value()) else {
            return Err(RemoveError::NoSuchObject);
        };
        let domain = window.protection_domain;
        self.unbind(key.value());
        self.keys.remove(key.value());
        self.windows -= 1;
        self.leave(domain);
        Ok(())
    }

    /// Puts something in that has a key, of which there are `count` already.
    fn insert_keyed(
        &mut self,
        low_bits: LowBits,
        domain: ProtectionDomainId,
        keyed: Keyed,
        count: usize,
        limit: LimitReached,
    ) -> Result<u32, RegisterError> {
        if !self.has_domain(domain) {
            return Err(RegisterError::NoSuchProtectionDomain);
        }
        if count >= limit.limit {
            return Err(RegisterError::LimitReached(limit));
        }
        let key = self.keys.insert(low_bits, keyed).map_err(|Full| RegisterError::LimitReached(limit))?;
        self.join(domain);
        Ok(key)
    }
}
