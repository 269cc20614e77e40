//! Work requests that a script posts.

use rdmalab_verbs::{Operation, RemoteAddress, SendFlags, Sge};
use rdmalab_wire::{ImmDt, RKey};

use crate::side::Side;

/// Where the peer's region lies, and its key.
pub const REMOTE: RemoteAddress = RemoteAddress { address: 0x20_0000, key: RKey::new(0x200) };

/// A work request. Its bytes lie at the start of this side's region, unless it says otherwise.
#[derive(Clone, Debug)]
pub struct Work {
    pub operation: Operation,
    pub flags: SendFlags,
    offset: usize,
    length: usize,
    elements: Option<Vec<Sge>>,
}

fn work(operation: Operation, length: usize) -> Work {
    Work { operation, flags: SendFlags::SIGNALED, offset: 0, length, elements: None }
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
        self.elements.clone().unwrap_or_else(|| vec![side.sge(self.offset, self.length)])
    }
}
