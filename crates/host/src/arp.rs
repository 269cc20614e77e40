//! ARP for IPv4 over Ethernet (RFC 826): bytes to meaning and back. Decides nothing and remembers nothing.

use core::net::Ipv4Addr;

use rdmalab_wire::EthernetAddress;
use smoltcp::wire::{self, ArpOperation, ArpPacket, ArpRepr};

/// One ARP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arp {
    pub(crate) operation: Operation,
    pub(crate) sender_mac: EthernetAddress,
    pub(crate) sender: Ipv4Addr,
    pub(crate) target_mac: EthernetAddress,
    pub(crate) target: Ipv4Addr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Request,
    Reply,
}

impl Arp {
    /// `packet` begins behind the Ethernet header and may have padding behind it. `None`: not a request or a reply for
    /// IPv4 over Ethernet.
    pub(crate) fn parse(packet: &[u8]) -> Option<Self> {
        let packet = ArpPacket::new_checked(packet).ok()?;
        let ArpRepr::EthernetIpv4 {
            operation,
            source_hardware_addr,
            source_protocol_addr,
            target_hardware_addr,
            target_protocol_addr,
        } = ArpRepr::parse(&packet).ok()?
        else {
            return None;
        };
        let operation = match operation {
            ArpOperation::Request => Operation::Request,
            ArpOperation::Reply => Operation::Reply,
            ArpOperation::Unknown(_) => return None,
        };
        Some(Self {
            operation,
            sender_mac: EthernetAddress(source_hardware_addr.0),
            sender: source_protocol_addr,
            target_mac: EthernetAddress(target_hardware_addr.0),
            target: target_protocol_addr,
        })
    }

    /// Appends the 28 bytes to `out`.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let repr = ArpRepr::EthernetIpv4 {
            operation: match self.operation {
                Operation::Request => ArpOperation::Request,
                Operation::Reply => ArpOperation::Reply,
            },
            source_hardware_addr: wire::EthernetAddress(self.sender_mac.0),
            source_protocol_addr: self.sender,
            target_hardware_addr: wire::EthernetAddress(self.target_mac.0),
            target_protocol_addr: self.target,
        };
        let start = out.len();
        out.resize(start + repr.buffer_len(), 0);
        repr.emit(&mut ArpPacket::new_unchecked(&mut out[start..]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Arp {
        Arp {
            operation: Operation::Request,
            sender_mac: EthernetAddress([2, 0, 0, 0, 0, 1]),
            sender: Ipv4Addr::new(10, 0, 0, 1),
            target_mac: EthernetAddress([0; 6]),
            target: Ipv4Addr::new(10, 0, 0, 2),
        }
    }

    #[test]
    fn a_request_is_the_bytes_rfc_826_draws() {
        let mut bytes = Vec::new();
        request().encode(&mut bytes);
        assert_eq!(
            bytes,
            [0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2]
        );
        assert_eq!(Arp::parse(&bytes), Some(request()));
        bytes.resize(46, 0);
        assert_eq!(Arp::parse(&bytes), Some(request()), "padding behind it is no fault");
    }

    #[test]
    fn other_hardware_other_operations_and_short_packets_are_none() {
        let mut bytes = Vec::new();
        request().encode(&mut bytes);
        for length in 0..bytes.len() {
            assert_eq!(Arp::parse(&bytes[..length]), None, "{length} bytes");
        }
        for at in 0..8 {
            let mut other = bytes.clone();
            other[at] ^= 0x80;
            assert_eq!(Arp::parse(&other), None, "byte {at}");
        }
    }
}
