//! One line per packet, for people and for grep.
//!
//! ```text
//! NUMBER SECONDS SOURCE > DESTINATION [vlan=] [dscp=] [ecn=] WHAT [ [what is wrong] ] [# comment]
//! ```
//!
//! WHAT of an InfiniBand packet is what carries it (`RoCE` for RoCE v2, `RoCE v1`, `IB`), the packet as
//! `rdmalab-wire` writes it, the destination queue pair, the management datagram if it is one, and the verdict on
//! the ICRC, on a native link also on the VCRC. What a TCP segment completed of iWARP follows it, each behind ` | `.
//! Seconds count from the first packet, with nine decimals if the capture's clock
//! ticks finer than microseconds, otherwise with six.

pub(crate) mod quick;

use core::fmt::{self, Display, Formatter};

use etherparse::icmpv6::{TYPE_NEIGHBOR_ADVERTISEMENT, TYPE_NEIGHBOR_SOLICITATION};
use etherparse::{ArpOperation, ArpPacketSlice, Icmpv4Slice, Icmpv4Type, Icmpv6Slice, Icmpv6Type};
use etherparse::{IpNumber, TcpSlice};
use rdmalab_wire::{Ecn, EthernetAddress};

use crate::dissect::{Content, Dissection, Fragment, Network, Roce, StandIn};
use crate::record::Record;

/// One packet as one line, without the line's end. `{:#}` leaves out what aligns lines with each other.
#[derive(Clone, Copy, Debug)]
pub struct Line<'r, 'a> {
    record: &'r Record<'a>,
    dissection: &'r Dissection<'a>,
    /// Nanoseconds since the first packet.
    since_first: Option<i128>,
}

impl<'r, 'a> Line<'r, 'a> {
    /// The line of a record; `first` is the time of the capture's first packet, in nanoseconds.
    pub fn new(record: &'r Record<'a>, dissection: &'r Dissection<'a>, first: Option<i128>) -> Line<'r, 'a> {
        Line { record, dissection, since_first: since_first(record, first) }
    }

    /// Of the line only who sends to whom, as in `10.9.0.1 > 10.9.0.2`.
    pub fn addresses(&self) -> impl Display {
        Part(self, |line, f| addresses(f, line.dissection))
    }

    /// Of the line only what follows the addresses.
    pub fn what(&self) -> impl Display {
        Part(self, Line::write_what)
    }

    fn write_what(&self, f: &mut Formatter<'_>) -> fmt::Result {
        tags(f, self.dissection)?;
        content(f, self.dissection)?;
        if self.dissection.cut && self.dissection.roce().is_none() {
            f.write_str(" [cut: snap length]")?;
        }
        if let Some(malformed) = &self.dissection.malformed {
            write!(f, " [{malformed}]")?;
        }
        for comment in self.record.comments {
            f.write_str(" # ")?;
            comment.chars().try_for_each(|c| {
                if c.is_control() {
                    write!(f, "{}", c.escape_default())
                } else {
                    fmt::Write::write_char(f, c)
                }
            })?;
        }
        Ok(())
    }
}

/// A part of a line.
struct Part<'l, 'r, 'a>(&'l Line<'r, 'a>, fn(&Line<'r, 'a>, &mut Formatter<'_>) -> fmt::Result);

impl Display for Part<'_, '_, '_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        (self.1)(self.0, f)
    }
}

/// Nanoseconds from the first packet to this one.
pub(crate) fn since_first(record: &Record<'_>, first: Option<i128>) -> Option<i128> {
    record.time?.checked_sub(first?)
}

impl Display for Line<'_, '_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let width = if f.alternate() { 0 } else { 5 };
        write!(f, "{:>width$} ", self.record.frame)?;
        let decimals = if self.record.finer_than_microseconds { 9 } else { 6 };
        match self.since_first {
            Some(nanoseconds) => Seconds { nanoseconds, decimals }.fmt(f)?,
            None => f.write_str("-")?,
        }
        addresses(f, self.dissection)?;
        self.write_what(f)
    }
}

/// Seconds with so many decimals, right-aligned for captures of some hours.
struct Seconds {
    nanoseconds: i128,
    decimals: usize,
}

impl Display for Seconds {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sign = if self.nanoseconds < 0 { "-" } else { "" };
        // Division of 64 bits is several times faster than that of 128, and suffices for all sane captures.
        let (seconds, rest) = match u64::try_from(self.nanoseconds.unsigned_abs()) {
            Ok(nanoseconds) => (u128::from(nanoseconds / 1_000_000_000), nanoseconds % 1_000_000_000),
            Err(_) => {
                let nanoseconds = self.nanoseconds.unsigned_abs();
                (nanoseconds / 1_000_000_000, (nanoseconds % 1_000_000_000) as u64)
            }
        };
        let width = if f.alternate() { 0 } else { 4 - sign.len() };
        if self.decimals == 6 {
            write!(f, "{sign}{seconds:>width$}.{:06}", rest / 1_000)
        } else {
            write!(f, "{sign}{seconds:>width$}.{rest:09}")
        }
    }
}

fn addresses(f: &mut Formatter<'_>, dissection: &Dissection<'_>) -> fmt::Result {
    if let (None, Some(Roce { carrier, .. })) = (&dissection.network, dissection.roce()) {
        return write!(f, " {} > {}", carrier.source(), carrier.destination());
    }
    if let Content::RawLink { lrh, .. } = &dissection.content {
        return write!(f, " lid:{:#06x} > lid:{:#06x}", lrh.source, lrh.destination);
    }
    match (&dissection.network, &dissection.ethernet) {
        (Some(Network::V4 { header, .. }), _) => {
            write!(f, " {} > {}", header.source, header.destination)
        }
        (Some(Network::V6(header)), _) => write!(f, " {} > {}", header.source, header.destination),
        (None, Some(header)) => write!(f, " {} > {}", header.source, header.destination),
        (None, None) => {
            let Some(StandIn::Cooked(cooked)) = dissection.stand_in else { return f.write_str(" ? > ?") };
            match cooked.ethernet_sender() {
                Some(sender) => write!(f, " {sender} > ?"),
                None => f.write_str(" ? > ?"),
            }
        }
    }
}

fn tags(f: &mut Formatter<'_>, dissection: &Dissection<'_>) -> fmt::Result {
    for tag in dissection.vlan.iter().flatten() {
        write!(f, " vlan={}", tag.id)?;
        if tag.priority != 0 {
            write!(f, " priority={}", tag.priority)?;
        }
    }
    let (dscp, ecn) = match &dissection.network {
        Some(Network::V4 { header, .. }) => (header.dscp, header.ecn),
        Some(Network::V6(header)) => (header.dscp, header.ecn),
        None => {
            return match dissection.roce().and_then(|roce| roce.traffic_class()) {
                Some(class) if class != 0 => write!(f, " tclass={class}"),
                _ => Ok(()),
            };
        }
    };
    if dscp != 0 {
        write!(f, " dscp={dscp}")?;
    }
    match ecn {
        Ecn::NotEct => Ok(()),
        Ecn::Ect0 => f.write_str(" ecn=ect0"),
        Ecn::Ect1 => f.write_str(" ecn=ect1"),
        Ecn::Ce => f.write_str(" ecn=ce"),
    }
}

fn content(f: &mut Formatter<'_>, dissection: &Dissection<'_>) -> fmt::Result {
    match &dissection.content {
        Content::Roce(packet) => roce(f, packet),
        Content::Tcp { tcp: header, length, .. } => {
            tcp(f, header, *length)?;
            dissection.iwarp.iter().try_for_each(|unit| write!(f, " | {unit}"))
        }
        Content::Pause(pause) => write!(f, " {pause}"),
        Content::RawLink { length, .. } => write!(f, " IB raw len={length}"),
        Content::Udp(udp) => {
            let length = udp.length.saturating_sub(8);
            write!(f, " UDP {} > {} len={length}", udp.source_port, udp.destination_port)
        }
        Content::Arp(packet) => arp(f, packet),
        Content::Icmp { icmp: message, length } => icmp(f, message, *length),
        Content::Icmpv6 { icmp: message, length } => icmpv6(f, message, *length),
        Content::Fragment { fragment: Fragment { protocol, offset, .. }, length } => {
            write!(f, " IP fragment protocol={protocol} offset={offset} len={length}")
        }
        Content::Ip { protocol, length } => match IpNumber(*protocol).keyword_str() {
            Some(name) => write!(f, " {name} len={length}"),
            None => write!(f, " IP protocol {protocol} len={length}"),
        },
        Content::Ethertype { ethertype, length } => match ethertype {
            0x88cc => write!(f, " LLDP len={length}"),
            0x8808 => write!(f, " MAC control len={length}"),
            _ => write!(f, " EtherType {ethertype:#06x} len={length}"),
        },
        Content::LinkProtocol { protocol, length } => {
            write!(f, " link protocol {protocol:#06x} len={length}")
        }
        Content::Ieee8023 { length } => write!(f, " IEEE 802.3 len={length}"),
        Content::Link(link_type) => write!(f, " {link_type}, not taken apart"),
        Content::Unknown => Ok(()),
    }
}

fn roce(f: &mut Formatter<'_>, roce: &Roce<'_>) -> fmt::Result {
    let mut packet = roce.packet;
    // Told at the end of the line, where everything that is wrong is told.
    packet.error = None;
    write!(f, " {} {packet}", roce.carrier_name())?;
    if let Some(bth) = &packet.bth {
        write!(f, " qp={}", bth.destination)?;
    }
    if let Some(mad) = roce.mad() {
        write!(f, " {mad}")?;
    }
    write!(f, " {}", roce.icrc)?;
    if let Some(vcrc) = roce.vcrc {
        write!(f, " {vcrc}")?;
    }
    if packet.payload.len() < roce.payload_length {
        write!(f, " [{} of {} payload bytes captured]", packet.payload.len(), roce.payload_length)?;
    }
    Ok(())
}

fn tcp(f: &mut Formatter<'_>, tcp: &TcpSlice<'_>, length: usize) -> fmt::Result {
    write!(f, " TCP {} > {} ", tcp.source_port(), tcp.destination_port())?;
    let flags = [
        (tcp.syn(), "SYN"),
        (tcp.fin(), "FIN"),
        (tcp.rst(), "RST"),
        (tcp.psh(), "PSH"),
        (tcp.ack(), "ACK"),
        (tcp.urg(), "URG"),
        (tcp.ece(), "ECE"),
        (tcp.cwr(), "CWR"),
    ];
    let mut separator = "";
    for (_, name) in flags.iter().filter(|(set, _)| *set) {
        write!(f, "{separator}{name}")?;
        separator = ",";
    }
    write!(f, "{}seq={}", if separator.is_empty() { "" } else { " " }, tcp.sequence_number())?;
    if tcp.ack() {
        write!(f, " ack={}", tcp.acknowledgment_number())?;
    }
    write!(f, " win={} len={length}", tcp.window_size())
}

fn arp(f: &mut Formatter<'_>, arp: &ArpPacketSlice<'_>) -> fmt::Result {
    let ipv4 = |bytes: &[u8]| <[u8; 4]>::try_from(bytes).map(core::net::Ipv4Addr::from);
    let sender = (ipv4(arp.sender_protocol_addr()), <[u8; 6]>::try_from(arp.sender_hw_addr()));
    match (arp.operation(), sender, ipv4(arp.target_protocol_addr())) {
        (ArpOperation::REQUEST, (Ok(sender), _), Ok(target)) => {
            write!(f, " ARP who-has {target} tell {sender}")
        }
        (ArpOperation::REPLY, (Ok(sender), Ok(address)), _) => {
            write!(f, " ARP {sender} is-at {}", EthernetAddress(address))
        }
        (operation, ..) => write!(f, " ARP operation {}", operation.0),
    }
}

fn icmp(f: &mut Formatter<'_>, icmp: &Icmpv4Slice<'_>, length: usize) -> fmt::Result {
    match icmp.icmp_type() {
        Icmpv4Type::EchoRequest(echo) => {
            write!(f, " ICMP echo request id={} seq={} len={length}", echo.id, echo.seq)
        }
        Icmpv4Type::EchoReply(echo) => {
            write!(f, " ICMP echo reply id={} seq={} len={length}", echo.id, echo.seq)
        }
        Icmpv4Type::DestinationUnreachable(_) => {
            write!(f, " ICMP destination unreachable code={} len={length}", icmp.code_u8())
        }
        _ => write!(f, " ICMP type={} code={} len={length}", icmp.type_u8(), icmp.code_u8()),
    }
}

/// The target of a neighbour solicitation or advertisement.
pub(crate) fn neighbor_target(icmp: &Icmpv6Slice<'_>) -> Option<core::net::Ipv6Addr> {
    let of_neighbors = matches!(icmp.type_u8(), TYPE_NEIGHBOR_SOLICITATION | TYPE_NEIGHBOR_ADVERTISEMENT);
    icmp.payload().first_chunk::<16>().filter(|_| of_neighbors).map(|target| (*target).into())
}

fn icmpv6(f: &mut Formatter<'_>, icmp: &Icmpv6Slice<'_>, length: usize) -> fmt::Result {
    if let Some(target) = neighbor_target(icmp) {
        return match icmp.type_u8() {
            TYPE_NEIGHBOR_SOLICITATION => write!(f, " ICMPv6 neighbor solicitation who-has {target}"),
            _ => write!(f, " ICMPv6 neighbor advertisement {target} is here"),
        };
    }
    match icmp.icmp_type() {
        Icmpv6Type::EchoRequest(echo) => {
            write!(f, " ICMPv6 echo request id={} seq={} len={length}", echo.id, echo.seq)
        }
        Icmpv6Type::EchoReply(echo) => {
            write!(f, " ICMPv6 echo reply id={} seq={} len={length}", echo.id, echo.seq)
        }
        _ => {
            let name = match icmp.type_u8() {
                1 => "destination unreachable",
                133 => "router solicitation",
                134 => "router advertisement",
                143 => "multicast listener report",
                _ => {
                    return write!(f, " ICMPv6 type={} code={} len={length}", icmp.type_u8(), icmp.code_u8());
                }
            };
            write!(f, " ICMPv6 {name} len={length}")
        }
    }
}
