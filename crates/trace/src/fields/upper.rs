//! The fields of what is not RoCE: enough to find and follow it, not all there are.

use etherparse::{ArpPacketSlice, Icmpv4Type, Icmpv6Type, TcpSlice};
use rdmalab_wire::{EthernetAddress, UdpHeader};

use super::{Value, Visitor};
use crate::dissect::Content;
use crate::line::neighbor_target;

pub(super) fn walk<E>(content: &Content<'_>, each: Visitor<'_, E>) -> Result<(), E> {
    match content {
        Content::Udp(header) => udp(header, each),
        Content::Tcp { tcp: header, length, .. } => tcp(header, *length, each),
        Content::Arp(packet) => arp(packet, each),
        Content::Icmp { icmp, .. } => {
            each("icmp.type", Value::Number(icmp.type_u8().into()))?;
            each("icmp.code", Value::Number(icmp.code_u8().into()))?;
            if let Icmpv4Type::EchoRequest(echo) | Icmpv4Type::EchoReply(echo) = icmp.icmp_type() {
                each("icmp.ident", Value::Number(echo.id.into()))?;
                each("icmp.seq", Value::Number(echo.seq.into()))?;
            }
            Ok(())
        }
        Content::Icmpv6 { icmp, .. } => {
            each("icmpv6.type", Value::Number(icmp.type_u8().into()))?;
            each("icmpv6.code", Value::Number(icmp.code_u8().into()))?;
            if let Icmpv6Type::EchoRequest(echo) | Icmpv6Type::EchoReply(echo) = icmp.icmp_type() {
                each("icmpv6.echo.identifier", Value::Hex(echo.id.into(), 4))?;
                each("icmpv6.echo.sequence_number", Value::Number(echo.seq.into()))?;
            }
            match (neighbor_target(icmp), icmp.type_u8()) {
                (Some(target), etherparse::icmpv6::TYPE_NEIGHBOR_SOLICITATION) => {
                    each("icmpv6.nd.ns.target_address", Value::Ipv6(target))
                }
                (Some(target), _) => each("icmpv6.nd.na.target_address", Value::Ipv6(target)),
                (None, _) => Ok(()),
            }
        }
        Content::Roce(_)
        | Content::RawLink { .. }
        | Content::Pause(_)
        | Content::Unknown
        | Content::Link(_)
        | Content::Ethertype { .. }
        | Content::Ieee8023 { .. }
        | Content::Fragment { .. }
        | Content::LinkProtocol { .. }
        | Content::Ip { .. } => Ok(()),
    }
}

pub(super) fn udp<E>(udp: &UdpHeader, each: Visitor<'_, E>) -> Result<(), E> {
    each("udp.srcport", Value::Number(udp.source_port.into()))?;
    each("udp.dstport", Value::Number(udp.destination_port.into()))?;
    each("udp.length", Value::Number(udp.length.into()))?;
    each("udp.checksum", Value::Hex(udp.checksum.into(), 4))
}

fn tcp<E>(tcp: &TcpSlice<'_>, length: usize, each: Visitor<'_, E>) -> Result<(), E> {
    each("tcp.srcport", Value::Number(tcp.source_port().into()))?;
    each("tcp.dstport", Value::Number(tcp.destination_port().into()))?;
    each("tcp.len", Value::Number(length as u64))?;
    each("tcp.seq_raw", Value::Number(tcp.sequence_number().into()))?;
    each("tcp.ack_raw", Value::Number(tcp.acknowledgment_number().into()))?;
    each("tcp.hdr_len", Value::Number(tcp.header_slice().len() as u64))?;
    each("tcp.flags.cwr", Value::Flag(tcp.cwr()))?;
    each("tcp.flags.ece", Value::Flag(tcp.ece()))?;
    each("tcp.flags.urg", Value::Flag(tcp.urg()))?;
    each("tcp.flags.ack", Value::Flag(tcp.ack()))?;
    each("tcp.flags.push", Value::Flag(tcp.psh()))?;
    each("tcp.flags.reset", Value::Flag(tcp.rst()))?;
    each("tcp.flags.syn", Value::Flag(tcp.syn()))?;
    each("tcp.flags.fin", Value::Flag(tcp.fin()))?;
    each("tcp.window_size_value", Value::Number(tcp.window_size().into()))?;
    each("tcp.checksum", Value::Hex(tcp.checksum().into(), 4))
}

fn arp<E>(arp: &ArpPacketSlice<'_>, each: Visitor<'_, E>) -> Result<(), E> {
    each("arp.opcode", Value::Number(arp.operation().0.into()))?;
    let ends = [
        ("arp.src.hw_mac", arp.sender_hw_addr(), "arp.src.proto_ipv4", arp.sender_protocol_addr()),
        ("arp.dst.hw_mac", arp.target_hw_addr(), "arp.dst.proto_ipv4", arp.target_protocol_addr()),
    ];
    for (hardware_name, hardware, protocol_name, protocol) in ends {
        if let Ok(address) = <[u8; 6]>::try_from(hardware) {
            each(hardware_name, Value::Ethernet(EthernetAddress(address)))?;
        }
        if let Ok(address) = <[u8; 4]>::try_from(protocol) {
            each(protocol_name, Value::Ipv4(address.into()))?;
        }
    }
    Ok(())
}
