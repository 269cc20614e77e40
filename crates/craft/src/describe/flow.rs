//! What all packets of a flow have in common, found in one of them.

use rdmalab_wire::{Address, Carrier, Frame, Grh, Ipv4Header, Ipv6Header, Lrh, UdpHeader, VlanTag};

use crate::fields::{Fields, GrhFields, Ipv4Fields, Ipv6Fields, LrhFields, UdpFields, VlanFields};
use crate::flow::{CarriedBy, Flow, Host, Way};
use crate::packet::Ethernet;
use crate::spec::{CarrierName, FlowSpec};

/// The carrier without what differs from packet to packet.
pub(super) fn common(carrier: Carrier) -> Carrier {
    let udp = |udp: UdpHeader| UdpHeader { length: 0, checksum: 0, ..udp };
    match carrier {
        Carrier::RoceV2Ipv4(ip, header) => {
            let ip = Ipv4Header { total_length: 0, identification: 0, checksum: 0, ..ip };
            Carrier::RoceV2Ipv4(ip, udp(header))
        }
        Carrier::RoceV2Ipv6(ip, header) => {
            Carrier::RoceV2Ipv6(Ipv6Header { payload_length: 0, ..ip }, udp(header))
        }
        Carrier::RoceV1(grh) => Carrier::RoceV1(Grh { payload_length: 0, ..grh }),
        Carrier::Native(lrh, grh) => {
            Carrier::Native(Lrh { packet_length: 0, ..lrh }, grh.map(|grh| Grh { payload_length: 0, ..grh }))
        }
    }
}

/// The Ethernet header as found, with the ethertypes of its tags.
pub(super) fn ethernet(frame: &Frame<'_>, data: &[u8]) -> Ethernet {
    let tags = frame.vlan.iter().flatten();
    let tag_ethertypes = (0..frame.vlan.iter().flatten().count()).filter_map(|index| {
        let bytes = data.get(12 + 4 * index..)?.first_chunk()?;
        Some(u16::from_be_bytes(*bytes))
    });
    Ethernet {
        source: frame.ethernet.source,
        destination: frame.ethernet.destination,
        vlan: tags.copied().collect(),
        tag_ethertypes: tag_ethertypes.collect(),
        ethertype: Some(frame.ethertype),
    }
}

/// Both hosts of a carrier.
pub(super) fn ends(ethernet: Option<&Ethernet>, carrier: &Carrier) -> (Host, Host) {
    let host = |mac, address, lid| {
        let ip = match address {
            Address::Ip(ip) => ip,
            Address::Gid(_) | Address::Lid(_) => [0, 0, 0, 0].into(),
        };
        let gid = match address {
            Address::Gid(gid) => gid,
            Address::Ip(ip) => ip.into(),
            Address::Lid(_) => Default::default(),
        };
        Host { mac, ip, gid, lid }
    };
    let (source, destination) = match carrier {
        Carrier::Native(lrh, _) => (lrh.source, lrh.destination),
        _ => (0, 0),
    };
    let macs = ethernet.map(|ethernet| (ethernet.source, ethernet.destination)).unwrap_or_default();
    (host(macs.0, carrier.source(), source), host(macs.1, carrier.destination(), destination))
}

/// The flow without its names and numbers. None if its addresses do not go together.
pub(super) fn flow_spec(
    ethernet: Option<&Ethernet>,
    carrier: &Carrier,
    from: &Host,
    to: &Host,
) -> Option<FlowSpec> {
    let (name, carried_by) = match carrier {
        Carrier::RoceV2Ipv4(..) | Carrier::RoceV2Ipv6(..) => (CarrierName::Roce2, CarriedBy::RoceV2),
        Carrier::RoceV1(_) => (CarrierName::Roce1, CarriedBy::RoceV1),
        Carrier::Native(_, None) => (CarrierName::Infiniband, CarriedBy::Native),
        Carrier::Native(_, Some(_)) => (CarrierName::InfinibandGrh, CarriedBy::NativeGlobal),
    };
    let mut spec = FlowSpec {
        carrier: Some(name).filter(|name| *name != CarrierName::Roce2),
        raw_ip: (ethernet.is_none() && name == CarrierName::Roce2).then_some(true),
        ..FlowSpec::default()
    };
    let tags = ethernet.iter().flat_map(|ethernet| ethernet.vlan.iter());
    spec.vlan = tags.map(|tag| VlanFields::difference(tag, &VlanTag::default())).collect();
    match (carrier, Flow::new(from, to, carried_by)?.side(Way::Forth).carrier) {
        (Carrier::RoceV2Ipv4(ip, udp), Carrier::RoceV2Ipv4(plain_ip, plain_udp)) => {
            spec.ipv4 = Ipv4Fields::difference_if_any(ip, &plain_ip);
            spec.udp = UdpFields::difference_if_any(udp, &plain_udp);
        }
        (Carrier::RoceV2Ipv6(ip, udp), Carrier::RoceV2Ipv6(plain_ip, plain_udp)) => {
            spec.ipv6 = Ipv6Fields::difference_if_any(ip, &plain_ip);
            spec.udp = UdpFields::difference_if_any(udp, &plain_udp);
        }
        (Carrier::RoceV1(grh), Carrier::RoceV1(plain)) => {
            spec.grh = GrhFields::difference_if_any(grh, &plain);
        }
        (Carrier::Native(lrh, grh), Carrier::Native(plain_lrh, plain_grh)) => {
            spec.lrh = LrhFields::difference_if_any(lrh, &plain_lrh);
            spec.grh = grh.zip(plain_grh).and_then(|(grh, plain)| GrhFields::difference_if_any(&grh, &plain));
        }
        _ => return None,
    }
    Some(spec)
}
