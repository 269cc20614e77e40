//! What connection management tells, and what follows for queue pairs and programs.

use rdmalab_cm::{ConnectionId, ConnectionReply, Event};
use rdmalab_roce::Endpoint;
use rdmalab_verbs::Context;
use rdmalab_wire::mad::RejReason;

use super::identifier::{Identifier, Stage};
use super::{Below, CallFailure, CmEventKind, CmId, ConnectionTable, Offer};

impl ConnectionTable {
    pub(super) fn happen(&mut self, endpoint: &mut Endpoint, context: &mut Context, now: u64, event: Event) {
        match event {
            Event::ConnectRequest { listener, id, call } => {
                let offer = Offer {
                    responder_resources: call.responder_resources,
                    initiator_depth: call.initiator_depth,
                };
                let private_data = call.private_data.clone();
                let ends = call.ip.map(|ip| (ip.destination, ip.source));
                let child = self.child(Below::Listener(listener), Below::Connection(id), ends);
                let Some((listener, child)) = child else {
                    let _ = self.cm.destroy(now, id);
                    return;
                };
                if let Some(identifier) = self.identifiers.get_mut(child.0) {
                    identifier.call = Some(call);
                    identifier.offer = offer;
                }
                self.tell(child, CmEventKind::ConnectRequest { listener, offer, private_data });
            }
            Event::ServiceRequest { listener, id, call } => {
                let ends = call.ip.map(|ip| (ip.destination, ip.source));
                let child = self.child(Below::Listener(listener), Below::Question(id), ends);
                let Some((listener, child)) = child else {
                    let _ = self.cm.cancel_resolution(id);
                    return;
                };
                let (offer, private_data) = (Offer::default(), call.private_data);
                self.tell(child, CmEventKind::ConnectRequest { listener, offer, private_data });
            }
            Event::ConnectResponse { id, reply } => self.answered(endpoint, context, now, id, *reply),
            Event::Established { id, .. } => self.established(endpoint, context, now, id),
            Event::Rejected { id, rejection } => {
                self.ended(endpoint, context, Below::Connection(id), !rejection.time_wait, |_| {
                    CmEventKind::Rejected { reason: rejection.reason, private_data: rejection.private_data }
                });
            }
            Event::Unreachable { id, .. } => {
                self.ended(endpoint, context, Below::Connection(id), false, |_| CmEventKind::Unreachable);
            }
            Event::ConnectError { id, reason } => {
                self.ended(endpoint, context, Below::Connection(id), true, |_| {
                    CmEventKind::ConnectError(CallFailure::Ours(reason))
                });
            }
            Event::Disconnected { id, cause, .. } => {
                self.ended(endpoint, context, Below::Connection(id), false, |_| {
                    CmEventKind::Disconnected(cause)
                });
            }
            Event::TimeWaitExit { id, .. } => {
                if let Some(owner) = self.disown(Below::Connection(id)) {
                    self.tell(owner, CmEventKind::TimeWaitExit);
                }
            }
            Event::ServiceResolved { id, answer } => {
                self.ended(endpoint, context, Below::Question(id), true, |_| CmEventKind::ServiceResolved {
                    queue_pair: answer.qpn,
                    queue_key: answer.queue_key,
                    private_data: answer.private_data,
                });
            }
            Event::ServiceRefused { id, refusal } => {
                let kind = CmEventKind::ServiceRefused(refusal.status);
                self.ended(endpoint, context, Below::Question(id), true, |_| kind);
            }
            Event::ServiceUnreachable { id } => {
                self.ended(endpoint, context, Below::Question(id), true, |_| CmEventKind::Unreachable);
            }
            // Later kinds of events concern nobody here.
            _ => {}
        }
    }

    /// A new identifier for one that calls a listener; beside it, the listener's.
    pub(super) fn child(
        &mut self,
        listener: Below,
        below: Below,
        ends: Option<(std::net::SocketAddr, std::net::SocketAddr)>,
    ) -> Option<(CmId, CmId)> {
        let parent = *self.owners.get(&listener)?;
        let Identifier { channel, space, transport, .. } = *self.identifiers.get(parent.0)?;
        let mut identifier = Identifier { transport, ..Identifier::new(channel, space) };
        identifier.stage = Stage::Called;
        identifier.local = ends.map(|(local, _)| local);
        identifier.peer = ends.map(|(_, peer)| peer);
        let id = self.insert(identifier).ok()?;
        self.own(id, below);
        Some((parent, id))
    }

    /// Our call was accepted: the queue pair goes to RTS, and the peer is told that it is there.
    fn answered(
        &mut self,
        endpoint: &mut Endpoint,
        context: &mut Context,
        now: u64,
        id: ConnectionId,
        reply: ConnectionReply,
    ) {
        let Some(&owner) = self.owners.get(&Below::Connection(id)) else {
            let _ = self.cm.destroy(now, id);
            return;
        };
        let Some(identifier) = self.identifiers.get_mut(owner.0) else { return };
        let (Some(agreement), Some((number, kind))) = (&mut identifier.agreement, identifier.queue_pair)
        else {
            return;
        };
        agreement.destination = reply.qpn;
        agreement.send_psn = reply.starting_psn;
        agreement.outstanding_reads = agreement.outstanding_reads.min(reply.responder_resources);
        agreement.rnr_retry = reply.rnr_retry_count;
        let agreement = *agreement;
        let moved = endpoint
            .modify(context, number, &agreement.rtr(kind))
            .and_then(|()| endpoint.modify(context, number, &agreement.rts(kind)));
        if moved.is_err() || self.cm.confirm(id, &[]).is_err() {
            // The queue pair is gone, or was moved by somebody else.
            let _ = self.cm.destroy(now, id);
            self.disown(Below::Connection(id));
            if let Some(identifier) = self.identifiers.get_mut(owner.0) {
                identifier.stage = Stage::Over;
            }
            self.tell(owner, CmEventKind::ConnectError(CallFailure::Ours(RejReason::CONSUMER_REJECT)));
            return;
        }
        if let Some(identifier) = self.identifiers.get_mut(owner.0) {
            identifier.stage = Stage::Connected;
        }
        let offer =
            Offer { responder_resources: reply.responder_resources, initiator_depth: reply.initiator_depth };
        self.tell(owner, CmEventKind::Established { offer, private_data: reply.private_data });
    }

    /// The caller is ready: the queue pair may send.
    fn established(&mut self, endpoint: &mut Endpoint, context: &mut Context, now: u64, id: ConnectionId) {
        let Some(&owner) = self.owners.get(&Below::Connection(id)) else { return };
        let Some(identifier) = self.identifiers.get_mut(owner.0) else { return };
        let (offer, agreement, queue_pair) = (identifier.offer, identifier.agreement, identifier.queue_pair);
        identifier.stage = Stage::Connected;
        let moved = match (agreement, queue_pair) {
            (Some(agreement), Some((number, kind))) => {
                endpoint.modify(context, number, &agreement.rts(kind)).is_ok()
            }
            _ => false,
        };
        self.tell(owner, CmEventKind::Established { offer, private_data: Vec::new() });
        if !moved {
            // The program has taken the queue pair away meanwhile.
            let _ = self.cm.disconnect(now, id, &[]);
        }
    }

    /// A connection or a question is over; `forgets` says that nothing more comes of it.
    fn ended(
        &mut self,
        endpoint: &mut Endpoint,
        context: &mut Context,
        below: Below,
        forgets: bool,
        kind: impl FnOnce(CmId) -> CmEventKind,
    ) {
        let Some(&owner) = self.owners.get(&below) else { return };
        if let Some(identifier) = self.identifiers.get_mut(owner.0) {
            identifier.stage = Stage::Over;
            let was_connected = matches!(below, Below::Connection(_)) && identifier.agreement.is_some();
            if let (true, Some((number, _))) = (was_connected, identifier.queue_pair) {
                // It may be gone.
                let _ = endpoint.give_up(context, number);
            }
        }
        if forgets {
            self.disown(below);
        }
        self.tell(owner, kind(owner));
    }
}
