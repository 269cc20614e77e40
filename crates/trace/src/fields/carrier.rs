//! The fields of what carries an InfiniBand packet, where it is not IP, and of flow control.

use core::net::Ipv6Addr;

use rdmalab_wire::{Carrier, Grh, Lrh, Pause};

use super::{Value, Visitor};
use crate::dissect::Vcrc;

/// The headers in front of the base header; those of IP have been.
pub(super) fn headers<E>(carrier: &Carrier, each: Visitor<'_, E>) -> Result<(), E> {
    match carrier {
        Carrier::RoceV2Ipv4(_, udp) | Carrier::RoceV2Ipv6(_, udp) => super::upper::udp(udp, each),
        Carrier::RoceV1(grh) => self::grh(grh, each),
        Carrier::Native(lrh, grh) => {
            self::lrh(lrh, each)?;
            grh.as_ref().map_or(Ok(()), |grh| self::grh(grh, each))
        }
    }
}

pub(super) fn lrh<E>(lrh: &Lrh, each: Visitor<'_, E>) -> Result<(), E> {
    each("infiniband.lrh.vl", Value::Hex(lrh.virtual_lane.into(), 2))?;
    each("infiniband.lrh.lver", Value::Number(lrh.link_version.into()))?;
    each("infiniband.lrh.sl", Value::Number(lrh.service_level.into()))?;
    each("infiniband.lrh.reserved2", Value::Number(lrh.reserved_2.into()))?;
    each("infiniband.lrh.lnh", Value::Hex(lrh.next_header.bits().into(), 2))?;
    each("infiniband.lrh.dlid", Value::Number(lrh.destination.into()))?;
    each("infiniband.lrh.reserved5", Value::Number(lrh.reserved_5.into()))?;
    each("infiniband.lrh.pktlen", Value::Number(lrh.packet_length.into()))?;
    each("infiniband.lrh.slid", Value::Number(lrh.source.into()))
}

fn grh<E>(grh: &Grh, each: Visitor<'_, E>) -> Result<(), E> {
    each("infiniband.grh.ipver", Value::Number(grh.version.into()))?;
    each("infiniband.grh.tclass", Value::Number(grh.traffic_class.into()))?;
    each("infiniband.grh.flowlabel", Value::Number(grh.flow_label.into()))?;
    each("infiniband.grh.paylen", Value::Number(grh.payload_length.into()))?;
    each("infiniband.grh.nxthdr", Value::Number(grh.next_header.into()))?;
    each("infiniband.grh.hoplmt", Value::Number(grh.hop_limit.into()))?;
    each("infiniband.grh.sgid", Value::Ipv6(Ipv6Addr::from_octets(grh.source.0)))?;
    each("infiniband.grh.dgid", Value::Ipv6(Ipv6Addr::from_octets(grh.destination.0)))
}

pub(super) fn vcrc<E>(vcrc: Vcrc, each: Visitor<'_, E>) -> Result<(), E> {
    if let Vcrc::Right { found } | Vcrc::Wrong { found, .. } = vcrc {
        each("infiniband.variant.crc", Value::Hex(found.into(), 4))?;
    }
    match vcrc {
        Vcrc::Right { .. } => each("rdmalab.vcrc", Value::Text("ok")),
        Vcrc::Wrong { expected, found } => {
            each("rdmalab.vcrc", Value::Text("bad"))?;
            each("rdmalab.vcrc.expected", Value::Hex(expected.into(), 4))?;
            each("rdmalab.vcrc.found", Value::Hex(found.into(), 4))
        }
        Vcrc::Absent => each("rdmalab.vcrc", Value::Text("absent")),
    }
}

/// By priority: Wireshark's names of the flag and of the time.
const PRIORITIES: [[&str; 2]; 8] = [
    ["macc.cbfc.enbv.c0", "macc.cbfc.pause_time.c0"],
    ["macc.cbfc.enbv.c1", "macc.cbfc.pause_time.c1"],
    ["macc.cbfc.enbv.c2", "macc.cbfc.pause_time.c2"],
    ["macc.cbfc.enbv.c3", "macc.cbfc.pause_time.c3"],
    ["macc.cbfc.enbv.c4", "macc.cbfc.pause_time.c4"],
    ["macc.cbfc.enbv.c5", "macc.cbfc.pause_time.c5"],
    ["macc.cbfc.enbv.c6", "macc.cbfc.pause_time.c6"],
    ["macc.cbfc.enbv.c7", "macc.cbfc.pause_time.c7"],
];

pub(super) fn pause<E>(pause: &Pause, each: Visitor<'_, E>) -> Result<(), E> {
    let priorities = match pause {
        Pause::Link { time } => {
            each("macc.opcode", Value::Hex(0x0001, 4))?;
            return each("macc.pause_time", Value::Number((*time).into()));
        }
        Pause::Priorities(priorities) => priorities,
    };
    each("macc.opcode", Value::Hex(0x0101, 4))?;
    let vector = u16::from_be_bytes([priorities.reserved, priorities.enabled]);
    each("macc.cbfc.enbv", Value::Hex(vector.into(), 4))?;
    for (priority, [flag, _]) in PRIORITIES.iter().enumerate() {
        each(flag, Value::Flag(priorities.enabled >> priority & 1 == 1))?;
    }
    for ([_, name], time) in PRIORITIES.iter().zip(priorities.times) {
        each(name, Value::Number(time.into()))?;
    }
    Ok(())
}
