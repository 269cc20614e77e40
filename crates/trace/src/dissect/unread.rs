//! Packets that cannot be taken apart as far as what they are: another link than the file says, or too little of them kept.

use etherparse::IpNumber;
use rdmalab_wire::ethernet::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_ROCE_V1};
use rdmalab_wire::{Fault, Layer, ROCE_V2_PORT};

use super::{Content, Dissection, Fragment, Icrc, LayerName, Network};
use crate::record::{LinkType, Record};

/// The length of a VCRC in bytes, which the length in the LRH leaves out, and captures may, too.
const VCRC: usize = 2;

/// Why it is not known what a packet is or says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// Its link type is not taken apart, or what stands there is not of this link type.
    Link,
    /// A raw packet of a native link: its transport is not InfiniBand's.
    Raw,
    /// The capture cut it within its headers, and it is an InfiniBand packet or may be one.
    Headers,
    /// The capture cut it within TCP's header.
    TcpHeader,
    /// A piece of an IP packet that is of UDP or TCP; not where it is seen to be of another port than RoCE's.
    Fragment,
    /// Several datagrams in one, see [`Roce::is_several`](super::Roce::is_several).
    Merged,
}

impl Dissection<'_> {
    /// Why it is not known what the packet is or says, if so. That only a payload is cut is no reason.
    pub fn unread(&self, record: &Record<'_>) -> Option<Unread> {
        match &self.content {
            Content::Link(_) => Some(Unread::Link),
            // Of another link, the bytes in the place of the length hardly are one.
            Content::RawLink { lrh, .. } => {
                let beyond = (record.original_length as usize).checked_sub(lrh.packet_bytes());
                let is_one = matches!(beyond, Some(0 | VCRC)) && lrh.link_version == 0;
                Some(if is_one { Unread::Raw } else { Unread::Link })
            }
            Content::Unknown if self.cut => self.cut_in_front(),
            Content::Unknown => self.is_of_another_link(record.link_type).then_some(Unread::Link),
            Content::LinkProtocol { .. } | Content::Ethertype { .. } => {
                self.stand_in.is_some_and(|header| header.is_strange()).then_some(Unread::Link)
            }
            Content::Fragment { fragment: Fragment { protocol, udp_port, .. }, .. } => {
                let may_be = matches!(IpNumber(*protocol), IpNumber::UDP | IpNumber::TCP)
                    && udp_port.is_none_or(|port| port == ROCE_V2_PORT);
                may_be.then_some(Unread::Fragment)
            }
            Content::Roce(roce) if roce.is_several() => Some(Unread::Merged),
            Content::Roce(roce) => {
                let is_short = roce.packet.bth.is_none() || roce.packet.error.is_some();
                (is_short && roce.icrc == Icrc::Cut).then_some(Unread::Headers)
            }
            _ => None,
        }
    }

    /// By what there is of the headers in front of those that were cut.
    fn cut_in_front(&self) -> Option<Unread> {
        let protocol = match &self.network {
            Some(Network::V4 { header, .. }) => header.protocol,
            Some(Network::V6(header)) => header.next_header,
            None => {
                let may_be = [None, Some(ETHERTYPE_IPV4), Some(ETHERTYPE_IPV6), Some(ETHERTYPE_ROCE_V1)];
                return may_be.contains(&self.ethertype).then_some(Unread::Headers);
            }
        };
        match IpNumber(protocol) {
            IpNumber::TCP => Some(Unread::TcpHeader),
            IpNumber::ICMP | IpNumber::IPV6_ICMP => None,
            // UDP, or an extension header, behind which it may be.
            _ => Some(Unread::Headers),
        }
    }

    /// Where little but the link type says that an IP header comes first, one that is none speaks against the link type.
    fn is_of_another_link(&self, link_type: LinkType) -> bool {
        let is_bare = link_type.is_bare_ip() || self.stand_in.is_some();
        let is_no_header = |malformed: &super::Malformed| {
            malformed.offset <= self.network_offset + 2
                && matches!(malformed.layer, LayerName::Roce(Layer::Ipv4 | Layer::Ipv6))
                && matches!(malformed.fault, Fault::BadValue { .. })
        };
        is_bare && self.malformed.as_ref().is_some_and(is_no_header)
    }
}
