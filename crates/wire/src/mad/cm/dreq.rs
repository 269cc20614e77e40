//! DREQ, request for communication release: this side ends the connection.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 32 | local communication ID |
//! | 4 | 32 | remote communication ID |
//! | 8 | 24 | remote QPN, or EE context of Reliable Datagram |
//! | 11 | 8 | reserved |
//! | 12 | 1760 | private data, 220 bytes |

use crate::numbers::Qpn;

use super::super::DATA_LENGTH;
use super::super::field::Field;
use super::super::layout::At;

/// Request for communication release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dreq {
    /// The sender's ID of the connection.
    pub local_communication_id: u32,
    /// The receiver's ID of the connection.
    pub remote_communication_id: u32,
    /// The receiver's queue pair, so that it can tell an old connection from a new one.
    pub remote_qpn: Qpn,
    /// Reserved: sent as zero, ignored on receipt.
    pub reserved: u8,
    /// For the application.
    pub private_data: [u8; 220],
}

impl Dreq {
    /// The fields by name, offsets counted from the message's start.
    pub const FIELDS: &'static [Field] = &[
        Field::number(0, 0, 32, "local_communication_id", "infiniband.cm.dreq.localcommid"),
        Field::number(4, 0, 32, "remote_communication_id", "infiniband.cm.dreq.remotecommid"),
        // Wireshark's name says "req".
        Field::number(8, 0, 24, "remote_qpn", "infiniband.cm.req.remoteqpneecn"),
        Field::bytes(11, 1, "reserved", "infiniband.reserved"),
        Field::bytes(12, 220, "private_data", "infiniband.cm.dreq.private"),
    ];

    /// From the bytes of the wire.
    pub const fn decode(data: &[u8; DATA_LENGTH]) -> Self {
        Dreq {
            local_communication_id: At::<0>::u32(data),
            remote_communication_id: At::<4>::u32(data),
            remote_qpn: Qpn::new(At::<8>::u24(data)),
            reserved: data[11],
            private_data: At::<12>::bytes(data),
        }
    }

    /// To the bytes of the wire.
    pub const fn encode(&self) -> [u8; DATA_LENGTH] {
        let mut data = [0; DATA_LENGTH];
        At::<0>::put(&mut data, self.local_communication_id.to_be_bytes());
        At::<4>::put(&mut data, self.remote_communication_id.to_be_bytes());
        At::<8>::put_24_and_8(&mut data, self.remote_qpn.value(), self.reserved);
        At::<12>::put(&mut data, self.private_data);
        data
    }
}

/// All zero.
impl Default for Dreq {
    fn default() -> Self {
        Dreq::decode(&[0; DATA_LENGTH])
    }
}
