//! LAP, load alternate path: take this as the path to migrate to.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 32 | local communication ID |
//! | 4 | 32 | remote communication ID |
//! | 8 | 32 | reserved |
//! | 12 | 24 | remote QPN, or EE context of Reliable Datagram |
//! | 15 | 5 | remote CM response timeout |
//! | 15 | 3 | reserved |
//! | 16 | 32 | reserved |
//! | 20 | 16 | alternate local port LID |
//! | 22 | 16 | alternate remote port LID |
//! | 24 | 128 | alternate local port GID |
//! | 40 | 128 | alternate remote port GID |
//! | 56 | 20 | alternate flow label |
//! | 58 | 4 | reserved |
//! | 59 | 8 | alternate traffic class |
//! | 60 | 8 | alternate hop limit |
//! | 61 | 2 | reserved |
//! | 61 | 6 | alternate packet rate |
//! | 62 | 4 | alternate service level |
//! | 62 | 1 | alternate subnet local |
//! | 62 | 3 | reserved |
//! | 63 | 5 | alternate local acknowledgement timeout |
//! | 63 | 3 | reserved |
//! | 64 | 1344 | private data, 168 bytes |
//!
//! The path lies otherwise than in a REQ: traffic class and hop limit come in front of the packet rate.

use crate::gid::Gid;
use crate::numbers::Qpn;

use super::super::DATA_LENGTH;
use super::super::field::{Field, Form};
use super::super::layout::{At, byte_of};

/// Load alternate path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lap {
    /// The sender's ID of the connection.
    pub local_communication_id: u32,
    /// The receiver's ID of the connection.
    pub remote_communication_id: u32,
    /// Reserved: sent as zero, ignored on receipt.
    pub reserved_after_ids: u32,
    /// The receiver's queue pair.
    pub remote_qpn: Qpn,
    /// How soon the receiver shall answer, 5 bits; see
    /// [`response_timeout_nanoseconds`](super::response_timeout_nanoseconds).
    pub remote_response_timeout: u8,
    /// Reserved, 3 bits: sent as zero, ignored on receipt.
    pub reserved_after_timeout: u8,
    /// Reserved: sent as zero, ignored on receipt.
    pub reserved_before_path: u32,
    /// LID of the sender's port.
    pub local_lid: u16,
    /// LID of the receiver's port.
    pub remote_lid: u16,
    /// GID of the sender's port.
    pub local_gid: Gid,
    /// GID of the receiver's port.
    pub remote_gid: Gid,
    /// Flow label, 20 bits.
    pub flow_label: u32,
    /// Reserved, 4 bits: sent as zero, ignored on receipt.
    pub reserved_after_flow_label: u8,
    /// Traffic class.
    pub traffic_class: u8,
    /// Hop limit.
    pub hop_limit: u8,
    /// Reserved, 2 bits: sent as zero, ignored on receipt.
    pub reserved_after_hop_limit: u8,
    /// Rate of the path, 6 bits, in the codes of static rates; 0 leaves it open.
    pub packet_rate: u8,
    /// Service level, 4 bits.
    pub service_level: u8,
    /// Whether the path stays within one subnet.
    pub subnet_local: bool,
    /// Reserved, 3 bits: sent as zero, ignored on receipt.
    pub reserved_after_subnet_local: u8,
    /// Acknowledgement timeout of the sender's queue pair on this path, 5 bits.
    pub local_ack_timeout: u8,
    /// Reserved, 3 bits: sent as zero, ignored on receipt.
    pub reserved_after_ack_timeout: u8,
    /// For the application.
    pub private_data: [u8; 168],
}

impl Lap {
    /// The fields by name, offsets counted from the message's start. Wireshark 4.0 does not take it apart.
    pub const FIELDS: &'static [Field] = &[
        Field::number(0, 0, 32, "local_communication_id", "infiniband.cm.lap.localcommid").ours(),
        Field::number(4, 0, 32, "remote_communication_id", "infiniband.cm.lap.remotecommid").ours(),
        Field::bytes(8, 4, "reserved_after_ids", "infiniband.reserved").ours(),
        Field::number(12, 0, 24, "remote_qpn", "infiniband.cm.lap.remoteqpneecn").ours(),
        Field::number(15, 0, 5, "remote_response_timeout", "infiniband.cm.lap.remoteresptout").ours(),
        Field::number(15, 5, 3, "reserved_after_timeout", "infiniband.cm.lap.reserved0").ours(),
        Field::bytes(16, 4, "reserved_before_path", "infiniband.reserved").ours(),
        Field::number(20, 0, 16, "local_lid", "infiniband.cm.lap.alt_locallid").written(Form::Decimal).ours(),
        Field::number(22, 0, 16, "remote_lid", "infiniband.cm.lap.alt_remotelid")
            .written(Form::Decimal)
            .ours(),
        Field::bytes(24, 16, "local_gid", "infiniband.cm.lap.alt_localgid").written(Form::Ipv6).ours(),
        Field::bytes(40, 16, "remote_gid", "infiniband.cm.lap.alt_remotegid").written(Form::Ipv6).ours(),
        Field::number(56, 0, 20, "flow_label", "infiniband.cm.lap.alt_flowlabel")
            .written(Form::Hexadecimal(8))
            .ours(),
        Field::number(58, 4, 4, "reserved_after_flow_label", "infiniband.cm.lap.alt_reserved0").ours(),
        Field::number(59, 0, 8, "traffic_class", "infiniband.cm.lap.alt_tfcclass").ours(),
        Field::number(60, 0, 8, "hop_limit", "infiniband.cm.lap.alt_hoplim").ours(),
        Field::number(61, 0, 2, "reserved_after_hop_limit", "infiniband.cm.lap.alt_reserved1").ours(),
        Field::number(61, 2, 6, "packet_rate", "infiniband.cm.lap.alt_pktrate").ours(),
        Field::number(62, 0, 4, "service_level", "infiniband.cm.lap.alt_sl").ours(),
        Field::number(62, 4, 1, "subnet_local", "infiniband.cm.lap.alt_subnetlocal").ours(),
        Field::number(62, 5, 3, "reserved_after_subnet_local", "infiniband.cm.lap.alt_reserved2").ours(),
        Field::number(63, 0, 5, "local_ack_timeout", "infiniband.cm.lap.alt_localacktout").ours(),
        Field::number(63, 5, 3, "reserved_after_ack_timeout", "infiniband.cm.lap.alt_reserved3").ours(),
        Field::bytes(64, 168, "private_data", "infiniband.cm.lap.private").ours(),
    ];

    /// From the bytes of the wire.
    pub const fn decode(data: &[u8; DATA_LENGTH]) -> Self {
        Lap {
            local_communication_id: At::<0>::u32(data),
            remote_communication_id: At::<4>::u32(data),
            reserved_after_ids: At::<8>::u32(data),
            remote_qpn: Qpn::new(At::<12>::u24(data)),
            remote_response_timeout: data[15] >> 3,
            reserved_after_timeout: data[15] & 0x07,
            reserved_before_path: At::<16>::u32(data),
            local_lid: At::<20>::u16(data),
            remote_lid: At::<22>::u16(data),
            local_gid: Gid(At::<24>::bytes(data)),
            remote_gid: Gid(At::<40>::bytes(data)),
            flow_label: At::<56>::u24(data) >> 4,
            reserved_after_flow_label: data[58] & 0x0f,
            traffic_class: data[59],
            hop_limit: data[60],
            reserved_after_hop_limit: data[61] >> 6,
            packet_rate: data[61] & 0x3f,
            service_level: data[62] >> 4,
            subnet_local: data[62] & 0x08 != 0,
            reserved_after_subnet_local: data[62] & 0x07,
            local_ack_timeout: data[63] >> 3,
            reserved_after_ack_timeout: data[63] & 0x07,
            private_data: At::<64>::bytes(data),
        }
    }

    /// To the bytes of the wire.
    pub const fn encode(&self) -> [u8; DATA_LENGTH] {
        let mut data = [0; DATA_LENGTH];
        At::<0>::put(&mut data, self.local_communication_id.to_be_bytes());
        At::<4>::put(&mut data, self.remote_communication_id.to_be_bytes());
        At::<8>::put(&mut data, self.reserved_after_ids.to_be_bytes());
        let timeout = byte_of([(self.remote_response_timeout, 5), (self.reserved_after_timeout, 3)]);
        At::<12>::put_24_and_8(&mut data, self.remote_qpn.value(), timeout);
        At::<16>::put(&mut data, self.reserved_before_path.to_be_bytes());
        At::<20>::put(&mut data, self.local_lid.to_be_bytes());
        At::<22>::put(&mut data, self.remote_lid.to_be_bytes());
        At::<24>::put(&mut data, self.local_gid.0);
        At::<40>::put(&mut data, self.remote_gid.0);
        let flow = self.flow_label << 4 | self.reserved_after_flow_label as u32 & 0x0f;
        At::<56>::put_24_and_8(&mut data, flow, self.traffic_class);
        data[60] = self.hop_limit;
        data[61] = byte_of([(self.reserved_after_hop_limit, 2), (self.packet_rate, 6)]);
        data[62] = byte_of([
            (self.service_level, 4),
            (self.subnet_local as u8, 1),
            (self.reserved_after_subnet_local, 3),
        ]);
        data[63] = byte_of([(self.local_ack_timeout, 5), (self.reserved_after_ack_timeout, 3)]);
        At::<64>::put(&mut data, self.private_data);
        data
    }
}

/// All zero.
impl Default for Lap {
    fn default() -> Self {
        Lap::decode(&[0; DATA_LENGTH])
    }
}
