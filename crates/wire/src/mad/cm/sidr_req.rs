//! SIDR_REQ, service ID resolution request: which queue pair serves this, for datagrams?
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 32 | request ID |
//! | 4 | 16 | partition key |
//! | 6 | 16 | reserved |
//! | 8 | 64 | service ID |
//! | 16 | 1728 | private data, 216 bytes |

use crate::numbers::PKey;

use super::super::DATA_LENGTH;
use super::super::field::{Field, FieldGroup, Form};
use super::super::ip_cm::{IpCmHeader, ip_cm_fields};
use super::super::layout::At;
use super::super::service_id::{ServiceId, service_id_fields};

/// Service ID resolution request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SidrReq {
    /// The sender's number of the question.
    pub request_id: u32,
    /// Partition key.
    pub partition_key: PKey,
    /// Reserved: sent as zero, ignored on receipt.
    pub reserved: u16,
    /// What is asked for.
    pub service_id: ServiceId,
    /// For the application, or RDMA-CM and the application; see [`ip_cm`](Self::ip_cm).
    pub private_data: [u8; 216],
}

impl SidrReq {
    /// The fields by name, offsets counted from the message's start. Wireshark 4.0 does not take it apart.
    pub const FIELDS: &'static [Field] = &[
        Field::number(0, 0, 32, "request_id", "infiniband.cm.sidrreq.requestid").ours(),
        Field::number(4, 0, 16, "partition_key", "infiniband.cm.sidrreq.pkey").ours(),
        Field::bytes(6, 2, "reserved", "infiniband.reserved").ours(),
        Field::number(8, 0, 64, "service_id", "infiniband.cm.sidrreq.serviceid").ours(),
        Field::bytes(16, 216, "private_data", "infiniband.cm.sidrreq.private").ours(),
    ];

    /// From the bytes of the wire.
    pub const fn decode(data: &[u8; DATA_LENGTH]) -> Self {
        SidrReq {
            request_id: At::<0>::u32(data),
            partition_key: PKey::new(At::<4>::u16(data)),
            reserved: At::<6>::u16(data),
            service_id: ServiceId(At::<8>::u64(data)),
            private_data: At::<16>::bytes(data),
        }
    }

    /// To the bytes of the wire.
    pub const fn encode(&self) -> [u8; DATA_LENGTH] {
        let mut data = [0; DATA_LENGTH];
        At::<0>::put(&mut data, self.request_id.to_be_bytes());
        At::<4>::put(&mut data, self.partition_key.value().to_be_bytes());
        At::<6>::put(&mut data, self.reserved.to_be_bytes());
        At::<8>::put(&mut data, self.service_id.0.to_be_bytes());
        At::<16>::put(&mut data, self.private_data);
        data
    }

    /// RDMA-CM's header and the application's 180 bytes behind it, if the service is an IP port.
    pub fn ip_cm(&self) -> Option<(IpCmHeader, &[u8])> {
        self.service_id.to_rdma_ip()?;
        let (header, consumer) = self.private_data.split_first_chunk()?;
        Some((IpCmHeader::decode(header), consumer))
    }

    /// What a dump shows below the service ID and in place of the private data, if the service is an IP port.
    pub(super) fn ip_cm_fields(&self) -> (Option<FieldGroup>, Option<FieldGroup>) {
        let Some((header, _)) = self.ip_cm() else { return (None, None) };
        let fields = if header.ip_version == 4 { IP_CM_V4 } else { IP_CM_V6 };
        (Some(FieldGroup { base: 8, fields: SERVICE_ID }), Some(FieldGroup { base: 16, fields }))
    }
}

const SERVICE_ID: &[Field] = service_id_fields!("infiniband.cm.sidrreq.serviceid", ours);
const IP_CM_V4: &[Field] = ip_cm_fields!("infiniband.cm.sidrreq.ip_cm", 180, ipv4, ours);
const IP_CM_V6: &[Field] = ip_cm_fields!("infiniband.cm.sidrreq.ip_cm", 180, ipv6, ours);

/// All zero.
impl Default for SidrReq {
    fn default() -> Self {
        SidrReq::decode(&[0; DATA_LENGTH])
    }
}
