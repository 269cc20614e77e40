//! Connections without events: calling and answering that wait (what `rdma_create_ep`, `rdma_get_request` and the like do).

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rdmalab_verbs::QueuePairType;
use rdmalab_wire::mad::PortSpace;

use super::completion_queue::CompletionQueue;
use super::connection::{EventChannel, Identifier};
use super::device::Device;
use super::error::DeviceError;
use super::protection_domain::ProtectionDomain;
use super::queue_pair::{QueuePair, QueuePairOptions};
use crate::connections::{CmEventKind, ConnectionParameters, Offer};

/// A connection that stands, with its queue pair in RTS. Dropping it ends it.
pub struct Connection {
    // Dropped in this order: the peer hears of the end before the queue pair is gone.
    identifier: Identifier,
    /// The queue pair.
    pub queue_pair: QueuePair,
    channel: EventChannel,
    /// What the peer offered.
    pub offer: Offer,
    /// What the peer said when it accepted us; the caller's words if we accepted it.
    pub private_data: Vec<u8>,
}

/// Where calls come in.
pub struct CallListener {
    channel: EventChannel,
    identifier: Identifier,
}

/// A call that waits for an answer. Dropping it refuses it.
pub struct Call {
    identifier: Identifier,
    channel: EventChannel,
    /// What the caller offers.
    pub offer: Offer,
    /// What the caller says.
    pub private_data: Vec<u8>,
}

impl Device {
    /// Calls a peer, and waits until the connection stands. The queue pair is made by the options, for receives to be
    /// posted by `prepare` before the peer can send.
    pub fn call(
        &self,
        peer: SocketAddr,
        domain: &ProtectionDomain,
        options: &QueuePairOptions<'_>,
        parameters: &ConnectionParameters<'_>,
        prepare: impl FnOnce(&QueuePair) -> Result<(), DeviceError>,
        timeout: Option<Duration>,
    ) -> Result<Connection, DeviceError> {
        let channel = self.event_channel()?;
        let identifier = channel.identifier(PortSpace::Tcp)?;
        identifier.resolve_address(None, peer)?;
        identifier.resolve_route()?;
        let queue_pair = identifier.queue_pair(domain, options)?;
        prepare(&queue_pair)?;
        identifier.connect(parameters)?;
        let (offer, private_data) = established(&channel, timeout)?;
        Ok(Connection { identifier, queue_pair, channel, offer, private_data })
    }

    /// Calls a peer with a reliable connection as it is usual, and waits until it stands; see [`call`](Self::call).
    pub fn dial(
        &self,
        peer: SocketAddr,
        domain: &ProtectionDomain,
        completions: &CompletionQueue,
    ) -> Result<Connection, DeviceError> {
        let options = QueuePairOptions::new(QueuePairType::Rc, completions);
        self.call(peer, domain, &options, &ConnectionParameters::default(), |_| Ok(()), None)
    }

    /// Waits for calls at an address and a port; see [`Identifier::listen`].
    pub fn listen_for_calls(&self, at: SocketAddr, backlog: usize) -> Result<CallListener, DeviceError> {
        let channel = self.event_channel()?;
        let identifier = channel.identifier(PortSpace::Tcp)?;
        identifier.listen(at, backlog)?;
        Ok(CallListener { channel, identifier })
    }
}

/// Waits until a connection stands; without a timeout, for ever.
fn established(channel: &EventChannel, timeout: Option<Duration>) -> Result<(Offer, Vec<u8>), DeviceError> {
    let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    loop {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        let Some(event) = channel.wait(left)? else {
            let seconds = timeout.map_or(0, |timeout| timeout.as_secs());
            return Err(DeviceError::TimedOut { what: "the connection", seconds });
        };
        match event.kind {
            CmEventKind::Established { offer, private_data } => return Ok((offer, private_data)),
            CmEventKind::AddressResolved | CmEventKind::RouteResolved => {}
            other => return Err(DeviceError::NoConnection(Box::new(other))),
        }
    }
}

impl Connection {
    /// The addresses, ours and the peer's.
    pub fn ends(&self) -> Result<(Option<SocketAddr>, Option<SocketAddr>), DeviceError> {
        self.identifier.ends()
    }

    /// Whether the peer has ended the connection, or it broke.
    pub fn is_over(&self) -> Result<bool, DeviceError> {
        while let Some(event) = self.channel.poll()? {
            if matches!(event.kind, CmEventKind::Disconnected(_) | CmEventKind::TimeWaitExit) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Ends the connection: what is queued is flushed with an error, and the peer is told.
    pub fn disconnect(&self) -> Result<(), DeviceError> {
        self.identifier.disconnect()
    }
}

impl CallListener {
    /// Where it listens.
    pub fn address(&self) -> Result<Option<SocketAddr>, DeviceError> {
        Ok(self.identifier.ends()?.0)
    }

    /// Waits for the next call; without a timeout, for ever. `None` if the time is up.
    pub fn next(&self, timeout: Option<Duration>) -> Result<Option<Call>, DeviceError> {
        let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            let Some(event) = self.channel.wait(left)? else { return Ok(None) };
            let (CmEventKind::ConnectRequest { offer, private_data, .. }, Some(identifier)) =
                (event.kind, event.called)
            else {
                // A caller that gave up before it had a channel of its own.
                continue;
            };
            let channel = EventChannel::of(&identifier)?;
            identifier.migrate(&channel)?;
            return Ok(Some(Call { identifier, channel, offer, private_data }));
        }
    }
}

impl Call {
    /// The addresses, ours and the caller's.
    pub fn ends(&self) -> Result<(Option<SocketAddr>, Option<SocketAddr>), DeviceError> {
        self.identifier.ends()
    }

    /// Accepts, and waits until the connection stands. See [`Device::call`].
    pub fn accept(
        self,
        domain: &ProtectionDomain,
        options: &QueuePairOptions<'_>,
        parameters: &ConnectionParameters<'_>,
        prepare: impl FnOnce(&QueuePair) -> Result<(), DeviceError>,
        timeout: Option<Duration>,
    ) -> Result<Connection, DeviceError> {
        let Self { identifier, channel, private_data, .. } = self;
        let queue_pair = identifier.queue_pair(domain, options)?;
        prepare(&queue_pair)?;
        identifier.accept(parameters)?;
        let (offer, _) = established(&channel, timeout)?;
        Ok(Connection { identifier, queue_pair, channel, offer, private_data })
    }

    /// Accepts with a reliable connection as it is usual; see [`Device::dial`].
    pub fn answer(
        self,
        domain: &ProtectionDomain,
        completions: &CompletionQueue,
    ) -> Result<Connection, DeviceError> {
        let options = QueuePairOptions::new(QueuePairType::Rc, completions);
        self.accept(domain, &options, &ConnectionParameters::default(), |_| Ok(()), None)
    }

    /// Refuses the call with a word.
    pub fn reject(self, private_data: &[u8]) -> Result<(), DeviceError> {
        self.identifier.reject(private_data)
    }
}
