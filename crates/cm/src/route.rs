//! Between whom a management datagram travels.

use core::net::IpAddr;

use rdmalab_wire::mad::Mad;
use rdmalab_wire::{Gid, PKey};

/// The two ends of a datagram as this side sees them. Both ends are the general services interface
/// ([`Qpn::GSI`](rdmalab_wire::Qpn::GSI)), so that no number of a queue pair is needed.
///
/// IPv4 addresses are IPv4 addresses here, never IPv6 addresses with an IPv4 address in them: make one with
/// [`Route::new`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Route {
    /// Our address.
    pub local: IpAddr,
    /// The peer's address.
    pub peer: IpAddr,
    partition: u16,
}

impl Route {
    /// The route between two addresses of one port in this partition. IPv4 addresses inside of IPv6 addresses are taken
    /// out.
    pub fn new(local: IpAddr, peer: IpAddr, partition_key: PKey) -> Self {
        Route { local: local.to_canonical(), peer: peer.to_canonical(), partition: partition_key.value() }
    }

    /// The partition key that the datagrams carry.
    pub const fn partition_key(&self) -> PKey {
        PKey::new(self.partition)
    }

    /// Our address as a path names it.
    pub fn local_gid(&self) -> Gid {
        self.local.into()
    }

    /// The peer's address as a path names it.
    pub fn peer_gid(&self) -> Gid {
        self.peer.into()
    }
}

/// A management datagram to send: payload of one UD SEND_ONLY packet from queue pair 1 to queue pair 1 with the well-known
/// queue key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outgoing {
    /// From where to where.
    pub route: Route,
    /// The datagram.
    pub bytes: [u8; Mad::LENGTH],
}
