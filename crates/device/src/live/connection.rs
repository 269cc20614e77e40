//! Connections of a live device by address and port: event channels and identifiers, as librdmacm has them.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rdmalab_net::MonotonicClock;
use rdmalab_wire::mad::PortSpace;

use super::error::DeviceError;
use super::protection_domain::ProtectionDomain;
use super::queue_pair::{QueuePair, QueuePairOptions};
use super::sleepers::Awaited;
use super::{Shared, same_device};
use crate::connections::{CmChannel, CmError, CmEventKind, CmId, ConnectionParameters, Connections};
use crate::iwarp::Transport;
use crate::port::Port;

/// How long the engine may take to listen.
const LISTENING: Duration = Duration::from_secs(5);

/// Where events of identifiers come out (`rdma_event_channel`). Any thread may wait for them.
pub struct EventChannel {
    shared: Arc<Shared>,
    channel: CmChannel,
}

/// An identifier of a connection, a listener or a question (`rdma_cm_id`). Dropping it ends what it stands for
/// ([`Connections::destroy_id`](crate::Connections::destroy_id)); its queue pair is a handle of its own.
pub struct Identifier {
    shared: Arc<Shared>,
    id: CmId,
}

/// Something that happened to an identifier.
#[derive(Debug)]
pub struct ChannelEvent {
    /// Whom it happened to.
    pub id: CmId,
    /// Of a [`ConnectRequest`](CmEventKind::ConnectRequest), the identifier that is to answer it. Dropping it refuses the
    /// call.
    pub called: Option<Identifier>,
    /// What happened.
    pub kind: CmEventKind,
}

fn with<T>(
    shared: &Shared,
    act: impl FnOnce(u64, Connections<'_>) -> Result<T, CmError>,
) -> Result<T, DeviceError> {
    let now = MonotonicClock::now();
    Ok(shared.with(|port| act(now, port.connections()?))?)
}

impl EventChannel {
    pub(super) fn new(shared: &Arc<Shared>) -> Result<Self, DeviceError> {
        let channel = with(shared, |_, mut connections| connections.create_channel())?;
        Ok(Self { shared: Arc::clone(shared), channel })
    }

    /// A channel of the device that an identifier belongs to.
    pub(super) fn of(identifier: &Identifier) -> Result<Self, DeviceError> {
        Self::new(&identifier.shared)
    }

    /// Makes an identifier (`rdma_create_id`): [`PortSpace::Tcp`] for connections, [`PortSpace::Udp`] for datagrams.
    pub fn identifier(&self, space: PortSpace) -> Result<Identifier, DeviceError> {
        let id = with(&self.shared, |_, mut connections| connections.create_id(self.channel, space))?;
        Ok(Identifier { shared: Arc::clone(&self.shared), id })
    }

    /// Makes an identifier over a transport of its own, whatever the device's usual one is. Datagrams are for RoCE only.
    pub fn identifier_over(&self, transport: Transport, space: PortSpace) -> Result<Identifier, DeviceError> {
        let id = with(&self.shared, |_, mut connections| {
            connections.create_id_over(transport, self.channel, space)
        })?;
        Ok(Identifier { shared: Arc::clone(&self.shared), id })
    }

    /// Takes the oldest event out, if there is one.
    pub fn poll(&self) -> Result<Option<ChannelEvent>, DeviceError> {
        let event = self.shared.lock().port().connections()?.poll_event(self.channel);
        Ok(event.map(|event| self.event(event)))
    }

    /// Waits for an event (`rdma_get_cm_event`); without a timeout, for ever. `None` if the time is up.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<Option<ChannelEvent>, DeviceError> {
        let event = self.shared.wait(Awaited::ConnectionEvent(self.channel), timeout, |port| {
            port.connections().ok()?.poll_event(self.channel)
        })?;
        Ok(event.map(|event| self.event(event)))
    }

    fn event(&self, event: crate::connections::CmEvent) -> ChannelEvent {
        let called = matches!(event.kind, CmEventKind::ConnectRequest { .. })
            .then(|| Identifier { shared: Arc::clone(&self.shared), id: event.id });
        ChannelEvent { id: event.id, called, kind: event.kind }
    }
}

impl Drop for EventChannel {
    fn drop(&mut self) {
        let _ = with(&self.shared, |_, mut connections| {
            connections.destroy_channel(self.channel);
            Ok(())
        });
    }
}

impl Identifier {
    /// What events call it.
    pub fn id(&self) -> CmId {
        self.id
    }

    /// Listens on an address and a port (`rdma_bind_addr` and `rdma_listen`). An unspecified address stands for all of its
    /// family; port 0 takes any that is free, which [`ends`](Self::ends) tells. At most `backlog` callers wait for an
    /// answer; more are let in when they call again.
    pub fn listen(&self, at: SocketAddr, backlog: usize) -> Result<(), DeviceError> {
        with(&self.shared, |_, mut connections| connections.listen(self.id, at, backlog))?;
        let listening = |port: &mut Port| {
            let listening = port.connections().and_then(|mut connections| connections.listening(self.id));
            listening.transpose()
        };
        let limit = LISTENING.as_secs();
        let outcome = self.shared.wait(Awaited::Turn, Some(LISTENING), listening)?;
        outcome.ok_or(DeviceError::TimedOut { what: "a socket that listens", seconds: limit })?.map(drop)?;
        Ok(())
    }

    /// Looks for an address of ours that leads to the peer's (`rdma_resolve_addr`).
    pub fn resolve_address(&self, source: Option<IpAddr>, peer: SocketAddr) -> Result<(), DeviceError> {
        with(&self.shared, |_, mut connections| connections.resolve_address(self.id, source, peer))
    }

    /// Looks for the route (`rdma_resolve_route`).
    pub fn resolve_route(&self) -> Result<(), DeviceError> {
        with(&self.shared, |_, mut connections| connections.resolve_route(self.id))
    }

    /// Makes its queue pair (`rdma_create_qp`), in INIT; one for datagrams in RTS.
    pub fn queue_pair(
        &self,
        domain: &ProtectionDomain,
        options: &QueuePairOptions<'_>,
    ) -> Result<QueuePair, DeviceError> {
        same_device(&self.shared, &domain.shared)?;
        let config = QueuePair::config(domain, options)?;
        let number =
            with(&self.shared, |_, mut connections| connections.create_queue_pair(self.id, &config))?;
        Ok(QueuePair::of(&self.shared, number))
    }

    /// Calls the peer (`rdma_connect`), or asks for its datagram service.
    pub fn connect(&self, parameters: &ConnectionParameters<'_>) -> Result<(), DeviceError> {
        with(&self.shared, |now, mut connections| connections.connect(now, self.id, parameters))
    }

    /// Accepts a call (`rdma_accept`). The queue pair receives from now on, and sends once the connection is
    /// [established](CmEventKind::Established).
    pub fn accept(&self, parameters: &ConnectionParameters<'_>) -> Result<(), DeviceError> {
        with(&self.shared, |now, mut connections| connections.accept(now, self.id, parameters))
    }

    /// Refuses a call (`rdma_reject`).
    pub fn reject(&self, private_data: &[u8]) -> Result<(), DeviceError> {
        with(&self.shared, |now, mut connections| connections.reject(now, self.id, private_data))
    }

    /// Refuses a call since there is no room for it, and says so; see
    /// [`Connections::reject_for_want_of_room`](crate::Connections::reject_for_want_of_room).
    pub fn reject_for_want_of_room(&self) -> Result<(), DeviceError> {
        with(&self.shared, |now, mut connections| connections.reject_for_want_of_room(now, self.id))
    }

    /// Ends a connection (`rdma_disconnect`): the queue pair goes to the error state, the peer is told.
    pub fn disconnect(&self) -> Result<(), DeviceError> {
        with(&self.shared, |now, mut connections| connections.disconnect(now, self.id))
    }

    /// Lets its events come out of another channel (`rdma_migrate_id`), those that wait already, too.
    pub fn migrate(&self, to: &EventChannel) -> Result<(), DeviceError> {
        same_device(&self.shared, &to.shared)?;
        with(&self.shared, |_, mut connections| connections.migrate_id(self.id, to.channel))
    }

    /// The addresses: ours and the peer's, as far as they are known.
    pub fn ends(&self) -> Result<(Option<SocketAddr>, Option<SocketAddr>), DeviceError> {
        with(&self.shared, |_, mut connections| connections.ends(self.id))
    }
}

impl std::fmt::Debug for Identifier {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Identifier").field(&self.id).finish()
    }
}

impl Drop for Identifier {
    fn drop(&mut self) {
        let _ = with(&self.shared, |now, mut connections| connections.destroy_id(now, self.id));
    }
}
