//! SIDR_REP, service ID resolution response: the queue pair that serves it and its key, or why there is none.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 32 | request ID |
//! | 4 | 8 | status |
//! | 5 | 8 | additional information length in bytes |
//! | 6 | 16 | reserved |
//! | 8 | 24 | QPN |
//! | 11 | 8 | reserved |
//! | 12 | 64 | service ID |
//! | 20 | 32 | queue key |
//! | 24 | 576 | additional information, 72 bytes |
//! | 96 | 1088 | private data, 136 bytes |

use crate::numbers::{QKey, Qpn};

use super::super::DATA_LENGTH;
use super::super::code::codes;
use super::super::field::Field;
use super::super::layout::At;
use super::super::service_id::ServiceId;

/// Service ID resolution response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SidrRep {
    /// The asker's number of the question.
    pub request_id: u32,
    /// Whether the answer is good, or why there is none.
    pub status: SidrStatus,
    /// How many bytes of the additional information count.
    pub information_length: u8,
    /// Reserved: sent as zero, ignored on receipt.
    pub reserved_after_length: u16,
    /// The queue pair that serves.
    pub qpn: Qpn,
    /// Reserved: sent as zero, ignored on receipt.
    pub reserved_after_qpn: u8,
    /// The service asked for.
    pub service_id: ServiceId,
    /// The key that datagrams to the queue pair must carry.
    pub queue_key: QKey,
    /// Where to ask instead, if redirected.
    pub additional_information: [u8; 72],
    /// For the application.
    pub private_data: [u8; 136],
}

codes! {
    /// Status of a SIDR_REP.
    SidrStatus(u8), "{:#04x}" {
        /// Queue pair and key are good.
        VALID = 0, "valid";
        /// Nobody serves this.
        SERVICE_ID_NOT_SUPPORTED = 1, "service_id_not_supported";
        /// The application said no.
        REJECTED = 2, "rejected_by_service_provider";
        /// No queue pair is free.
        NO_QP = 3, "no_qp";
        /// Ask elsewhere; additional information: where.
        REDIRECTED = 4, "redirected";
        /// The class version is not spoken here.
        UNSUPPORTED_VERSION = 5, "unsupported_version";
    }
}

impl SidrRep {
    /// The fields by name, offsets counted from the message's start. Wireshark 4.0 does not take it apart.
    pub const FIELDS: &'static [Field] = &[
        Field::number(0, 0, 32, "request_id", "infiniband.cm.sidrrep.requestid").ours(),
        Field::number(4, 0, 8, "status", "infiniband.cm.sidrrep.status").ours(),
        Field::number(5, 0, 8, "information_length", "infiniband.cm.sidrrep.infolen").ours(),
        Field::bytes(6, 2, "reserved_after_length", "infiniband.reserved").ours(),
        Field::number(8, 0, 24, "qpn", "infiniband.cm.sidrrep.qpn").ours(),
        Field::bytes(11, 1, "reserved_after_qpn", "infiniband.reserved").ours(),
        Field::number(12, 0, 64, "service_id", "infiniband.cm.sidrrep.serviceid").ours(),
        Field::number(20, 0, 32, "queue_key", "infiniband.cm.sidrrep.qkey").ours(),
        Field::bytes(24, 72, "additional_information", "infiniband.cm.sidrrep.info").ours(),
        Field::bytes(96, 136, "private_data", "infiniband.cm.sidrrep.private").ours(),
    ];

    /// From the bytes of the wire.
    pub const fn decode(data: &[u8; DATA_LENGTH]) -> Self {
        SidrRep {
            request_id: At::<0>::u32(data),
            status: SidrStatus(data[4]),
            information_length: data[5],
            reserved_after_length: At::<6>::u16(data),
            qpn: Qpn::new(At::<8>::u24(data)),
            reserved_after_qpn: data[11],
            service_id: ServiceId(At::<12>::u64(data)),
            queue_key: QKey::new(At::<20>::u32(data)),
            additional_information: At::<24>::bytes(data),
            private_data: At::<96>::bytes(data),
        }
    }

    /// To the bytes of the wire.
    pub const fn encode(&self) -> [u8; DATA_LENGTH] {
        let mut data = [0; DATA_LENGTH];
        At::<0>::put(&mut data, self.request_id.to_be_bytes());
        data[4] = self.status.0;
        data[5] = self.information_length;
        At::<6>::put(&mut data, self.reserved_after_length.to_be_bytes());
        At::<8>::put_24_and_8(&mut data, self.qpn.value(), self.reserved_after_qpn);
        At::<12>::put(&mut data, self.service_id.0.to_be_bytes());
        At::<20>::put(&mut data, self.queue_key.value().to_be_bytes());
        At::<24>::put(&mut data, self.additional_information);
        At::<96>::put(&mut data, self.private_data);
        data
    }
}

/// All zero.
impl Default for SidrRep {
    fn default() -> Self {
        SidrRep::decode(&[0; DATA_LENGTH])
    }
}
