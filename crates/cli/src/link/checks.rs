//! What is refused before a device is opened, each with the name of its option.

use std::net::IpAddr;

use super::LinkOptions;
use crate::outcome::{Error, Result};

impl LinkOptions {
    /// Refuses iWARP where there is no rdma_cm to make the connection.
    pub fn check_transport(&self, why: &str) -> Result<()> {
        if self.iwarp { Err(Error::usage(format_args!("--iwarp: {why}"))) } else { Ok(()) }
    }

    /// Refuses a peer of the other address family, which was named so.
    pub fn check_peer(&self, name: &str, peer: IpAddr) -> Result<()> {
        if !self.ip.iter().any(|own| own.host.address.is_ipv4() == peer.is_ipv4()) {
            let text = format!("{name} {peer} and --ip must both be IPv4 or both be IPv6 addresses");
            return Err(Error::usage(text)
                .advice("give another --ip; with --tap or --interface there may be one of each"));
        }
        self.check_way(name, peer)
    }

    /// Refuses an address that is to be one of ours, was named so, and is not. An emulated host has a link-local one without
    /// being told.
    pub fn check_own(&self, name: &str, address: IpAddr) -> Result<()> {
        let is_given = self.ip.iter().any(|own| own.host.address == address);
        let is_link_local = matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
        if is_given || is_link_local || address.is_unspecified() {
            return Ok(());
        }
        let own: Vec<String> = self.ip.iter().map(|own| own.host.address.to_string()).collect();
        let text = format!("{name} {address} is not an address of ours: --ip gives {}", own.join(" and "));
        Err(Error::usage(text))
    }

    /// Refuses a peer to whom an emulated host has no way.
    fn check_way(&self, name: &str, peer: IpAddr) -> Result<()> {
        let has_host = self.tap.is_some() || self.interface.is_some();
        let is_link_local = matches!(peer, IpAddr::V6(v6) if v6.is_unicast_link_local());
        let is_on_link = self.ip.iter().any(|own| own.host.contains(peer));
        let has_gateway = self.gateway.iter().any(|gateway| gateway.is_ipv4() == peer.is_ipv4());
        if !has_host || is_link_local || is_on_link || has_gateway {
            return Ok(());
        }
        let text =
            format!("{name} {peer} is in none of the networks of --ip, and there is no --gateway to it");
        Err(Error::usage(text).advice("give the next hop with --gateway"))
    }

    /// Refuses addresses that no host of a network has, and next hops that could not be chosen between.
    pub(super) fn check_host(&self) -> Result<()> {
        for own in &self.ip {
            let host = own.host;
            let IpAddr::V4(address) = host.address else { continue };
            if !own.has_length || host.prefix_length > 30 {
                continue;
            }
            let inside = u32::MAX.checked_shr(host.prefix_length.into()).unwrap_or(0);
            let why = match address.to_bits() & inside {
                _ if host.prefix_length == 0 => "has a prefix of no bits, which all addresses have",
                0 => "is that of the network, which no host has",
                bits if bits == inside => "is the broadcast address of its network, which no host has",
                _ => continue,
            };
            return Err(Error::usage(format_args!("--ip {host} {why}")));
        }
        let is_double = |is_ipv4| self.gateway.iter().filter(|hop| hop.is_ipv4() == is_ipv4).count() > 1;
        if is_double(true) || is_double(false) {
            return Err(Error::usage("--gateway: there is one next hop for IPv4 and one for IPv6"));
        }
        Ok(())
    }
}
