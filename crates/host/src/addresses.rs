//! Which addresses are ours, who is on our link, and where a packet goes next.
//!
//! Pure decisions over the configuration: nothing here changes after the start and nothing is learned.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rdmalab_wire::EthernetAddress;

use crate::config::{HostAddress, HostConfig};

/// Where a packet for some destination goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextHop {
    /// To this very host.
    Ours,
    /// To a group on the link, whose link-layer address follows from the destination.
    Group(EthernetAddress),
    /// To this neighbour: the destination itself or a gateway.
    Neighbour(IpAddr),
    /// Nowhere: no prefix, no gateway, or no destination a packet can have.
    None,
}

#[derive(Clone, Debug)]
pub(crate) struct Addresses {
    list: Vec<HostAddress>,
    gateway_v4: Option<Ipv4Addr>,
    gateway_v6: Option<Ipv6Addr>,
}

impl Addresses {
    /// From a validated configuration.
    pub(crate) fn new(config: &HostConfig) -> Self {
        Self { list: config.addresses.clone(), gateway_v4: config.gateway_v4, gateway_v6: config.gateway_v6 }
    }

    pub(crate) fn list(&self) -> &[HostAddress] {
        &self.list
    }

    pub(crate) fn is_ours(&self, address: IpAddr) -> bool {
        self.list.iter().any(|own| own.address == address)
    }

    /// Whether a group is one whose neighbour solicitations concern us (RFC 4291 §2.7.1).
    pub(crate) fn is_our_solicited_node(&self, group: Ipv6Addr) -> bool {
        self.list
            .iter()
            .any(|own| matches!(own.address, IpAddr::V6(address) if solicited_node(address) == group))
    }

    /// The groups whose neighbour solicitations concern us.
    pub(crate) fn solicited_nodes(&self) -> impl Iterator<Item = IpAddr> {
        self.list.iter().filter_map(|own| match own.address {
            IpAddr::V6(address) => Some(solicited_node(address).into()),
            IpAddr::V4(_) => None,
        })
    }

    /// Whether a neighbour may have this address: inside one of our prefixes, or link-local.
    pub(crate) fn on_link(&self, address: IpAddr) -> bool {
        let link_local = matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
        (link_local && self.list.iter().any(|own| own.address.is_ipv6()))
            || self.list.iter().any(|own| own.contains(address))
    }

    fn is_broadcast(&self, address: Ipv4Addr) -> bool {
        address.is_broadcast() || self.list.iter().any(|own| own.broadcast() == Some(address))
    }

    /// Whether some other host can have sent from this address.
    pub(crate) fn is_foreign_unicast(&self, address: IpAddr) -> bool {
        let broadcast = matches!(address, IpAddr::V4(v4) if self.is_broadcast(v4));
        !broadcast
            && !address.is_multicast()
            && !address.is_unspecified()
            && !address.is_loopback()
            && !self.is_ours(address)
    }

    pub(crate) fn next_hop(&self, destination: IpAddr) -> NextHop {
        if self.is_ours(destination) {
            return NextHop::Ours;
        }
        if destination.is_unspecified() || destination.is_loopback() {
            return NextHop::None;
        }
        if destination.is_multicast() {
            return NextHop::Group(group_address(destination));
        }
        match destination {
            IpAddr::V4(v4) if self.is_broadcast(v4) => NextHop::Group(EthernetAddress([0xff; 6])),
            _ if self.on_link(destination) => NextHop::Neighbour(destination),
            // A link-local address means nothing beyond its link, so no gateway takes it.
            IpAddr::V6(v6) if v6.is_unicast_link_local() => NextHop::None,
            IpAddr::V4(_) => self.gateway_v4.map_or(NextHop::None, |hop| NextHop::Neighbour(hop.into())),
            IpAddr::V6(_) => self.gateway_v6.map_or(NextHop::None, |hop| NextHop::Neighbour(hop.into())),
        }
    }

    /// Our address to talk to `destination` from: one whose prefix holds the destination; else one of the same
    /// scope (link-local or not); else the first of the family.
    pub(crate) fn source_for(&self, destination: IpAddr) -> Option<IpAddr> {
        let same_family = || self.list.iter().filter(|own| own.address.is_ipv4() == destination.is_ipv4());
        same_family()
            .find(|own| own.contains(destination))
            .or_else(|| same_family().find(|own| is_link_local(own.address) == is_link_local(destination)))
            .or_else(|| same_family().next())
            .map(|own| own.address)
    }
}

fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local())
}

/// The group a node listens to for solicitations of one of its addresses (RFC 4291 §2.7.1).
pub(crate) fn solicited_node(address: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = address.octets();
    Ipv6Addr::from_octets([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, a, b, c])
}

/// The link-layer address of an IP group (RFC 1112 §6.4, RFC 2464 §7).
pub(crate) fn group_address(group: IpAddr) -> EthernetAddress {
    match group {
        IpAddr::V4(v4) => {
            let [_, b, c, d] = v4.octets();
            EthernetAddress([0x01, 0x00, 0x5e, b & 0x7f, c, d])
        }
        IpAddr::V6(v6) => {
            let [.., a, b, c, d] = v6.octets();
            EthernetAddress([0x33, 0x33, a, b, c, d])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses() -> Addresses {
        let mut config = HostConfig::new(EthernetAddress([2, 0, 0, 0, 0, 1]));
        config.addresses = ["10.0.0.1/24", "192.168.7.1/30", "fe80::1/64", "fd00::1/64"]
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        config.gateway_v4 = Some(Ipv4Addr::new(10, 0, 0, 254));
        Addresses::new(&config)
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn next_hops_are_neighbours_gateways_groups_or_ourselves() {
        let own = addresses();
        assert_eq!(own.next_hop(ip("10.0.0.1")), NextHop::Ours);
        assert_eq!(own.next_hop(ip("10.0.0.9")), NextHop::Neighbour(ip("10.0.0.9")));
        assert_eq!(own.next_hop(ip("8.8.8.8")), NextHop::Neighbour(ip("10.0.0.254")));
        assert_eq!(own.next_hop(ip("10.0.0.255")), NextHop::Group(EthernetAddress([0xff; 6])));
        assert_eq!(own.next_hop(ip("255.255.255.255")), NextHop::Group(EthernetAddress([0xff; 6])));
        assert_eq!(
            own.next_hop(ip("239.129.2.3")),
            NextHop::Group(EthernetAddress([0x01, 0x00, 0x5e, 0x01, 0x02, 0x03]))
        );
        assert_eq!(own.next_hop(ip("ff0e::1:2")), NextHop::Group(EthernetAddress([0x33, 0x33, 0, 1, 0, 2])));
        assert_eq!(own.next_hop(ip("fe80::77")), NextHop::Neighbour(ip("fe80::77")));
        assert_eq!(own.next_hop(ip("2001:db8::1")), NextHop::None);
        assert_eq!(own.next_hop(ip("0.0.0.0")), NextHop::None);
        assert_eq!(own.next_hop(ip("127.0.0.1")), NextHop::None);
    }

    #[test]
    fn the_source_address_fits_the_destination() {
        let own = addresses();
        assert_eq!(own.source_for(ip("192.168.7.2")), Some(ip("192.168.7.1")));
        assert_eq!(own.source_for(ip("8.8.8.8")), Some(ip("10.0.0.1")));
        assert_eq!(own.source_for(ip("fe80::5")), Some(ip("fe80::1")));
        assert_eq!(own.source_for(ip("2001:db8::1")), Some(ip("fd00::1")));
    }

    #[test]
    fn only_a_foreign_unicast_address_can_be_a_sender() {
        let own = addresses();
        assert!(own.is_foreign_unicast(ip("8.8.8.8")));
        for text in
            ["10.0.0.1", "10.0.0.255", "255.255.255.255", "224.0.0.1", "0.0.0.0", "::", "ff02::1", "::1"]
        {
            assert!(!own.is_foreign_unicast(ip(text)), "{text}");
        }
    }

    #[test]
    fn solicited_node_groups_are_made_of_the_last_three_octets() {
        assert_eq!(IpAddr::V6(solicited_node("fd00::12:3456".parse().unwrap())), ip("ff02::1:ff12:3456"));
        assert!(addresses().is_our_solicited_node("ff02::1:ff00:1".parse().unwrap()));
        assert!(!addresses().is_our_solicited_node("ff02::1:ff00:2".parse().unwrap()));
    }
}
