//! Work requests that a script posts.

use rdmalab_verbs::{Operation, Placement, RemoteAddress, Selectivity, SendFlags, Sge, Target};
use rdmalab_wire::{ImmDt, RKey};

use crate::side::{Application, Side};

/// Where the peer's region lies, and its key.
pub const REMOTE: RemoteAddress = RemoteAddress { address: 0x20_0000, key: RKey::new(0x200) };

/// A work request. Its bytes lie at the start of this side's region, unless it says otherwise.
#[derive(Clone, Debug)]
pub struct Work {
    pub operation: Operation,
    pub flags: SendFlags,
    /// By itself, the script's peer.
    pub target: Option<Target>,
    pub inline: Option<Vec<u8>>,
    offset: usize,
    length: usize,
    elements: Option<Vec<Sge>>,
}

pub(super) fn work(operation: Operation, length: usize) -> Work {
    Work {
        operation,
        flags: SendFlags::SIGNALED,
        target: None,
        inline: None,
        offset: 0,
        length,
        elements: None,
    }
}

pub fn send(length: usize) -> Work {
    work(Operation::Send, length)
}

pub fn send_imm(length: usize, immediate: u32) -> Work {
    work(Operation::SendWithImmediate(ImmDt(immediate.to_be_bytes())), length)
}

pub fn write(length: usize) -> Work {
    work(Operation::RdmaWrite(REMOTE), length)
}

pub fn write_imm(length: usize, immediate: u32) -> Work {
    work(Operation::RdmaWriteWithImmediate(REMOTE, ImmDt(immediate.to_be_bytes())), length)
}

pub fn read(length: usize) -> Work {
    work(Operation::RdmaRead(REMOTE), length)
}

pub fn compare_swap(compare: u64, swap: u64) -> Work {
    work(Operation::CompareAndSwap { remote: REMOTE, compare, swap }, 8)
}

pub fn fetch_add(add: u64) -> Work {
    work(Operation::FetchAndAdd { remote: REMOTE, add }, 8)
}

/// A SEND that ends a key of the peer.
pub fn send_inv(length: usize, key: u32) -> Work {
    work(Operation::SendWithInvalidate(RKey::new(key)), length)
}

/// A FLUSH of so many of the peer's bytes.
pub fn flush(length: u32, placement: Placement) -> Work {
    work(Operation::Flush { remote: REMOTE, length, placement, selectivity: Selectivity::Range }, 0)
}

/// A FLUSH of the peer's whole region.
pub fn flush_region(placement: Placement) -> Work {
    work(Operation::Flush { remote: REMOTE, length: 0, placement, selectivity: Selectivity::Region }, 0)
}

pub fn atomic_write(value: u64) -> Work {
    work(Operation::AtomicWrite { remote: REMOTE, value: value.to_ne_bytes() }, 0)
}

impl Work {
    /// Success is not told.
    pub fn unsignaled(mut self) -> Self {
        self.flags -= SendFlags::SIGNALED;
        self
    }

    pub fn solicited(mut self) -> Self {
        self.flags |= SendFlags::SOLICITED;
        self
    }

    /// Waits for the READs and atomics before it.
    pub fn fenced(mut self) -> Self {
        self.flags |= SendFlags::FENCE;
        self
    }

    /// For somebody else than the script's peer.
    pub fn to(mut self, target: Target) -> Self {
        self.target = Some(target);
        self
    }

    /// With bytes that go into the request, in place of elements.
    pub fn inline(mut self, bytes: &[u8]) -> Self {
        (self.inline, self.elements) = (Some(bytes.to_vec()), Some(Vec::new()));
        self
    }

    /// Elsewhere in this side's region.
    pub fn at(mut self, offset: usize) -> Self {
        self.offset = offset;
        self
    }

    /// In several pieces, or with elements that are wrong.
    pub fn in_elements(mut self, elements: &[Sge]) -> Self {
        self.elements = Some(elements.to_vec());
        self
    }

    pub(super) fn elements(&self, side: &Side) -> Vec<Sge> {
        let usual = || match self.operation.is_without_elements() {
            true => vec![],
            false => vec![side.sge(self.offset, self.length)],
        };
        self.elements.clone().unwrap_or_else(usual)
    }
}
