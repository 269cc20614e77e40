//! Whether a request is one for a listener, check by check, and with which reason it is refused otherwise.

use rdmalab_wire::mad::{RejReason, Req, TransportService};

use crate::call::ConnectionCall;
use crate::cm::Cm;
use crate::cm::rejecting::Refusal;
use crate::ids::ListenerId;
use crate::ip_service::read_private_data;
use crate::listeners::ListenKind;
use crate::request::{PathSettings, Service};
use crate::route::Route;

impl Cm {
    /// The listener and what it will be told; or with what to refuse, `None` for silence.
    pub(super) fn judge(
        &mut self,
        route: &Route,
        req: &Req,
    ) -> Result<(ListenerId, ConnectionCall), Option<Refusal>> {
        let service = self.transport(req)?;
        self.check_addresses(route, req)?;
        let Some(path_mtu) = req.path_mtu().filter(|mtu| *mtu <= self.config.path_mtu) else {
            self.counters.requests_wrong_mtu += 1;
            let largest = [self.config.path_mtu.code()];
            return Err(Some(Refusal::with_information(RejReason::INVALID_PATH_MTU, &largest)));
        };
        let listener = self.listener(route, req)?;
        let Ok((ip, consumer)) = read_private_data(route, req.service_id, &req.private_data) else {
            self.counters.requests_wrong_header += 1;
            return Err(Some(Refusal::new(RejReason::CONSUMER_REJECT)));
        };
        let call = ConnectionCall {
            route: *route,
            service_id: req.service_id,
            ip,
            service,
            qpn: req.local_qpn,
            starting_psn: req.starting_psn,
            responder_resources: req.responder_resources,
            initiator_depth: req.initiator_depth,
            retry_count: req.retry_count,
            rnr_retry_count: req.rnr_retry_count,
            end_to_end_flow_control: req.end_to_end_flow_control,
            shared_receive_queue: req.shared_receive_queue,
            path_mtu,
            partition_key: req.partition_key,
            path: PathSettings {
                flow_label: req.primary.flow_label,
                traffic_class: req.primary.traffic_class,
                hop_limit: req.primary.hop_limit,
                service_level: req.primary.service_level,
                packet_rate: req.primary.packet_rate,
                ack_timeout: req.primary.local_ack_timeout,
            },
            private_data: consumer.to_vec(),
        };
        self.check_room()?;
        Ok((listener, call))
    }

    fn transport(&mut self, req: &Req) -> Result<Service, Option<Refusal>> {
        match (req.transport_service, req.extended_transport) {
            (TransportService::Rc, _) => Ok(Service::Rc),
            (TransportService::Uc, _) => Ok(Service::Uc),
            (TransportService::Extended, 1) => Ok(Service::Xrc),
            _ => {
                self.counters.requests_wrong_transport += 1;
                Err(Some(Refusal::new(RejReason::INVALID_TRANSPORT_SERVICE_TYPE)))
            }
        }
    }

    /// On RoCE v2 the GIDs of the path are the addresses of the datagram. Another of ours is refused with the right one; another
    /// of the caller's would have us send to somebody who has not asked.
    fn check_addresses(&mut self, route: &Route, req: &Req) -> Result<(), Option<Refusal>> {
        let refusal = if req.primary.remote_gid != route.local_gid() {
            Refusal::with_information(RejReason::PRIMARY_REMOTE_GID_REJECTED, &route.local_gid().0)
        } else if req.primary.local_gid != route.peer_gid() {
            Refusal::new(RejReason::UNSUPPORTED_REQUEST)
        } else {
            return Ok(());
        };
        self.counters.requests_wrong_address += 1;
        Err(Some(refusal))
    }

    fn listener(&mut self, route: &Route, req: &Req) -> Result<ListenerId, Option<Refusal>> {
        let find = |kind| self.listeners.find(kind, req.service_id, route.local);
        match find(ListenKind::Connections) {
            Some(found) if found.is_full => {
                self.counters.backlog_full += 1;
                Err(None)
            }
            Some(found) => Ok(found.id),
            None if find(ListenKind::Datagrams).is_some() => {
                self.counters.requests_wrong_transport += 1;
                Err(Some(Refusal::new(RejReason::INVALID_TRANSPORT_SERVICE_TYPE)))
            }
            None => {
                self.counters.requests_without_listener += 1;
                Err(Some(Refusal::new(RejReason::INVALID_SERVICE_ID)))
            }
        }
    }

    fn check_room(&mut self) -> Result<(), Option<Refusal>> {
        if self.connections.len() >= self.config.limits.connections {
            self.counters.connections_full += 1;
            return Err(Some(Refusal::new(RejReason::NO_RESOURCES)));
        }
        if self.has_room_for_events() { Ok(()) } else { Err(None) }
    }
}
