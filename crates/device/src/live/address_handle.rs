//! An address handle of a live device.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rdmalab_host::Reach;
use rdmalab_net::MonotonicClock;
use rdmalab_verbs::{AddressHandleId, Path, Target};
use rdmalab_wire::{QKey, Qpn};

use super::Shared;
use super::error::DeviceError;
use super::protection_domain::ProtectionDomain;
use super::sleepers::Awaited;
use crate::connections::AddressError;

/// The way for datagrams to a peer or a multicast group. Dropping it makes requests for it that have not been sent yet
/// fail, so keep it until their completions are there.
pub struct AddressHandle {
    shared: Arc<Shared>,
    id: AddressHandleId,
    destination: IpAddr,
}

impl AddressHandle {
    pub(super) fn new(domain: &ProtectionDomain, path: Path) -> Result<Self, DeviceError> {
        let id = domain.shared.with(|port| port.create_address_handle(domain.id, path))?;
        Ok(Self { shared: Arc::clone(&domain.shared), id, destination: path.destination })
    }

    /// Waits until the neighbour that datagrams go to first is known, for so long at most; `false` if the time is up. An
    /// emulated host begins to ask for it when the handle is made, keeps the first datagrams while it has no answer, and
    /// loses what is more. Over UDP sockets the kernel does all that, and there is nothing to wait for.
    ///
    /// # Errors
    /// [`DeviceError::Unreachable`] if nobody answers, or no route leads there.
    pub fn wait_until_reachable(&self, timeout: Duration) -> Result<bool, DeviceError> {
        // The engine may not have come to it yet; and one that was silent is asked again.
        self.shared.tell_host(|host| {
            host.look_for(MonotonicClock::now(), self.destination);
        });
        let came = self.shared.wait_for_inner(Awaited::Host, Some(timeout), |inner| {
            let Some(host) = inner.node.host() else { return Some(Reach::Known) };
            Some(host.reach(self.destination)).filter(|reach| *reach != Reach::Asking)
        })?;
        let reason = match came {
            None => return Ok(false),
            Some(Reach::Known | Reach::Asking) => return Ok(true),
            Some(Reach::Silent) => AddressError::NoAnswer,
            Some(Reach::NoRoute) => AddressError::NoRoute,
        };
        Err(DeviceError::Unreachable { peer: self.destination, reason })
    }

    /// What a send request names: this way, to a queue pair there ([`Qpn::MULTICAST`] for a group), with the queue key
    /// that it wants to see.
    pub fn target(&self, queue_pair: Qpn, queue_key: QKey) -> Target {
        Target::Datagram { path: self.id, queue_pair, queue_key }
    }
}

impl Drop for AddressHandle {
    fn drop(&mut self) {
        let _ = self.shared.lock().port().context.destroy_address_handle(self.id);
    }
}
