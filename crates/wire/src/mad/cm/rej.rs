//! REJ, reject: no connection, and why.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 32 | local communication ID; 0 if the sender has none |
//! | 4 | 32 | remote communication ID; 0 if the sender knows none |
//! | 8 | 2 | message rejected: 0 REQ, 1 REP, 2 none of them |
//! | 8 | 6 | reserved |
//! | 9 | 7 | reject information length in bytes |
//! | 9 | 1 | reserved |
//! | 10 | 16 | reason |
//! | 12 | 576 | additional reject information, 72 bytes |
//! | 84 | 1184 | private data, 148 bytes |

use core::fmt;

use super::super::DATA_LENGTH;
use super::super::field::Field;
use super::super::layout::{At, byte_of};
use super::rej_reason::RejReason;

/// Reject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rej {
    /// The sender's ID of the connection; 0 if it has none.
    pub local_communication_id: u32,
    /// The receiver's ID of the connection; 0 if the sender knows none.
    pub remote_communication_id: u32,
    /// Which message is rejected.
    pub message: RejMessage,
    /// Reserved, 6 bits: sent as zero, ignored on receipt.
    pub reserved_after_message: u8,
    /// How many bytes of the additional information count, 7 bits.
    pub information_length: u8,
    /// Reserved, 1 bit: sent as zero, ignored on receipt.
    pub reserved_after_length: bool,
    /// Why.
    pub reason: RejReason,
    /// What would have been accepted, by reason: a port, a class version, a path MTU, …
    pub additional_information: [u8; 72],
    /// For the application.
    pub private_data: [u8; 148],
}

/// The message that a REJ is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RejMessage {
    /// A request.
    Req = 0,
    /// A reply.
    Rep = 1,
    /// Neither: nothing came in time, or something that belongs to no connection.
    Other = 2,
    /// The value without meaning.
    Reserved = 3,
}

impl RejMessage {
    /// The message of the low two bits of `code`.
    pub const fn from_code(code: u8) -> Self {
        match code & 0x3 {
            0 => RejMessage::Req,
            1 => RejMessage::Rep,
            2 => RejMessage::Other,
            _ => RejMessage::Reserved,
        }
    }
}

impl fmt::Display for RejMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RejMessage::Req => "REQ",
            RejMessage::Rep => "REP",
            RejMessage::Other => "other",
            RejMessage::Reserved => "reserved",
        })
    }
}

impl Rej {
    /// The fields by name, offsets counted from the message's start.
    pub const FIELDS: &'static [Field] = &[
        Field::number(0, 0, 32, "local_communication_id", "infiniband.cm.rej.localcommid"),
        Field::number(4, 0, 32, "remote_communication_id", "infiniband.cm.rej.remotecommid"),
        Field::number(8, 0, 2, "message", "infiniband.cm.rej.msgrej"),
        Field::number(8, 2, 6, "reserved_after_message", "infiniband.cm.rej.reserved0"),
        Field::number(9, 0, 7, "information_length", "infiniband.cm.rej.rejinfolen"),
        Field::number(9, 7, 1, "reserved_after_length", "infiniband.cm.rej.reserved1"),
        Field::number(10, 0, 16, "reason", "infiniband.cm.rej.reason"),
        Field::bytes(12, 72, "additional_information", "infiniband.cm.rej.ari"),
        Field::bytes(84, 148, "private_data", "infiniband.cm.rej.private"),
    ];

    /// From the bytes of the wire.
    pub const fn decode(data: &[u8; DATA_LENGTH]) -> Self {
        Rej {
            local_communication_id: At::<0>::u32(data),
            remote_communication_id: At::<4>::u32(data),
            message: RejMessage::from_code(data[8] >> 6),
            reserved_after_message: data[8] & 0x3f,
            information_length: data[9] >> 1,
            reserved_after_length: data[9] & 0x01 != 0,
            reason: RejReason(At::<10>::u16(data)),
            additional_information: At::<12>::bytes(data),
            private_data: At::<84>::bytes(data),
        }
    }

    /// To the bytes of the wire.
    pub const fn encode(&self) -> [u8; DATA_LENGTH] {
        let mut data = [0; DATA_LENGTH];
        At::<0>::put(&mut data, self.local_communication_id.to_be_bytes());
        At::<4>::put(&mut data, self.remote_communication_id.to_be_bytes());
        data[8] = byte_of([(self.message as u8, 2), (self.reserved_after_message, 6)]);
        data[9] = byte_of([(self.information_length, 7), (self.reserved_after_length as u8, 1)]);
        At::<10>::put(&mut data, self.reason.0.to_be_bytes());
        At::<12>::put(&mut data, self.additional_information);
        At::<84>::put(&mut data, self.private_data);
        data
    }
}

/// All zero.
impl Default for Rej {
    fn default() -> Self {
        Rej::decode(&[0; DATA_LENGTH])
    }
}
