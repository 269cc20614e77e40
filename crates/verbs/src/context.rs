//! The tables that queue pairs share, and every access to application memory on their behalf.

mod addresses;
mod attachment;
mod binding;
mod completions;
mod local;
mod regions;
mod remote;
mod shared;

use crate::address_handle::AddressHandle;
use crate::completion_queue::CompletionQueue;
use crate::error::{LimitReached, RemoveError};
use crate::event::Events;
use crate::keys::KeyTable;
use crate::limits::Limits;
use crate::region::Keyed;
use crate::shared_receive_queue::SharedReceiveQueue;
use crate::table::{Full, Handle, Table};
use crate::xrc_domain::XrcDomain;

pub use attachment::Attachment;
pub use binding::Invalidation;

/// Names a protection domain of a [`Context`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProtectionDomainId(u32);

/// Bits of the generation in the handles of all that peers never see. A shared receive queue, whose number they see in
/// 24 bits, has as many.
const GENERATION_BITS: u32 = 8;

/// Shared receive queues whose numbers fit in 24 bits.
const MAX_SHARED_RECEIVE_QUEUES: usize = (1 << 16) - 1;

/// Addresses that regions get by themselves begin here and never repeat.
const FIRST_ADDRESS: u64 = 0x10_0000;

/// Owns protection domains, memory regions and windows, completion queues, shared receive queues, XRC domains and
/// address handles.
///
/// Invariants: keys of regions and windows that are gone never match again, and the local and remote key of a region
/// are the same number. Nothing can go while something that is left needs it.
#[derive(Debug)]
pub struct Context {
    limits: Limits,
    /// With the number of objects in each.
    domains: Table<u32>,
    keys: KeyTable<Keyed>,
    regions: usize,
    windows: usize,
    completion_queues: Table<CompletionQueue>,
    /// Completion queues that have overrun.
    overruns: u64,
    shared_receive_queues: Table<SharedReceiveQueue>,
    xrc_domains: Table<XrcDomain>,
    address_handles: Table<AddressHandle>,
    events: Events,
    /// Of completion queues that are armed, which are not asynchronous events.
    completion_events: Events,
    /// Completion queues that were watched and have got something.
    stirred: Events,
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
        let shared_receive_queues = limits.shared_receive_queues.min(MAX_SHARED_RECEIVE_QUEUES);
        Self {
            limits: Limits { shared_receive_queues, ..limits },
            domains: table(limits.protection_domains),
            keys: KeyTable::new(),
            regions: 0,
            windows: 0,
            completion_queues: table(limits.completion_queues),
            overruns: 0,
            shared_receive_queues: table(shared_receive_queues),
            xrc_domains: table(limits.xrc_domains),
            address_handles: table(limits.address_handles),
            events: Events::default(),
            completion_events: Events::default(),
            stirred: Events::default(),
            next_address: FIRST_ADDRESS,
        }
    }

    /// How much the context may hold.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Makes a protection domain.
    pub fn allocate_protection_domain(&mut self) -> Result<ProtectionDomainId, LimitReached> {
        let limit = LimitReached { what: "protection domains", limit: self.limits.protection_domains };
        self.domains.insert(0).map(ProtectionDomainId).map_err(|Full| limit)
    }

    /// Ends a protection domain that nothing lives in any more.
    pub fn deallocate_protection_domain(&mut self, domain: ProtectionDomainId) -> Result<(), RemoveError> {
        remove_unused(&mut self.domains, domain.0, |users| *users)
    }

    /// Whether a protection domain is there.
    fn has_domain(&self, domain: ProtectionDomainId) -> bool {
        self.domains.get(domain.0).is_some()
    }

    /// Notes that something lives in a protection domain, so that it stays.
    fn join(&mut self, domain: ProtectionDomainId) {
        if let Some(users) = self.domains.get_mut(domain.0) {
            *users += 1;
        }
    }

    /// Undoes [`join`](Self::join).
    fn leave(&mut self, domain: ProtectionDomainId) {
        if let Some(users) = self.domains.get_mut(domain.0) {
            *users = users.saturating_sub(1);
        }
    }
}

fn table<T>(limit: usize) -> Table<T> {
    // The first index is 1, so that 0 names nothing.
    Table::new(limit, GENERATION_BITS, 1, false)
}

/// Takes an entry out of a table if nobody uses it.
fn remove_unused<T>(
    table: &mut Table<T>,
    handle: Handle,
    users: impl Fn(&T) -> u32,
) -> Result<(), RemoveError> {
    match table.get(handle).map(users) {
        None => Err(RemoveError::NoSuchObject),
        Some(0) => {
            table.remove(handle);
            Ok(())
        }
        Some(users) => Err(RemoveError::InUse { users }),
    }
}
