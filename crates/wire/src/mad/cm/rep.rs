//! REP, reply to a request for communication: yes, and how from this side.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 32 | local communication ID |
//! | 4 | 32 | remote communication ID |
//! | 8 | 32 | local queue key |
//! | 12 | 24 | local QPN |
//! | 15 | 8 | reserved |
//! | 16 | 24 | local EE context |
//! | 19 | 8 | reserved |
//! | 20 | 24 | starting PSN |
//! | 23 | 8 | reserved |
//! | 24 | 8 | responder resources |
//! | 25 | 8 | initiator depth |
//! | 26 | 5 | target acknowledgement delay |
//! | 26 | 2 | failover accepted |
//! | 26 | 1 | end-to-end flow control |
//! | 27 | 3 | RNR retry count |
//! | 27 | 1 | shared receive queue |
//! | 27 | 4 | reserved |
//! | 28 | 64 | local CA GUID |
//! | 36 | 1568 | private data, 196 bytes |

use crate::numbers::{Psn, QKey, Qpn};

use super::super::DATA_LENGTH;
use super::super::field::Field;
use super::super::layout::{At, byte_of};

/// Reply to a request for communication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rep {
    /// The sender's ID of the connection.
    pub local_communication_id: u32,
    /// The receiver's ID of the connection, from its request.
    pub remote_communication_id: u32,
    /// Queue key, of Reliable Datagram only.
    pub local_queue_key: QKey,
    /// The sender's queue pair.
    pub local_qpn: Qpn,
    /// Reserved: sent as zero, ignored on receipt.
    pub reserved_after_qpn: u8,
    /// The sender's end-to-end context, 24 bits, of Reliable Datagram only.
    pub local_ee_context: u32,
    /// Reserved: sent as zero, ignored on receipt.
    pub reserved_after_ee_context: u8,
    /// The PSN with which the *receiver* of this message begins to send.
    pub starting_psn: Psn,
    /// Reserved: sent as zero, ignored on receipt.
    pub reserved_after_psn: u8,
    /// How many RDMA READs and atomics the sender answers at once.
    pub responder_resources: u8,
    /// How many RDMA READs and atomics the sender will have under way at once.
    pub initiator_depth: u8,
    /// How long the sender may take to acknowledge, 5 bits: 4.096 µs times two to this power.
    pub target_ack_delay: u8,
    /// What became of the alternate path, 2 bits: 0 taken, 1 not supported, 2 not taken.
    pub failover_accepted: u8,
    /// Whether the sender's queue pair hands out credits.
    pub end_to_end_flow_control: bool,
    /// How often the receiver shall try again when the sender is not ready, 3 bits; 7 for ever.
    pub rnr_retry_count: u8,
    /// Whether the sender's queue pair takes its receives from a shared queue.
    pub shared_receive_queue: bool,
    /// Reserved, 4 bits: sent as zero, ignored on receipt.
    pub reserved_after_srq: u8,
    /// GUID of the sender's adapter.
    pub local_ca_guid: u64,
    /// For the application.
    pub private_data: [u8; 196],
}

impl Rep {
    /// The fields by name, offsets counted from the message's start.
    pub const FIELDS: &'static [Field] = &[
        Field::number(0, 0, 32, "local_communication_id", "infiniband.cm.rep"),
        Field::number(4, 0, 32, "remote_communication_id", "infiniband.cm.rep.remotecommid"),
        Field::number(8, 0, 32, "local_queue_key", "infiniband.cm.rep.localqkey"),
        Field::number(12, 0, 24, "local_qpn", "infiniband.cm.rep.localqpn"),
        Field::bytes(15, 1, "reserved_after_qpn", "infiniband.reserved"),
        Field::number(16, 0, 24, "local_ee_context", "infiniband.cm.rep.localeecn"),
        Field::bytes(19, 1, "reserved_after_ee_context", "infiniband.reserved"),
        Field::number(20, 0, 24, "starting_psn", "infiniband.cm.rep.startpsn"),
        Field::bytes(23, 1, "reserved_after_psn", "infiniband.reserved"),
        Field::number(24, 0, 8, "responder_resources", "infiniband.cm.rep.respres"),
        Field::number(25, 0, 8, "initiator_depth", "infiniband.cm.rep.initdepth"),
        Field::number(26, 0, 5, "target_ack_delay", "infiniband.cm.rep.tgtackdelay"),
        Field::number(26, 5, 2, "failover_accepted", "infiniband.cm.rep.failoveracc"),
        Field::number(26, 7, 1, "end_to_end_flow_control", "infiniband.cm.rep.e2eflowctrl"),
        Field::number(27, 0, 3, "rnr_retry_count", "infiniband.cm.rep.rnrretrcount"),
        Field::number(27, 3, 1, "shared_receive_queue", "infiniband.cm.rep.srq"),
        Field::number(27, 4, 4, "reserved_after_srq", "infiniband.cm.rep.reserved"),
        Field::number(28, 0, 64, "local_ca_guid", "infiniband.cm.rep.localcaguid"),
        Field::bytes(36, 196, "private_data", "infiniband.cm.rep.private"),
    ];

    /// From the bytes of the wire.
    pub const fn decode(data: &[u8; DATA_LENGTH]) -> Self {
        Rep {
            local_communication_id: At::<0>::u32(data),
            remote_communication_id: At::<4>::u32(data),
            local_queue_key: QKey::new(At::<8>::u32(data)),
            local_qpn: Qpn::new(At::<12>::u24(data)),
            reserved_after_qpn: data[15],
            local_ee_context: At::<16>::u24(data),
            reserved_after_ee_context: data[19],
            starting_psn: Psn::new(At::<20>::u24(data)),
            reserved_after_psn: data[23],
            responder_resources: data[24],
            initiator_depth: data[25],
            target_ack_delay: data[26] >> 3,
            failover_accepted: data[26] >> 1 & 0x3,
            end_to_end_flow_control: data[26] & 0x01 != 0,
            rnr_retry_count: data[27] >> 5,
            shared_receive_queue: data[27] & 0x10 != 0,
            reserved_after_srq: data[27] & 0x0f,
            local_ca_guid: At::<28>::u64(data),
            private_data: At::<36>::bytes(data),
        }
    }

    /// To the bytes of the wire.
    pub const fn encode(&self) -> [u8; DATA_LENGTH] {
        let mut data = [0; DATA_LENGTH];
        At::<0>::put(&mut data, self.local_communication_id.to_be_bytes());
        At::<4>::put(&mut data, self.remote_communication_id.to_be_bytes());
        At::<8>::put(&mut data, self.local_queue_key.value().to_be_bytes());
        At::<12>::put_24_and_8(&mut data, self.local_qpn.value(), self.reserved_after_qpn);
        At::<16>::put_24_and_8(&mut data, self.local_ee_context, self.reserved_after_ee_context);
        At::<20>::put_24_and_8(&mut data, self.starting_psn.value(), self.reserved_after_psn);
        data[24] = self.responder_resources;
        data[25] = self.initiator_depth;
        data[26] = byte_of([
            (self.target_ack_delay, 5),
            (self.failover_accepted, 2),
            (self.end_to_end_flow_control as u8, 1),
        ]);
        data[27] = byte_of([
            (self.rnr_retry_count, 3),
            (self.shared_receive_queue as u8, 1),
            (self.reserved_after_srq, 4),
        ]);
        At::<28>::put(&mut data, self.local_ca_guid.to_be_bytes());
        At::<36>::put(&mut data, self.private_data);
        data
    }
}

/// All zero.
impl Default for Rep {
    fn default() -> Self {
        Rep::decode(&[0; DATA_LENGTH])
    }
}
