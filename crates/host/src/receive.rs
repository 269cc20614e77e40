//! Sorts received frames: RoCE v2 for the transport, ARP and NDP for the neighbour table, IP for the stack, and the
//! rest dropped with its reason.
//!
//! Pure: it looks at the frame and our addresses, keeps nothing, copies nothing. What it lets through is addressed to us
//! or, if it is RoCE, to a multicast group; it comes from where another host can be, is no fragment and as long as its IP header says (padding is cut off).
//! UDP port 4791 never gets past here into the IP stack, broken or not, so the stack cannot call it unreachable.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rdmalab_wire::ethernet::{
    ETHERTYPE_ARP, ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_SERVICE_VLAN, ETHERTYPE_VLAN,
};
use rdmalab_wire::{
    EthernetAddress, EthernetHeader, Ipv4Header, Ipv6Header, ROCE_V2_PORT, VlanTag, checksum,
};

use crate::addresses::Addresses;
use crate::counters::DropReason;
use crate::membership::mld;
use crate::ndp;
use crate::station::Station;

const ICMPV6: u8 = 58;
const IGMP: u8 = 2;
const IPV6_FRAGMENT: u8 = 44;
const IPV6_HOP_BY_HOP: u8 = 0;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// What a frame is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received<'f> {
    /// A RoCE v2 packet from the IP header on, and who on the link handed it to us.
    Roce { packet: &'f [u8], from: Sender },
    /// An ARP packet, perhaps with padding behind it.
    Arp(&'f [u8]),
    /// ICMPv6 neighbour discovery from the IPv6 header on, and the station it came from.
    Ndp { packet: &'f [u8], mac: EthernetAddress },
    /// What is behind the header of an IGMP packet, and the group it was sent to.
    Igmp { message: &'f [u8], destination: Ipv4Addr },
    /// An MLD question: its IP header, and what is behind the hop-by-hop options.
    Mld { header: Ipv6Header, message: &'f [u8] },
    /// Any other IP packet to one of our addresses. If it is TCP, where its TCP header begins.
    Ip { packet: &'f [u8], from: Sender, tcp_at: Option<usize> },
}

/// The two addresses a packet came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sender {
    pub(crate) mac: EthernetAddress,
    pub(crate) address: IpAddr,
}

/// To whom the Ethernet header was addressed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Audience {
    Us,
    Group,
}

/// Sorts one frame from its Ethernet header on, checksum (FCS) not included.
pub(crate) fn sort<'f>(
    own: &Station,
    addresses: &Addresses,
    frame: &'f [u8],
    is_joined: impl Fn(IpAddr) -> bool,
) -> Result<Received<'f>, DropReason> {
    let (header, mut rest) = frame.split_first_chunk().ok_or(DropReason::Malformed)?;
    let header = EthernetHeader::decode(header);
    let audience = match header.destination {
        destination if destination == own.mac => Audience::Us,
        destination if destination.is_multicast() => Audience::Group,
        _ => return Err(DropReason::OtherStation),
    };
    if header.source == own.mac {
        return Err(DropReason::FromOurselves);
    }
    if header.source.is_multicast() {
        return Err(DropReason::Malformed);
    }
    let (mut ethertype, mut vlan) = (header.ethertype, 0);
    if matches!(ethertype, ETHERTYPE_VLAN | ETHERTYPE_SERVICE_VLAN) {
        // A tag with identifier 0 only carries a priority (IEEE 802.1Q): the frame belongs to no VLAN.
        let (tag, behind) = rest.split_first_chunk().ok_or(DropReason::Malformed)?;
        let (tag, inner) = VlanTag::decode(tag);
        (ethertype, vlan, rest) = (inner, tag.id, behind);
    }
    if !own.is_in(vlan) {
        return Err(DropReason::OtherVlan);
    }
    match ethertype {
        ETHERTYPE_IPV4 => sort_ipv4(addresses, header.source, audience, rest, is_joined),
        ETHERTYPE_IPV6 => sort_ipv6(addresses, header.source, audience, rest, is_joined),
        ETHERTYPE_ARP => Ok(Received::Arp(rest)),
        _ => Err(DropReason::UnknownProtocol),
    }
}

fn sort_ipv4<'f>(
    addresses: &Addresses,
    mac: EthernetAddress,
    audience: Audience,
    packet: &'f [u8],
    is_joined: impl Fn(IpAddr) -> bool,
) -> Result<Received<'f>, DropReason> {
    let bytes = packet.first_chunk().ok_or(DropReason::Malformed)?;
    let header = Ipv4Header::decode(bytes);
    let header_length = usize::from(bytes[0] & 0x0f) * 4;
    let packet = packet.get(..usize::from(header.total_length)).ok_or(DropReason::Malformed)?;
    let (whole_header, payload) = packet.split_at_checked(header_length).ok_or(DropReason::Malformed)?;
    if bytes[0] >> 4 != 4 || header_length < Ipv4Header::LENGTH || checksum::ipv4_header(whole_header) != 0 {
        return Err(DropReason::Malformed);
    }
    let destination = header.destination.into();
    let is_fragment = header.more_fragments || header.fragment_offset != 0;
    // Before the addresses are judged: a switch may ask without having one.
    if header.protocol == IGMP && audience == Audience::Group && !is_fragment {
        let concerns_us = header.destination == ALL_SYSTEMS || is_joined(destination);
        let message = Received::Igmp { message: payload, destination: header.destination };
        return if concerns_us { Ok(message) } else { Err(DropReason::OtherAddress) };
    }
    let is_group = audience == Audience::Group && header.destination.is_multicast() && is_joined(destination);
    if !addresses.is_ours(destination) && !is_group {
        return Err(DropReason::OtherAddress);
    }
    let from = Sender { mac, address: header.source.into() };
    if !addresses.is_foreign_unicast(from.address) {
        return Err(DropReason::BadSource);
    }
    if is_fragment {
        return Err(DropReason::Fragment);
    }
    sort_transport(audience, is_group, packet, from, header.protocol, payload)
}

fn sort_ipv6<'f>(
    addresses: &Addresses,
    mac: EthernetAddress,
    audience: Audience,
    packet: &'f [u8],
    is_joined: impl Fn(IpAddr) -> bool,
) -> Result<Received<'f>, DropReason> {
    let bytes = packet.first_chunk().ok_or(DropReason::Malformed)?;
    let header = Ipv6Header::decode(bytes);
    let length = Ipv6Header::LENGTH + usize::from(header.payload_length);
    let packet = packet.get(..length).ok_or(DropReason::Malformed)?;
    if bytes[0] >> 4 != 6 {
        return Err(DropReason::Malformed);
    }
    let payload = &packet[Ipv6Header::LENGTH..];
    let source = IpAddr::V6(header.source);
    // Before the addresses are judged: solicitations come to groups, and those that look for duplicates from nowhere.
    if header.next_header == ICMPV6 && payload.first().is_some_and(|kind| ndp::is_ndp(*kind)) {
        let concerns_us = addresses.is_ours(header.destination.into())
            || addresses.is_our_solicited_node(header.destination)
            || header.destination == ALL_NODES;
        return if concerns_us { Ok(Received::Ndp { packet, mac }) } else { Err(DropReason::OtherAddress) };
    }
    let destination = header.destination.into();
    if audience == Audience::Group
        && header.next_header == IPV6_HOP_BY_HOP
        && let Some(message) = mld_query(payload)
    {
        let concerns_us = header.destination == ALL_NODES || is_joined(destination);
        return if concerns_us {
            Ok(Received::Mld { header, message })
        } else {
            Err(DropReason::OtherAddress)
        };
    }
    let is_group = audience == Audience::Group && header.destination.is_multicast() && is_joined(destination);
    if !addresses.is_ours(destination) && !is_group {
        return Err(DropReason::OtherAddress);
    }
    if !addresses.is_foreign_unicast(source) {
        return Err(DropReason::BadSource);
    }
    match header.next_header {
        IPV6_FRAGMENT => return Err(DropReason::Fragment),
        // The stack would look behind the options, find UDP port 4791 there, and call it unreachable.
        IPV6_HOP_BY_HOP => return Err(DropReason::Ignored),
        _ => {}
    }
    sort_transport(audience, is_group, packet, Sender { mac, address: source }, header.next_header, payload)
}

/// What is behind the hop-by-hop options, if that is an MLD question.
fn mld_query(payload: &[u8]) -> Option<&[u8]> {
    let [ICMPV6, length, ..] = *payload else { return None };
    let message = payload.get((usize::from(length) + 1) * 8..)?;
    (*message.first()? == mld::QUERY).then_some(message)
}

/// The group of all hosts on the link.
pub(crate) const ALL_SYSTEMS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);

/// The group of all nodes on the link.
pub(crate) const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// `is_group`: it is for a multicast group, which only RoCE has a use for: whether a queue pair is attached to the group
/// is for the transport to know.
fn sort_transport<'f>(
    audience: Audience,
    is_group: bool,
    packet: &'f [u8],
    from: Sender,
    protocol: u8,
    payload: &'f [u8],
) -> Result<Received<'f>, DropReason> {
    if protocol == UDP {
        let [_, _, high, low, ..] = *payload else { return Err(DropReason::Malformed) };
        if u16::from_be_bytes([high, low]) == ROCE_V2_PORT {
            return Ok(Received::Roce { packet, from });
        }
    }
    if is_group {
        return Err(DropReason::OtherAddress);
    }
    // One station's packet in a frame to many: RFC 1122 §4.2.3.10 wants it dropped for TCP, and no other protocol of
    // the stack has use for it.
    if audience == Audience::Group {
        return Err(DropReason::OtherStation);
    }
    let tcp_at = (protocol == TCP).then_some(packet.len() - payload.len());
    Ok(Received::Ip { packet, from, tcp_at })
}
