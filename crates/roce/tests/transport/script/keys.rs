//! Memory windows and fast-registration regions of a script's side, and the work that gives their keys a meaning.

use rdmalab_verbs::{Access, Accessor, FastRegistration, Operation, WindowBinding, WindowType};
use rdmalab_wire::{Qpn, RKey};

use super::work::{Work, work};
use super::{BASE, KEY, MEMORY, PEER_QUEUE_PAIR, Script, peer};

/// What a peer needs for the usual accesses.
pub const REMOTE_ACCESS: Access = Access::REMOTE_WRITE.union(Access::REMOTE_READ);

impl Script {
    /// The only queue pair of this side.
    pub fn accessor(&self) -> Accessor {
        Accessor { protection_domain: self.side.domain, queue_pair: 1 }
    }

    /// Another queue pair of the same domain, connected to the same peer.
    pub fn another_queue_pair(&mut self) -> Qpn {
        self.side.connect_another(&self.setup, peer(), PEER_QUEUE_PAIR)
    }

    /// A window that is not bound.
    pub fn window(&mut self, kind: WindowType) -> u32 {
        let Self { side, .. } = self;
        side.context.allocate_window(side.domain, kind).unwrap().value()
    }

    /// A region for fast registration over all of the side's memory, not mapped yet.
    pub fn fast_region(&mut self) -> u32 {
        let Self { side, .. } = self;
        side.context.allocate_fast_region(side.domain, side.memory.clone()).unwrap()
    }

    /// A window of type 1 or 2 that is bound to all of the side's region; returns its new key.
    #[track_caller]
    pub fn bound_window(&mut self, kind: WindowType, access: Access) -> u32 {
        let window = self.window(kind);
        let id = self.post(bind(window, window + 1, 0, MEMORY as u64, access));
        self.expect_done(id);
        window + 1
    }

    /// A fast region that is mapped to all of the side's memory, at the address of its ordinary region.
    #[track_caller]
    pub fn mapped_region(&mut self, access: Access) -> u32 {
        let region = self.fast_region();
        let id = self.post(fast_register(region, region + 1, 0, MEMORY as u64, access));
        self.expect_done(id);
        region + 1
    }
}

/// Binds a window to bytes of the side's region, under a new key.
pub fn bind(window: u32, key: u32, offset: usize, length: u64, access: Access) -> Work {
    bind_to(KEY.value(), window, key, BASE + offset as u64, length, access)
}

/// Binds a window to bytes of some region.
pub fn bind_to(region: u32, window: u32, key: u32, address: u64, length: u64, access: Access) -> Work {
    let (window, key) = (RKey::new(window), RKey::new(key));
    work(Operation::BindWindow(WindowBinding { window, key, region, address, length, access }), 0)
}

/// Maps bytes of the side's memory, at the address that they have in its ordinary region.
pub fn fast_register(region: u32, key: u32, offset: u64, length: u64, access: Access) -> Work {
    let (region, key, address) = (RKey::new(region), RKey::new(key), BASE + offset);
    work(Operation::FastRegister(FastRegistration { region, key, offset, length, address, access }), 0)
}

pub fn local_invalidate(key: u32) -> Work {
    work(Operation::LocalInvalidate(RKey::new(key)), 0)
}
