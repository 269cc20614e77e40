//! The side that calls: REQ out, REP in, RTU out.

use alloc::boxed::Box;

use rdmalab_wire::Qpn;
use rdmalab_wire::mad::{CmMessage, Path, RejMessage, RejReason, Rep, Req, Rtu, TransportService};

use super::Cm;
use super::rejecting::Refusal;
use crate::call::ConnectionReply;
use crate::config::Config;
use crate::connection::{Connection, Peer, State};
use crate::error::CommandError;
use crate::event::Event;
use crate::ids::ConnectionId;
use crate::ip_service::write_private_data;
use crate::request::{ConnectRequest, Service, field};
use crate::route::Route;
use crate::timers::Owner;

impl Cm {
    /// Calls. What follows is [`ConnectResponse`](Event::ConnectResponse), [`Rejected`](Event::Rejected) or
    /// [`Unreachable`](Event::Unreachable).
    ///
    /// # Errors
    ///
    /// [`PrivateDataTooLong`](CommandError::PrivateDataTooLong), [`MixedFamilies`](CommandError::MixedFamilies),
    /// [`TooMany`](CommandError::TooMany).
    pub fn connect(&mut self, now: u64, request: &ConnectRequest<'_>) -> Result<ConnectionId, CommandError> {
        let private_data = write_private_data(&request.route, &request.target, request.private_data)?;
        if self.connections.len() >= self.config.limits.connections {
            return Err(CommandError::TooMany);
        }
        let id = self.fresh_id();
        let transaction_id = self.own_transaction(id);
        let connection = Connection {
            state: State::RequestSent,
            route: request.route,
            listener: None,
            peer: None,
            fingerprint: None,
            local_qpn: request.qpn,
            is_xrc: request.service == Service::Xrc,
            refuses_alternate_path: false,
            transaction_id,
            wait: self.config.wait(self.config.response_timeout),
            time_wait: self.config.time_wait(request.path.ack_timeout),
            max_retries: self.config.max_retries.min(15),
            retries_left: 0,
            extensions_left: 0,
            last: None,
            deadline: None,
            abandoned: false,
        };
        self.connections.insert(id, connection);
        let req = Req { local_communication_id: id, private_data, ..request_message(&self.config, request) };
        self.send_expecting(now, id, transaction_id, CmMessage::Req(req));
        Ok(ConnectionId(id))
    }

    pub(super) fn handle_rep(&mut self, now: u64, route: Route, transaction_id: u64, rep: &Rep) {
        let id = rep.remote_communication_id;
        let known = self.connections.find(id).filter(|connection| {
            connection.is_active_side() && connection.is_addressed(&route, rep.local_communication_id)
        });
        match known.map(|connection| connection.state) {
            Some(State::RequestSent) => self.take_rep(now, id, rep),
            Some(State::ReplyReceived | State::Established | State::Rejected) => {
                self.counters.replies_repeated += 1;
                self.repeat_last(now, id);
            }
            // The DREQ under way tells the peer more than an RTU would.
            Some(State::ReleaseSent(_)) => self.counters.replies_repeated += 1,
            _ => {
                self.counters.replies_unknown += 1;
                let ids = (rep.remote_communication_id, rep.local_communication_id);
                let reason = RejReason::INVALID_COMMUNICATION_ID;
                self.transmit_rej(route, transaction_id, ids, RejMessage::Rep, &Refusal::new(reason));
            }
        }
    }

    fn take_rep(&mut self, now: u64, id: u32, rep: &Rep) {
        let Some(connection) = self.connections.find_mut(id) else { return };
        // XRC's target queue pair stands where Reliable Datagram has its context.
        let qpn = match rep.local_ee_context {
            context if connection.is_xrc && context != 0 => Qpn::new(context),
            _ => rep.local_qpn,
        };
        let peer = Peer { ca_guid: rep.local_ca_guid, communication_id: rep.local_communication_id, qpn };
        connection.peer = Some(peer);
        let adapter = (peer.ca_guid, connection.route.peer);
        if let Some(stale) = self.connections.with_peer_queue_pair(adapter, qpn)
            && !self.gives_way(now, stale)
        {
            self.counters.stale += 1;
            let reason = RejReason::STALE_CONNECTION;
            self.tell(id, Event::ConnectError { id: ConnectionId(id), reason });
            self.refuse(now, id, RejMessage::Rep, &Refusal::new(reason));
            self.end_stale(now, stale);
            return;
        }
        let Some(connection) = self.connections.find_mut(id) else { return };
        self.timers.disarm(Owner::Connection(id), &mut connection.deadline);
        connection.state = State::ReplyReceived;
        connection.last = None;
        self.connections.index_peer_queue_pair(id);
        let reply = ConnectionReply {
            qpn,
            starting_psn: rep.starting_psn,
            responder_resources: rep.responder_resources,
            initiator_depth: rep.initiator_depth,
            target_ack_delay: rep.target_ack_delay,
            rnr_retry_count: rep.rnr_retry_count,
            end_to_end_flow_control: rep.end_to_end_flow_control,
            shared_receive_queue: rep.shared_receive_queue,
            private_data: rep.private_data.to_vec(),
        };
        self.tell(id, Event::ConnectResponse { id: ConnectionId(id), reply: Box::new(reply) });
    }

    /// Says that the queue pair is ready; the connection is made. `private_data` are 224 bytes at most, which the peer's
    /// application may never see: the message is not answered, and a packet on the connection counts as much.
    ///
    /// # Errors
    ///
    /// [`UnknownConnection`](CommandError::UnknownConnection), [`WrongState`](CommandError::WrongState),
    /// [`PrivateDataTooLong`](CommandError::PrivateDataTooLong).
    pub fn confirm(&mut self, id: ConnectionId, private_data: &[u8]) -> Result<(), CommandError> {
        let connection = self.owned(id)?;
        if connection.state != State::ReplyReceived {
            return Err(CommandError::WrongState(connection.state.name()));
        }
        let rtu = Rtu {
            local_communication_id: id.0,
            remote_communication_id: connection.remote_id(),
            private_data: field(private_data)?,
        };
        let transaction_id = connection.transaction_id;
        if let Some(connection) = self.connections.find_mut(id.0) {
            connection.state = State::Established;
        }
        self.send_once(id.0, transaction_id, CmMessage::Rtu(rtu));
        Ok(())
    }
}

/// The REQ, without ID and private data. What it has in all of Linux' requests on RoCE (seen) is written here: no LIDs, a
/// path beyond the subnet, no alternate path.
fn request_message(config: &Config, request: &ConnectRequest<'_>) -> Req {
    let (transport_service, extended_transport) = match request.service {
        Service::Rc => (TransportService::Rc, 0),
        Service::Uc => (TransportService::Uc, 0),
        Service::Xrc => (TransportService::Extended, 1),
    };
    let path = Path {
        local_lid: 0xffff,
        remote_lid: 0xffff,
        local_gid: request.route.local_gid(),
        remote_gid: request.route.peer_gid(),
        flow_label: request.path.flow_label,
        packet_rate: request.path.packet_rate,
        traffic_class: request.path.traffic_class,
        hop_limit: request.path.hop_limit,
        service_level: request.path.service_level,
        local_ack_timeout: request.path.ack_timeout,
        ..Path::default()
    };
    Req {
        service_id: request.target.service_id(),
        local_ca_guid: config.ca_guid,
        local_qpn: request.qpn,
        responder_resources: request.responder_resources,
        initiator_depth: request.initiator_depth,
        remote_response_timeout: config.response_timeout,
        transport_service,
        end_to_end_flow_control: request.end_to_end_flow_control,
        starting_psn: request.starting_psn,
        local_response_timeout: config.response_timeout,
        retry_count: request.retry_count,
        partition_key: request.route.partition_key(),
        path_mtu_code: request.path_mtu.code(),
        rnr_retry_count: request.rnr_retry_count,
        max_cm_retries: config.max_retries.min(15),
        shared_receive_queue: request.shared_receive_queue,
        extended_transport,
        primary: path,
        ..Req::default()
    }
}
