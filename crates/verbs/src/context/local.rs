//! Accesses by the elements of our own application's requests.

use super::{Context, ProtectionDomainId};
use crate::access::Access;
use crate::fault::LocalFault;
use crate::region::Region;
use crate::work::Sge;

impl Context {
    /// Copies bytes of a message out of its local elements, from `offset` in the message on.
    pub fn gather(
        &self,
        domain: ProtectionDomainId,
        elements: &[Sge],
        offset: u32,
        out: &mut [u8],
    ) -> Result<(), LocalFault> {
        let mut rest = out;
        walk(elements, offset, rest.len(), |element, within, size| {
            let (part, after) = core::mem::take(&mut rest).split_at_mut(size);
            rest = after;
            let (region, at) = self.local(domain, element, within, size, Access::empty())?;
            region.memory.read(at, part).map_err(|_| LocalFault::Bounds)
        })
    }

    /// Copies bytes of a message into its local elements, from `offset` in the message on.
    pub fn scatter(
        &self,
        domain: ProtectionDomainId,
        elements: &[Sge],
        offset: u32,
        data: &[u8],
    ) -> Result<(), LocalFault> {
        let mut rest = data;
        walk(elements, offset, rest.len(), |element, within, size| {
            let (part, after) = rest.split_at(size);
            rest = after;
            let (region, at) = self.local(domain, element, within, size, Access::LOCAL_WRITE)?;
            region.memory.write(at, part).map_err(|_| LocalFault::Bounds)
        })
    }

    /// Whether all bytes of local elements may be used with `access`.
    pub fn check_local(
        &self,
        domain: ProtectionDomainId,
        elements: &[Sge],
        access: Access,
    ) -> Result<(), LocalFault> {
        elements
            .iter()
            .filter(|element| element.length != 0)
            .try_for_each(|element| self.local(domain, element, 0, element.length as usize, access).map(drop))
    }

    /// The region of a local element, and where in its memory the element's bytes lie. Windows have no local keys.
    fn local(
        &self,
        domain: ProtectionDomainId,
        element: &Sge,
        within: u32,
        size: usize,
        access: Access,
    ) -> Result<(&Region, usize), LocalFault> {
        let region = self.region(element.key).ok_or(LocalFault::UnknownKey)?;
        if region.protection_domain != domain {
            return Err(LocalFault::ProtectionDomain);
        }
        if !region.access.contains(access) {
            return Err(LocalFault::Access);
        }
        let address = element.address.checked_add(u64::from(within)).ok_or(LocalFault::Bounds)?;
        let offset = region.reach().offset(address, size as u64).ok_or(LocalFault::Bounds)?;
        Ok((region, offset))
    }
}

/// Calls `step(element, offset within it, bytes)` for the pieces of elements that bytes `offset..offset + length` of a
/// message lie in, in order. Bytes beyond the elements are a fault.
fn walk(
    elements: &[Sge],
    offset: u32,
    length: usize,
    mut step: impl FnMut(&Sge, u32, usize) -> Result<(), LocalFault>,
) -> Result<(), LocalFault> {
    let (mut skip, mut left) = (offset, length);
    for element in elements {
        if left == 0 {
            break;
        }
        if skip >= element.length {
            skip -= element.length;
            continue;
        }
        let size = ((element.length - skip) as usize).min(left);
        step(element, skip, size)?;
        (skip, left) = (0, left - size);
    }
    if left == 0 { Ok(()) } else { Err(LocalFault::Bounds) }
}
