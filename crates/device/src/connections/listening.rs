//! The called side: binding, listening, accepting, rejecting.

use std::net::{IpAddr, SocketAddr};

use rdmalab_cm::{AcceptRequest, AnswerRequest, Listen, ListenKind, RejectRequest, Service};
use rdmalab_roce::{Endpoint, QueuePairConfig};
use rdmalab_verbs::{Path, QueuePairType};
use rdmalab_wire::Qpn;
use rdmalab_wire::mad::{PortSpace, RejReason, ServiceId, SidrStatus};

use super::attributes::{Agreement, RDMA_UDP_QKEY, datagram, init};
use super::identifier::{Identifier, Stage};
use super::{Below, CmError, CmId, ConnectionParameters, Connections};
use crate::iwarp::Transport;

impl Connections<'_> {
    /// Listens on an address and a port (`rdma_bind_addr` and `rdma_listen`). An unspecified address stands for all of its
    /// family; port 0 takes any that is free, which [`ends`](Self::ends) tells. At most `backlog` callers wait for an
    /// answer.
    pub fn listen(&mut self, id: CmId, at: SocketAddr, backlog: usize) -> Result<(), CmError> {
        let Identifier { space, transport, .. } = *self.table.at(id, Stage::Idle)?;
        if !at.ip().is_unspecified() && !self.endpoint.config().addresses.contains(&at.ip()) {
            return Err(CmError::NoAddress(at.ip()));
        }
        if transport == Transport::Iwarp {
            return self.listen_for_streams(id, at, backlog);
        }
        // Several addresses may have listeners on one port, which then none of them holds.
        let (port, taken) = match at.port() {
            0 => self.table.cm.ports().take(space, None).map(|port| (port, Some(port)))?,
            port => (port, self.table.cm.ports().take(space, Some(port)).ok()),
        };
        let listen = Listen {
            service_id: ServiceId::rdma_ip(space, port),
            address: Some(at.ip()),
            kind: if space == PortSpace::Udp { ListenKind::Datagrams } else { ListenKind::Connections },
            backlog,
        };
        let listener = match self.table.cm.listen(&listen) {
            Ok(listener) => listener,
            Err(error) => {
                if let Some(port) = taken {
                    self.table.cm.ports().release(space, port);
                }
                return Err(error.into());
            }
        };
        self.table.own(id, Below::Listener(listener));
        let identifier = self.table.identifier(id)?;
        identifier.stage = Stage::Listening;
        identifier.taken_port = taken;
        identifier.local = Some(SocketAddr::new(at.ip(), port));
        Ok(())
    }

    /// Makes the queue pair of an identifier (`rdma_create_qp`) and moves it to INIT; one for datagrams to RTS. Over iWARP it
    /// is one of kind RC.
    pub fn create_queue_pair(&mut self, id: CmId, config: &QueuePairConfig) -> Result<Qpn, CmError> {
        let identifier = self.table.identifier(id)?;
        if identifier.queue_pair.is_some() {
            return Err(CmError::WrongState("one with a queue pair"));
        }
        if !identifier.takes(config.kind) {
            return Err(CmError::WrongKind);
        }
        if identifier.transport == Transport::Iwarp {
            let number = self.iwarp.create_queue_pair(self.context, config)?;
            self.table.identifier(id)?.queue_pair = Some((number, config.kind));
            return Ok(number);
        }
        let number = self.endpoint.create_queue_pair(self.context, config)?;
        let psn = self.table.psn();
        let mut moved = self.endpoint.modify(self.context, number, &init(config.kind));
        if config.kind == QueuePairType::Ud {
            for step in &datagram(psn) {
                moved = moved.and_then(|()| self.endpoint.modify(self.context, number, step));
            }
        }
        if let Err(error) = moved {
            let _ = self.endpoint.destroy_queue_pair(self.context, number);
            return Err(error.into());
        }
        self.table.identifier(id)?.queue_pair = Some((number, config.kind));
        Ok(number)
    }

    /// Accepts a call (`rdma_accept`). The queue pair receives from now on; it sends once the connection is
    /// [established](super::CmEventKind::Established).
    pub fn accept(
        &mut self,
        now: u64,
        id: CmId,
        parameters: &ConnectionParameters<'_>,
    ) -> Result<(), CmError> {
        if let Some(Below::Stream(stream)) = self.table.identifier(id)?.below {
            return self.accept_stream(id, stream, parameters);
        }
        let psn = self.table.psn();
        let identifier = self.table.at(id, Stage::Called)?;
        let (number, kind) = identifier.queue_pair.ok_or(CmError::NoQueuePair)?;
        let below = identifier.below;
        let private_data = parameters.private_data;
        if let Some(Below::Question(question)) = below {
            let queue_key = RDMA_UDP_QKEY;
            let answer = AnswerRequest::QueuePair { qpn: number, queue_key, private_data };
            self.table.cm.answer(now, question, &answer)?;
            self.table.disown(Below::Question(question));
            self.table.identifier(id)?.stage = Stage::Over;
            return Ok(());
        }
        let (Some(Below::Connection(connection)), Some(call)) = (below, identifier.call.clone()) else {
            return Err(CmError::WrongState(Stage::Over.name()));
        };
        let request = AcceptRequest {
            responder_resources: parameters.responder_resources.min(call.initiator_depth),
            initiator_depth: parameters.initiator_depth.min(call.responder_resources),
            rnr_retry_count: parameters.rnr_retry_count,
            shared_receive_queue: parameters.shared_receive_queue,
            private_data,
            ..AcceptRequest::new(&call, number, psn)
        };
        let agreement = Agreement {
            path: path(call.route.local, call.route.peer, call.path.traffic_class, call.path.hop_limit),
            path_mtu: smaller(self.endpoint, call.path_mtu),
            destination: call.qpn,
            receive_psn: psn,
            send_psn: call.starting_psn,
            answered_reads: request.responder_resources,
            outstanding_reads: request.initiator_depth,
            timeout: call.path.ack_timeout,
            retry_count: call.retry_count,
            rnr_retry: call.rnr_retry_count,
        };
        self.endpoint.modify(self.context, number, &agreement.rtr(kind))?;
        self.inquiries.look_ahead(agreement.path.destination);
        self.table.cm.accept(now, connection, &request)?;
        let identifier = self.table.identifier(id)?;
        identifier.agreement = Some(agreement);
        identifier.stage = Stage::Accepted;
        identifier.call = None;
        Ok(())
    }

    /// Refuses a call (`rdma_reject`).
    pub fn reject(&mut self, now: u64, id: CmId, private_data: &[u8]) -> Result<(), CmError> {
        self.refuse(now, id, &RejectRequest::consumer(private_data), SidrStatus::REJECTED)
    }

    /// Refuses a call since there is no room for it, which the caller is told: by a REJ for lack of resources, or, if it asked
    /// for a datagram service, by the answer that no queue pair is free. Over iWARP refusals have no reasons.
    pub fn reject_for_want_of_room(&mut self, now: u64, id: CmId) -> Result<(), CmError> {
        let request = RejectRequest { reason: RejReason::NO_RESOURCES, ..RejectRequest::consumer(&[]) };
        self.refuse(now, id, &request, SidrStatus::NO_QP)
    }

    fn refuse(
        &mut self,
        now: u64,
        id: CmId,
        request: &RejectRequest<'_>,
        status: SidrStatus,
    ) -> Result<(), CmError> {
        let private_data = request.private_data;
        let below = self.table.at(id, Stage::Called)?.below;
        match below {
            Some(Below::Stream(stream)) => return self.reject_stream(id, stream, private_data),
            Some(Below::Connection(connection)) => self.table.cm.reject(now, connection, request)?,
            Some(Below::Question(question)) => {
                let refused = AnswerRequest::Refused { status, private_data };
                self.table.cm.answer(now, question, &refused)?;
            }
            _ => return Err(CmError::WrongState(Stage::Over.name())),
        }
        if let Some(below) = below {
            self.table.disown(below);
        }
        self.table.identifier(id)?.stage = Stage::Over;
        Ok(())
    }
}

/// The transport of a connection for a kind of queue pair.
pub(super) fn service(kind: QueuePairType) -> Result<Service, CmError> {
    match kind {
        QueuePairType::Rc => Ok(Service::Rc),
        QueuePairType::Uc => Ok(Service::Uc),
        QueuePairType::XrcInitiator | QueuePairType::XrcTarget => Ok(Service::Xrc),
        QueuePairType::Ud => Err(CmError::WrongKind),
    }
}

pub(super) fn path(source: IpAddr, destination: IpAddr, traffic_class: u8, hop_limit: u8) -> Path {
    // Some send no hop limit for a neighbour; a packet needs one.
    Path {
        traffic_class,
        hop_limit: if hop_limit == 0 { 64 } else { hop_limit },
        ..Path::new(source, destination)
    }
}

/// The path MTU of a call, or what our link carries.
pub(super) fn smaller(endpoint: &Endpoint, called: rdmalab_wire::PathMtu) -> rdmalab_wire::PathMtu {
    let most = endpoint.config().max_mtu;
    if called.bytes() < most.bytes() { called } else { most }
}
