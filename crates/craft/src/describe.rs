//! From a capture to a description that crafts the same frames again.
//!
//! InfiniBand packets become typed entries that give only what differs from what would be computed; a packet is
//! only described so if crafting the entry gives the same bytes. Everything else is raw bytes. Entries are
//! written one by one; what is kept are the hosts and the flows, up to a limit.

use core::fmt;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use rdmalab_trace::{Direction, Dissection, LinkType, ReadError, Reader, Record};
use rdmalab_wire::{Address, Carried, Carrier, EthernetAddress, Frame, Qpn, RawPacket, pad_count};
use serde::Serialize;

use crate::build;
use crate::checksum::Checksum;
use crate::fields::{BthFields, Fields};
use crate::flow::{Flow, Host, Way};
use crate::limits::MOST_FLOWS;
use crate::packet::Ethernet;
use crate::payload::Payload;
use crate::spec::{HostSpec, PacketSpec, WayName};
use crate::value::{Bytes, Given, Time};

mod flow;
mod packet;

use flow::{common, ends, ethernet, flow_spec};

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
            link_type if link_type.is_bare_ip() => (None, Carried::in_ip(data)),
            LinkType::INFINIBAND => (None, Carried::in_link_packet(data).and_then(Result::ok)),
            // Descriptions have no header to put in its place.
            LinkType::LINUX_SLL | LinkType::LINUX_SLL2 | LinkType::NULL | LinkType::LOOP => {
                let is_roce = Dissection::of(record).roce().is_some();
                return Ok(if is_roce { Found::Undescribed } else { Found::Other });
            }
            _ => return Ok(Found::Other),
        };
        let Some(carried) = carried else { return Ok(Found::Other) };
        if record.is_cut() {
            return Ok(Found::Undescribed);
        }
        let raw = carried.packet();
        let (Some(opcode), Some(bth)) = (raw.opcode, raw.bth) else { return Ok(Found::Undescribed) };
        let index = self.flow(ethernet.as_ref(), &carried, &raw)?;
        let Some((index, flow)) = index.and_then(|index| Some((index, self.flows.get_mut(index)?))) else {
            return Ok(Found::Undescribed);
        };
        let mut spec = PacketSpec {
            flow: Some(flow_name(index)),
            opcode: Some(Given(opcode)),
            ethernet: ethernet.as_ref().and_then(packet::ethernet),
            link_type: (record.link_type.is_bare_ip() && record.link_type != LinkType::RAW_IP)
                .then_some(record.link_type.0),
            ..PacketSpec::default()
        };
        packet::payload(&mut spec, &raw, flow);
        packet::headers(&mut spec, &raw, flow);
        spec.bth = {
            // Its other fields follow from the flow, which has the first packet's.
            let mut computed = flow.packet(Way::Forth, opcode).bth;
            computed.pad_count = pad_count(raw.payload.len()) as u8;
            BthFields::difference_if_any(&bth, &computed)
        };
        let pads = usize::from(bth.pad_count);
        if raw.pad != vec![0; pad_count(raw.payload.len())] || raw.pad.len() != pads {
            spec.pad = Some(Given(Bytes(raw.pad.to_vec())));
        }
        let end = carried.offset + carried.ib.len() + carried.vcrc.map_or(0, |vcrc| vcrc.len());
        spec.trailer =
            data.get(end..).filter(|rest| !rest.is_empty()).map(|rest| Given(Bytes(rest.to_vec())));
        spec.icrc = match raw.icrc {
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
        if !packet::carrier(&mut spec, &carried, flow) {
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
