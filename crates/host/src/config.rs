//! What a host is told when it starts: its addresses, its link, its seed.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::str::FromStr;

use rdmalab_wire::{EthernetAddress, VlanTag};

/// Addresses one host may have.
pub const MAX_ADDRESSES: usize = 8;
/// The smallest MTU of a link on which a host lives that has no IPv6 address, in bytes. IPv4 itself would do with 68 (RFC 791 §3.2),
/// but the smallest path MTU of RoCE, 256, does not fit links below this one.
pub const SMALLEST_MTU: usize = 336;

/// The largest identifier of a VLAN; 4095 is reserved (IEEE 802.1Q).
const VLAN_MAX: u16 = 4094;

/// The settings of one [`Host`](crate::Host).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostConfig {
    /// The link-layer address: unicast and not zero.
    pub mac: EthernetAddress,
    /// The VLAN the host is in: everything it sends carries this tag, and what carries another identifier or none is not
    /// for it. With identifier 0 the tag only tells a priority, and the host is in no VLAN, as without a tag.
    pub vlan: Option<VlanTag>,
    /// The addresses with their on-link prefixes, at most [`MAX_ADDRESSES`]. The order matters where a source
    /// address has to be chosen: the first one that fits is taken.
    pub addresses: Vec<HostAddress>,
    /// Next hop for IPv4 destinations outside all prefixes; must itself be inside one.
    pub gateway_v4: Option<Ipv4Addr>,
    /// Next hop for IPv6 destinations outside all prefixes; inside a prefix or link-local.
    pub gateway_v6: Option<Ipv6Addr>,
    /// MTU of the link in bytes, the IP header counted, the Ethernet header not: [`SMALLEST_MTU`] (1280 with an
    /// IPv6 address, RFC 8200 §5) to 65535.
    pub mtu: usize,
    /// Whether RoCE packets for multicast groups that the host has not [joined](crate::Host::join) are handed on too, for
    /// a transport that knows by itself who is attached to what.
    pub every_group: bool,
    /// Seed of TCP's initial sequence numbers and local ports, and of the moments in which routers are answered. Same seed and same inputs: same frames.
    pub seed: u64,
}

impl HostConfig {
    /// A host without an address yet, MTU 1500, seed 0.
    pub fn new(mac: EthernetAddress) -> Self {
        Self {
            mac,
            vlan: None,
            addresses: Vec::new(),
            gateway_v4: None,
            gateway_v6: None,
            mtu: 1500,
            every_group: true,
            seed: 0,
        }
    }

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        if self.mac.0[0] & 1 != 0 || self.mac.0 == [0; 6] {
            return Err(ConfigError::Mac(self.mac));
        }
        if let Some(tag) = self.vlan
            && (tag.id > VLAN_MAX || tag.priority > 7)
        {
            return Err(ConfigError::Vlan(tag));
        }
        if self.addresses.len() > MAX_ADDRESSES {
            return Err(ConfigError::TooManyAddresses(self.addresses.len()));
        }
        for (index, host) in self.addresses.iter().enumerate() {
            let address = host.address;
            let assignable = !address.is_unspecified()
                && !address.is_multicast()
                && !address.is_loopback()
                && address != IpAddr::V4(Ipv4Addr::BROADCAST);
            if !assignable || host.prefix_length > host.bits() {
                return Err(ConfigError::Address(*host));
            }
            if self.addresses[..index].iter().any(|earlier| earlier.address == address) {
                return Err(ConfigError::Address(*host));
            }
        }
        let smallest = if self.addresses.iter().any(|a| a.address.is_ipv6()) { 1280 } else { SMALLEST_MTU };
        if !(smallest..=65535).contains(&self.mtu) {
            return Err(ConfigError::Mtu { mtu: self.mtu, smallest });
        }
        let gateways = [self.gateway_v4.map(IpAddr::V4), self.gateway_v6.map(IpAddr::V6)];
        for gateway in gateways.into_iter().flatten() {
            let link_local = matches!(gateway, IpAddr::V6(v6) if v6.is_unicast_link_local());
            let any_v6 = self.addresses.iter().any(|own| own.address.is_ipv6());
            let reachable = (link_local && any_v6) || self.addresses.iter().any(|own| own.contains(gateway));
            let own = self.addresses.iter().any(|own| own.address == gateway);
            if !reachable || own || gateway.is_unspecified() || gateway.is_multicast() {
                return Err(ConfigError::Gateway(gateway));
            }
        }
        Ok(())
    }
}

/// One address of a host with the length of its on-link prefix; reads and prints as `10.0.0.1/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HostAddress {
    /// The address.
    pub address: IpAddr,
    /// Leading bits of the address that name the link: 0 to 32 or 128.
    pub prefix_length: u8,
}

impl HostAddress {
    /// An address and its prefix length; judged when the host is made.
    pub const fn new(address: IpAddr, prefix_length: u8) -> Self {
        Self { address, prefix_length }
    }

    /// The link-local IPv6 address that goes with a MAC (RFC 4291 appendix A: modified EUI-64 under fe80::/64).
    pub const fn link_local(mac: EthernetAddress) -> Self {
        let [a, b, c, d, e, f] = mac.0;
        let octets = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, a ^ 2, b, c, 0xff, 0xfe, d, e, f];
        Self { address: IpAddr::V6(Ipv6Addr::from_octets(octets)), prefix_length: 64 }
    }

    const fn bits(&self) -> u8 {
        match self.address {
            IpAddr::V4(_) => 32,
            IpAddr::V6(_) => 128,
        }
    }

    /// Whether `other` is of the same family and inside this prefix.
    pub fn contains(&self, other: IpAddr) -> bool {
        match (self.address, other) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let mask =
                    u32::MAX.checked_shl(32_u32.saturating_sub(self.prefix_length.into())).unwrap_or(0);
                own.to_bits() & mask == other.to_bits() & mask
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let mask =
                    u128::MAX.checked_shl(128_u32.saturating_sub(self.prefix_length.into())).unwrap_or(0);
                own.to_bits() & mask == other.to_bits() & mask
            }
            _ => false,
        }
    }

    /// The IPv4 broadcast address of this prefix; links of two addresses or one have none (RFC 3021).
    pub(crate) fn broadcast(&self) -> Option<Ipv4Addr> {
        match self.address {
            IpAddr::V4(own) if self.prefix_length <= 30 => {
                Some(Ipv4Addr::from_bits(own.to_bits() | (u32::MAX >> self.prefix_length)))
            }
            _ => None,
        }
    }
}

impl fmt::Display for HostAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_length)
    }
}

impl FromStr for HostAddress {
    type Err = AddressError;

    /// Reads `ADDRESS/LENGTH`. The length may not be left out: a guessed one sends packets astray.
    fn from_str(text: &str) -> Result<Self, AddressError> {
        let fault = || AddressError(text.chars().take(80).collect());
        let (address, length) = text.split_once('/').ok_or_else(fault)?;
        let host = Self {
            address: address.parse().map_err(|_| fault())?,
            prefix_length: length.parse().map_err(|_| fault())?,
        };
        if host.prefix_length > host.bits() { Err(fault()) } else { Ok(host) }
    }
}

/// A text that is no `ADDRESS/LENGTH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressError(String);

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" is no address with a prefix length, such as 10.0.0.1/24 or fd00::1/64", self.0)
    }
}

impl core::error::Error for AddressError {}

/// Settings a host cannot be made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// The MAC is a group address or all zero.
    Mac(EthernetAddress),
    /// A VLAN identifier above 4094, or a priority above 7.
    Vlan(VlanTag),
    /// More than [`MAX_ADDRESSES`].
    TooManyAddresses(usize),
    /// An address no host can have, one named twice, or a prefix longer than the address.
    Address(HostAddress),
    /// A gateway that is not on the link, or is the host itself.
    Gateway(IpAddr),
    /// A link MTU outside what IP asks for and the length field can say.
    Mtu {
        /// What was asked for, in bytes.
        mtu: usize,
        /// The least that is possible with these addresses.
        smallest: usize,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mac(mac) => write!(f, "{mac} cannot be the address of a host"),
            Self::Vlan(tag) => {
                write!(f, "there is no VLAN {} with priority {}: 0 to 4094, 0 to 7", tag.id, tag.priority)
            }
            Self::TooManyAddresses(count) => {
                write!(f, "{count} addresses, at most {MAX_ADDRESSES} are possible")
            }
            Self::Address(host) => write!(f, "{host} cannot be an address of the host (or is there twice)"),
            Self::Gateway(gateway) => write!(f, "gateway {gateway} is not a neighbour on the link"),
            Self::Mtu { mtu, smallest } => {
                let why = if *smallest == 1280 { " with an IPv6 address" } else { "" };
                write!(f, "an MTU of {mtu} is not within {smallest} to 65535{why}")
            }
        }
    }
}

impl core::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(addresses: &[&str]) -> HostConfig {
        HostConfig {
            addresses: addresses.iter().map(|text| text.parse().unwrap()).collect(),
            ..HostConfig::new(EthernetAddress([2, 0, 0, 0, 0, 1]))
        }
    }

    #[test]
    fn addresses_read_as_they_print() {
        for text in ["10.0.0.1/24", "10.0.0.1/0", "fd00::1/64", "fe80::1/128"] {
            assert_eq!(text.parse::<HostAddress>().unwrap().to_string(), text);
        }
        for text in ["10.0.0.1", "10.0.0.1/33", "fd00::1/129", "/24", "x/1", "10.0.0.1/-1", ""] {
            assert!(text.parse::<HostAddress>().is_err(), "{text}");
        }
    }

    #[test]
    fn prefixes_contain_their_own_and_nothing_else() {
        let v4: HostAddress = "10.1.2.3/24".parse().unwrap();
        assert!(v4.contains("10.1.2.255".parse().unwrap()));
        assert!(!v4.contains("10.1.3.0".parse().unwrap()));
        assert!(!v4.contains("::ffff:10.1.2.4".parse().unwrap()));
        assert_eq!(v4.broadcast(), Some(Ipv4Addr::new(10, 1, 2, 255)));
        let everything: HostAddress = "10.1.2.3/0".parse().unwrap();
        assert!(everything.contains("200.0.0.1".parse().unwrap()));
        let point: HostAddress = "10.1.2.3/31".parse().unwrap();
        assert!(point.contains("10.1.2.2".parse().unwrap()) && point.broadcast().is_none());
        let v6: HostAddress = "fd00::1/64".parse().unwrap();
        assert!(v6.contains("fd00::ffff".parse().unwrap()) && !v6.contains("fd01::1".parse().unwrap()));
    }

    #[test]
    fn the_link_local_address_carries_the_mac() {
        let own = HostAddress::link_local(EthernetAddress([0x52, 0x54, 0, 0x12, 0x34, 0x56]));
        assert_eq!(own.to_string(), "fe80::5054:ff:fe12:3456/64");
    }

    #[test]
    fn settings_that_cannot_work_are_refused() {
        assert_eq!(config(&["10.0.0.1/24", "fd00::1/64"]).validate(), Ok(()));
        assert!(matches!(config(&["224.0.0.1/24"]).validate(), Err(ConfigError::Address(_))));
        assert!(matches!(config(&["0.0.0.0/0"]).validate(), Err(ConfigError::Address(_))));
        assert!(matches!(config(&["10.0.0.1/24", "10.0.0.1/8"]).validate(), Err(ConfigError::Address(_))));
        assert!(matches!(config(&["10.0.0.1/24"; 9]).validate(), Err(ConfigError::TooManyAddresses(9))));
        let group = HostConfig { mac: EthernetAddress([1, 0, 0, 0, 0, 1]), ..config(&[]) };
        assert!(matches!(group.validate(), Err(ConfigError::Mac(_))));
        for (id, priority) in [(4095, 0), (5, 8)] {
            let tag = VlanTag { id, priority, drop_eligible: false };
            assert_eq!(HostConfig { vlan: Some(tag), ..config(&[]) }.validate(), Err(ConfigError::Vlan(tag)));
        }
        let small = HostConfig { mtu: 1279, ..config(&["fd00::1/64"]) };
        let refused = small.validate().unwrap_err();
        assert_eq!(refused, ConfigError::Mtu { mtu: 1279, smallest: 1280 });
        assert_eq!(refused.to_string(), "an MTU of 1279 is not within 1280 to 65535 with an IPv6 address");
        let smaller = HostConfig { mtu: SMALLEST_MTU - 1, ..config(&["10.0.0.1/24"]) };
        assert_eq!(smaller.validate(), Err(ConfigError::Mtu { mtu: 335, smallest: 336 }));
        assert_eq!(HostConfig { mtu: SMALLEST_MTU, ..config(&["10.0.0.1/24"]) }.validate(), Ok(()));
        let far = HostConfig { gateway_v4: Some(Ipv4Addr::new(10, 0, 1, 1)), ..config(&["10.0.0.1/24"]) };
        assert!(matches!(far.validate(), Err(ConfigError::Gateway(_))));
        let own = HostConfig { gateway_v4: Some(Ipv4Addr::new(10, 0, 0, 1)), ..config(&["10.0.0.1/24"]) };
        assert!(matches!(own.validate(), Err(ConfigError::Gateway(_))));
    }
}
