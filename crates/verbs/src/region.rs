//! Memory regions: what a key gives access to, and every check of an access.

use alloc::sync::Arc;

use crate::access::Access;
use crate::context::ProtectionDomainId;
use crate::memory::Memory;

/// A registered region.
#[derive(Clone, Debug)]
pub struct Region {
    /// Where it lives.
    pub protection_domain: ProtectionDomainId,
    /// Virtual address of its first byte, on which all accesses are based.
    pub address: u64,
    /// What may be done.
    pub access: Access,
    /// The bytes.
    pub memory: Arc<dyn Memory>,
}

/// Why an access by a local element failed; all of them complete as
/// [`LocalProtectionError`](crate::CompletionStatus::LocalProtectionError).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalFault {
    /// The key names no region.
    UnknownKey,
    /// The region belongs to another protection domain.
    ProtectionDomain,
    /// The region was registered without this right.
    Access,
    /// The bytes are not all inside the region.
    Bounds,
}

/// Why an access that a peer asked for failed; all of them are answered as a remote access error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteFault {
    /// The key names no region.
    UnknownKey,
    /// The region belongs to another protection domain than the queue pair.
    ProtectionDomain,
    /// The region was registered without this right.
    Access,
    /// The bytes are not all inside the region.
    Bounds,
}

impl Region {
    /// Where `length` bytes at `address` begin in the memory, if all of them are inside.
    pub(crate) fn offset(&self, address: u64, length: usize) -> Option<usize> {
        let offset = usize::try_from(address.checked_sub(self.address)?).ok()?;
        let end = offset.checked_add(length)?;
        (end <= self.memory.length()).then_some(offset)
    }
}
