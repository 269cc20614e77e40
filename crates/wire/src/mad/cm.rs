//! Communication management: the messages by which two nodes make a connection, or find the queue pair
//! behind a service.
//!
//! | attribute ID | message | says |
//! |---|---|---|
//! | 0x10 | [`Req`] | let us connect |
//! | 0x11 | [`Mra`] | received, I need longer |
//! | 0x12 | [`Rej`] | no |
//! | 0x13 | [`Rep`] | yes |
//! | 0x14 | [`Rtu`] | then I begin |
//! | 0x15 | [`Dreq`] | let us part |
//! | 0x16 | [`Drep`] | parted |
//! | 0x17 | [`SidrReq`] | which queue pair serves this? |
//! | 0x18 | [`SidrRep`] | this one, or none |
//! | 0x19 | [`Lap`] | take this as the alternate path |
//! | 0x1a | [`Apr`] | taken, or not |
//!
//! In every message *local* is its sender and *remote* its receiver. Each side chooses a 32-bit communication
//! ID for the connection and finds the other's in the messages it gets.
//!
//! A field narrower than its type holds the low bits; encoding cuts off the others.

use super::class::{MadClass, MadMethod};
use super::field::{Field, FieldGroup};
use super::header::MadHeader;
use super::ip_cm::IpCmHeader;
use super::service_id::ServiceId;
use super::{DATA_LENGTH, Mad, join};

mod apr;
mod display;
mod drep;
mod dreq;
mod lap;
mod mra;
mod path;
mod rej;
mod rej_reason;
mod rep;
mod req;
mod rtu;
mod sidr_rep;
mod sidr_req;

pub use apr::{ApStatus, Apr};
pub use drep::Drep;
pub use dreq::Dreq;
pub use lap::Lap;
pub use mra::{Mra, MraMessage};
pub use path::Path;
pub use rej::{Rej, RejMessage};
pub use rej_reason::RejReason;
pub use rep::Rep;
pub use req::{Req, TransportService};
pub use rtu::Rtu;
pub use sidr_rep::{SidrRep, SidrStatus};
pub use sidr_req::SidrReq;

/// How long the response and service timeouts of these messages are, in nanoseconds: 4.096 µs times two to the
/// power of `code`, of which only the low five bits count. Unlike a queue pair's acknowledgement timeout, none
/// is infinite.
pub const fn response_timeout_nanoseconds(code: u8) -> u64 {
    4_096 << (code & 0x1f)
}

/// One message of communication management.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CmMessage {
    /// Request for communication.
    Req(Req),
    /// Message receipt acknowledgement.
    Mra(Mra),
    /// Reject.
    Rej(Rej),
    /// Reply to a request.
    Rep(Rep),
    /// Ready to use.
    Rtu(Rtu),
    /// Request for communication release.
    Dreq(Dreq),
    /// Reply to a request for communication release.
    Drep(Drep),
    /// Service ID resolution request.
    SidrReq(SidrReq),
    /// Service ID resolution response.
    SidrRep(SidrRep),
    /// Load alternate path.
    Lap(Lap),
    /// Alternate path response.
    Apr(Apr),
}

impl CmMessage {
    /// The message that this attribute ID stands for; `None` if it stands for none.
    pub const fn decode(attribute_id: u16, data: &[u8; DATA_LENGTH]) -> Option<Self> {
        Some(match attribute_id {
            0x10 => CmMessage::Req(Req::decode(data)),
            0x11 => CmMessage::Mra(Mra::decode(data)),
            0x12 => CmMessage::Rej(Rej::decode(data)),
            0x13 => CmMessage::Rep(Rep::decode(data)),
            0x14 => CmMessage::Rtu(Rtu::decode(data)),
            0x15 => CmMessage::Dreq(Dreq::decode(data)),
            0x16 => CmMessage::Drep(Drep::decode(data)),
            0x17 => CmMessage::SidrReq(SidrReq::decode(data)),
            0x18 => CmMessage::SidrRep(SidrRep::decode(data)),
            0x19 => CmMessage::Lap(Lap::decode(data)),
            0x1a => CmMessage::Apr(Apr::decode(data)),
            _ => return None,
        })
    }

    /// To the bytes of the wire.
    pub const fn encode(&self) -> [u8; DATA_LENGTH] {
        match self {
            CmMessage::Req(message) => message.encode(),
            CmMessage::Mra(message) => message.encode(),
            CmMessage::Rej(message) => message.encode(),
            CmMessage::Rep(message) => message.encode(),
            CmMessage::Rtu(message) => message.encode(),
            CmMessage::Dreq(message) => message.encode(),
            CmMessage::Drep(message) => message.encode(),
            CmMessage::SidrReq(message) => message.encode(),
            CmMessage::SidrRep(message) => message.encode(),
            CmMessage::Lap(message) => message.encode(),
            CmMessage::Apr(message) => message.encode(),
        }
    }

    /// The attribute ID that says which message it is.
    pub const fn attribute_id(&self) -> u16 {
        match self {
            CmMessage::Req(_) => 0x10,
            CmMessage::Mra(_) => 0x11,
            CmMessage::Rej(_) => 0x12,
            CmMessage::Rep(_) => 0x13,
            CmMessage::Rtu(_) => 0x14,
            CmMessage::Dreq(_) => 0x15,
            CmMessage::Drep(_) => 0x16,
            CmMessage::SidrReq(_) => 0x17,
            CmMessage::SidrRep(_) => 0x18,
            CmMessage::Lap(_) => 0x19,
            CmMessage::Apr(_) => 0x1a,
        }
    }

    /// The specification's abbreviation, `"SIDR_REQ"`.
    pub const fn name(&self) -> &'static str {
        match self {
            CmMessage::Req(_) => "REQ",
            CmMessage::Mra(_) => "MRA",
            CmMessage::Rej(_) => "REJ",
            CmMessage::Rep(_) => "REP",
            CmMessage::Rtu(_) => "RTU",
            CmMessage::Dreq(_) => "DREQ",
            CmMessage::Drep(_) => "DREP",
            CmMessage::SidrReq(_) => "SIDR_REQ",
            CmMessage::SidrRep(_) => "SIDR_REP",
            CmMessage::Lap(_) => "LAP",
            CmMessage::Apr(_) => "APR",
        }
    }

    /// All fields of the message, side by side without a gap; offsets count from the message's start.
    pub const fn fields(&self) -> &'static [Field] {
        match self {
            CmMessage::Req(_) => Req::FIELDS,
            CmMessage::Mra(_) => Mra::FIELDS,
            CmMessage::Rej(_) => Rej::FIELDS,
            CmMessage::Rep(_) => Rep::FIELDS,
            CmMessage::Rtu(_) => Rtu::FIELDS,
            CmMessage::Dreq(_) => Dreq::FIELDS,
            CmMessage::Drep(_) => Drep::FIELDS,
            CmMessage::SidrReq(_) => SidrReq::FIELDS,
            CmMessage::SidrRep(_) => SidrRep::FIELDS,
            CmMessage::Lap(_) => Lap::FIELDS,
            CmMessage::Apr(_) => Apr::FIELDS,
        }
    }

    /// The service asked for or found.
    pub const fn service_id(&self) -> Option<ServiceId> {
        match self {
            CmMessage::Req(message) => Some(message.service_id),
            CmMessage::SidrReq(message) => Some(message.service_id),
            CmMessage::SidrRep(message) => Some(message.service_id),
            _ => None,
        }
    }

    /// RDMA-CM's header and the consumer's private data behind it, if this is a request for an IP port.
    pub fn ip_cm(&self) -> Option<(IpCmHeader, &[u8])> {
        match self {
            CmMessage::Req(message) => message.ip_cm(),
            CmMessage::SidrReq(message) => message.ip_cm(),
            _ => None,
        }
    }

    /// What the message carries for the applications; RDMA-CM's header included.
    pub const fn private_data(&self) -> &[u8] {
        match self {
            CmMessage::Req(message) => &message.private_data,
            CmMessage::Mra(message) => &message.private_data,
            CmMessage::Rej(message) => &message.private_data,
            CmMessage::Rep(message) => &message.private_data,
            CmMessage::Rtu(message) => &message.private_data,
            CmMessage::Dreq(message) => &message.private_data,
            CmMessage::Drep(message) => &message.private_data,
            CmMessage::SidrReq(message) => &message.private_data,
            CmMessage::SidrRep(message) => &message.private_data,
            CmMessage::Lap(message) => &message.private_data,
            CmMessage::Apr(message) => &message.private_data,
        }
    }
}

/// A MAD of communication management: class 7, class version 2, method SEND.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CmMad {
    /// Number of the exchange: whatever answers a message carries that message's number. Linux has one number a
    /// side and connection: a DREQ carries the REQ's if the same side sends it, otherwise a new one (seen).
    pub transaction_id: u64,
    /// Status; zero.
    pub status: u16,
    /// Class specific; zero.
    pub class_specific: u16,
    /// Reserved: sent as zero, ignored on receipt.
    pub reserved: u16,
    /// Attribute modifier; zero.
    pub attribute_modifier: u32,
    /// The message.
    pub message: CmMessage,
}

impl CmMad {
    /// The base version of MADs.
    pub const BASE_VERSION: u8 = 1;
    /// The class version of communication management that everybody speaks.
    pub const CLASS_VERSION: u8 = 2;

    /// A message of this exchange, all else zero.
    pub const fn new(transaction_id: u64, message: CmMessage) -> Self {
        CmMad { transaction_id, status: 0, class_specific: 0, reserved: 0, attribute_modifier: 0, message }
    }

    /// From a header and the bytes behind it; `None` if they are of another class, version or method, or of an
    /// unknown attribute.
    pub fn from_parts(header: &MadHeader, data: &[u8; DATA_LENGTH]) -> Option<Self> {
        let cm = CmMad {
            transaction_id: header.transaction_id,
            status: header.status,
            class_specific: header.class_specific,
            reserved: header.reserved,
            attribute_modifier: header.attribute_modifier,
            message: CmMessage::decode(header.attribute_id, data)?,
        };
        (cm.header() == *header).then_some(cm)
    }

    /// The common header.
    pub const fn header(&self) -> MadHeader {
        MadHeader {
            base_version: Self::BASE_VERSION,
            class: MadClass::COMMUNICATION,
            class_version: Self::CLASS_VERSION,
            method: MadMethod::SEND,
            status: self.status,
            class_specific: self.class_specific,
            transaction_id: self.transaction_id,
            attribute_id: self.message.attribute_id(),
            reserved: self.reserved,
            attribute_modifier: self.attribute_modifier,
        }
    }

    /// To the bytes of the wire.
    pub fn encode(&self) -> [u8; Mad::LENGTH] {
        join(&self.header(), &self.message.encode())
    }
}

impl CmMessage {
    /// The fields of the message as a dump shows them: those of [`fields`](Self::fields), and where the service
    /// is an IP port, the parts of the service ID, and RDMA-CM's header in the place of the private data.
    /// Bases count from the start of the MAD.
    pub fn field_groups(&self) -> impl Iterator<Item = FieldGroup> + use<> {
        let whole = self.fields();
        let (service_id, ip_cm) = match self {
            CmMessage::Req(message) => message.ip_cm_fields(),
            CmMessage::SidrReq(message) => message.ip_cm_fields(),
            _ => (None, None),
        };
        // Private data are the last field of every message.
        let shown = match (ip_cm, whole.split_last()) {
            (Some(_), Some((_, front))) => front,
            _ => whole,
        };
        let message = FieldGroup { base: 0, fields: shown };
        [Some(message), service_id, ip_cm]
            .into_iter()
            .flatten()
            .map(|group| FieldGroup { base: group.base + MadHeader::LENGTH, ..group })
    }
}
