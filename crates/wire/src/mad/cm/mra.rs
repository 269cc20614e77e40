//! MRA, message receipt acknowledgement: the message has come, the answer will take longer.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 32 | local communication ID |
//! | 4 | 32 | remote communication ID |
//! | 8 | 2 | message received: 0 REQ, 1 REP, 2 LAP |
//! | 8 | 6 | reserved |
//! | 9 | 5 | service timeout |
//! | 9 | 3 | reserved |
//! | 10 | 1776 | private data, 222 bytes |

use core::fmt;

use super::super::DATA_LENGTH;
use super::super::field::Field;
use super::super::layout::{At, byte_of};

/// Message receipt acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mra {
    /// The sender's ID of the connection.
    pub local_communication_id: u32,
    /// The receiver's ID of the connection.
    pub remote_communication_id: u32,
    /// Which message was received.
    pub message: MraMessage,
    /// Reserved, 6 bits: sent as zero, ignored on receipt.
    pub reserved_after_message: u8,
    /// How long the receiver shall wait for the answer from now on, 5 bits; see
    /// [`response_timeout_nanoseconds`](super::response_timeout_nanoseconds).
    pub service_timeout: u8,
    /// Reserved, 3 bits: sent as zero, ignored on receipt.
    pub reserved_after_timeout: u8,
    /// For the application.
    pub private_data: [u8; 222],
}

/// The message that an MRA is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MraMessage {
    /// A request.
    Req = 0,
    /// A reply.
    Rep = 1,
    /// An alternate path.
    Lap = 2,
    /// The value without meaning.
    Reserved = 3,
}

impl MraMessage {
    /// The message of the low two bits of `code`.
    pub const fn from_code(code: u8) -> Self {
        match code & 0x3 {
            0 => MraMessage::Req,
            1 => MraMessage::Rep,
            2 => MraMessage::Lap,
            _ => MraMessage::Reserved,
        }
    }
}

impl fmt::Display for MraMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MraMessage::Req => "REQ",
            MraMessage::Rep => "REP",
            MraMessage::Lap => "LAP",
            MraMessage::Reserved => "reserved",
        })
    }
}

impl Mra {
    /// The fields by name, offsets counted from the message's start. Wireshark 4.0 does not take it apart.
    pub const FIELDS: &'static [Field] = &[
        Field::number(0, 0, 32, "local_communication_id", "infiniband.cm.mra.localcommid").ours(),
        Field::number(4, 0, 32, "remote_communication_id", "infiniband.cm.mra.remotecommid").ours(),
        Field::number(8, 0, 2, "message", "infiniband.cm.mra.msgmraed").ours(),
        Field::number(8, 2, 6, "reserved_after_message", "infiniband.cm.mra.reserved0").ours(),
        Field::number(9, 0, 5, "service_timeout", "infiniband.cm.mra.servicetout").ours(),
        Field::number(9, 5, 3, "reserved_after_timeout", "infiniband.cm.mra.reserved1").ours(),
        Field::bytes(10, 222, "private_data", "infiniband.cm.mra.private").ours(),
    ];

    /// From the bytes of the wire.
    pub const fn decode(data: &[u8; DATA_LENGTH]) -> Self {
        Mra {
            local_communication_id: At::<0>::u32(data),
            remote_communication_id: At::<4>::u32(data),
            message: MraMessage::from_code(data[8] >> 6),
            reserved_after_message: data[8] & 0x3f,
            service_timeout: data[9] >> 3,
            reserved_after_timeout: data[9] & 0x07,
            private_data: At::<10>::bytes(data),
        }
    }

    /// To the bytes of the wire.
    pub const fn encode(&self) -> [u8; DATA_LENGTH] {
        let mut data = [0; DATA_LENGTH];
        At::<0>::put(&mut data, self.local_communication_id.to_be_bytes());
        At::<4>::put(&mut data, self.remote_communication_id.to_be_bytes());
        data[8] = byte_of([(self.message as u8, 2), (self.reserved_after_message, 6)]);
        data[9] = byte_of([(self.service_timeout, 5), (self.reserved_after_timeout, 3)]);
        At::<10>::put(&mut data, self.private_data);
        data
    }
}

/// All zero.
impl Default for Mra {
    fn default() -> Self {
        Mra::decode(&[0; DATA_LENGTH])
    }
}
