//! IPv6 neighbour solicitations and advertisements (RFC 4861 §4.3, §4.4): bytes to meaning and back, with the checks
//! of §7.1. Routers' messages and redirects are not for this host. Decides nothing and remembers nothing.

use core::net::Ipv6Addr;

use rdmalab_wire::EthernetAddress;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    self, Icmpv6Packet, Icmpv6Repr, IpProtocol, Ipv6Packet, Ipv6Repr, NdiscNeighborFlags, NdiscRepr,
    RawHardwareAddress,
};

const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
const IPV6_HEADER: usize = 40;

/// What both messages have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Neighbour {
    /// Source of the packet; unspecified while the sender probes for a duplicate of its address.
    pub(crate) source: Ipv6Addr,
    pub(crate) destination: Ipv6Addr,
    /// Whose link-layer address is asked for or told.
    pub(crate) target: Ipv6Addr,
    /// A solicitation's source or an advertisement's target link-layer address option.
    pub(crate) mac: Option<EthernetAddress>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ndp {
    Solicitation(Neighbour),
    Advertisement { about: Neighbour, solicited: bool, overrides: bool },
}

/// Whether an ICMPv6 type is one of neighbour discovery's (133 to 137).
pub(crate) fn is_ndp(icmp_type: u8) -> bool {
    (133..=137).contains(&icmp_type)
}

/// Whether an ICMPv6 type is one that routers use, or hosts to ask routers.
pub(crate) fn is_routing(icmp_type: u8) -> bool {
    is_ndp(icmp_type) && !matches!(icmp_type, SOLICITATION | ADVERTISEMENT)
}

impl Ndp {
    /// `packet` begins at the IPv6 header, whose next header is ICMPv6 and which ends with the packet. `None`: a
    /// message this host has no use for, or one that breaks a rule of RFC 4861 §7.1.
    pub(crate) fn parse(packet: &[u8]) -> Option<Self> {
        let header = Ipv6Packet::new_checked(packet).ok()?;
        let (source, destination) = (header.src_addr(), header.dst_addr());
        let icmp = header.payload();
        // A hop limit below 255 means that a router passed it on: no neighbour sent it.
        if header.next_header() != IpProtocol::Icmpv6 || header.hop_limit() != 255 {
            return None;
        }
        let [icmp_type @ (SOLICITATION | ADVERTISEMENT), 0, ..] = *icmp else { return None };
        let message = Icmpv6Packet::new_checked(icmp).ok()?;
        let checksums = ChecksumCapabilities::default();
        let Icmpv6Repr::Ndisc(message) =
            Icmpv6Repr::parse(&source, &destination, &message, &checksums).ok()?
        else {
            return None;
        };
        match message {
            NdiscRepr::NeighborSolicit { target_addr, lladdr } if icmp_type == SOLICITATION => {
                let about = Neighbour { source, destination, target: target_addr, mac: unicast(lladdr)? };
                let duplicate_probe = source.is_unspecified();
                let lawful = !(target_addr.is_multicast()
                    || duplicate_probe && (about.mac.is_some() || !is_solicited_node(destination)));
                lawful.then_some(Self::Solicitation(about))
            }
            NdiscRepr::NeighborAdvert { flags, target_addr, lladdr } if icmp_type == ADVERTISEMENT => {
                let about = Neighbour { source, destination, target: target_addr, mac: unicast(lladdr)? };
                let solicited = flags.contains(NdiscNeighborFlags::SOLICITED);
                let lawful = !(target_addr.is_multicast() || solicited && destination.is_multicast());
                let overrides = flags.contains(NdiscNeighborFlags::OVERRIDE);
                lawful.then_some(Self::Advertisement { about, solicited, overrides })
            }
            _ => None,
        }
    }

    /// Appends the IPv6 packet to `out`.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let raw = |mac: EthernetAddress| RawHardwareAddress::from(wire::EthernetAddress(mac.0));
        let (about, message) = match *self {
            Self::Solicitation(about) => {
                let (target_addr, lladdr) = (about.target, about.mac.map(raw));
                (about, NdiscRepr::NeighborSolicit { target_addr, lladdr })
            }
            Self::Advertisement { about, solicited, overrides } => {
                let mut flags = NdiscNeighborFlags::empty();
                flags.set(NdiscNeighborFlags::SOLICITED, solicited);
                flags.set(NdiscNeighborFlags::OVERRIDE, overrides);
                let (target_addr, lladdr) = (about.target, about.mac.map(raw));
                (about, NdiscRepr::NeighborAdvert { flags, target_addr, lladdr })
            }
        };
        let message = Icmpv6Repr::Ndisc(message);
        let header = Ipv6Repr {
            src_addr: about.source,
            dst_addr: about.destination,
            next_header: IpProtocol::Icmpv6,
            payload_len: message.buffer_len(),
            hop_limit: 255,
        };
        let start = out.len();
        out.resize(start + IPV6_HEADER + message.buffer_len(), 0);
        let packet = &mut out[start..];
        header.emit(&mut Ipv6Packet::new_unchecked(&mut *packet));
        message.emit(
            &about.source,
            &about.destination,
            &mut Icmpv6Packet::new_unchecked(&mut packet[IPV6_HEADER..]),
            &ChecksumCapabilities::default(),
        );
    }
}

/// The option's address, if there is one; `None` outside if it is no address a single station can have.
fn unicast(option: Option<RawHardwareAddress>) -> Option<Option<EthernetAddress>> {
    let Some(raw) = option else { return Some(None) };
    let octets: [u8; 6] = raw.as_bytes().try_into().ok()?;
    (octets[0] & 1 == 0 && octets != [0; 6]).then_some(Some(EthernetAddress(octets)))
}

fn is_solicited_node(group: Ipv6Addr) -> bool {
    group.octets().starts_with(&[0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addresses::solicited_node;

    const ASKER: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
    const ASKED: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);

    fn about(source: Ipv6Addr, mac: Option<EthernetAddress>) -> Neighbour {
        Neighbour { source, destination: solicited_node(ASKED), target: ASKED, mac }
    }

    fn bytes(message: Ndp) -> Vec<u8> {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        bytes
    }

    #[test]
    fn messages_read_as_they_were_written() {
        let mac = Some(EthernetAddress([2, 0, 0, 0, 0, 1]));
        let answer = Neighbour { source: ASKED, destination: ASKER, target: ASKED, mac };
        for message in [
            Ndp::Solicitation(about(ASKER, mac)),
            Ndp::Solicitation(about(Ipv6Addr::UNSPECIFIED, None)),
            Ndp::Advertisement { about: answer, solicited: true, overrides: true },
            Ndp::Advertisement { about: answer, solicited: false, overrides: false },
        ] {
            assert_eq!(Ndp::parse(&bytes(message)), Some(message));
        }
    }

    #[test]
    fn what_rfc_4861_forbids_is_none() {
        let mac = Some(EthernetAddress([2, 0, 0, 0, 0, 1]));
        let good = bytes(Ndp::Solicitation(about(ASKER, mac)));
        for length in 0..good.len() {
            assert_eq!(Ndp::parse(&good[..length]), None, "{length} bytes");
        }
        let mut routed = good.clone();
        routed[7] = 254;
        assert_eq!(Ndp::parse(&routed), None);
        let mut damaged = good.clone();
        damaged[50] ^= 1;
        assert_eq!(Ndp::parse(&damaged), None, "the checksum");
        // A duplicate probe must not name a link-layer address.
        assert_eq!(Ndp::parse(&bytes(Ndp::Solicitation(about(Ipv6Addr::UNSPECIFIED, mac)))), None);
        let group = Some(EthernetAddress([0x33, 0x33, 0, 0, 0, 1]));
        assert_eq!(Ndp::parse(&bytes(Ndp::Solicitation(about(ASKER, group)))), None);
        let to_all = Neighbour {
            source: ASKED,
            destination: Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1),
            target: ASKED,
            mac,
        };
        let claim = Ndp::Advertisement { about: to_all, solicited: true, overrides: true };
        assert_eq!(Ndp::parse(&bytes(claim)), None, "solicited, yet to a group");
    }
}
