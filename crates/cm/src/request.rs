//! What an owner orders: to call, to accept, to reject.

use rdmalab_wire::mad::{PortSpace, RejReason, ServiceId, private_data};
use rdmalab_wire::{PathMtu, Psn, Qpn};

use crate::call::ConnectionCall;
use crate::route::Route;

/// The transport of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Service {
    /// Reliable Connection.
    Rc,
    /// Unreliable Connection.
    Uc,
    /// Extended Reliable Connection.
    Xrc,
}

/// What is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A service by its number. All private data are the application's.
    Service(ServiceId),
    /// An IP port at the peer, as RDMA-CM does it: 36 bytes of the private data say who calls.
    Ip {
        /// Whose ports.
        space: PortSpace,
        /// The port at the peer.
        port: u16,
        /// The port here; see [`Ports`](crate::Ports).
        source_port: u16,
    },
}

impl Target {
    /// The number on the wire.
    pub const fn service_id(&self) -> ServiceId {
        match *self {
            Target::Service(id) => id,
            Target::Ip { space, port, .. } => ServiceId::rdma_ip(space, port),
        }
    }
}

/// What packets on a path carry, and how long acknowledgements take on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathSettings {
    /// Flow label, 20 bits. The UDP source port of both sides' packets may follow from it:
    /// [`udp_source_port`](crate::udp_source_port).
    pub flow_label: u32,
    /// Traffic class.
    pub traffic_class: u8,
    /// Hop limit.
    pub hop_limit: u8,
    /// Service level, 4 bits.
    pub service_level: u8,
    /// Packet rate in the codes of static rates, 6 bits; 0 leaves it open.
    pub packet_rate: u8,
    /// Acknowledgement timeout of the caller's queue pair, 5 bits, in the code of
    /// [`ack_timeout_nanoseconds`](rdmalab_wire::ack_timeout_nanoseconds).
    pub ack_timeout: u8,
}

/// As Linux has it on RoCE (seen): hop limit 64, acknowledgement timeout 17 (0.54 s), all else zero.
impl Default for PathSettings {
    fn default() -> Self {
        PathSettings {
            flow_label: 0,
            traffic_class: 0,
            hop_limit: 64,
            service_level: 0,
            packet_rate: 0,
            ack_timeout: 17,
        }
    }
}

/// A call to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectRequest<'a> {
    /// From where to where.
    pub route: Route,
    /// What is called.
    pub target: Target,
    /// The transport.
    pub service: Service,
    /// Our queue pair.
    pub qpn: Qpn,
    /// The PSN with which the peer begins to send; what our queue pair expects first.
    pub starting_psn: Psn,
    /// How many READs and atomics of the peer's we answer at once.
    pub responder_resources: u8,
    /// How many READs and atomics we would have under way at once.
    pub initiator_depth: u8,
    /// How often the peer's queue pair repeats what is not acknowledged, 3 bits.
    pub retry_count: u8,
    /// How often the peer's queue pair tries again when ours is not ready, 3 bits; 7 for ever.
    pub rnr_retry_count: u8,
    /// Whether our queue pair hands out credits.
    pub end_to_end_flow_control: bool,
    /// Whether our queue pair takes its receives from a shared queue.
    pub shared_receive_queue: bool,
    /// The path MTU.
    pub path_mtu: PathMtu,
    /// The path.
    pub path: PathSettings,
    /// For the peer's application: 92 bytes, 56 of them to an IP port.
    pub private_data: &'a [u8],
}

impl ConnectRequest<'_> {
    /// Private data that fit a call to a service by number; to an IP port it is 36 bytes less.
    pub const PRIVATE_DATA: usize = 92;

    /// A call over Reliable Connection with one READ at once each way, as often again as can be said, path MTU 1024.
    pub fn new(route: Route, target: Target, qpn: Qpn, starting_psn: Psn) -> Self {
        ConnectRequest {
            route,
            target,
            service: Service::Rc,
            qpn,
            starting_psn,
            responder_resources: 1,
            initiator_depth: 1,
            retry_count: 7,
            rnr_retry_count: 7,
            end_to_end_flow_control: false,
            shared_receive_queue: false,
            path_mtu: PathMtu::M1024,
            path: PathSettings::default(),
            private_data: &[],
        }
    }
}

/// The answer to a call: yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcceptRequest<'a> {
    /// Our queue pair.
    pub qpn: Qpn,
    /// The PSN with which the caller begins to send; what our queue pair expects first.
    pub starting_psn: Psn,
    /// How many READs and atomics of the caller's we answer at once; not more than its
    /// [`initiator_depth`](ConnectionCall::initiator_depth).
    pub responder_resources: u8,
    /// How many READs and atomics we will have under way at once; not more than its
    /// [`responder_resources`](ConnectionCall::responder_resources).
    pub initiator_depth: u8,
    /// How often the caller's queue pair tries again when ours is not ready, 3 bits; 7 for ever.
    pub rnr_retry_count: u8,
    /// Whether our queue pair hands out credits.
    pub end_to_end_flow_control: bool,
    /// Whether our queue pair takes its receives from a shared queue.
    pub shared_receive_queue: bool,
    /// For the caller's application.
    pub private_data: &'a [u8],
}

impl AcceptRequest<'_> {
    /// Private data that fit.
    pub const PRIVATE_DATA: usize = 196;

    /// An answer that agrees to what the call asks for.
    pub fn new(call: &ConnectionCall, qpn: Qpn, starting_psn: Psn) -> Self {
        AcceptRequest {
            qpn,
            starting_psn,
            responder_resources: call.initiator_depth,
            initiator_depth: call.responder_resources,
            rnr_retry_count: 7,
            end_to_end_flow_control: false,
            shared_receive_queue: false,
            private_data: &[],
        }
    }
}

/// No, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RejectRequest<'a> {
    /// Why.
    pub reason: RejReason,
    /// What would be accepted, by reason; 72 bytes.
    pub additional_information: &'a [u8],
    /// For the peer's application; 148 bytes.
    pub private_data: &'a [u8],
}

impl<'a> RejectRequest<'a> {
    /// Private data that fit.
    pub const PRIVATE_DATA: usize = 148;

    /// The application says no.
    pub const fn consumer(private_data: &'a [u8]) -> Self {
        RejectRequest { reason: RejReason::CONSUMER_REJECT, additional_information: &[], private_data }
    }
}

/// Private data as a message has them.
pub(crate) fn field<const N: usize>(bytes: &[u8]) -> Result<[u8; N], crate::CommandError> {
    private_data(bytes).ok_or(crate::CommandError::PrivateDataTooLong { given: bytes.len(), limit: N })
}
