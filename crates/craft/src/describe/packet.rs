//! What of a packet is not as it would be computed.

use rdmalab_wire::ethernet::ETHERTYPE_VLAN;
use rdmalab_wire::{Carried, Carrier, Qpn, RawPacket};

use crate::build;
use crate::fields::{Fields, GrhFields, Ipv4Fields, Ipv6Fields, LrhFields, UdpFields};
use crate::flow::{Flow, Way};
use crate::mad;
use crate::packet::Ethernet;
use crate::payload::Payload;
use crate::spec::{EthernetSpec, PacketSpec};
use crate::value::{Bytes, Given};

/// What of the Ethernet header does not follow from the flow: kinds of tags other than a customer's.
pub(super) fn ethernet(ethernet: &Ethernet) -> Option<EthernetSpec> {
    let is_customers = |ethertype: &u16| *ethertype == ETHERTYPE_VLAN;
    let tag_ethertypes = &ethernet.tag_ethertypes;
    (!tag_ethertypes.iter().all(is_customers)).then(|| EthernetSpec {
        tag_ethertypes: tag_ethertypes.iter().copied().map(Given).collect(),
        ..EthernetSpec::default()
    })
}

/// What the payload is, if not as computed; a management datagram by its fields.
pub(super) fn payload(spec: &mut PacketSpec, packet: &RawPacket<'_>, flow: &Flow) {
    let Some(opcode) = packet.opcode else { return };
    let mut computed = Vec::new();
    flow.packet(Way::Forth, opcode).payload.put(&mut computed);
    if computed == packet.payload {
        return;
    }
    let is_management = packet.bth.is_some_and(|bth| bth.destination == Qpn::GSI);
    spec.mad = Some(packet.payload).filter(|_| is_management).and_then(mad::describe);
    spec.payload = spec.mad.is_none().then(|| Payload::of(packet.payload));
}

/// What of the extended headers is not as computed.
pub(super) fn headers(spec: &mut PacketSpec, packet: &RawPacket<'_>, flow: &Flow) {
    let Some(opcode) = packet.opcode else { return };
    let mut computed = flow.packet(Way::Forth, opcode).headers;
    if let (0x0a | 0x0b | 0x1d, Some(reth)) = (opcode.operation(), &mut computed.reth) {
        reth.length = packet.payload.len() as u32;
    }
    /// What differs of one header.
    macro_rules! header {
        ($($name:ident)+) => {$(
            if let (Some(found), Some(computed)) = (&packet.headers.$name, &computed.$name) {
                spec.$name = Fields::difference_if_any(found, computed);
            }
        )+};
    }
    header!(rdeth xrceth deth feth reth atomic_eth aeth atomic_ack_eth ieth);
    spec.imm_dt =
        packet.headers.imm_dt.filter(|found| found.0 != [0; 4]).map(|found| Given(Bytes(found.0.to_vec())));
}

/// What of the carrier is not as computed. False if it cannot be computed.
pub(super) fn carrier(spec: &mut PacketSpec, carried: &Carried<'_>, flow: &Flow) -> bool {
    let Some(Given(opcode)) = spec.opcode else { return false };
    // Twice, since a checksum follows from the other fields.
    for pass in 0..2 {
        let Ok(built) = build::packet(spec, opcode, flow) else { return false };
        let Ok(carrier) = built.finished_carrier(carried.ib.len()) else { return false };
        match (&carried.carrier, &carrier) {
            (Carrier::RoceV2Ipv4(found, found_udp), Carrier::RoceV2Ipv4(ip, udp)) => {
                if pass == 0 {
                    let fields = Ipv4Fields { checksum: None, ..Ipv4Fields::difference(found, ip) };
                    spec.ipv4 = Some(fields).filter(|fields| *fields != Ipv4Fields::default());
                    spec.udp = UdpFields::difference_if_any(found_udp, udp);
                } else if found.checksum != ip.checksum {
                    spec.ipv4.get_or_insert_default().checksum = Some(Given(found.checksum));
                }
            }
            (Carrier::RoceV2Ipv6(found, found_udp), Carrier::RoceV2Ipv6(ip, udp)) if pass == 0 => {
                spec.ipv6 = Ipv6Fields::difference_if_any(found, ip);
                spec.udp = UdpFields::difference_if_any(found_udp, udp);
            }
            (Carrier::RoceV1(found), Carrier::RoceV1(grh)) if pass == 0 => {
                spec.grh = GrhFields::difference_if_any(found, grh);
            }
            (Carrier::Native(found, found_grh), Carrier::Native(lrh, grh)) if pass == 0 => {
                spec.lrh = LrhFields::difference_if_any(found, lrh);
                spec.grh =
                    found_grh.zip(*grh).and_then(|(found, grh)| GrhFields::difference_if_any(&found, &grh));
            }
            _ => {}
        }
    }
    true
}
