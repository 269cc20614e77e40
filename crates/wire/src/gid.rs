//! Global identifier: the 16 bytes by which InfiniBand addresses a port. On RoCE v2 it is the IP address
//! the packets carry: an IPv6 address as it is, an IPv4 address mapped to `::ffff:a.b.c.d`.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Global identifier, in the order of the wire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Gid(pub [u8; 16]);

impl Gid {
    /// The IP address that RoCE v2 packets to and from this GID carry.
    pub const fn to_ip(self) -> IpAddr {
        let address = Ipv6Addr::from_octets(self.0);
        match address.to_ipv4_mapped() {
            Some(mapped) => IpAddr::V4(mapped),
            None => IpAddr::V6(address),
        }
    }
}

impl From<Ipv4Addr> for Gid {
    fn from(address: Ipv4Addr) -> Self {
        Gid(address.to_ipv6_mapped().octets())
    }
}

impl From<Ipv6Addr> for Gid {
    fn from(address: Ipv6Addr) -> Self {
        Gid(address.octets())
    }
}

impl From<IpAddr> for Gid {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => address.into(),
        }
    }
}

impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Ipv6Addr::from_octets(self.0), f)
    }
}

impl fmt::Debug for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gid({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ip_addresses_survive_the_way_through_a_gid() {
        let v4 = IpAddr::V4(Ipv4Addr::new(10, 9, 0, 1));
        let v6 = IpAddr::V6(Ipv6Addr::new(0xfd00, 9, 0, 0, 0, 0, 0, 1));
        assert_eq!(Gid::from(v4).0, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 9, 0, 1]);
        assert_eq!(Gid::from(v4).to_ip(), v4);
        assert_eq!(Gid::from(v6).to_ip(), v6);
    }
}
