//! The tables that queue pairs share, and every access to application memory on their behalf.

use alloc::sync::Arc;

use rdmalab_wire::RKey;

use crate::access::Access;
use crate::completion::Completion;
use crate::completion_queue::{CompletionQueue, CompletionQueueId};
use crate::error::{LimitReached, NoSuchObject, RegisterError, RemoveError};
use crate::memory::{Atomic64, Memory};
use crate::region::{LocalFault, Region, RemoteFault};
use crate::table::{Full, Table};
use crate::work::Sge;

/// Names a protection domain of a [`Context`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProtectionDomainId(u32);

/// How much an application may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Protection domains.
    pub protection_domains: usize,
    /// Memory regions; at most 2^20.
    pub regions: usize,
    /// Completion queues.
    pub completion_queues: usize,
    /// Entries of a completion queue.
    pub completion_queue_entries: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            protection_domains: 1 << 16,
            regions: 1 << 19,
            completion_queues: 1 << 16,
            completion_queue_entries: 1 << 20,
        }
    }
}

/// Addresses that regions get by themselves begin here and never repeat.
const FIRST_ADDRESS: u64 = 0x10_0000;
const PAGE: u64 = 4096;

/// Bits of a key that are a generation; the low 8 of them are the part that the verbs leave to the consumer.
const KEY_GENERATION_BITS: u32 = 12;

/// Owns protection domains, memory regions and completion queues.
///
/// Invariant: keys of regions that are gone never match again. Local and remote key of a region are the same number.
#[derive(Debug)]
pub struct Context {
    limits: Limits,
    /// With the number of regions and queue pairs in each.
    domains: Table<u32>,
    regions: Table<Region>,
    queues: Table<CompletionQueue>,
    next_address: u64,
}

impl Default for Context {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Context {
    /// Empty tables.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            domains: Table::new(limits.protection_domains, 8, 1, false),
            regions: Table::new(limits.regions, KEY_GENERATION_BITS, 1, true),
            queues: Table::new(limits.completion_queues, 8, 1, false),
            next_address: FIRST_ADDRESS,
        }
    }

    /// Makes a protection domain.
    pub fn allocate_protection_domain(&mut self) -> Result<ProtectionDomainId, LimitReached> {
        let limit = LimitReached { what: "protection domains", limit: self.limits.protection_domains };
        self.domains.insert(0).map(ProtectionDomainId).map_err(|Full| limit)
    }

    /// Ends a protection domain that nothing lives in any more.
    pub fn deallocate_protection_domain(&mut self, domain: ProtectionDomainId) -> Result<(), RemoveError> {
        match self.domains.get(domain.0) {
            None => Err(RemoveError::NoSuchObject),
            Some(0) => {
                self.domains.remove(domain.0);
                Ok(())
            }
            Some(&users) => Err(RemoveError::InUse { users }),
        }
    }

    /// Notes that a queue pair lives in a protection domain and completes into two queues, so that they stay.
    pub fn attach(
        &mut self,
        domain: ProtectionDomainId,
        queues: [CompletionQueueId; 2],
    ) -> Result<(), NoSuchObject> {
        if queues.iter().any(|queue| self.queues.get(queue.0).is_none()) {
            return Err(NoSuchObject);
        }
        *self.domains.get_mut(domain.0).ok_or(NoSuchObject)? += 1;
        for queue in queues {
            self.queues.get_mut(queue.0).ok_or(NoSuchObject)?.users += 1;
        }
        Ok(())
    }

    /// Undoes [`attach`](Self::attach).
    pub fn detach(&mut self, domain: ProtectionDomainId, queues: [CompletionQueueId; 2]) {
        if let Some(users) = self.domains.get_mut(domain.0) {
            *users = users.saturating_sub(1);
        }
        for queue in queues {
            if let Some(queue) = self.queues.get_mut(queue.0) {
                queue.users = queue.users.saturating_sub(1);
            }
        }
    }

    /// A virtual address that no region was given before, for `length` bytes, at the start of a page.
    pub fn reserve_address(&mut self, length: usize) -> u64 {
        let address = self.next_address;
        let pages = (length as u64).div_ceil(PAGE) + 1;
        self.next_address = address.wrapping_add(pages * PAGE);
        address
    }

    /// Registers memory at a virtual address and returns its key, both local and remote.
    pub fn register(
        &mut self,
        protection_domain: ProtectionDomainId,
        address: u64,
        memory: Arc<dyn Memory>,
        access: Access,
    ) -> Result<u32, RegisterError> {
        let users = self.domains.get_mut(protection_domain.0).ok_or(RegisterError::NoSuchProtectionDomain)?;
        let limit = LimitReached { what: "memory regions", limit: self.limits.regions };
        let region = Region { protection_domain, address, access, memory };
        let key = self.regions.insert(region).map_err(|Full| RegisterError::LimitReached(limit))?;
        *users += 1;
        Ok(key)
    }

    /// Ends a registration. Packets that use its key from now on are refused.
    pub fn deregister(&mut self, key: u32) -> Result<(), NoSuchObject> {
        let region = self.regions.remove(key).ok_or(NoSuchObject)?;
        if let Some(users) = self.domains.get_mut(region.protection_domain.0) {
            *users = users.saturating_sub(1);
        }
        Ok(())
    }

    /// A region by its key.
    pub fn region(&self, key: u32) -> Option<&Region> {
        self.regions.get(key)
    }

    /// Makes a completion queue for at least one entry.
    pub fn create_completion_queue(&mut self, entries: u32) -> Result<CompletionQueueId, LimitReached> {
        let most = self.limits.completion_queue_entries;
        if entries > most {
            return Err(LimitReached { what: "entries of a completion queue", limit: most as usize });
        }
        let limit = LimitReached { what: "completion queues", limit: self.limits.completion_queues };
        self.queues.insert(CompletionQueue::new(entries.max(1))).map(CompletionQueueId).map_err(|Full| limit)
    }

    /// Ends a completion queue that no queue pair delivers into any more, with what is in it.
    pub fn destroy_completion_queue(&mut self, queue: CompletionQueueId) -> Result<(), RemoveError> {
        match self.queues.get(queue.0).map(|queue| queue.users) {
            None => Err(RemoveError::NoSuchObject),
            Some(0) => {
                self.queues.remove(queue.0);
                Ok(())
            }
            Some(users) => Err(RemoveError::InUse { users }),
        }
    }

    /// Takes the oldest completion out.
    pub fn poll_completion(&mut self, queue: CompletionQueueId) -> Option<Completion> {
        self.queues.get_mut(queue.0)?.pop()
    }

    /// Completions that wait to be taken out.
    pub fn completions_waiting(&self, queue: CompletionQueueId) -> usize {
        self.queues.get(queue.0).map_or(0, CompletionQueue::len)
    }

    /// Whether completions were lost because the queue was full.
    pub fn is_overrun(&self, queue: CompletionQueueId) -> bool {
        self.queues.get(queue.0).is_some_and(CompletionQueue::is_overrun)
    }

    /// Adds a completion; for engines.
    pub fn complete(&mut self, queue: CompletionQueueId, completion: Completion) {
        if let Some(queue) = self.queues.get_mut(queue.0) {
            queue.push(completion);
        }
    }

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

    fn local(
        &self,
        domain: ProtectionDomainId,
        element: &Sge,
        within: u32,
        size: usize,
        access: Access,
    ) -> Result<(&Region, usize), LocalFault> {
        let region = self.regions.get(element.key).ok_or(LocalFault::UnknownKey)?;
        if region.protection_domain != domain {
            return Err(LocalFault::ProtectionDomain);
        }
        if !region.access.contains(access) {
            return Err(LocalFault::Access);
        }
        let address = element.address.checked_add(u64::from(within)).ok_or(LocalFault::Bounds)?;
        let offset = region.offset(address, size).ok_or(LocalFault::Bounds)?;
        Ok((region, offset))
    }

    /// Checks an access that a peer asks for. `length` may be anything a packet can say.
    pub fn check_remote(
        &self,
        domain: ProtectionDomainId,
        key: RKey,
        address: u64,
        length: u32,
        access: Access,
    ) -> Result<(), RemoteFault> {
        self.remote(domain, key, address, length as usize, access).map(drop)
    }

    /// Copies out of memory that a peer READs.
    pub fn remote_read(
        &self,
        domain: ProtectionDomainId,
        key: RKey,
        address: u64,
        out: &mut [u8],
    ) -> Result<(), RemoteFault> {
        let (region, offset) = self.remote(domain, key, address, out.len(), Access::REMOTE_READ)?;
        region.memory.read(offset, out).map_err(|_| RemoteFault::Bounds)
    }

    /// Copies into memory that a peer WRITEs.
    pub fn remote_write(
        &self,
        domain: ProtectionDomainId,
        key: RKey,
        address: u64,
        data: &[u8],
    ) -> Result<(), RemoteFault> {
        let (region, offset) = self.remote(domain, key, address, data.len(), Access::REMOTE_WRITE)?;
        region.memory.write(offset, data).map_err(|_| RemoteFault::Bounds)
    }

    /// Runs an atomic that a peer asks for and returns the value found before it. That `address` is a multiple of
    /// eight is for the caller to check, since a peer is told of it in another way.
    pub fn remote_atomic(
        &self,
        domain: ProtectionDomainId,
        key: RKey,
        address: u64,
        operation: Atomic64,
    ) -> Result<u64, RemoteFault> {
        let (region, offset) = self.remote(domain, key, address, 8, Access::REMOTE_ATOMIC)?;
        region.memory.atomic64(offset, operation).map_err(|_| RemoteFault::Bounds)
    }

    fn remote(
        &self,
        domain: ProtectionDomainId,
        key: RKey,
        address: u64,
        length: usize,
        access: Access,
    ) -> Result<(&Region, usize), RemoteFault> {
        let region = self.regions.get(key.value()).ok_or(RemoteFault::UnknownKey)?;
        if region.protection_domain != domain {
            return Err(RemoteFault::ProtectionDomain);
        }
        if !region.access.contains(access) {
            return Err(RemoteFault::Access);
        }
        let offset = region.offset(address, length).ok_or(RemoteFault::Bounds)?;
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
