//! The fields of a packet by Wireshark's names; where Wireshark has none, ours, which begin with `rdmalab.`.
//!
//! One walk over a dissection names every field once, in the order of the wire. Values are printed as
//! Wireshark prints them, so that programs that read one can read the other.

mod carrier;
mod iwarp;
mod mad;
mod roce;
mod upper;

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

use rdmalab_wire::EthernetAddress;

use crate::dissect::{Content, Cooked, Dissection, Network, StandIn};
use crate::line::since_first;
use crate::record::{Direction, Record};
use crate::streams::IwarpUnit;

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A number that is printed in decimal.
    Number(u64),
    /// A number of more bits than JSON's readers keep, printed in decimal.
    Wide(u64),
    /// A number that is printed in hexadecimal with so many digits.
    Hex(u64, u8),
    /// A flag, 0 or 1.
    Flag(bool),
    /// Nanoseconds that are printed as seconds with nine decimals.
    Time(i128),
    /// An Ethernet address.
    Ethernet(EthernetAddress),
    /// An IPv4 address.
    Ipv4(Ipv4Addr),
    /// An IPv6 address.
    Ipv6(Ipv6Addr),
    /// Bytes, printed in hexadecimal with colons between.
    Bytes(&'a [u8]),
    /// Text.
    Text(&'a str),
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Value::Number(number) | Value::Wide(number) => number.fmt(f),
            Value::Hex(number, digits) => write!(f, "0x{number:0width$x}", width = usize::from(digits)),
            Value::Flag(flag) => u8::from(flag).fmt(f),
            Value::Time(nanoseconds) => {
                let sign = if nanoseconds < 0 { "-" } else { "" };
                let size = nanoseconds.unsigned_abs();
                write!(f, "{sign}{}.{:09}", size / 1_000_000_000, size % 1_000_000_000)
            }
            Value::Ethernet(address) => address.fmt(f),
            Value::Ipv4(address) => address.fmt(f),
            Value::Ipv6(address) => address.fmt(f),
            Value::Bytes(bytes) => {
                let mut separator = "";
                bytes.iter().try_for_each(|byte| {
                    let result = write!(f, "{separator}{byte:02x}");
                    separator = ":";
                    result
                })
            }
            Value::Text(text) => f.write_str(text),
        }
    }
}

/// Who is told of the fields; stops the walk by an error.
pub(crate) type Visitor<'v, E> = &'v mut dyn FnMut(&'static str, Value<'_>) -> Result<(), E>;

/// Names every field of a packet, then those of what it completed of iWARP, one behind the other: only their names may come
/// more than once.
pub(crate) fn walk<E>(
    record: &Record<'_>,
    dissection: &Dissection<'_>,
    first: Option<i128>,
    each: Visitor<'_, E>,
) -> Result<(), E> {
    walk_packet(record, dissection, first, each)?;
    dissection.iwarp.iter().try_for_each(|unit| iwarp::walk(unit, each))
}

/// Names every field of one thing of iWARP's.
pub(crate) fn walk_unit<E>(unit: &IwarpUnit, each: Visitor<'_, E>) -> Result<(), E> {
    iwarp::walk(unit, each)
}

/// Names every field of a packet, each once, but those of iWARP.
pub(crate) fn walk_packet<E>(
    record: &Record<'_>,
    dissection: &Dissection<'_>,
    first: Option<i128>,
    each: Visitor<'_, E>,
) -> Result<(), E> {
    frame(record, first, each)?;
    link(dissection, each)?;
    match &dissection.network {
        Some(Network::V4 { header, header_length }) => {
            each("ip.version", Value::Number(4))?;
            each("ip.hdr_len", Value::Number(u64::from(*header_length)))?;
            each("ip.dsfield.dscp", Value::Number(header.dscp.into()))?;
            each("ip.dsfield.ecn", Value::Number(header.ecn.bits().into()))?;
            each("ip.len", Value::Number(header.total_length.into()))?;
            each("ip.id", Value::Hex(header.identification.into(), 4))?;
            each("ip.flags.rb", Value::Flag(header.reserved_flag))?;
            each("ip.flags.df", Value::Flag(header.dont_fragment))?;
            each("ip.flags.mf", Value::Flag(header.more_fragments))?;
            each("ip.frag_offset", Value::Number(u64::from(header.fragment_offset) * 8))?;
            each("ip.ttl", Value::Number(header.ttl.into()))?;
            each("ip.proto", Value::Number(header.protocol.into()))?;
            each("ip.checksum", Value::Hex(header.checksum.into(), 4))?;
            each("ip.src", Value::Ipv4(header.source))?;
            each("ip.dst", Value::Ipv4(header.destination))?;
        }
        Some(Network::V6(header)) => {
            each("ipv6.version", Value::Number(6))?;
            each("ipv6.tclass.dscp", Value::Number(header.dscp.into()))?;
            each("ipv6.tclass.ecn", Value::Number(header.ecn.bits().into()))?;
            each("ipv6.flow", Value::Hex(header.flow_label.into(), 6))?;
            each("ipv6.plen", Value::Number(header.payload_length.into()))?;
            each("ipv6.nxt", Value::Number(header.next_header.into()))?;
            each("ipv6.hlim", Value::Number(header.hop_limit.into()))?;
            each("ipv6.src", Value::Ipv6(header.source))?;
            each("ipv6.dst", Value::Ipv6(header.destination))?;
        }
        None => {}
    }
    match &dissection.content {
        Content::Roce(packet) => roce::walk(packet, each)?,
        Content::RawLink { lrh, .. } => carrier::lrh(lrh, each)?,
        Content::Pause(pause) => carrier::pause(pause, each)?,
        content => upper::walk(content, each)?,
    }
    if dissection.cut {
        each("rdmalab.cut", Value::Flag(true))?;
    }
    match &dissection.malformed {
        Some(malformed) => each("rdmalab.malformed", Value::Text(&malformed.to_string())),
        None => Ok(()),
    }
}

fn frame<E>(record: &Record<'_>, first: Option<i128>, each: Visitor<'_, E>) -> Result<(), E> {
    each("frame.number", Value::Number(record.frame))?;
    if let Some(time) = record.time {
        each("frame.time_epoch", Value::Time(time))?;
    }
    if let Some(time) = since_first(record, first) {
        each("frame.time_relative", Value::Time(time))?;
    }
    each("frame.len", Value::Number(record.original_length.into()))?;
    each("frame.cap_len", Value::Number(record.data.len() as u64))?;
    if let Some(name) = record.interface_name {
        each("frame.interface_id", Value::Number(record.interface.into()))?;
        each("frame.interface_name", Value::Text(name))?;
    }
    match record.direction {
        Some(Direction::In) => each("frame.packet_flags_direction", Value::Hex(1, 8))?,
        Some(Direction::Out) => each("frame.packet_flags_direction", Value::Hex(2, 8))?,
        None => {}
    }
    // A name may stand only once in an object: several comments are one text of several lines.
    let mut comments = record.comments;
    if let Some(first) = comments.next() {
        let text = comments.fold(first.into_owned(), |text, comment| text + "\n" + &comment);
        each("frame.comment", Value::Text(&text))?;
    }
    Ok(())
}

fn link<E>(dissection: &Dissection<'_>, each: Visitor<'_, E>) -> Result<(), E> {
    if let Some(header) = &dissection.ethernet {
        each("eth.dst", Value::Ethernet(header.destination))?;
        each("eth.src", Value::Ethernet(header.source))?;
    }
    match &dissection.stand_in {
        Some(StandIn::Cooked(header)) => cooked(header, each)?,
        Some(StandIn::Family { number, .. }) if *number < 0x0600 || *number > 0xffff => {
            each("null.family", Value::Number((*number).into()))?;
        }
        Some(StandIn::Family { number, .. }) => each("null.type", Value::Hex((*number).into(), 4))?,
        None => {}
    }
    // Wireshark gives all tags one name; the innermost one keeps it here.
    let (outer, middle, inner) = match &dissection.vlan {
        [one, None, _] => (&None, &None, one),
        [outer, inner, None] => (outer, &None, inner),
        [outer, middle, inner] => (outer, middle, inner),
    };
    if let Some(tag) = outer {
        each("rdmalab.outer_vlan.priority", Value::Number(tag.priority.into()))?;
        each("rdmalab.outer_vlan.dei", Value::Flag(tag.drop_eligible))?;
        each("rdmalab.outer_vlan.id", Value::Number(tag.id.into()))?;
    }
    if let Some(tag) = middle {
        each("rdmalab.middle_vlan.priority", Value::Number(tag.priority.into()))?;
        each("rdmalab.middle_vlan.dei", Value::Flag(tag.drop_eligible))?;
        each("rdmalab.middle_vlan.id", Value::Number(tag.id.into()))?;
    }
    if let Some(tag) = inner {
        each("vlan.priority", Value::Number(tag.priority.into()))?;
        each("vlan.dei", Value::Flag(tag.drop_eligible))?;
        each("vlan.id", Value::Number(tag.id.into()))?;
    }
    match (dissection.ethertype, inner) {
        (Some(ethertype), None) if dissection.ethernet.is_some() => {
            each("eth.type", Value::Hex(ethertype.into(), 4))
        }
        (Some(ethertype), Some(_)) => each("vlan.etype", Value::Hex(ethertype.into(), 4)),
        _ => Ok(()),
    }
}

fn cooked<E>(header: &Cooked, each: Visitor<'_, E>) -> Result<(), E> {
    if let Some(interface) = header.interface {
        each("sll.ifindex", Value::Number(interface.into()))?;
    }
    each("sll.pkttype", Value::Number(header.packet_type.into()))?;
    each("sll.hatype", Value::Number(header.hardware.into()))?;
    each("sll.halen", Value::Number(header.address_length.into()))?;
    let (sender, unused) = header.sender();
    match (sender, header.ethernet_sender()) {
        ([], _) => {}
        (_, Some(address)) => each("sll.src.eth", Value::Ethernet(address))?,
        ([a, b, c, d], _) => each("sll.src.ipv4", Value::Ipv4(Ipv4Addr::new(*a, *b, *c, *d)))?,
        (other, _) => each("sll.src.other", Value::Bytes(other))?,
    }
    if !unused.is_empty() {
        each("sll.unused", Value::Bytes(unused))?;
    }
    let name = if header.is_gre() {
        "sll.gretype"
    } else if header.has_ethertype() {
        "sll.etype"
    } else {
        "sll.ltype"
    };
    each(name, Value::Hex(header.protocol.into(), 4))
}
