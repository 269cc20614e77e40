//! Address handles, and virtual addresses for regions that need one.

use super::{Context, ProtectionDomainId};
use crate::address_handle::{AddressHandle, AddressHandleId};
use crate::error::{CreateError, LimitReached, RemoveError};
use crate::path::Path;
use crate::table::Full;

const PAGE: u64 = 4096;

impl Context {
    /// Prepares the way to a peer or to a multicast group.
    pub fn create_address_handle(
        &mut self,
        protection_domain: ProtectionDomainId,
        path: Path,
    ) -> Result<AddressHandleId, CreateError> {
        if !self.has_domain(protection_domain) {
            return Err(CreateError::NoSuchProtectionDomain);
        }
        path.check().map_err(|allowed| CreateError::BadPath { allowed })?;
        let limit = LimitReached { what: "address handles", limit: self.limits.address_handles };
        let handle = AddressHandle { protection_domain, path };
        let id = self.address_handles.insert(handle).map_err(|Full| CreateError::LimitReached(limit))?;
        self.join(protection_domain);
        Ok(AddressHandleId(id))
    }

    /// Ends an address handle. Requests that are queued and name it cannot be sent any more.
    pub fn destroy_address_handle(&mut self, id: AddressHandleId) -> Result<(), RemoveError> {
        let handle = self.address_handles.remove(id.0).ok_or(RemoveError::NoSuchObject)?;
        self.leave(handle.protection_domain);
        Ok(())
    }

    /// An address handle by its number.
    pub fn address_handle(&self, id: AddressHandleId) -> Option<&AddressHandle> {
        self.address_handles.get(id.0)
    }

    /// A virtual address that no region was given before, for `length` bytes, at the start of a page.
    pub fn reserve_address(&mut self, length: usize) -> u64 {
        let address = self.next_address;
        let pages = (length as u64).div_ceil(PAGE) + 1;
        self.next_address = address.wrapping_add(pages * PAGE);
        address
    }
}
