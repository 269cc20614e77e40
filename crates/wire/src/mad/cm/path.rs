//! A path in a REQ, primary or alternate: addresses and what the packets on it carry.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 16 | local port LID |
//! | 2 | 16 | remote port LID |
//! | 4 | 128 | local port GID |
//! | 20 | 128 | remote port GID |
//! | 36 | 20 | flow label |
//! | 38 | 6 | reserved |
//! | 39 | 6 | packet rate |
//! | 40 | 8 | traffic class |
//! | 41 | 8 | hop limit |
//! | 42 | 4 | service level |
//! | 42 | 1 | subnet local |
//! | 42 | 3 | reserved |
//! | 43 | 5 | local acknowledgement timeout |
//! | 43 | 3 | reserved |
//!
//! On RoCE both LIDs are 0xffff and *subnet local* is 0 where packets may be routed (seen).

use crate::gid::Gid;

use super::super::layout::{At, byte_of};

/// A path as the sender of the message sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Path {
    /// LID of the sender's port; 0xffff where there are none.
    pub local_lid: u16,
    /// LID of the receiver's port; 0xffff where there are none.
    pub remote_lid: u16,
    /// GID of the sender's port.
    pub local_gid: Gid,
    /// GID of the receiver's port.
    pub remote_gid: Gid,
    /// Flow label, 20 bits.
    pub flow_label: u32,
    /// Reserved, 6 bits: sent as zero, ignored on receipt.
    pub reserved_after_flow_label: u8,
    /// Rate of the path, 6 bits, in the codes of static rates; 0 leaves it open.
    pub packet_rate: u8,
    /// Traffic class.
    pub traffic_class: u8,
    /// Hop limit.
    pub hop_limit: u8,
    /// Service level, 4 bits.
    pub service_level: u8,
    /// Whether the path stays within one subnet.
    pub subnet_local: bool,
    /// Reserved, 3 bits: sent as zero, ignored on receipt.
    pub reserved_after_subnet_local: u8,
    /// Acknowledgement timeout of the sender's queue pair on this path, 5 bits, in the code of
    /// [`ack_timeout_nanoseconds`](crate::ack_timeout_nanoseconds).
    pub local_ack_timeout: u8,
    /// Reserved, 3 bits: sent as zero, ignored on receipt.
    pub reserved_after_ack_timeout: u8,
}

impl Path {
    /// Length in bytes.
    pub const LENGTH: usize = 44;

    /// From the bytes of the wire.
    pub const fn decode(bytes: &[u8; 44]) -> Self {
        let flow = At::<36>::u32(bytes);
        Path {
            local_lid: At::<0>::u16(bytes),
            remote_lid: At::<2>::u16(bytes),
            local_gid: Gid(At::<4>::bytes(bytes)),
            remote_gid: Gid(At::<20>::bytes(bytes)),
            flow_label: flow >> 12,
            reserved_after_flow_label: (flow >> 6) as u8 & 0x3f,
            packet_rate: flow as u8 & 0x3f,
            traffic_class: bytes[40],
            hop_limit: bytes[41],
            service_level: bytes[42] >> 4,
            subnet_local: bytes[42] & 0x08 != 0,
            reserved_after_subnet_local: bytes[42] & 0x07,
            local_ack_timeout: bytes[43] >> 3,
            reserved_after_ack_timeout: bytes[43] & 0x07,
        }
    }

    /// To the bytes of the wire.
    pub const fn encode(&self) -> [u8; 44] {
        let mut bytes = [0; 44];
        At::<0>::put(&mut bytes, self.local_lid.to_be_bytes());
        At::<2>::put(&mut bytes, self.remote_lid.to_be_bytes());
        At::<4>::put(&mut bytes, self.local_gid.0);
        At::<20>::put(&mut bytes, self.remote_gid.0);
        let flow = self.flow_label << 12
            | (self.reserved_after_flow_label as u32 & 0x3f) << 6
            | self.packet_rate as u32 & 0x3f;
        At::<36>::put(&mut bytes, flow.to_be_bytes());
        bytes[40] = self.traffic_class;
        bytes[41] = self.hop_limit;
        bytes[42] = byte_of([
            (self.service_level, 4),
            (self.subnet_local as u8, 1),
            (self.reserved_after_subnet_local, 3),
        ]);
        bytes[43] = byte_of([(self.local_ack_timeout, 5), (self.reserved_after_ack_timeout, 3)]);
        bytes
    }
}
