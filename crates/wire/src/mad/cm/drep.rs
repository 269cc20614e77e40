//! DREP, reply to a request for communication release: this side has let go, too.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 32 | local communication ID |
//! | 4 | 32 | remote communication ID |
//! | 8 | 1792 | private data, 224 bytes |

use super::super::DATA_LENGTH;
use super::super::field::Field;
use super::super::layout::At;

/// Reply to a request for communication release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drep {
    /// The sender's ID of the connection.
    pub local_communication_id: u32,
    /// The receiver's ID of the connection.
    pub remote_communication_id: u32,
    /// For the application.
    pub private_data: [u8; 224],
}

impl Drep {
    /// The fields by name, offsets counted from the message's start.
    pub const FIELDS: &'static [Field] = &[
        Field::number(0, 0, 32, "local_communication_id", "infiniband.cm.drsp.localcommid"),
        Field::number(4, 0, 32, "remote_communication_id", "infiniband.cm.drsp.remotecommid"),
        Field::bytes(8, 224, "private_data", "infiniband.cm.drsp.private"),
    ];

    /// From the bytes of the wire.
    pub const fn decode(data: &[u8; DATA_LENGTH]) -> Self {
        Drep {
            local_communication_id: At::<0>::u32(data),
            remote_communication_id: At::<4>::u32(data),
            private_data: At::<8>::bytes(data),
        }
    }

    /// To the bytes of the wire.
    pub const fn encode(&self) -> [u8; DATA_LENGTH] {
        let mut data = [0; DATA_LENGTH];
        At::<0>::put(&mut data, self.local_communication_id.to_be_bytes());
        At::<4>::put(&mut data, self.remote_communication_id.to_be_bytes());
        At::<8>::put(&mut data, self.private_data);
        data
    }
}

/// All zero.
impl Default for Drep {
    fn default() -> Self {
        Drep::decode(&[0; DATA_LENGTH])
    }
}
