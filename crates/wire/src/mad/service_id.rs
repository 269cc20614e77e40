//! Service ID: what a connection request is for, and the part of the number space that RDMA-CM uses for IP
//! ports.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 40 | prefix: 0x0000000001 for the RDMA IP CM service |
//! | 5 | 8 | port space: the IP protocol number, 6 TCP, 17 UDP |
//! | 6 | 16 | port |

use core::fmt;

/// The prefix of service IDs that name an IP port.
const RDMA_IP_PREFIX: u64 = 1 << 24;

/// What a connection request is for: 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ServiceId(pub u64);

impl ServiceId {
    /// The service that listens on an IP port, as RDMA-CM numbers it.
    pub const fn rdma_ip(space: PortSpace, port: u16) -> Self {
        ServiceId(RDMA_IP_PREFIX | (space.code() as u64) << 16 | port as u64)
    }

    /// Port space and port, if the number has RDMA-CM's prefix.
    pub const fn to_rdma_ip(self) -> Option<(PortSpace, u16)> {
        if self.0 & !0x00ff_ffff == RDMA_IP_PREFIX {
            Some((PortSpace::from_code((self.0 >> 16) as u8), self.0 as u16))
        } else {
            None
        }
    }
}

/// `tcp:7471`, or the whole number in hexadecimal.
impl fmt::Display for ServiceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_rdma_ip() {
            Some((space, port)) => write!(f, "{space}:{port}"),
            None => write!(f, "{:#018x}", self.0),
        }
    }
}

impl fmt::Debug for ServiceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServiceId({self})")
    }
}

/// Which ports are meant. RDMA-CM's own numbers are these with 0x0100 added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PortSpace {
    /// Connections; RDMA-CM's 0x0106.
    Tcp,
    /// Datagrams; RDMA-CM's 0x0111.
    Udp,
    /// Any transport, by native addresses; RDMA-CM's 0x013f.
    Ib,
    /// Another protocol number.
    Other(u8),
}

impl PortSpace {
    /// The space of a protocol number.
    pub const fn from_code(code: u8) -> Self {
        match code {
            0x06 => PortSpace::Tcp,
            0x11 => PortSpace::Udp,
            0x3f => PortSpace::Ib,
            other => PortSpace::Other(other),
        }
    }

    /// The byte of the wire.
    pub const fn code(self) -> u8 {
        match self {
            PortSpace::Tcp => 0x06,
            PortSpace::Udp => 0x11,
            PortSpace::Ib => 0x3f,
            PortSpace::Other(code) => code,
        }
    }
}

impl fmt::Display for PortSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PortSpace::Tcp => f.write_str("tcp"),
            PortSpace::Udp => f.write_str("udp"),
            PortSpace::Ib => f.write_str("ib"),
            PortSpace::Other(code) => write!(f, "{code:#04x}"),
        }
    }
}

/// The parts of a service ID that names an IP port, named as Wireshark does below `$name`. `ours` says that
/// Wireshark does not know the names.
macro_rules! service_id_fields {
    ($name:literal $(, $ours:ident)?) => {
        &[
            Field::bytes(0, 5, "service_id.prefix", concat!($name, ".prefix"))$(.$ours())?,
            Field::number(5, 0, 8, "service_id.port_space", concat!($name, ".protocol"))$(.$ours())?,
            Field::number(6, 0, 16, "service_id.port", concat!($name, ".dport"))$(.$ours())?,
        ]
    };
}

pub(super) use service_id_fields;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ip_port_survives_its_service_id() {
        for code in 0..=255 {
            let space = PortSpace::from_code(code);
            assert_eq!(space.code(), code);
            assert_eq!(ServiceId::rdma_ip(space, 7174).to_rdma_ip(), Some((space, 7174)));
        }
        assert_eq!(ServiceId::rdma_ip(PortSpace::Tcp, 7174), ServiceId(0x0000_0000_0106_1c06));
    }

    #[test]
    fn service_id_without_the_prefix_names_no_port() {
        assert_eq!(ServiceId(0x0000_0000_0006_1c06).to_rdma_ip(), None);
        assert_eq!(ServiceId(0x1000_0000_0106_1c06).to_rdma_ip(), None);
        assert_eq!(ServiceId(0x0000_0000_0306_1c06).to_rdma_ip(), None);
    }
}
