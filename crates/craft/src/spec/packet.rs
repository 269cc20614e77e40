//! `[[packet]]`: one packet, as often as one likes.

use rdmalab_wire::{EthernetAddress, Opcode};
use serde::{Deserialize, Serialize};

use crate::checksum::Checksum;
use crate::fields::{
    AethFields, AtomicAckEthFields, AtomicEthFields, BthFields, DethFields, FethFields, GrhFields,
    IethFields, Ipv4Fields, Ipv6Fields, LrhFields, RdethFields, RethFields, UdpFields, VlanFields,
    XrcethFields,
};
use crate::payload::Payload;
use crate::value::{Bytes, Given, Time};

/// Which way a packet went, seen from the capturing interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "their names say it")]
pub enum WayName {
    In,
    Out,
}

/// The Ethernet header.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "each field is the header's of its name")]
pub struct EthernetSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Given<EthernetAddress>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<Given<EthernetAddress>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ethertype: Option<Given<u16>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tag_ethertypes: Vec<Given<u16>>,
}

/// A flow control frame: `time` for the whole link, or `times` by priority.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "each field is the frame's of its name")]
pub struct PauseSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Given<u16>>,
    /// Up to eight times in quanta, that of priority 0 first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<Vec<u16>>,
    /// Bit n says that priority n is meant; computed: those with a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<Given<u8>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Given<u8>>,
}

/// Bytes to write over what was computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "as of the patch")]
pub struct PatchSpec {
    pub at: usize,
    pub bytes: Given<Bytes>,
}

macro_rules! optional {
    ($($(#[$doc:meta])* $name:ident: $value:ty,)*) => {
        /// One packet.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        #[expect(missing_docs, reason = "a header's fields have its name")]
        pub struct PacketSpec {
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $name: Option<$value>,)*
        }

        impl PacketSpec {
            /// The keys that are given.
            pub fn keys(&self) -> impl Iterator<Item = &'static str> {
                let keys = [$((stringify!($name), self.$name.is_some()),)*];
                keys.into_iter().filter_map(|(key, given)| given.then_some(key))
            }
        }
    };
}

optional! {
    /// Nanoseconds since 1970.
    time: Given<Time>,
    /// The flow it is of; none is one between the first two hosts.
    flow: String,
    /// Whether it goes from `to` to `from`.
    reply: bool,
    /// How often it is sent.
    repeat: u64,
    /// The opcode of an InfiniBand packet.
    opcode: Given<Opcode>,
    /// Bytes of a whole frame, instead of all the following.
    raw: Payload,
    /// A flow control frame instead of an InfiniBand packet.
    pause: PauseSpec,
    ethernet: EthernetSpec,
    vlan: Vec<VlanFields>,
    lrh: LrhFields,
    grh: GrhFields,
    ipv4: Ipv4Fields,
    ipv6: Ipv6Fields,
    udp: UdpFields,
    /// Whether UDP has a checksum.
    udp_checksum: bool,
    bth: BthFields,
    /// Extended headers that the opcode has and the packet lacks.
    without: Vec<String>,
    rdeth: RdethFields,
    xrceth: XrcethFields,
    deth: DethFields,
    feth: FethFields,
    reth: RethFields,
    atomic_eth: AtomicEthFields,
    aeth: AethFields,
    atomic_ack_eth: AtomicAckEthFields,
    /// Four bytes.
    imm_dt: Given<Bytes>,
    ieth: IethFields,
    payload: Payload,
    /// A management datagram as payload, by the names of its fields.
    mad: toml::Table,
    pad: Given<Bytes>,
    icrc: Checksum,
    vcrc: Checksum,
    /// Bytes behind the packet.
    trailer: Given<Bytes>,
    patch: Vec<PatchSpec>,
    /// The frame ends after so many bytes.
    truncate: usize,
    /// The capture keeps so many bytes of the frame.
    kept: usize,
    /// The length the capture says that the frame had, in bytes.
    original_length: u32,
    /// The link type of raw bytes; Ethernet.
    link_type: u16,
    /// The capture's interface.
    interface: String,
    /// Which way it went there.
    direction: WayName,
    /// A comment in the capture.
    comment: String,
}
