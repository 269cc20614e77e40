//! The side that is called: REQ in, REP out, RTU in.

use alloc::boxed::Box;

use rdmalab_wire::Qpn;
use rdmalab_wire::mad::{CmMessage, Path, RejMessage, RejReason, Rep, Req, Rtu};

use super::Cm;
use super::rejecting::Refusal;
use crate::connection::{Connection, Fingerprint, Peer, State};
use crate::error::CommandError;
use crate::event::{EstablishedBy, Event};
use crate::ids::ConnectionId;
use crate::request::{AcceptRequest, Service, field};
use crate::route::Route;
use crate::timers::Owner;

mod judgement;

impl Cm {
    pub(super) fn handle_req(&mut self, now: u64, route: Route, transaction_id: u64, req: &Req) {
        let adapter = (req.local_ca_guid, route.peer);
        let known = self.connections.request(adapter, req.local_communication_id);
        if let Some(id) = known
            && let Some(connection) = self.connections.find(id)
            && connection.fingerprint == Some(Fingerprint::new(req))
        {
            self.handle_repeated_req(now, id);
            return;
        }
        // A caller that was started again may count from the same number; one whose queue pair is connected here has forgotten
        // that. In either case it does not know what we still hold.
        let forgotten = [known, self.connections.with_peer_queue_pair(adapter, req.local_qpn)];
        for id in forgotten.into_iter().flatten() {
            if !self.gives_way(now, id) {
                self.refuse_stale(now, route, transaction_id, req, id);
                return;
            }
        }
        if let Some(id) = known {
            self.connections.forget_request(id);
        }
        self.handle_new_req(route, transaction_id, req);
    }

    fn handle_repeated_req(&mut self, now: u64, id: u32) {
        self.counters.requests_repeated += 1;
        let Some(connection) = self.connections.find(id) else { return };
        match connection.state {
            State::RequestReceived if connection.last.is_none() => {
                if let Some(code) = self.config.decision_time {
                    let _ = self.mra(ConnectionId(id), code, &[]);
                }
            }
            State::RequestReceived | State::ReplySent | State::Rejected => self.repeat_last(now, id),
            // Answering could only hurt: the caller has long heard the reply.
            _ => {}
        }
    }

    fn refuse_stale(&mut self, now: u64, route: Route, transaction_id: u64, req: &Req, id: u32) {
        self.counters.stale += 1;
        let ids = (0, req.local_communication_id);
        let refusal = Refusal::new(RejReason::STALE_CONNECTION);
        self.transmit_rej(route, transaction_id, ids, RejMessage::Req, &refusal);
        self.end_stale(now, id);
    }

    fn handle_new_req(&mut self, route: Route, transaction_id: u64, req: &Req) {
        let (listener, call) = match self.judge(&route, req) {
            Ok(found) => found,
            Err(Some(refusal)) => {
                let ids = (0, req.local_communication_id);
                self.transmit_rej(route, transaction_id, ids, RejMessage::Req, &refusal);
                return;
            }
            Err(None) => return,
        };
        let id = self.fresh_id();
        let connection = Connection {
            state: State::RequestReceived,
            route,
            listener: Some(listener),
            peer: Some(Peer {
                ca_guid: req.local_ca_guid,
                communication_id: req.local_communication_id,
                qpn: req.local_qpn,
            }),
            fingerprint: Some(Fingerprint::new(req)),
            local_qpn: Qpn::default(),
            is_xrc: call.service == Service::Xrc,
            refuses_alternate_path: req.alternate != Path::default(),
            transaction_id,
            wait: self.config.wait(req.local_response_timeout),
            time_wait: self.config.time_wait(req.primary.local_ack_timeout),
            max_retries: req.max_cm_retries,
            retries_left: 0,
            extensions_left: 0,
            last: None,
            deadline: None,
            abandoned: false,
        };
        self.counters.requests += 1;
        self.connections.insert(id, connection);
        self.listeners.begin_waiting(listener);
        let call = Box::new(call);
        self.tell(id, Event::ConnectRequest { listener, id: ConnectionId(id), call });
    }

    /// Accepts a call. The queue pair must be able to receive by now. What follows is [`Established`](Event::Established),
    /// [`Rejected`](Event::Rejected) or [`Unreachable`](Event::Unreachable).
    ///
    /// # Errors
    ///
    /// [`UnknownConnection`](CommandError::UnknownConnection), [`WrongState`](CommandError::WrongState),
    /// [`PrivateDataTooLong`](CommandError::PrivateDataTooLong).
    pub fn accept(
        &mut self,
        now: u64,
        id: ConnectionId,
        request: &AcceptRequest<'_>,
    ) -> Result<(), CommandError> {
        let connection = self.owned(id)?;
        if connection.state != State::RequestReceived {
            return Err(CommandError::WrongState(connection.state.name()));
        }
        // XRC's target queue pair stands where Reliable Datagram has its context.
        let (local_qpn, local_ee_context) =
            if connection.is_xrc { (Qpn::default(), request.qpn.value()) } else { (request.qpn, 0) };
        let rep = Rep {
            local_communication_id: id.0,
            remote_communication_id: connection.remote_id(),
            local_qpn,
            local_ee_context,
            starting_psn: request.starting_psn,
            responder_resources: request.responder_resources,
            initiator_depth: request.initiator_depth,
            target_ack_delay: self.config.target_ack_delay,
            failover_accepted: u8::from(connection.refuses_alternate_path),
            end_to_end_flow_control: request.end_to_end_flow_control,
            rnr_retry_count: request.rnr_retry_count,
            shared_receive_queue: request.shared_receive_queue || connection.is_xrc,
            local_ca_guid: self.config.ca_guid,
            private_data: field(request.private_data)?,
            ..Rep::default()
        };
        let transaction_id = connection.transaction_id;
        self.stop_waiting(id.0);
        if let Some(connection) = self.connections.find_mut(id.0) {
            connection.state = State::ReplySent;
            connection.local_qpn = request.qpn;
        }
        self.connections.begin_unready(id.0);
        self.send_expecting(now, id.0, transaction_id, CmMessage::Rep(rep));
        Ok(())
    }

    pub(super) fn handle_rtu(&mut self, now: u64, route: Route, rtu: &Rtu) {
        let id = rtu.remote_communication_id;
        let Some(connection) = self.connections.find(id) else {
            self.counters.unknown += 1;
            return;
        };
        if !connection.is_addressed(&route, rtu.local_communication_id) {
            self.counters.mismatched += 1;
            return;
        }
        match connection.state {
            State::ReplySent => {
                self.established(id, EstablishedBy::ReadyToUse(rtu.private_data.to_vec()));
            }
            // The caller may not have heard that we have taken back what we said.
            State::Rejected => self.repeat_last(now, id),
            _ => self.counters.unexpected += 1,
        }
    }

    /// A packet came on a queue pair whose caller has not said that it is ready: that says as much. Whether this made a
    /// connection established; a queue pair of none that waits is no error, so that it can be called for every first packet.
    pub fn communication_established(&mut self, qpn: Qpn) -> bool {
        let Some(id) = self.connections.unready(qpn) else { return false };
        self.established(id, EstablishedBy::Data);
        true
    }

    pub(super) fn established(&mut self, id: u32, by: EstablishedBy) {
        self.connections.end_unready(id);
        let Some(connection) = self.connections.find_mut(id) else { return };
        self.timers.disarm(Owner::Connection(id), &mut connection.deadline);
        connection.state = State::Established;
        connection.last = None;
        self.tell(id, Event::Established { id: ConnectionId(id), by });
    }
}
