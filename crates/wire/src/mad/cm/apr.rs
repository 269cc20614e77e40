//! APR, alternate path response: the path of a LAP is taken, or not.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 32 | local communication ID |
//! | 4 | 32 | remote communication ID |
//! | 8 | 8 | additional information length in bytes |
//! | 9 | 8 | status |
//! | 10 | 16 | reserved |
//! | 12 | 576 | additional information, 72 bytes |
//! | 84 | 1184 | private data, 148 bytes |

use super::super::DATA_LENGTH;
use super::super::code::codes;
use super::super::field::Field;
use super::super::layout::At;

/// Alternate path response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Apr {
    /// The sender's ID of the connection.
    pub local_communication_id: u32,
    /// The receiver's ID of the connection.
    pub remote_communication_id: u32,
    /// How many bytes of the additional information count.
    pub information_length: u8,
    /// Whether the path is taken, or why not.
    pub status: ApStatus,
    /// Reserved: sent as zero, ignored on receipt.
    pub reserved: u16,
    /// What would have been accepted, by status.
    pub additional_information: [u8; 72],
    /// For the application.
    pub private_data: [u8; 148],
}

codes! {
    /// Status of an APR.
    ApStatus(u8), "{:#04x}" {
        /// The path is taken.
        SUCCESS = 0, "success";
        /// The communication ID is not known.
        INVALID_COMMUNICATION_ID = 1, "invalid_communication_id";
        /// Alternate paths are not supported.
        NOT_SUPPORTED = 2, "alternate_paths_not_supported";
        /// The path is not taken.
        REJECTED = 3, "rejected";
        /// Ask elsewhere; additional information: where.
        REDIRECTED = 4, "redirected";
        /// The path is the one in use.
        IS_CURRENT_PATH = 5, "is_current_path";
        /// The queue pair or context is not that of the connection.
        QPN_MISMATCH = 6, "qpn_mismatch";
        /// The LID is not accepted.
        INVALID_LID = 7, "invalid_lid";
        /// The GID is not accepted.
        INVALID_GID = 8, "invalid_gid";
        /// The flow label is not accepted.
        INVALID_FLOW_LABEL = 9, "invalid_flow_label";
        /// The traffic class is not accepted.
        INVALID_TRAFFIC_CLASS = 10, "invalid_traffic_class";
        /// The hop limit is not accepted.
        INVALID_HOP_LIMIT = 11, "invalid_hop_limit";
        /// The packet rate is not accepted.
        INVALID_PACKET_RATE = 12, "invalid_packet_rate";
        /// The service level is not accepted.
        INVALID_SL = 13, "invalid_sl";
    }
}

impl Apr {
    /// The fields by name, offsets counted from the message's start. Wireshark 4.0 does not take it apart.
    pub const FIELDS: &'static [Field] = &[
        Field::number(0, 0, 32, "local_communication_id", "infiniband.cm.apr.localcommid").ours(),
        Field::number(4, 0, 32, "remote_communication_id", "infiniband.cm.apr.remotecommid").ours(),
        Field::number(8, 0, 8, "information_length", "infiniband.cm.apr.infolen").ours(),
        Field::number(9, 0, 8, "status", "infiniband.cm.apr.status").ours(),
        Field::bytes(10, 2, "reserved", "infiniband.reserved").ours(),
        Field::bytes(12, 72, "additional_information", "infiniband.cm.apr.info").ours(),
        Field::bytes(84, 148, "private_data", "infiniband.cm.apr.private").ours(),
    ];

    /// From the bytes of the wire.
    pub const fn decode(data: &[u8; DATA_LENGTH]) -> Self {
        Apr {
            local_communication_id: At::<0>::u32(data),
            remote_communication_id: At::<4>::u32(data),
            information_length: data[8],
            status: ApStatus(data[9]),
            reserved: At::<10>::u16(data),
            additional_information: At::<12>::bytes(data),
            private_data: At::<84>::bytes(data),
        }
    }

    /// To the bytes of the wire.
    pub const fn encode(&self) -> [u8; DATA_LENGTH] {
        let mut data = [0; DATA_LENGTH];
        At::<0>::put(&mut data, self.local_communication_id.to_be_bytes());
        At::<4>::put(&mut data, self.remote_communication_id.to_be_bytes());
        data[8] = self.information_length;
        data[9] = self.status.0;
        At::<10>::put(&mut data, self.reserved.to_be_bytes());
        At::<12>::put(&mut data, self.additional_information);
        At::<84>::put(&mut data, self.private_data);
        data
    }
}

/// All zero.
impl Default for Apr {
    fn default() -> Self {
        Apr::decode(&[0; DATA_LENGTH])
    }
}
