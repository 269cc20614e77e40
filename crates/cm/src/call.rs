//! What a peer says of its side of a connection: with its call, or with its reply to ours.

use alloc::vec::Vec;
use core::net::SocketAddr;

use rdmalab_wire::mad::{PortSpace, ServiceId};
use rdmalab_wire::{PKey, PathMtu, Psn, Qpn};

use crate::request::{PathSettings, Service};
use crate::route::Route;

/// A call that has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionCall {
    /// Between whom.
    pub route: Route,
    /// What was called.
    pub service_id: ServiceId,
    /// The caller's address and port, and what it called, if that is an IP port.
    pub ip: Option<IpCall>,
    /// The transport.
    pub service: Service,
    /// The caller's queue pair: the destination of ours.
    pub qpn: Qpn,
    /// The PSN with which our queue pair begins to send.
    pub starting_psn: Psn,
    /// How many READs and atomics the caller answers at once: the most that ours may have under way.
    pub responder_resources: u8,
    /// How many READs and atomics the caller would have under way at once: what ours should be able to answer.
    pub initiator_depth: u8,
    /// How often our queue pair shall repeat what is not acknowledged.
    pub retry_count: u8,
    /// How often our queue pair shall try again when the caller's is not ready; 7 for ever.
    pub rnr_retry_count: u8,
    /// Whether the caller's queue pair hands out credits.
    pub end_to_end_flow_control: bool,
    /// Whether the caller's queue pair takes its receives from a shared queue.
    pub shared_receive_queue: bool,
    /// The path MTU.
    pub path_mtu: PathMtu,
    /// The partition of the connection.
    pub partition_key: PKey,
    /// The path; the acknowledgement timeout is that of the caller's queue pair, and a fair one for ours.
    pub path: PathSettings,
    /// The application's: 92 bytes, 56 of them if an IP port was called.
    pub private_data: Vec<u8>,
}

/// Who calls whom, as IP sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IpCall {
    /// Whose ports.
    pub space: PortSpace,
    /// The caller's address and port.
    pub source: SocketAddr,
    /// The called address and port.
    pub destination: SocketAddr,
}

/// The answer to our call: yes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionReply {
    /// The peer's queue pair: the destination of ours.
    pub qpn: Qpn,
    /// The PSN with which our queue pair begins to send.
    pub starting_psn: Psn,
    /// How many READs and atomics the peer answers at once: the most that ours may have under way.
    pub responder_resources: u8,
    /// How many READs and atomics the peer will have under way at once.
    pub initiator_depth: u8,
    /// How long the peer may take to acknowledge, 5 bits: 4.096 µs times two to this power. It comes on top of what the path
    /// takes when our queue pair's acknowledgement timeout is chosen.
    pub target_ack_delay: u8,
    /// How often our queue pair shall try again when the peer's is not ready; 7 for ever.
    pub rnr_retry_count: u8,
    /// Whether the peer's queue pair hands out credits.
    pub end_to_end_flow_control: bool,
    /// Whether the peer's queue pair takes its receives from a shared queue.
    pub shared_receive_queue: bool,
    /// The application's, 196 bytes.
    pub private_data: Vec<u8>,
}
