//! REQ, request for communication: who calls, for what, and how the connection shall be.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 32 | local communication ID |
//! | 4 | 32 | reserved |
//! | 8 | 64 | service ID |
//! | 16 | 64 | local CA GUID |
//! | 24 | 32 | reserved |
//! | 28 | 32 | local queue key |
//! | 32 | 24 | local QPN |
//! | 35 | 8 | responder resources |
//! | 36 | 24 | local EE context |
//! | 39 | 8 | initiator depth |
//! | 40 | 24 | remote EE context |
//! | 43 | 5 | remote CM response timeout |
//! | 43 | 2 | transport service type |
//! | 43 | 1 | end-to-end flow control |
//! | 44 | 24 | starting PSN |
//! | 47 | 5 | local CM response timeout |
//! | 47 | 3 | retry count |
//! | 48 | 16 | partition key |
//! | 50 | 4 | path MTU |
//! | 50 | 1 | RDC exists |
//! | 50 | 3 | RNR retry count |
//! | 51 | 4 | maximum CM retries |
//! | 51 | 1 | shared receive queue |
//! | 51 | 3 | extended transport type |
//! | 52 | 352 | primary path, a [`Path`] |
//! | 96 | 352 | alternate path, likewise; zero if there is none |
//! | 140 | 736 | private data, 92 bytes |

use core::fmt;

use crate::numbers::{PKey, Psn, QKey, Qpn};
use crate::path_mtu::PathMtu;

use super::super::DATA_LENGTH;
use super::super::ip_cm::IpCmHeader;
use super::super::layout::{At, byte_of};
use super::super::service_id::ServiceId;
use super::path::Path;

mod fields;

/// Request for communication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Req {
    /// The sender's ID of the connection.
    pub local_communication_id: u32,
    /// Reserved: sent as zero, ignored on receipt.
    pub reserved_after_id: u32,
    /// What is called.
    pub service_id: ServiceId,
    /// GUID of the sender's adapter; with the communication ID it tells requests of two callers apart.
    pub local_ca_guid: u64,
    /// Reserved: sent as zero, ignored on receipt.
    pub reserved_after_guid: u32,
    /// Queue key, of Reliable Datagram only.
    pub local_queue_key: QKey,
    /// The sender's queue pair.
    pub local_qpn: Qpn,
    /// How many RDMA READs and atomics the sender answers at once.
    pub responder_resources: u8,
    /// The sender's end-to-end context, 24 bits, of Reliable Datagram only.
    pub local_ee_context: u32,
    /// How many RDMA READs and atomics the sender would have under way at once.
    pub initiator_depth: u8,
    /// The receiver's end-to-end context, 24 bits, of Reliable Datagram only.
    pub remote_ee_context: u32,
    /// How soon the receiver shall answer, 5 bits; see
    /// [`response_timeout_nanoseconds`](super::response_timeout_nanoseconds).
    pub remote_response_timeout: u8,
    /// The transport of the connection.
    pub transport_service: TransportService,
    /// Whether the sender's queue pair hands out credits.
    pub end_to_end_flow_control: bool,
    /// The PSN with which the *receiver* of this message begins to send.
    pub starting_psn: Psn,
    /// How soon the sender will answer to messages, 5 bits.
    pub local_response_timeout: u8,
    /// How often the receiver shall repeat packets that are not acknowledged, 3 bits.
    pub retry_count: u8,
    /// Partition key of the connection.
    pub partition_key: PKey,
    /// Code of the path MTU, 4 bits; [`PathMtu::from_code`] knows five of them.
    pub path_mtu_code: u8,
    /// Whether there is a Reliable Datagram channel already.
    pub rdc_exists: bool,
    /// How often the receiver shall try again when the sender is not ready, 3 bits; 7 for ever.
    pub rnr_retry_count: u8,
    /// How often either side shall repeat messages of this exchange, 4 bits.
    pub max_cm_retries: u8,
    /// Whether the sender's queue pair takes its receives from a shared queue.
    pub shared_receive_queue: bool,
    /// Which transport [`TransportService::Extended`] means, 3 bits; 1 is XRC.
    pub extended_transport: u8,
    /// The path of the connection.
    pub primary: Path,
    /// The path to migrate to, all zero if there is none.
    pub alternate: Path,
    /// For the application, or RDMA-CM and the application; see [`ip_cm`](Self::ip_cm).
    pub private_data: [u8; 92],
}

/// The transport of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransportService {
    /// Reliable Connection.
    Rc = 0,
    /// Unreliable Connection.
    Uc = 1,
    /// Reliable Datagram.
    Rd = 2,
    /// What the extended transport type says.
    Extended = 3,
}

impl TransportService {
    /// The transport of the low two bits of `code`.
    pub const fn from_code(code: u8) -> Self {
        match code & 0x3 {
            0 => TransportService::Rc,
            1 => TransportService::Uc,
            2 => TransportService::Rd,
            _ => TransportService::Extended,
        }
    }
}

impl fmt::Display for TransportService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TransportService::Rc => "rc",
            TransportService::Uc => "uc",
            TransportService::Rd => "rd",
            TransportService::Extended => "extended",
        })
    }
}

impl Req {
    /// From the bytes of the wire.
    pub const fn decode(data: &[u8; DATA_LENGTH]) -> Self {
        Req {
            local_communication_id: At::<0>::u32(data),
            reserved_after_id: At::<4>::u32(data),
            service_id: ServiceId(At::<8>::u64(data)),
            local_ca_guid: At::<16>::u64(data),
            reserved_after_guid: At::<24>::u32(data),
            local_queue_key: QKey::new(At::<28>::u32(data)),
            local_qpn: Qpn::new(At::<32>::u24(data)),
            responder_resources: data[35],
            local_ee_context: At::<36>::u24(data),
            initiator_depth: data[39],
            remote_ee_context: At::<40>::u24(data),
            remote_response_timeout: data[43] >> 3,
            transport_service: TransportService::from_code(data[43] >> 1),
            end_to_end_flow_control: data[43] & 0x01 != 0,
            starting_psn: Psn::new(At::<44>::u24(data)),
            local_response_timeout: data[47] >> 3,
            retry_count: data[47] & 0x07,
            partition_key: PKey::new(At::<48>::u16(data)),
            path_mtu_code: data[50] >> 4,
            rdc_exists: data[50] & 0x08 != 0,
            rnr_retry_count: data[50] & 0x07,
            max_cm_retries: data[51] >> 4,
            shared_receive_queue: data[51] & 0x08 != 0,
            extended_transport: data[51] & 0x07,
            primary: Path::decode(&At::<52>::bytes(data)),
            alternate: Path::decode(&At::<96>::bytes(data)),
            private_data: At::<140>::bytes(data),
        }
    }

    /// To the bytes of the wire.
    pub const fn encode(&self) -> [u8; DATA_LENGTH] {
        let mut data = [0; DATA_LENGTH];
        At::<0>::put(&mut data, self.local_communication_id.to_be_bytes());
        At::<4>::put(&mut data, self.reserved_after_id.to_be_bytes());
        At::<8>::put(&mut data, self.service_id.0.to_be_bytes());
        At::<16>::put(&mut data, self.local_ca_guid.to_be_bytes());
        At::<24>::put(&mut data, self.reserved_after_guid.to_be_bytes());
        At::<28>::put(&mut data, self.local_queue_key.value().to_be_bytes());
        At::<32>::put_24_and_8(&mut data, self.local_qpn.value(), self.responder_resources);
        At::<36>::put_24_and_8(&mut data, self.local_ee_context, self.initiator_depth);
        let service = byte_of([
            (self.remote_response_timeout, 5),
            (self.transport_service as u8, 2),
            (self.end_to_end_flow_control as u8, 1),
        ]);
        At::<40>::put_24_and_8(&mut data, self.remote_ee_context, service);
        let retry = byte_of([(self.local_response_timeout, 5), (self.retry_count, 3)]);
        At::<44>::put_24_and_8(&mut data, self.starting_psn.value(), retry);
        At::<48>::put(&mut data, self.partition_key.value().to_be_bytes());
        data[50] = byte_of([(self.path_mtu_code, 4), (self.rdc_exists as u8, 1), (self.rnr_retry_count, 3)]);
        data[51] = byte_of([
            (self.max_cm_retries, 4),
            (self.shared_receive_queue as u8, 1),
            (self.extended_transport, 3),
        ]);
        At::<52>::put(&mut data, self.primary.encode());
        At::<96>::put(&mut data, self.alternate.encode());
        At::<140>::put(&mut data, self.private_data);
        data
    }

    /// The path MTU, if its code is one of the five.
    pub const fn path_mtu(&self) -> Option<PathMtu> {
        PathMtu::from_code(self.path_mtu_code)
    }

    /// RDMA-CM's header and the application's 56 bytes behind it, if the service is an IP port.
    pub fn ip_cm(&self) -> Option<(IpCmHeader, &[u8])> {
        self.service_id.to_rdma_ip()?;
        let (header, consumer) = self.private_data.split_first_chunk()?;
        Some((IpCmHeader::decode(header), consumer))
    }
}

/// All zero.
impl Default for Req {
    fn default() -> Self {
        Req::decode(&[0; DATA_LENGTH])
    }
}
