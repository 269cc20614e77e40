//! The description: what the TOML file says, not yet what it means.
//!
//! Every table refuses keys that it does not know, and every value what it cannot hold; the error names the line.
//! [`craft`](crate::craft()) makes packets of it. SPEC.md describes it for those who write one.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Range;

use rdmalab_wire::{EthernetAddress, Gid, PKey, Psn, QKey, Qpn};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::error::SpecError;
use crate::fields::{GrhFields, Ipv4Fields, Ipv6Fields, LrhFields, UdpFields, VlanFields};
use crate::limits::LONGEST_SPEC;
use crate::value::{Given, Time, Wide};

mod conversation;
mod packet;
mod stream;

pub use conversation::{ConversationSpec, OperationName};
pub use packet::{EthernetSpec, PacketSpec, PatchSpec, PauseSpec, WayName};
pub use stream::{AtomicRequestSpec, AtomicResponseSpec, FpduSpec, MpaSpec, ReadRequestSpec, StreamSpec};

/// A whole description.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// When the first packet is sent that gives no time.
    pub start: Option<Given<Time>>,
    /// How long after the packet before each other packet is sent that gives no time; a microsecond.
    pub interval: Option<Given<Time>>,
    /// Hosts by name.
    pub host: BTreeMap<String, HostSpec>,
    /// Flows by name.
    pub flow: BTreeMap<String, Spanned<FlowSpec>>,
    packet: Vec<Spanned<PacketSpec>>,
    conversation: Vec<Spanned<ConversationSpec>>,
    stream: Vec<Spanned<StreamSpec>>,
    #[serde(skip)]
    lines: Vec<usize>,
}

/// A host. What is left out follows from its place among the hosts' names: the n-th has `02:00:00:00:00:n`,
/// `10.0.0.n` and LID n.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "as of the host")]
pub struct HostSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<Given<EthernetAddress>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip: Option<Given<IpAddr>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gid: Option<Given<Gid>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lid: Option<Given<u16>>,
}

/// How a flow is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "their names say it")]
pub enum CarrierName {
    Roce2,
    Roce1,
    Infiniband,
    InfinibandGrh,
}

/// The transport of a flow's conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "their names say it")]
pub enum TransportName {
    Rc,
    Uc,
    Rd,
    Ud,
    Xrc,
}

/// A flow: two queue pairs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "as of the flow, the headers' as in all its packets")]
pub struct FlowSpec {
    pub from: String,
    pub to: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carrier: Option<CarrierName>,
    /// Whether there is no Ethernet header: the packets begin with their IP header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_ip: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<TransportName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Given<u16>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_qpn: Option<Given<Qpn>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_qpn: Option<Given<Qpn>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_psn: Option<Given<Psn>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_psn: Option<Given<Psn>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition_key: Option<Given<PKey>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_key: Option<Given<QKey>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_receive_queue: Option<Given<Wide<24>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ee_context: Option<Given<Wide<24>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub migrated: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub vlan: Vec<VlanFields>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<Ipv4Fields>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<Ipv6Fields>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udp: Option<UdpFields>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grh: Option<GrhFields>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lrh: Option<LrhFields>,
}

/// One entry, in the order of the file.
#[derive(Clone, Copy, Debug)]
pub enum Entry<'a> {
    /// A packet, as often as it says.
    Packet(&'a PacketSpec),
    /// The packets of an operation.
    Conversation(&'a ConversationSpec),
    /// A TCP connection with iWARP in it.
    Stream(&'a StreamSpec),
}

/// Where an entry is: its kind, its number among those of its kind, its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// As in `[[packet]]`.
    pub kind: &'static str,
    /// The first is 1.
    pub number: usize,
    /// The first is 1; 0 if there is none.
    pub line: usize,
}

impl Spec {
    /// Reads a description.
    ///
    /// # Errors
    ///
    /// What is wrong with it, and where.
    pub fn parse(text: &str) -> Result<Spec, SpecError> {
        if text.len() > LONGEST_SPEC {
            return Err(SpecError::whole(format!(
                "the description has {} bytes, {LONGEST_SPEC} at most are read; split it",
                text.len()
            )));
        }
        let mut spec: Spec = toml::from_str(text).map_err(|error| SpecError::toml(text, &error))?;
        spec.lines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
        Ok(spec)
    }

    /// The line, beginning with 1, where something stands.
    pub fn line(&self, span: Range<usize>) -> usize {
        self.lines.partition_point(|end| *end < span.start) + 1
    }

    /// All entries in the order of the file.
    pub fn entries(&self) -> impl Iterator<Item = (Place, Entry<'_>)> {
        let packets = numbered("packet", &self.packet, Entry::Packet);
        let conversations = numbered("conversation", &self.conversation, Entry::Conversation);
        let streams = numbered("stream", &self.stream, Entry::Stream);
        let mut entries: Vec<_> = packets.chain(conversations).chain(streams).collect();
        entries.sort_by_key(|(span, ..)| span.start);
        entries
            .into_iter()
            .map(|(span, kind, number, entry)| (Place { kind, number, line: self.line(span) }, entry))
    }
}

type Numbered<'a> = (Range<usize>, &'static str, usize, Entry<'a>);

fn numbered<'a, T>(
    kind: &'static str,
    entries: &'a [Spanned<T>],
    entry: fn(&'a T) -> Entry<'a>,
) -> impl Iterator<Item = Numbered<'a>> {
    let numbers = 1..;
    numbers
        .zip(entries)
        .map(move |(number, spanned)| (spanned.span(), kind, number, entry(spanned.get_ref())))
}
