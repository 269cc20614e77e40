//! From the tables of a description to hosts, flows and packets.

use std::collections::BTreeMap;

use rdmalab_wire::ethernet::ETHERTYPE_FLOW_CONTROL;
use rdmalab_wire::header_set::Header;
use rdmalab_wire::pause::PAUSE_DESTINATION;
use rdmalab_wire::{
    Carrier, EthernetAddress, Headers, ImmDt, Opcode, Pause, PriorityPause, TransportKind, VlanTag,
};

use crate::effect;
use crate::error::{clipped, there_are};
use crate::exchange::{Exchange, Operation};
use crate::fields::{Fields, VlanFields};
use crate::flow::{CarriedBy, Flow, Host, Way, host_number};
use crate::mad;
use crate::packet::{Ethernet, Packet, PacketError, Patch, finish};
use crate::payload::Payload;
use crate::spec::{
    CarrierName, ConversationSpec, FlowSpec, HostSpec, OperationName, PacketSpec, PauseSpec, TransportName,
};
use crate::value::{Bytes, Given};

/// The hosts of a description, and two to take where it names none.
pub(crate) fn hosts(specs: &BTreeMap<String, HostSpec>) -> BTreeMap<&str, Host> {
    let numbers = 1..=u16::MAX;
    let named = numbers.zip(specs).map(|(number, (name, spec))| {
        let mut host = host_number(number);
        if let Some(Given(mac)) = spec.mac {
            host.mac = mac;
        }
        if let Some(Given(ip)) = spec.ip {
            (host.ip, host.gid) = (ip, ip.into());
        }
        if let Some(Given(gid)) = spec.gid {
            host.gid = gid;
        }
        if let Some(Given(lid)) = spec.lid {
            host.lid = lid;
        }
        (&**name, host)
    });
    named.collect()
}

/// The flow of packets that name none: between the first two hosts.
pub(crate) fn default_flow(hosts: &BTreeMap<&str, Host>) -> Option<Flow> {
    let mut hosts = hosts.values();
    let one = hosts.next().cloned().unwrap_or_else(|| host_number(1));
    let other = hosts.next().cloned().unwrap_or_else(|| host_number(2));
    Flow::new(&one, &other, CarriedBy::RoceV2)
}

/// The flow that a table describes.
pub(crate) fn flow(spec: &FlowSpec, hosts: &BTreeMap<&str, Host>) -> Result<Flow, String> {
    let host = |name: &str, key| {
        let names = || there_are(hosts.keys().copied());
        hosts.get(name).ok_or_else(|| format!("{key} = {:?} is no host; {}", clipped(name), names()))
    };
    let (from, to) = (host(&spec.from, "from")?, host(&spec.to, "to")?);
    let carried_by = match spec.carrier.unwrap_or(CarrierName::Roce2) {
        CarrierName::Roce2 => CarriedBy::RoceV2,
        CarrierName::Roce1 => CarriedBy::RoceV1,
        CarrierName::Infiniband => CarriedBy::Native,
        CarrierName::InfinibandGrh => CarriedBy::NativeGlobal,
    };
    let flow = Flow::new(from, to, carried_by);
    let mut flow = flow.ok_or_else(|| {
        format!("{} and {} have addresses of two families, {} and {}", spec.from, spec.to, from.ip, to.ip)
    })?;
    effect::flow(spec, &flow.side(Way::Forth).carrier)?;
    flow.transport = match spec.transport.unwrap_or(TransportName::Rc) {
        TransportName::Rc => TransportKind::Rc,
        TransportName::Uc => TransportKind::Uc,
        TransportName::Rd => TransportKind::Rd,
        TransportName::Ud => TransportKind::Ud,
        TransportName::Xrc => TransportKind::Xrc,
    };
    if let Some(Given(mtu)) = spec.mtu {
        flow.mtu = path_mtu(mtu)?;
    }
    if let Some(Given(key)) = spec.partition_key {
        flow.partition_key = key;
    }
    if let Some(Given(key)) = spec.queue_key {
        flow.queue_key = key;
    }
    if let Some(Given(number)) = spec.shared_receive_queue {
        flow.shared_receive_queue = number.into();
    }
    if let Some(Given(context)) = spec.ee_context {
        flow.ee_context = context.into();
    }
    flow.migrated = spec.migrated.unwrap_or(false);
    for (way, qpn, psn) in [(Way::Forth, spec.from_qpn, spec.from_psn), (Way::Back, spec.to_qpn, spec.to_psn)]
    {
        let side = flow.side_mut(way);
        if let Some(Given(qpn)) = qpn {
            side.qpn = qpn;
        }
        if let Some(Given(psn)) = psn {
            side.next_psn = psn;
        }
        if let Some(ethernet) = &mut side.ethernet {
            ethernet.vlan = vlan(&spec.vlan);
        }
        if spec.raw_ip == Some(true) {
            side.ethernet = None;
        }
        apply_to_carrier(spec, &mut side.carrier);
    }
    Ok(flow)
}

/// Addresses in these fields would be the same both ways; they are the hosts' to give.
fn apply_to_carrier(spec: &FlowSpec, carrier: &mut Carrier) {
    match carrier {
        Carrier::RoceV2Ipv4(ip, udp) => {
            spec.ipv4.iter().for_each(|fields| fields.apply(ip));
            spec.udp.iter().for_each(|fields| fields.apply(udp));
        }
        Carrier::RoceV2Ipv6(ip, udp) => {
            spec.ipv6.iter().for_each(|fields| fields.apply(ip));
            spec.udp.iter().for_each(|fields| fields.apply(udp));
        }
        Carrier::RoceV1(grh) => spec.grh.iter().for_each(|fields| fields.apply(grh)),
        Carrier::Native(lrh, grh) => {
            spec.lrh.iter().for_each(|fields| fields.apply(lrh));
            if let (Some(fields), Some(grh)) = (spec.grh, grh) {
                fields.apply(grh);
            }
        }
    }
}

pub(crate) fn path_mtu(mtu: u16) -> Result<u32, String> {
    if mtu == 0 { Err("mtu = 0: a packet has to carry something".to_owned()) } else { Ok(mtu.into()) }
}

fn vlan(fields: &[VlanFields]) -> Vec<VlanTag> {
    let tag = |fields: &VlanFields| {
        let mut tag = VlanTag::default();
        fields.apply(&mut tag);
        tag
    };
    fields.iter().map(tag).collect()
}

/// The InfiniBand packet of an entry.
pub(crate) fn packet(spec: &PacketSpec, opcode: Opcode, flow: &Flow) -> Result<Packet, String> {
    let way = if spec.reply == Some(true) { Way::Back } else { Way::Forth };
    let mut packet = flow.packet(way, opcode);
    if let Some(payload) = &spec.payload {
        packet.payload = payload.clone();
    }
    if let Some(table) = &spec.mad {
        if spec.payload.is_some() {
            return Err("payload and mad are both given; take one".to_owned());
        }
        packet.payload = Payload::Bytes(mad::encode(table)?);
    }
    headers(spec, opcode, flow, way, &mut packet)?;
    let given = &mut packet.exceptions;
    if let Some(bth) = &spec.bth {
        bth.apply(&mut packet.bth);
        given.pad_count = bth.pad_count.map(|Given(bits)| bits.into());
    }
    if let Some(ethernet) = &mut packet.ethernet {
        apply_ethernet(spec, ethernet)?;
    } else if spec.ethernet.is_some() || spec.vlan.is_some() {
        return Err("ethernet and vlan belong to a flow with Ethernet, which this is not".to_owned());
    }
    given.ipv4 = spec.ipv4.unwrap_or_default();
    given.ipv6 = spec.ipv6.unwrap_or_default();
    given.udp = spec.udp.unwrap_or_default();
    given.grh = spec.grh.unwrap_or_default();
    given.lrh = spec.lrh.unwrap_or_default();
    given.udp_checksum = spec.udp_checksum.unwrap_or(false);
    given.pad = spec.pad.as_ref().map(|Given(bytes)| bytes.0.clone());
    given.icrc = spec.icrc.unwrap_or_default();
    given.vcrc = spec.vcrc.unwrap_or_default();
    given.trailer = spec.trailer.as_ref().map(|Given(bytes)| bytes.0.clone()).unwrap_or_default();
    given.patches = patches(spec);
    given.truncate = spec.truncate;
    Ok(packet)
}

fn headers(
    spec: &PacketSpec,
    opcode: Opcode,
    flow: &Flow,
    way: Way,
    packet: &mut Packet,
) -> Result<(), String> {
    let headers = &mut packet.headers;
    /// Adds the header if its fields are given, and applies them.
    macro_rules! header {
        ($name:ident, $header:expr) => {
            if let Some(fields) = &spec.$name {
                if headers.$name.is_none() {
                    flow.add($header, way, headers);
                }
                headers.$name.iter_mut().for_each(|header| fields.apply(header));
            }
        };
    }
    // What a WRITE in one packet says to be its length follows from its payload.
    if let (0x0a | 0x0b | 0x1d, Some(reth)) = (opcode.operation(), &mut headers.reth) {
        reth.length = packet.payload.length() as u32;
    }
    header!(rdeth, Header::Rdeth);
    header!(xrceth, Header::Xrceth);
    header!(deth, Header::Deth);
    header!(feth, Header::Feth);
    header!(reth, Header::Reth);
    header!(atomic_eth, Header::AtomicEth);
    header!(aeth, Header::Aeth);
    header!(atomic_ack_eth, Header::AtomicAckEth);
    header!(ieth, Header::Ieth);
    if let Some(Given(Bytes(bytes))) = &spec.imm_dt {
        headers.imm_dt = Some(ImmDt(immediate(bytes)?));
    }
    for name in spec.without.iter().flatten() {
        without(name, headers)?;
    }
    Ok(())
}

fn without(name: &str, headers: &mut Headers) -> Result<(), String> {
    let was_there = match name {
        "rdeth" => headers.rdeth.take().is_some(),
        "xrceth" => headers.xrceth.take().is_some(),
        "deth" => headers.deth.take().is_some(),
        "feth" => headers.feth.take().is_some(),
        "reth" => headers.reth.take().is_some(),
        "atomic_eth" => headers.atomic_eth.take().is_some(),
        "aeth" => headers.aeth.take().is_some(),
        "atomic_ack_eth" => headers.atomic_ack_eth.take().is_some(),
        "imm_dt" => headers.imm_dt.take().is_some(),
        "ieth" => headers.ieth.take().is_some(),
        _ => {
            return Err(format!(
                "without = [{name:?}] is none of the extended headers, as \"reth\"",
                name = clipped(name)
            ));
        }
    };
    if was_there { Ok(()) } else { Err(format!("without = [{name:?}]: the packet has none anyway")) }
}

fn immediate(bytes: &[u8]) -> Result<[u8; 4], String> {
    bytes.try_into().map_err(|_| format!("imm_dt has {} bytes, immediate data have 4", bytes.len()))
}

fn apply_ethernet(spec: &PacketSpec, ethernet: &mut Ethernet) -> Result<(), String> {
    if let Some(tags) = &spec.vlan {
        ethernet.vlan = vlan(tags);
    }
    let Some(given) = &spec.ethernet else { return Ok(()) };
    if let Some(Given(address)) = given.source {
        ethernet.source = address;
    }
    if let Some(Given(address)) = given.destination {
        ethernet.destination = address;
    }
    if let Some(Given(ethertype)) = given.ethertype {
        ethernet.ethertype = Some(ethertype);
    }
    ethernet.tag_ethertypes = given.tag_ethertypes.iter().map(|given| given.0).collect();
    let (given, tags) = (ethernet.tag_ethertypes.len(), ethernet.vlan.len());
    if given > tags {
        return Err(format!("ethernet.tag_ethertypes are {given}, the frame has {tags} tags"));
    }
    Ok(())
}

fn patches(spec: &PacketSpec) -> Vec<Patch> {
    let patch = |patch: &crate::spec::PatchSpec| Patch { at: patch.at, bytes: patch.bytes.0.0.clone() };
    spec.patch.iter().flatten().map(patch).collect()
}

/// Writes a frame that is no InfiniBand packet.
pub(crate) fn other_frame(spec: &PacketSpec, flow: Option<&Flow>, out: &mut Vec<u8>) -> Result<(), String> {
    out.clear();
    if let Some(raw) = &spec.raw {
        raw.put(out);
    } else if let Some(pause) = &spec.pause {
        let way = if spec.reply == Some(true) { Way::Back } else { Way::Forth };
        let ethernet = flow.and_then(|flow| flow.side(way).ethernet.as_ref());
        let source = ethernet.map_or(EthernetAddress::default(), |ethernet| ethernet.source);
        let mut ethernet = Ethernet { source, destination: PAUSE_DESTINATION, ..Ethernet::default() };
        apply_ethernet(spec, &mut ethernet)?;
        ethernet.put(ETHERTYPE_FLOW_CONTROL, out);
        let pause = pause_frame(pause)?;
        out.extend_from_slice(pause.encode().get(..pause.length()).unwrap_or_default());
        match &spec.trailer {
            Some(Given(Bytes(bytes))) => out.extend_from_slice(bytes),
            // A frame has at least 60 bytes.
            None => out.resize(out.len().max(60), 0),
        }
    } else {
        return Err(
            "it needs an opcode, as in opcode = \"RC_SEND_ONLY\", or raw bytes, or a pause".to_owned()
        );
    }
    finish(&patches(spec), spec.truncate, out).map_err(|error: PacketError| error.to_string())
}

fn pause_frame(spec: &PauseSpec) -> Result<Pause, String> {
    match (spec.time, &spec.times) {
        (Some(Given(time)), None) => Ok(Pause::Link { time }),
        (None, Some(given)) => {
            let mut times = [0; 8];
            let places = times.get_mut(..given.len());
            places.ok_or("pause.times has more than 8 of them")?.copy_from_slice(given);
            let all = u8::try_from((1_u16 << given.len()) - 1).unwrap_or(u8::MAX);
            let enabled = spec.enabled.map_or(all, |given| given.0);
            let reserved = spec.reserved.map_or(0, |given| given.0);
            Ok(Pause::Priorities(PriorityPause { reserved, enabled, times }))
        }
        _ => Err("pause has a time for the whole link, or times by priority".to_owned()),
    }
}

/// The exchange of an entry; `None` if it is one of connection management.
pub(crate) fn exchange(spec: &ConversationSpec) -> Result<Option<Exchange>, String> {
    let imm_dt = match &spec.imm_dt {
        Some(Given(Bytes(bytes))) => immediate(bytes)?,
        None => [0; 4],
    };
    let number = |given: Option<Given<u64>>| given.map_or(0, |given| given.0);
    let (compare, other, original) = (number(spec.compare), number(spec.swap_or_add), number(spec.original));
    let operation = match spec.operation {
        OperationName::Send => Operation::Send,
        OperationName::SendImm => Operation::SendImm(imm_dt),
        OperationName::SendInv => Operation::SendInv(spec.invalidate.unwrap_or_default().0),
        OperationName::Write => Operation::Write,
        OperationName::WriteImm => Operation::WriteImm(imm_dt),
        OperationName::Read => Operation::Read,
        OperationName::CompareSwap => Operation::CompareSwap { compare, swap: other, original },
        OperationName::FetchAdd => Operation::FetchAdd { add: other, original },
        OperationName::Flush => Operation::Flush,
        OperationName::AtomicWrite => Operation::AtomicWrite,
        OperationName::Connect | OperationName::Disconnect => return Ok(None),
    };
    Ok(Some(Exchange {
        virtual_address: number(spec.virtual_address),
        key: spec.key.unwrap_or_default().0,
        fill: spec.fill,
        solicited: spec.solicited,
        acknowledge: spec.acknowledge.unwrap_or(true),
        ..Exchange::new(operation, spec.bytes.unwrap_or(0))
    }))
}
