//! `[[stream]]`: a TCP connection with iWARP in it.

use rdmalab_wire::iwarp;
use serde::{Deserialize, Serialize};

use crate::payload::Payload;
use crate::value::{Bits, Bytes, Given, Time, Value, Written};

/// A connection, from its first segment to its last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StreamSpec {
    /// Who connects; the first host.
    pub from: Option<String>,
    /// To whom; the second host.
    pub to: Option<String>,
    /// Port that is connected to; 7174.
    pub port: Option<Given<u16>>,
    /// Port it is connected from; 49152.
    pub source_port: Option<Given<u16>>,
    /// Most bytes of data in a TCP segment; 1460.
    pub segment: Option<Given<u16>>,
    /// Whether TCP's opening is in the capture; it is.
    pub open: Option<bool>,
    /// Whether TCP's end is in the capture; it is.
    pub close: Option<bool>,
    /// What the connecting side asks for.
    pub request: MpaSpec,
    /// What the other side answers; the same as the request.
    pub reply: Option<MpaSpec>,
    /// The FPDUs, in order.
    pub fpdu: Vec<FpduSpec>,
    /// The first packet's time.
    pub time: Option<Given<Time>>,
    /// A comment on the first packet.
    pub comment: Option<String>,
}

/// A start-up frame of MPA.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "each field is the frame's of its name")]
pub struct MpaSpec {
    /// 1, or 2 if there are enhanced data.
    pub revision: Option<Given<u8>>,
    pub markers: bool,
    /// Asked for, if it is left out.
    pub crc: Option<bool>,
    pub reject: bool,
    pub reserved: Option<Given<Bits<5>>>,
    /// Enhanced data, if one of these is given.
    pub ird: Option<Given<u16>>,
    pub ord: Option<Given<u16>>,
    pub peer_to_peer: Option<bool>,
    pub rtr_empty: Option<bool>,
    pub rtr_write: Option<bool>,
    pub rtr_read: Option<bool>,
    pub private_data: Option<Given<Bytes>>,
}

/// One FPDU with one DDP segment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each field is the header's of its name")]
pub struct FpduSpec {
    pub opcode: Given<iwarp::Opcode>,
    /// Whether the side sends it that was connected to.
    #[serde(default)]
    pub reply: bool,
    /// It is, if left out.
    pub last: Option<bool>,
    /// Whether the header is a tagged one; as the opcode has it.
    pub tagged: Option<bool>,
    /// Of a tagged header.
    pub stag: Option<Given<u32>>,
    /// Tagged offset, or message offset.
    pub offset: Option<Given<u64>>,
    /// Of an untagged header: as the opcode has it.
    pub queue: Option<Given<u32>>,
    /// Goes on with each message of the queue.
    pub msn: Option<Given<u32>>,
    /// What is reserved for the layer above, the STag to invalidate.
    pub invalidate: Option<Given<u32>>,
    pub ddp_version: Option<Given<Bits<2>>>,
    pub ddp_reserved: Option<Given<Bits<4>>>,
    pub rdmap_version: Option<Given<Bits<2>>>,
    pub rdmap_reserved: Option<Given<Bits<2>>>,
    /// The body of a Read Request.
    pub read_request: Option<ReadRequestSpec>,
    /// The body of an Atomic Request.
    pub atomic_request: Option<AtomicRequestSpec>,
    /// The body of an Atomic Response.
    pub atomic_response: Option<AtomicResponseSpec>,
    /// Layer, type and code of a Terminate.
    pub terminate: Option<[u8; 3]>,
    /// What is behind header and body.
    pub payload: Option<Payload>,
    /// Whether the CRC is wrong.
    #[serde(default)]
    pub wrong_crc: bool,
}

/// Body of a Read Request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "each field is the body's of its name")]
pub struct ReadRequestSpec {
    pub sink_stag: Given<u32>,
    pub sink_offset: Given<u64>,
    pub length: Given<u32>,
    pub source_stag: Given<u32>,
    pub source_offset: Given<u64>,
}

/// Body of an Atomic Request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "each field is the body's of its name")]
pub struct AtomicRequestSpec {
    /// 0 fetch and add, 2 compare and swap.
    pub operation: Given<Bits<4>>,
    pub request_id: Given<u32>,
    pub stag: Given<u32>,
    pub offset: Given<u64>,
    pub add_or_swap: Given<u64>,
    pub add_or_swap_mask: Given<u64>,
    pub compare: Given<u64>,
    pub compare_mask: Given<u64>,
}

/// Body of an Atomic Response.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "each field is the body's of its name")]
pub struct AtomicResponseSpec {
    pub request_id: Given<u32>,
    pub original: Given<u64>,
}

impl Value for iwarp::Opcode {
    const EXPECTS: &'static str = "an opcode of RDMAP, as \"SEND_INV\" or a number of 4 bits";
    fn from_number(number: u64) -> Option<Self> {
        u8::try_from(number).ok().filter(|number| *number < 16).map(iwarp::Opcode::new)
    }
    fn from_text(text: &str) -> Option<Self> {
        let named = (0..16).map(iwarp::Opcode::new).find(|opcode| opcode.to_string() == text);
        named.or_else(|| Self::from_number(crate::value::number(text)?))
    }
    fn write(&self) -> Written {
        Written::Text(self.to_string())
    }
}
