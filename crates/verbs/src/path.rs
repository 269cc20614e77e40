//! The way to a peer.

use core::net::IpAddr;

/// The way to the peer (`ibv_ah_attr`). Both addresses are of one family; they are the RoCE v2 GIDs as IP addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Ours.
    pub source: IpAddr,
    /// The peer's.
    pub destination: IpAddr,
    /// IPv4 type of service or IPv6 traffic class: DSCP and ECN bits.
    pub traffic_class: u8,
    /// IPv4 time to live or IPv6 hop limit.
    pub hop_limit: u8,
}

impl Path {
    /// Between two addresses, with the hop limit 64 and no traffic class.
    pub fn new(source: IpAddr, destination: IpAddr) -> Self {
        Self { source, destination, traffic_class: 0, hop_limit: 64 }
    }

    /// What a path to one peer must be, if this one is not.
    pub(crate) fn check_unicast(&self) -> Result<(), &'static str> {
        self.check()?;
        if self.destination.is_multicast() { Err("to a unicast address") } else { Ok(()) }
    }

    /// What any path must be, also one to a multicast group, if this one is not.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let is_broadcast = matches!(self.destination, IpAddr::V4(address) if address.is_broadcast());
        if self.destination.is_unspecified() || is_broadcast {
            return Err("to an address that peers can have");
        }
        if self.source.is_ipv4() != self.destination.is_ipv4() {
            return Err("two addresses of one family");
        }
        Ok(())
    }
}
