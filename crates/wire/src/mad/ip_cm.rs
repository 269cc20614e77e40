//! The header that RDMA-CM puts in front of the private data of REQ and SIDR_REQ: who calls, as IP sees it.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 4 | major version: 0 |
//! | 0 | 4 | minor version: 0 |
//! | 1 | 4 | IP version: 4 or 6 |
//! | 1 | 4 | reserved |
//! | 2 | 16 | source port |
//! | 4 | 128 | source address; an IPv4 address in the last four bytes |
//! | 20 | 128 | destination address, likewise |
//!
//! It is there if the service ID names an IP port ([`ServiceId::to_rdma_ip`](super::ServiceId::to_rdma_ip));
//! the consumer's own private data follow it.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::layout::{At, byte_of};

/// RDMA-CM's header of private data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct IpCmHeader {
    /// Major version, 4 bits; 0.
    pub major_version: u8,
    /// Minor version, 4 bits; 0.
    pub minor_version: u8,
    /// Version of IP, 4 bits; 4 or 6.
    pub ip_version: u8,
    /// Reserved, 4 bits: sent as zero, ignored on receipt.
    pub reserved: u8,
    /// The port the caller calls from.
    pub source_port: u16,
    /// The 16 bytes of the caller's address; [`source`](Self::source) reads them.
    pub source_bytes: [u8; 16],
    /// The 16 bytes of the called address; [`destination`](Self::destination) reads them.
    pub destination_bytes: [u8; 16],
}

impl IpCmHeader {
    /// Length in bytes.
    pub const LENGTH: usize = 36;

    /// A call from an address and port to an address; `None` if they are of two families.
    pub fn new(source: IpAddr, source_port: u16, destination: IpAddr) -> Option<Self> {
        let ip_version = match (source, destination) {
            (IpAddr::V4(_), IpAddr::V4(_)) => 4,
            (IpAddr::V6(_), IpAddr::V6(_)) => 6,
            _ => return None,
        };
        Some(IpCmHeader {
            ip_version,
            source_port,
            source_bytes: to_bytes(source),
            destination_bytes: to_bytes(destination),
            ..IpCmHeader::default()
        })
    }

    /// The caller's address; `None` if the IP version is neither 4 nor 6.
    pub fn source(&self) -> Option<IpAddr> {
        self.address(&self.source_bytes)
    }

    /// The called address; `None` if the IP version is neither 4 nor 6.
    pub fn destination(&self) -> Option<IpAddr> {
        self.address(&self.destination_bytes)
    }

    fn address(&self, bytes: &[u8; 16]) -> Option<IpAddr> {
        let [.., a, b, c, d] = *bytes;
        match self.ip_version {
            4 => Some(Ipv4Addr::new(a, b, c, d).into()),
            6 => Some(Ipv6Addr::from_octets(*bytes).into()),
            _ => None,
        }
    }

    /// From the bytes of the wire.
    pub const fn decode(bytes: &[u8; 36]) -> Self {
        IpCmHeader {
            major_version: bytes[0] >> 4,
            minor_version: bytes[0] & 0xf,
            ip_version: bytes[1] >> 4,
            reserved: bytes[1] & 0xf,
            source_port: At::<2>::u16(bytes),
            source_bytes: At::<4>::bytes(bytes),
            destination_bytes: At::<20>::bytes(bytes),
        }
    }

    /// To the bytes of the wire. Bits that do not fit their field are cut off.
    pub const fn encode(&self) -> [u8; 36] {
        let mut bytes = [0; 36];
        bytes[0] = byte_of([(self.major_version, 4), (self.minor_version, 4)]);
        bytes[1] = byte_of([(self.ip_version, 4), (self.reserved, 4)]);
        At::<2>::put(&mut bytes, self.source_port.to_be_bytes());
        At::<4>::put(&mut bytes, self.source_bytes);
        At::<20>::put(&mut bytes, self.destination_bytes);
        bytes
    }
}

fn to_bytes(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_compatible().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// The fields of the header, named as Wireshark does below `$name`, and `$consumer` bytes of the application's
/// private data behind it. The IP version decides what addresses are called. `ours` says that Wireshark does not
/// know the names.
macro_rules! ip_cm_fields {
    ($name:literal, $consumer:literal, ipv4 $(, $ours:ident)?) => {
        ip_cm_fields!($name, $consumer, [
            Field::bytes(16, 4, "ip_cm.source", concat!($name, ".sip4")).written(Form::Ipv4),
            Field::bytes(32, 4, "ip_cm.destination", concat!($name, ".dip4")).written(Form::Ipv4)
        ] $(, $ours)?)
    };
    ($name:literal, $consumer:literal, ipv6 $(, $ours:ident)?) => {
        ip_cm_fields!($name, $consumer, [
            Field::bytes(4, 16, "ip_cm.source", concat!($name, ".sip6")).written(Form::Ipv6),
            Field::bytes(20, 16, "ip_cm.destination", concat!($name, ".dip6")).written(Form::Ipv6)
        ] $(, $ours)?)
    };
    ($name:literal, $consumer:literal, [$source:expr, $destination:expr] $(, $ours:ident)?) => {
        &[
            Field::bytes(0, 36 + $consumer, "ip_cm", $name)$(.$ours())?,
            Field::number(0, 0, 4, "ip_cm.major_version", concat!($name, ".majv"))$(.$ours())?,
            Field::number(0, 4, 4, "ip_cm.minor_version", concat!($name, ".minv"))$(.$ours())?,
            Field::number(1, 0, 4, "ip_cm.ip_version", concat!($name, ".ipv"))$(.$ours())?,
            Field::number(1, 4, 4, "ip_cm.reserved", concat!($name, ".reserved"))$(.$ours())?,
            Field::number(2, 0, 16, "ip_cm.source_port", concat!($name, ".sport"))$(.$ours())?,
            $source$(.$ours())?,
            $destination$(.$ours())?,
            Field::bytes(36, $consumer, "ip_cm.private_data", concat!($name, ".private"))$(.$ours())?,
        ]
    };
}

pub(super) use ip_cm_fields;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_the_header() {
        let v4 = [IpAddr::V4(Ipv4Addr::new(10, 9, 0, 2)), IpAddr::V4(Ipv4Addr::new(10, 9, 0, 1))];
        let v6 = [IpAddr::V6(Ipv6Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::new(0xfd00, 9, 0, 0, 0, 0, 0, 1))];
        for [source, destination] in [v4, v6] {
            let header = IpCmHeader::new(source, 0xa520, destination).unwrap();
            let again = IpCmHeader::decode(&header.encode());
            assert_eq!(again, header);
            assert_eq!((again.source(), again.destination()), (Some(source), Some(destination)));
        }
        assert_eq!(IpCmHeader::new(v4[0], 1, v6[0]), None);
    }

    #[test]
    fn address_of_no_known_ip_version_is_none() {
        let header = IpCmHeader { ip_version: 5, ..IpCmHeader::default() };
        assert_eq!((header.source(), header.destination()), (None, None));
    }
}
