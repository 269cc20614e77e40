//! Takes a captured packet apart, layer by layer, as far as it goes.
//!
//! Never fails and never panics: what is broken is kept as far as it was understood, together with the first
//! thing that is wrong and where it stands in the frame. What a capture cut off is not called broken.
//!
//! InfiniBand packets, iWARP and flow control are taken apart by `rdmalab-wire`, what else an RDMA host sends by
//! `etherparse`. A packet alone does not tell what of iWARP is in it: [`Streams`](crate::Streams) does.

mod infiniband;
mod malformed;
mod merged;
mod network;
mod parts;
mod stand_in;
mod unread;

use rdmalab_wire::ethernet::{
    ETHERTYPE_ARP, ETHERTYPE_FLOW_CONTROL, ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_ROCE_V1,
};
use rdmalab_wire::frame::MOST_TAGS;
use rdmalab_wire::{
    Carried, EthernetHeader, Fault, Frame, Ipv4Header, Ipv6Header, Layer, Lrh, ParseError, Pause, UdpHeader,
    VlanTag,
};

use crate::record::{LinkType, Record};
use crate::streams::IwarpUnit;
use etherparse::{ArpPacketSlice, Icmpv4Slice, Icmpv6Slice, TcpSlice};
pub use infiniband::{Icrc, Roce, Vcrc};
pub use malformed::{LayerName, Malformed};
pub use parts::{Fragment, TcpSegment};
pub use stand_in::{Cooked, StandIn};
pub use unread::Unread;

/// Frames whose type is less than this are IEEE 802.3: it is a length.
const FIRST_ETHERTYPE: u16 = 0x0600;

/// A captured packet, taken apart.
#[derive(Clone, Debug)]
pub struct Dissection<'a> {
    /// The Ethernet header, if there is a whole one.
    pub ethernet: Option<EthernetHeader>,
    /// The header that stands in the place of a link's, if there is a whole one.
    pub stand_in: Option<StandIn>,
    /// VLAN tags, the outer one first.
    pub vlan: [Option<VlanTag>; MOST_TAGS],
    /// The protocol behind the Ethernet header, or a cooked one, and the tags.
    pub ethertype: Option<u16>,
    /// The IP header, if there is a whole one.
    pub network: Option<Network>,
    /// Where the network layer begins, in bytes of the frame, as far as the headers of the link tell.
    pub network_offset: usize,
    /// The first thing that is wrong, unless it is that the capture cut the packet.
    pub malformed: Option<Malformed>,
    /// Whether the capture kept less of the packet than one needs to know all of it.
    pub cut: bool,
    /// What of iWARP this packet completed, in the order of the stream; empty unless
    /// [`Streams::dissect`](crate::Streams::dissect) took the packet apart.
    pub iwarp: Vec<IwarpUnit>,
    /// Bytes of the link's header, or of what stands in its place, without tags.
    pub(crate) link_length: usize,
    pub(crate) content: Content<'a>,
}

/// An IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// IPv4.
    V4 {
        /// The header without its options.
        header: Ipv4Header,
        /// Its length with options, in bytes, as stated.
        header_length: u8,
    },
    /// IPv6.
    V6(Ipv6Header),
}

/// What a packet is in the end.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one at a time, on the stack; a box would allocate per packet")]
pub(crate) enum Content<'a> {
    /// Broken before that could be told.
    Unknown,
    /// A frame of a link type that is not taken apart.
    Link(LinkType),
    /// An Ethernet payload that is not taken apart. The length is in bytes.
    Ethertype { ethertype: u16, length: usize },
    /// What a header in the place of a link's gives another number than an ethertype. The length is in bytes.
    LinkProtocol { protocol: u32, length: usize },
    /// An IEEE 802.3 frame: no ethertype but a length.
    Ieee8023 { length: u16 },
    /// Address resolution.
    Arp(ArpPacketSlice<'a>),
    /// A piece of an IP packet. The length is in bytes.
    Fragment { fragment: Fragment, length: usize },
    /// ICMP.
    Icmp { icmp: Icmpv4Slice<'a>, length: usize },
    /// ICMPv6, neighbour discovery in it.
    Icmpv6 { icmp: Icmpv6Slice<'a>, length: usize },
    /// PAUSE or priority flow control.
    Pause(Pause),
    /// TCP. The length is the payload's on the wire, in bytes, and it begins at this byte of the frame.
    Tcp { tcp: TcpSlice<'a>, length: usize, payload_at: usize },
    /// UDP that is not RoCE v2.
    Udp(UdpHeader),
    /// RoCE, or a packet of a native link.
    Roce(Roce<'a>),
    /// A raw packet of a native link: not InfiniBand's transport. The length is in bytes.
    RawLink { lrh: Lrh, length: usize },
    /// IP with a payload that is not taken apart.
    Ip { protocol: u8, length: usize },
}

impl<'a> Dissection<'a> {
    /// Takes the packet of a record apart.
    pub fn of(record: &Record<'a>) -> Dissection<'a> {
        let mut dissection = Dissection {
            ethernet: None,
            stand_in: None,
            vlan: [None; MOST_TAGS],
            ethertype: None,
            network: None,
            network_offset: 0,
            malformed: None,
            cut: false,
            iwarp: Vec::new(),
            link_length: 0,
            content: Content::Unknown,
        };
        let mut pass = Pass { dissection: &mut dissection, captured_in_part: record.is_cut() };
        let result = match record.link_type {
            LinkType::ETHERNET => pass.ethernet(record.data),
            link_type if link_type.is_bare_ip() => pass.ip(record.data, 0),
            LinkType::LINUX_SLL => pass.cooked_1(record.data),
            LinkType::LINUX_SLL2 => pass.cooked_2(record.data),
            LinkType::NULL => pass.family(record.data, false),
            LinkType::LOOP => pass.family(record.data, true),
            LinkType::INFINIBAND => pass.link_packet(record.data),
            other => {
                pass.dissection.content = Content::Link(other);
                Ok(())
            }
        };
        if let Err(malformed) = result {
            pass.blame(malformed);
        }
        dissection
    }

    /// The InfiniBand packet, if it is one: RoCE of either version, or of a native link.
    pub fn roce(&self) -> Option<&Roce<'a>> {
        match &self.content {
            Content::Roce(roce) => Some(roce),
            _ => None,
        }
    }

    /// The flow control, if it is a PAUSE or PFC frame.
    pub fn pause(&self) -> Option<&Pause> {
        match &self.content {
            Content::Pause(pause) => Some(pause),
            _ => None,
        }
    }

    /// Adds what the packet completed of a stream.
    pub(crate) fn add_iwarp(&mut self, units: Vec<IwarpUnit>) {
        self.iwarp = units;
        let Content::Tcp { payload_at, .. } = self.content else { return };
        if self.malformed.is_none()
            && let Some(error) = self.iwarp.iter().find_map(IwarpUnit::error)
        {
            // Where it began may be in a packet before.
            self.malformed = Some(ParseError { offset: payload_at, ..error }.into());
        }
    }
}

/// One pass over a packet.
struct Pass<'d, 'a> {
    dissection: &'d mut Dissection<'a>,
    captured_in_part: bool,
}

impl<'a> Pass<'_, 'a> {
    /// Notes the first thing that is wrong; that bytes are missing is the capture's doing if it cut the packet.
    fn blame(&mut self, malformed: Malformed) {
        if self.captured_in_part && matches!(malformed.fault, Fault::Truncated { .. }) {
            self.dissection.cut = true;
        } else if self.dissection.malformed.is_none() {
            self.dissection.malformed = Some(malformed);
        }
    }

    fn ethernet(&mut self, bytes: &'a [u8]) -> Result<(), Malformed> {
        self.dissection.ethernet = bytes.first_chunk().map(EthernetHeader::decode);
        self.dissection.link_length = EthernetHeader::LENGTH;
        self.dissection.network_offset = EthernetHeader::LENGTH;
        let frame = Frame::parse(bytes)?;
        self.behind_link(&frame)
    }

    /// What is behind the header of a link that has ethertypes, and behind the tags.
    fn behind_link(&mut self, frame: &Frame<'a>) -> Result<(), Malformed> {
        self.dissection.network_offset = frame.network_offset;
        self.dissection.vlan = frame.vlan;
        self.dissection.ethertype = Some(frame.ethertype);
        let length = frame.network.len();
        self.dissection.content = match frame.ethertype {
            ETHERTYPE_IPV4 => return self.ipv4(frame.network, frame.network_offset),
            ETHERTYPE_IPV6 => return self.ipv6(frame.network, frame.network_offset),
            ETHERTYPE_ARP => Content::Arp(
                ArpPacketSlice::from_slice(frame.network)
                    .map_err(|error| Malformed::length("ARP", frame.network_offset, &error))?,
            ),
            ETHERTYPE_FLOW_CONTROL => match Pause::parse(frame.network) {
                Ok(pause) => Content::Pause(pause),
                // Another kind of MAC control is not broken.
                Err(ParseError { fault: Fault::BadValue { .. }, .. }) => {
                    Content::Ethertype { ethertype: frame.ethertype, length }
                }
                Err(error) => return Err(error.behind(frame.network_offset).into()),
            },
            ETHERTYPE_ROCE_V1 => match Carried::in_frame(frame) {
                Some(carried) => {
                    self.carried(&carried?);
                    return Ok(());
                }
                None => Content::Ethertype { ethertype: frame.ethertype, length },
            },
            length @ ..FIRST_ETHERTYPE => Content::Ieee8023 { length },
            ethertype => Content::Ethertype { ethertype, length },
        };
        Ok(())
    }

    /// By the version, where nothing in front tells it.
    fn ip(&mut self, bytes: &'a [u8], at: usize) -> Result<(), Malformed> {
        match bytes.first().map(|first| first >> 4) {
            Some(6) => self.ipv6(bytes, at),
            Some(4) | None => self.ipv4(bytes, at),
            Some(version) => Err(ParseError::bad_value(Layer::Ipv4, at, "version", version.into()).into()),
        }
    }
}
