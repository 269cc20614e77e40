//! The calling side: calling, and ending a connection, which both sides may.

use rdmalab_cm::{ConnectRequest, DisconnectCause, PathSettings, ResolveRequest, Route, Target};
use rdmalab_wire::Qpn;
use rdmalab_wire::mad::PortSpace;

use super::attributes::Agreement;
use super::identifier::Stage;
use super::listening::{path, service};
use super::{Below, CmError, CmEventKind, CmId, Connections, PARTITION};
use crate::iwarp::Transport;

/// What one side offers for a connection (`rdma_conn_param`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionParameters<'a> {
    /// For the peer's application: 56 bytes of a caller, 180 of one that asks for a datagram service, 196 of one that
    /// accepts, 136 of one that answers. Over iWARP 508, or what the profile takes.
    pub private_data: &'a [u8],
    /// READs and atomics of the peer's that are answered at once.
    pub responder_resources: u8,
    /// READs and atomics that are outstanding at once.
    pub initiator_depth: u8,
    /// How often what is not acknowledged is sent again: 0 to 7. The caller's counts for both sides.
    pub retry_count: u8,
    /// How often the peer tries again when we are not ready: 0 to 7, 7 for ever.
    pub rnr_retry_count: u8,
    /// Whether receives come from a shared queue.
    pub shared_receive_queue: bool,
}

impl Default for ConnectionParameters<'_> {
    /// One READ at once each way, and as often again as can be said.
    fn default() -> Self {
        Self {
            private_data: &[],
            responder_resources: 1,
            initiator_depth: 1,
            retry_count: 7,
            rnr_retry_count: 7,
            shared_receive_queue: false,
        }
    }
}

impl Connections<'_> {
    /// Calls the peer (`rdma_connect`), or asks for its datagram service.
    pub fn connect(
        &mut self,
        now: u64,
        id: CmId,
        parameters: &ConnectionParameters<'_>,
    ) -> Result<(), CmError> {
        if self.table.identifier(id)?.transport == Transport::Iwarp {
            return self.connect_stream(id, parameters);
        }
        let psn = self.table.psn();
        let max_mtu = self.endpoint.config().max_mtu;
        let identifier = self.table.at(id, Stage::RouteResolved)?;
        let (Some(local), Some(peer)) = (identifier.local, identifier.peer) else {
            return Err(CmError::WrongState(Stage::Idle.name()));
        };
        let queue_pair = identifier.queue_pair;
        let route = Route::new(local.ip(), peer.ip(), PARTITION);
        let target = Target::Ip { space: identifier.space, port: peer.port(), source_port: local.port() };
        let private_data = parameters.private_data;
        let below = if identifier.space == PortSpace::Udp {
            let question = ResolveRequest { route, target, private_data };
            Below::Question(self.table.cm.resolve_service(now, &question)?)
        } else {
            let (number, kind) = queue_pair.ok_or(CmError::NoQueuePair)?;
            let path_settings = PathSettings::default();
            let request = ConnectRequest {
                service: service(kind)?,
                responder_resources: parameters.responder_resources,
                initiator_depth: parameters.initiator_depth,
                retry_count: parameters.retry_count,
                rnr_retry_count: parameters.rnr_retry_count,
                shared_receive_queue: parameters.shared_receive_queue,
                path_mtu: max_mtu,
                path: path_settings,
                private_data,
                ..ConnectRequest::new(route, target, number, psn)
            };
            let connection = self.table.cm.connect(now, &request)?;
            let identifier = self.table.identifier(id)?;
            identifier.receive_psn = psn;
            // What the peer will say is filled in when it has.
            identifier.agreement = Some(Agreement {
                path: path(route.local, route.peer, path_settings.traffic_class, path_settings.hop_limit),
                path_mtu: max_mtu,
                destination: Qpn::default(),
                receive_psn: psn,
                send_psn: psn,
                answered_reads: parameters.responder_resources,
                outstanding_reads: parameters.initiator_depth,
                timeout: path_settings.ack_timeout,
                retry_count: parameters.retry_count,
                rnr_retry: parameters.rnr_retry_count,
            });
            Below::Connection(connection)
        };
        self.table.own(id, below);
        self.table.identifier(id)?.stage = Stage::Calling;
        Ok(())
    }

    /// Ends a connection (`rdma_disconnect`): the queue pair goes to the error state, the peer is told. What the queue pair
    /// has carried out it still acknowledges.
    pub fn disconnect(&mut self, now: u64, id: CmId) -> Result<(), CmError> {
        let identifier = self.table.identifier(id)?;
        let below = identifier.below;
        if let Some(Below::Stream(stream)) = below {
            return self.disconnect_stream(id, stream);
        }
        match identifier.stage {
            Stage::Connected => {}
            // The caller has not confirmed: what we said is taken back, and no answer to that is due.
            Stage::Accepted => {
                identifier.stage = Stage::Over;
                if let Some(Below::Connection(connection)) = below {
                    self.table.cm.destroy(now, connection)?;
                    self.table.disown(Below::Connection(connection));
                }
                self.break_queue_pair(id);
                self.table.tell(id, CmEventKind::Disconnected(DisconnectCause::Ours));
                return Ok(());
            }
            // The peer was quicker.
            Stage::Over => return Ok(()),
            stage => return Err(CmError::WrongState(stage.name())),
        }
        if let Some(Below::Connection(connection)) = below {
            self.table.cm.disconnect(now, connection, &[])?;
        }
        self.break_queue_pair(id);
        Ok(())
    }
}
