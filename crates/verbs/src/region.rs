//! Memory regions and windows: what a key can stand for.

use alloc::sync::Arc;

use crate::access::Access;
use crate::context::ProtectionDomainId;
use crate::keys::Key;
use crate::memory::Memory;

/// A registered region: a row of bytes of some memory, with an address and rights.
///
/// Invariant: `start + length` lies inside the memory, and nothing of it changes while windows are bound.
#[derive(Clone, Debug)]
pub struct Region {
    pub(crate) protection_domain: ProtectionDomainId,
    pub(crate) address: u64,
    pub(crate) access: Access,
    pub(crate) memory: Arc<dyn Memory>,
    /// Where in the memory the first byte lies.
    pub(crate) start: usize,
    pub(crate) length: u64,
    pub(crate) use_of: RegionUse,
    /// How many windows are bound to it.
    pub(crate) windows: u32,
}

/// What kind of region it is, and whether its key may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegionUse {
    /// Registered as a whole, until it is deregistered.
    Ordinary,
    /// Made for fast registration, without a mapping: its key gives access to nothing.
    FastFree,
    /// Mapped by a fast registration, until its key is invalidated.
    FastValid,
}

impl Region {
    /// Where it lives.
    pub fn protection_domain(&self) -> ProtectionDomainId {
        self.protection_domain
    }

    /// Address of its first byte, on which all accesses are based; 0 in a zero-based region.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// How many bytes may be reached from [`address`](Self::address) on.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// What may be done.
    pub fn access(&self) -> Access {
        self.access
    }

    pub(crate) fn is_valid(&self) -> bool {
        self.use_of != RegionUse::FastFree
    }

    pub(crate) fn reach(&self) -> Reach<'_> {
        Reach { memory: &*self.memory, base: self.address, start: self.start, length: self.length }
    }
}

/// Which rules a memory window follows (`ibv_mw_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WindowType {
    /// Bound and bound anew at will, for every queue pair of its protection domain.
    One,
    /// Bound to one queue pair besides (type 2B), until its key is invalidated.
    Two,
}

/// A memory window.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) protection_domain: ProtectionDomainId,
    pub(crate) kind: WindowType,
    /// Nothing while it is free: its key gives access to nothing.
    pub(crate) binding: Option<Binding>,
}

/// What a window is bound to.
///
/// Invariant: the region is there, valid, counts this window, and the range lies inside it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binding {
    pub(crate) region: Key,
    /// In the region's addresses.
    pub(crate) address: u64,
    pub(crate) length: u64,
    pub(crate) access: Access,
    /// The queue pair that bound it; only that of a window of type 2 matters.
    pub(crate) queue_pair: u64,
}

/// What a key stands for.
#[derive(Debug)]
pub(crate) enum Keyed {
    Region(Region),
    Window(Window),
}

impl Keyed {
    pub(crate) fn protection_domain(&self) -> ProtectionDomainId {
        match self {
            Self::Region(region) => region.protection_domain,
            Self::Window(window) => window.protection_domain,
        }
    }
}

/// Who accesses memory by a remote key, or gives a key its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accessor {
    /// The queue pair's.
    pub protection_domain: ProtectionDomainId,
    /// Names the queue pair by a number that is never used twice, so that a window of type 2 cannot come to belong to
    /// a later queue pair. A window that is still bound when its queue pair goes gives access to nobody any more, and
    /// keeps its region until it is deallocated.
    pub queue_pair: u64,
}

/// A row of bytes that a key gives access to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach<'a> {
    pub(crate) memory: &'a dyn Memory,
    /// The address by which the first byte is known.
    base: u64,
    /// Where in the memory the first byte lies.
    start: usize,
    length: u64,
}

impl<'a> Reach<'a> {
    /// Where `length` bytes at `address` begin in the memory, if all of them may be reached.
    pub(crate) fn offset(&self, address: u64, length: u64) -> Option<usize> {
        let within = address.checked_sub(self.base)?;
        let end = within.checked_add(length)?;
        // What is inside fits a usize, because the memory does.
        (end <= self.length).then(|| self.start + within as usize)
    }

    /// The `length` bytes at `address`, known by `base` from then on.
    pub(crate) fn part(&self, address: u64, length: u64, base: u64) -> Option<Self> {
        let start = self.offset(address, length)?;
        Some(Self { memory: self.memory, base, start, length })
    }
}
