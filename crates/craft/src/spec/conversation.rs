//! `[[conversation]]`: all packets of an operation, the answers too.

use rdmalab_wire::RKey;
use serde::{Deserialize, Serialize};

use crate::value::{Bytes, Given, Time};

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "their names say it")]
pub enum OperationName {
    Send,
    SendImm,
    SendInv,
    Write,
    WriteImm,
    Read,
    CompareSwap,
    FetchAdd,
    Flush,
    AtomicWrite,
    Connect,
    Disconnect,
}

/// One operation, as often as one likes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConversationSpec {
    /// What is done.
    pub operation: OperationName,
    /// The flow it is of; none is one between the first two hosts.
    pub flow: Option<String>,
    /// Whether the flow's `to` is the requester.
    #[serde(default)]
    pub reply: bool,
    /// How often.
    pub repeat: Option<u64>,
    /// Bytes of the message; none.
    pub bytes: Option<u32>,
    /// Largest payload of a packet; the flow's.
    pub mtu: Option<Given<u16>>,
    /// Remote memory; 0.
    pub virtual_address: Option<Given<u64>>,
    /// Its key; 0.
    pub key: Option<Given<RKey>>,
    /// Four bytes of immediate data.
    pub imm_dt: Option<Given<Bytes>>,
    /// The key that a SEND invalidates.
    pub invalidate: Option<Given<RKey>>,
    /// What an atomic operation swaps in or adds.
    pub swap_or_add: Option<Given<u64>>,
    /// What it compares.
    pub compare: Option<Given<u64>>,
    /// What it finds.
    pub original: Option<Given<u64>>,
    /// Whether the responder is to raise an event.
    #[serde(default)]
    pub solicited: bool,
    /// Whether the responder acknowledges; it does if the transport is reliable.
    pub acknowledge: Option<bool>,
    /// The byte that the data consist of; otherwise they count up.
    pub fill: Option<u8>,
    /// The port that is connected to.
    pub port: Option<Given<u16>>,
    /// The first packet's time; the interval after the packet before.
    pub time: Option<Given<Time>>,
    /// A comment on the first packet.
    pub comment: Option<String>,
}
