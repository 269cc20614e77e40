//! From a capture to a description that crafts the same frames again.
//!
//! InfiniBand packets become typed entries that give only what differs from what would be computed; a packet is
//! only described so if crafting the entry gives the same bytes. Everything else is raw bytes. Entries are
//! written one by one; what is kept are the hosts and the flows, up to a limit.

use core::fmt;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use rdmalab_trace::{Direction, LinkType, ReadError, Reader, Record};
use rdmalab_wire::{
    Address, Carried, Carrier, EthernetAddress, Frame, Ipv4Header, Ipv6Header, Qpn, RawPacket, UdpHeader,
    VlanTag, pad_count,
};
use serde::Serialize;

use crate::build;
use crate::checksum::Checksum;
use crate::fields::{Fields, GrhFields, Ipv4Fields, Ipv6Fields, LrhFields, UdpFields, VlanFields};
use crate::flow::{CarriedBy, Flow, Host, Way};
use crate::limits::MOST_FLOWS;
use crate::mad;
use crate::packet::Ethernet;
use crate::payload::Payload;
use crate::spec::{CarrierName, EthernetSpec, FlowSpec, HostSpec, PacketSpec, WayName};
use crate::value::{Bytes, Given, Time};

/// The interval of descriptions, in nanoseconds.
const INTERVAL: u64 = 1_000;

/// How much was described.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// Packets of the capture.
    pub packets: u64,
    /// How many of them are typed entries.
    pub typed: u64,
    /// How many InfiniBand packets are there as raw bytes, because no entry says the same, or there were too many
    /// flows.
    pub raw_infiniband: u64,
}

impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Described { packets, typed, raw_infiniband } = self;
        write!(f, "{packets} packets: {typed} as fields, {} as bytes", packets.saturating_sub(*typed))?;
        match raw_infiniband {
            0 => Ok(()),
            n => write!(f, ", {n} of those RoCE or InfiniBand packets that are cut or broken"),
        }
    }
}

/// Why a capture could not be described to its end.
#[derive(Debug)]
pub enum DescribeError {
    /// The capture cannot be read any further; all packets before are described.
    Read(ReadError),
    /// Writing failed.
    Write(io::Error),
}

impl fmt::Display for DescribeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DescribeError::Read(error) => error.fmt(f),
            DescribeError::Write(error) => write!(f, "writing failed: {error}"),
        }
    }
}

impl std::error::Error for DescribeError {}

impl From<io::Error> for DescribeError {
    fn from(error: io::Error) -> Self {
        DescribeError::Write(error)
    }
}

/// Describes a capture.
///
/// # Errors
///
/// A capture that cannot be read to its end; a failing `out`.
pub fn describe(input: impl Read, out: &mut dyn Write) -> Result<Described, DescribeError> {
    let mut reader = Reader::new(input).map_err(DescribeError::Read)?;
    let mut describer = Describer {
        out,
        hosts: BTreeMap::new(),
        keys: BTreeMap::new(),
        flows: Vec::new(),
        frame: Vec::new(),
    };
    let mut described = Described::default();
    let mut next_time = 0;
    while let Some(record) = reader.next().map_err(DescribeError::Read)? {
        described.packets += 1;
        let mut spec = match describer.infiniband(&record)? {
            Found::Entry(spec) => {
                described.typed += 1;
                *spec
            }
            other => {
                described.raw_infiniband += u64::from(matches!(other, Found::Undescribed));
                let link_type = record.link_type;
                PacketSpec {
                    raw: Some(Payload::of(record.data)),
                    link_type: (link_type != LinkType::ETHERNET).then_some(link_type.0),
                    ..PacketSpec::default()
                }
            }
        };
        if let Some(time) = record.time.and_then(|time| u64::try_from(time).ok()) {
            spec.time = (time != next_time).then_some(Given(Time(time)));
            next_time = time;
        }
        next_time = next_time.saturating_add(INTERVAL);
        let length = record.original_length;
        spec.original_length = (u64::from(length) > record.data.len() as u64).then_some(length);
        spec.interface = record.interface_name.filter(|name| !name.is_empty()).map(str::to_owned);
        spec.direction = record.direction.map(|direction| match direction {
            Direction::In => WayName::In,
            Direction::Out => WayName::Out,
        });
        spec.comment = record.comments.into_iter().next().map(|comment| comment.to_string());
        describer.table("[[packet]]", &spec)?;
    }
    Ok(described)
}

/// What an attempt to describe a packet by its fields gave.
enum Found {
    Entry(Box<PacketSpec>),
    /// It is an InfiniBand packet, but no entry gives its bytes.
    Undescribed,
    /// It is something else.
    Other,
}

struct Describer<'o> {
    out: &'o mut dyn Write,
    hosts: BTreeMap<(EthernetAddress, Address, u16), String>,
    /// Places in `flows`, by the bytes that all packets of one have in common.
    keys: BTreeMap<Vec<u8>, usize>,
    /// The flows `f1`, `f2`, …
    flows: Vec<Flow>,
    frame: Vec<u8>,
}

impl Describer<'_> {
    /// Writes a table, each key on its line.
    fn table(&mut self, head: &str, spec: &impl Serialize) -> io::Result<()> {
        let table = toml::Table::try_from(spec).map_err(io::Error::other)?;
        writeln!(self.out, "{head}")?;
        for (key, value) in &table {
            writeln!(self.out, "{key} = {value}")?;
        }
        writeln!(self.out)
    }

    fn infiniband(&mut self, record: &Record<'_>) -> Result<Found, DescribeError> {
        let data = record.data;
        let (ethernet, carried) = match record.link_type {
            LinkType::ETHERNET => {
                let Ok(frame) = Frame::parse(data) else { return Ok(Found::Other) };
                (Some(ethernet(&frame, data)), Carried::in_frame(&frame).and_then(Result::ok))
            }
            LinkType::RAW_IP => (None, Carried::in_ip(data)),
            LinkType::INFINIBAND => (None, Carried::in_link_packet(data).and_then(Result::ok)),
            _ => return Ok(Found::Other),
        };
        let Some(carried) = carried else { return Ok(Found::Other) };
        if record.is_cut() {
            return Ok(Found::Undescribed);
        }
        let packet = carried.packet();
        let (Some(opcode), Some(bth)) = (packet.opcode, packet.bth) else { return Ok(Found::Undescribed) };
        let index = self.flow(ethernet.as_ref(), &carried, &packet)?;
        let Some((index, flow)) = index.and_then(|index| Some((index, self.flows.get_mut(index)?))) else {
            return Ok(Found::Undescribed);
        };
        let mut spec = PacketSpec {
            flow: Some(flow_name(index)),
            opcode: Some(Given(opcode)),
            ethernet: ethernet.as_ref().and_then(|ethernet| ethernet_spec(ethernet, &carried)),
            ..PacketSpec::default()
        };
        describe_payload(&mut spec, &packet, flow);
        describe_headers(&mut spec, &packet, flow);
        spec.bth = {
            // Its other fields follow from the flow, which has the first packet's.
            let mut computed = flow.packet(Way::Forth, opcode).bth;
            computed.pad_count = pad_count(packet.payload.len()) as u8;
            crate::fields::BthFields::difference_if_any(&bth, &computed)
        };
        let pads = usize::from(bth.pad_count);
        if packet.pad != vec![0; pad_count(packet.payload.len())] || packet.pad.len() != pads {
            spec.pad = Some(Given(Bytes(packet.pad.to_vec())));
        }
        let end = carried.offset + carried.ib.len() + carried.vcrc.map_or(0, |vcrc| vcrc.len());
        spec.trailer =
            data.get(end..).filter(|rest| !rest.is_empty()).map(|rest| Given(Bytes(rest.to_vec())));
        spec.icrc = match packet.icrc {
            None => Some(Checksum::Absent),
            Some(found) if u32::from_le_bytes(found) != carried.icrc_expected() => {
                Some(Checksum::Bytes(u32::from_be_bytes(found)))
            }
            Some(_) => None,
        };
        if let (Carrier::Native(..), vcrc) = (&carried.carrier, carried.vcrc) {
            spec.vcrc = match (vcrc, carried.verify_vcrc()) {
                (None, _) => Some(Checksum::Absent),
                (Some(found), Some(Err(_))) => Some(Checksum::Bytes(u16::from_be_bytes(found).into())),
                _ => None,
            };
        }
        if !describe_carrier(&mut spec, &carried, flow) {
            return Ok(Found::Undescribed);
        }
        let Ok(built) = build::packet(&spec, opcode, flow) else { return Ok(Found::Undescribed) };
        if built.encode(&mut self.frame).is_err() || self.frame != data {
            return Ok(Found::Undescribed);
        }
        flow.sent(Way::Forth, &built);
        Ok(Found::Entry(Box::new(spec)))
    }

    /// The place of a packet's flow, which is written when it is new. None if there are too many.
    fn flow(
        &mut self,
        ethernet: Option<&Ethernet>,
        carried: &Carried<'_>,
        packet: &RawPacket<'_>,
    ) -> Result<Option<usize>, DescribeError> {
        let bth = packet.bth.unwrap_or_default();
        let common = common(carried.carrier);
        let mut key = Vec::new();
        if let Some(ethernet) = ethernet {
            ethernet.put(0, &mut key);
        }
        let at = key.len();
        key.resize(at + common.header_length(), 0);
        let _ = common.encode(key.get_mut(at..).unwrap_or_default());
        key.extend_from_slice(&bth.destination.value().to_be_bytes());
        if let Some(index) = self.keys.get(&key) {
            return Ok(Some(*index));
        }
        if self.flows.len() >= MOST_FLOWS {
            return Ok(None);
        }
        let (from, to) = ends(ethernet, &common);
        let names = (self.host(&from, &common)?, self.host(&to, &common)?);
        let Some(mut spec) = flow_spec(ethernet, &common, &from, &to) else { return Ok(None) };
        (spec.from, spec.to) = names.clone();
        spec.to_qpn = Some(Given(bth.destination));
        spec.from_qpn = packet.headers.deth.map(|deth| Given(deth.source)).or(Some(Given(Qpn::new(0))));
        spec.from_psn = Some(Given(bth.psn));
        spec.partition_key = Some(Given(bth.partition_key)).filter(|key| key.0 != Default::default());
        spec.migrated = Some(bth.migrated).filter(|migrated| *migrated);
        spec.queue_key = packet.headers.deth.map(|deth| Given(deth.queue_key));
        let hosts = BTreeMap::from([(&*names.0, from), (&*names.1, to)]);
        let Ok(flow) = build::flow(&spec, &hosts) else { return Ok(None) };
        let index = self.flows.len();
        self.table(&format!("[flow.{}]", flow_name(index)), &spec)?;
        self.keys.insert(key, index);
        self.flows.push(flow);
        Ok(Some(index))
    }

    /// The name of a host, written when it is new.
    fn host(&mut self, host: &Host, carrier: &Carrier) -> io::Result<String> {
        let address = match carrier {
            Carrier::RoceV2Ipv4(..) | Carrier::RoceV2Ipv6(..) => Address::Ip(host.ip),
            Carrier::RoceV1(_) | Carrier::Native(..) => Address::Gid(host.gid),
        };
        let key = (host.mac, address, host.lid);
        if let Some(name) = self.hosts.get(&key) {
            return Ok(name.clone());
        }
        let name = format!("h{}", self.hosts.len() + 1);
        let is_native = matches!(carrier, Carrier::Native(..));
        let spec = HostSpec {
            mac: (!is_native).then_some(Given(host.mac)),
            ip: matches!(address, Address::Ip(_)).then_some(Given(host.ip)),
            gid: matches!(address, Address::Gid(_)).then_some(Given(host.gid)),
            lid: is_native.then_some(Given(host.lid)),
        };
        self.table(&format!("[host.{name}]"), &spec)?;
        self.hosts.insert(key, name.clone());
        Ok(name)
    }
}

fn flow_name(index: usize) -> String {
    format!("f{}", index + 1)
}

/// The carrier without what differs from packet to packet.
fn common(carrier: Carrier) -> Carrier {
    let udp = |udp: UdpHeader| UdpHeader { length: 0, checksum: 0, ..udp };
    match carrier {
        Carrier::RoceV2Ipv4(ip, header) => {
            let ip = Ipv4Header { total_length: 0, identification: 0, checksum: 0, ..ip };
            Carrier::RoceV2Ipv4(ip, udp(header))
        }
        Carrier::RoceV2Ipv6(ip, header) => {
            Carrier::RoceV2Ipv6(Ipv6Header { payload_length: 0, ..ip }, udp(header))
        }
        Carrier::RoceV1(grh) => Carrier::RoceV1(rdmalab_wire::Grh { payload_length: 0, ..grh }),
        Carrier::Native(lrh, grh) => Carrier::Native(
            rdmalab_wire::Lrh { packet_length: 0, ..lrh },
            grh.map(|grh| rdmalab_wire::Grh { payload_length: 0, ..grh }),
        ),
    }
}

fn ethernet(frame: &Frame<'_>, data: &[u8]) -> Ethernet {
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

/// What of the Ethernet header does not follow from the flow: kinds of tags other than a customer's.
fn ethernet_spec(ethernet: &Ethernet, _: &Carried<'_>) -> Option<EthernetSpec> {
    let is_customers = |ethertype: &u16| *ethertype == rdmalab_wire::ethernet::ETHERTYPE_VLAN;
    let tag_ethertypes = &ethernet.tag_ethertypes;
    (!tag_ethertypes.iter().all(is_customers)).then(|| EthernetSpec {
        tag_ethertypes: tag_ethertypes.iter().copied().map(Given).collect(),
        ..EthernetSpec::default()
    })
}

/// Both hosts of a carrier.
fn ends(ethernet: Option<&Ethernet>, carrier: &Carrier) -> (Host, Host) {
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
fn flow_spec(ethernet: Option<&Ethernet>, carrier: &Carrier, from: &Host, to: &Host) -> Option<FlowSpec> {
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

fn describe_payload(spec: &mut PacketSpec, packet: &RawPacket<'_>, flow: &Flow) {
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

fn describe_headers(spec: &mut PacketSpec, packet: &RawPacket<'_>, flow: &Flow) {
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
fn describe_carrier(spec: &mut PacketSpec, carried: &Carried<'_>, flow: &Flow) -> bool {
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
