//! Giving keys their meaning, and taking it away: work that is done in a queue pair, in the order of its send queue.

use rdmalab_wire::RKey;

use super::Context;
use crate::access::Access;
use crate::fault::{BindFault, FastRegisterFault, InvalidateFault};
use crate::keys::{Key, is_same_block};
use crate::region::{Accessor, Binding, Keyed, RegionUse, WindowType};
use crate::work::{FastRegistration, WindowBinding};

/// Who asks for the invalidation of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Invalidation {
    /// The application, by a request of its own.
    Local,
    /// The peer, by a SEND with invalidate.
    Remote,
}

impl Context {
    /// Binds a memory window to a piece of a region, or unbinds one of type 1 if the piece has no bytes. The window is
    /// known by its new key from then on.
    pub fn bind_window(&mut self, accessor: &Accessor, work: &WindowBinding) -> Result<(), BindFault> {
        let (old, new) = (work.window.value(), work.key.value());
        let Some(Keyed::Window(window)) = self.keys.get(old) else { return Err(BindFault::UnknownWindow) };
        if window.protection_domain != accessor.protection_domain {
            return Err(BindFault::ProtectionDomain);
        }
        if !is_same_block(old, new) {
            return Err(BindFault::Key);
        }
        // Who had the key of what the window showed before must not get at what it shows now.
        if window.kind == WindowType::One && old == new {
            return Err(BindFault::Key);
        }
        let binding = match window.kind {
            WindowType::Two if window.binding.is_some() => return Err(BindFault::NotFree),
            WindowType::Two if work.length == 0 => return Err(BindFault::NoBytes),
            WindowType::One if work.length == 0 => None,
            kind => Some(self.check_binding(accessor, kind, work)?),
        };
        self.unbind(old);
        if let Some(Keyed::Region(region)) = self.keys.get_mut(work.region)
            && binding.is_some()
        {
            region.windows += 1;
        }
        if let Some(Keyed::Window(window)) = self.keys.get_mut(old) {
            window.binding = binding;
        }
        self.keys.rekey(old, new);
        Ok(())
    }

    /// The rules for a binding that has bytes.
    fn check_binding(
        &self,
        accessor: &Accessor,
        kind: WindowType,
        work: &WindowBinding,
    ) -> Result<Binding, BindFault> {
        let WindowBinding { address, length, access, .. } = *work;
        if !(Access::REMOTE | Access::ZERO_BASED).contains(access) {
            return Err(BindFault::NotAWindowsRight);
        }
        if kind == WindowType::One && access.contains(Access::ZERO_BASED) {
            return Err(BindFault::ZeroBased);
        }
        let region = self.region(work.region).ok_or(BindFault::UnknownRegion)?;
        if region.protection_domain != accessor.protection_domain {
            return Err(BindFault::ProtectionDomain);
        }
        if !region.access.contains(Access::MW_BIND) {
            return Err(BindFault::RegionWithoutBind);
        }
        if access.lacks_local_write(region.access) {
            return Err(BindFault::NeedsLocalWrite);
        }
        region.reach().offset(address, length).ok_or(BindFault::Bounds)?;
        Ok(Binding { region: work.region, address, length, access, queue_pair: accessor.queue_pair })
    }

    /// Makes a window free again.
    pub(super) fn unbind(&mut self, window: Key) {
        let Some(Keyed::Window(window)) = self.keys.get_mut(window) else { return };
        let Some(binding) = window.binding.take() else { return };
        if let Some(Keyed::Region(region)) = self.keys.get_mut(binding.region) {
            region.windows = region.windows.saturating_sub(1);
        }
    }

    /// Makes the key of a window of type 2, or of a region that was registered fast, give access to nothing. The window
    /// or region stays, under the same key, to be bound or registered anew.
    pub fn invalidate(
        &mut self,
        accessor: &Accessor,
        key: RKey,
        by: Invalidation,
    ) -> Result<(), InvalidateFault> {
        self.check_invalidate(accessor, key, by)?;
        let key = key.value();
        self.unbind(key);
        if let Some(Keyed::Region(region)) = self.keys.get_mut(key) {
            region.use_of = RegionUse::FastFree;
            region.length = 0;
            region.access = Access::empty();
        }
        Ok(())
    }

    /// Whether [`invalidate`](Self::invalidate) would do it, for those who have other things to do first.
    pub fn check_invalidate(
        &self,
        accessor: &Accessor,
        key: RKey,
        by: Invalidation,
    ) -> Result<(), InvalidateFault> {
        let access = self.invalidatable(accessor, key.value())?;
        if by == Invalidation::Remote && !access.intersects(Access::REMOTE) {
            return Err(InvalidateFault::NoRemoteRight);
        }
        Ok(())
    }

    /// The rights that a key gives, if it may be invalidated.
    fn invalidatable(&self, accessor: &Accessor, key: Key) -> Result<Access, InvalidateFault> {
        let keyed = self.keys.get(key).ok_or(InvalidateFault::UnknownKey)?;
        if keyed.protection_domain() != accessor.protection_domain {
            return Err(InvalidateFault::ProtectionDomain);
        }
        match keyed {
            Keyed::Window(window) if window.kind == WindowType::One => Err(InvalidateFault::NotInvalidatable),
            Keyed::Window(window) => match &window.binding {
                None => Err(InvalidateFault::Free),
                Some(binding) if binding.queue_pair != accessor.queue_pair => Err(InvalidateFault::QueuePair),
                Some(binding) => Ok(binding.access),
            },
            Keyed::Region(region) => match region.use_of {
                RegionUse::Ordinary => Err(InvalidateFault::NotInvalidatable),
                RegionUse::FastFree => Err(InvalidateFault::Free),
                RegionUse::FastValid if region.windows != 0 => Err(InvalidateFault::WindowsBound),
                RegionUse::FastValid => Ok(region.access),
            },
        }
    }

    /// Maps a piece of the memory of a region that was made for it. The region is known by its new key from then on.
    pub fn fast_register(
        &mut self,
        accessor: &Accessor,
        work: &FastRegistration,
    ) -> Result<(), FastRegisterFault> {
        let (old, new) = (work.region.value(), work.key.value());
        let Some(Keyed::Region(region)) = self.keys.get_mut(old) else {
            return Err(FastRegisterFault::UnknownKey);
        };
        if region.protection_domain != accessor.protection_domain {
            return Err(FastRegisterFault::ProtectionDomain);
        }
        match region.use_of {
            RegionUse::Ordinary => return Err(FastRegisterFault::NotFast),
            RegionUse::FastValid => return Err(FastRegisterFault::NotFree),
            RegionUse::FastFree => {}
        }
        if !is_same_block(old, new) {
            return Err(FastRegisterFault::Key);
        }
        if work.access.lacks_local_write(work.access) {
            return Err(FastRegisterFault::NeedsLocalWrite);
        }
        let end = work.offset.checked_add(work.length).ok_or(FastRegisterFault::Bounds)?;
        if end > region.memory.length() as u64 {
            return Err(FastRegisterFault::Bounds);
        }
        region.address = work.access.base(work.address);
        region.access = work.access;
        region.start = work.offset as usize;
        region.length = work.length;
        region.use_of = RegionUse::FastValid;
        self.keys.rekey(old, new);
        Ok(())
    }
}
