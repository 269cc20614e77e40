//! The port: the transport with the tables of the application, IP packets in and out. Sans-IO.
//!
//! A port knows addresses and no link. An [`Adapter`](crate::Adapter) puts it into an emulated host on an Ethernet; over
//! UDP sockets it runs as it is.
//!
//! Invariant: the packet that [`Port::packet`] shows stays the same until [`Port::pass`].

use std::net::IpAddr;

use rdmalab_host::Reach;
use rdmalab_roce::{Batch, Counters, CreateError, Endpoint, EndpointConfig, Event, QueuePairConfig, Served};
use rdmalab_verbs::{
    AddressHandleId, Attributes, Context, ModifyError, Path, PostError, ProtectionDomainId, ReceiveRequest,
    SendRequest, State,
};
use rdmalab_wire::Qpn;

use crate::connections::{CmError, ConnectionTable, Connections};
use crate::event::DeviceEvent;
use crate::inquiries::Inquiries;
use crate::iwarp::{self, IwarpCounters, IwarpSettings, IwarpTable, Transport, is_iwarp};

/// Packets that are built before they are handed on.
const BATCH: usize = 32;

/// A port with its queue pairs and what they work on.
pub struct Port {
    /// The transport.
    pub endpoint: Endpoint,
    /// Domains, regions and windows, completion queues, shared receive queues, address handles.
    pub context: Context,
    batch: Batch,
    /// Packets of the batch that were handed on.
    handed: usize,
    headroom: usize,
    connections: Option<Box<ConnectionTable>>,
    pub(crate) iwarp: IwarpTable,
    pub(crate) inquiries: Inquiries,
}

impl Port {
    /// A port with nothing made in it. Packets that it sends have `headroom` free bytes in front.
    pub fn new(config: EndpointConfig, headroom: usize) -> Self {
        // The other numbers are those of queue pairs that speak iWARP.
        let config = EndpointConfig { max_queue_pairs: config.max_queue_pairs.min(iwarp::OTHERS), ..config };
        Self {
            batch: Batch::new(BATCH, config.max_mtu, headroom),
            endpoint: Endpoint::new(config),
            context: Context::default(),
            handed: 0,
            headroom,
            connections: None,
            iwarp: IwarpTable::default(),
            inquiries: Inquiries::default(),
        }
    }

    /// Lets the port manage connections from now on: it has a general services interface, answers who calls, and may
    /// call. `seed` gives the numbers of its messages and its first PSNs; where peers outlive a run, it must be another in
    /// the next.
    pub fn manage_connections(&mut self, seed: u64) -> Result<(), CreateError> {
        if self.connections.is_none() {
            let table = ConnectionTable::new(&mut self.endpoint, &mut self.context, seed)?;
            self.connections = Some(Box::new(table));
        }
        Ok(())
    }

    /// Over what identifiers talk of which nothing else is said, and how connections over iWARP are made.
    pub fn set_transport(&mut self, transport: Transport, iwarp: IwarpSettings) {
        self.iwarp.set_settings(iwarp);
        if let Some(table) = &mut self.connections {
            table.set_transport(transport);
        }
    }

    /// Over what identifiers talk of which nothing else is said.
    pub fn transport(&self) -> Transport {
        self.connections.as_ref().map_or_else(Transport::default, |table| table.transport())
    }

    /// What iWARP counted so far.
    pub fn iwarp_counters(&self) -> IwarpCounters {
        self.iwarp.counters()
    }

    /// The connections, if the port [manages](Self::manage_connections) them.
    pub fn connections(&mut self) -> Result<Connections<'_>, CmError> {
        let Self { endpoint, context, connections, iwarp, inquiries, .. } = self;
        let table = connections.as_deref_mut().ok_or(CmError::NotManaged)?;
        Ok(Connections { table, endpoint, context, iwarp, inquiries })
    }

    /// Events that channels of connections were told of so far.
    #[cfg(feature = "net")]
    pub(crate) fn connection_events(&self) -> u64 {
        self.connections.as_ref().map_or(0, |table| table.told())
    }

    /// Whether such a channel has events.
    #[cfg(feature = "net")]
    pub(crate) fn has_connection_event(&self, channel: crate::connections::CmChannel) -> bool {
        self.connections.as_ref().is_some_and(|table| table.has_event(channel))
    }

    fn service_connections(&mut self, now: u64) {
        if let Some(table) = &mut self.connections {
            table.service(&mut self.endpoint, &mut self.context, &mut self.iwarp, now);
        }
    }

    /// The port's addresses in the order of its GID table.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.endpoint.config().addresses
    }

    /// What the transport counted so far.
    pub fn counters(&self) -> Counters {
        let mut counters = *self.endpoint.counters();
        counters.lost_events += self.connections.as_ref().map_or(0, |table| table.lost_events());
        counters.lost_events += self.iwarp.lost_events();
        counters
    }

    /// Makes a queue pair, in RESET.
    pub fn create_queue_pair(&mut self, config: &QueuePairConfig) -> Result<Qpn, CreateError> {
        self.endpoint.create_queue_pair(&mut self.context, config)
    }

    /// Ends a queue pair. Its requests vanish without completions; packets for it are dropped.
    pub fn destroy_queue_pair(&mut self, number: Qpn) -> Result<(), ModifyError> {
        if is_iwarp(number) {
            return self.iwarp.destroy_queue_pair(&mut self.context, number);
        }
        self.endpoint.destroy_queue_pair(&mut self.context, number)
    }

    /// Changes a queue pair's state or attributes, by the table of [`rdmalab_verbs::transitions`]. Where its packets will
    /// go, the adapter begins to look for the neighbour. One that speaks iWARP can be moved to ERR only: the rest is a matter
    /// of its connection.
    pub fn modify(&mut self, number: Qpn, attributes: &Attributes) -> Result<(), ModifyError> {
        if is_iwarp(number) {
            return self.iwarp.modify(&mut self.context, number, attributes);
        }
        self.endpoint.modify(&mut self.context, number, attributes)?;
        if let Some(path) = attributes.path {
            self.inquiries.look_ahead(path.destination);
        }
        Ok(())
    }

    /// The state of a queue pair, over whichever transport.
    pub fn state(&self, number: Qpn) -> Option<State> {
        if is_iwarp(number) { self.iwarp.state(number) } else { self.endpoint.state(number) }
    }

    /// What the requests of a queue pair's peer came to, since it was made; not counted over iWARP.
    pub fn served(&self, number: Qpn) -> Option<Served> {
        self.endpoint.served(number)
    }

    /// Makes an address handle; the adapter begins to look for the neighbour.
    pub fn create_address_handle(
        &mut self,
        domain: ProtectionDomainId,
        path: Path,
    ) -> Result<AddressHandleId, rdmalab_verbs::CreateError> {
        let handle = self.context.create_address_handle(domain, path)?;
        self.inquiries.look_ahead(path.destination);
        Ok(handle)
    }

    /// Identifiers that wait for their peers' neighbours are told what came of it.
    pub(crate) fn answer(&mut self, now: u64, reach: impl Fn(IpAddr) -> Reach) {
        let Some(table) = &mut self.connections else { return };
        for (id, came) in self.inquiries.answered(reach) {
            table.address_answered(now, id, came);
        }
    }

    /// Posts to the send queue.
    pub fn post_send(&mut self, number: Qpn, request: &SendRequest<'_>) -> Result<(), PostError> {
        if is_iwarp(number) {
            return self.iwarp.post_send(&mut self.context, number, request);
        }
        self.endpoint.post_send(&mut self.context, number, request)
    }

    /// Posts to the receive queue.
    pub fn post_receive(&mut self, number: Qpn, request: &ReceiveRequest<'_>) -> Result<(), PostError> {
        if is_iwarp(number) {
            return self.iwarp.post_receive(&mut self.context, number, request);
        }
        self.endpoint.post_receive(&mut self.context, number, request)
    }

    /// Whether [asynchronous events](Self::poll_asynchronous_event) wait to be taken out.
    pub fn has_events(&self) -> bool {
        self.connections.as_ref().is_some_and(|table| table.has_transport_events())
            || self.endpoint.has_events()
            || self.iwarp.has_events()
            || self.context.has_asynchronous_events()
    }

    /// As [`poll_event`](Self::poll_event), but for events of armed completion queues, which stay.
    pub fn poll_asynchronous_event(&mut self) -> Option<DeviceEvent> {
        let of_queue_pair = self.poll_transport_event().map(DeviceEvent::QueuePair);
        of_queue_pair.or_else(|| self.context.poll_asynchronous_event().map(DeviceEvent::SharedQueue))
    }

    fn poll_transport_event(&mut self) -> Option<Event> {
        let passed = self.connections.as_mut().and_then(|table| table.poll_transport_event());
        passed.or_else(|| self.endpoint.poll_event()).or_else(|| self.iwarp.poll_event())
    }

    /// Takes the next asynchronous event out: those of the transport in their order, then those of shared queues in
    /// theirs. Which of two of different origin came first is not known.
    pub fn poll_event(&mut self) -> Option<DeviceEvent> {
        let of_queue_pair = self.poll_transport_event().map(DeviceEvent::QueuePair);
        of_queue_pair.or_else(|| self.context.poll_event().map(DeviceEvent::SharedQueue))
    }

    /// A RoCE v2 packet from its IP header on.
    pub fn handle_packet(&mut self, now: u64, packet: &[u8]) {
        self.endpoint.handle_packet(&mut self.context, now, packet);
    }

    /// Does everything that is due by `now`.
    pub fn handle_timeout(&mut self, now: u64) {
        self.endpoint.handle_timeout(&mut self.context, now);
        self.iwarp.handle_timeout(&mut self.context, now);
        self.service_connections(now);
    }

    /// When [`handle_timeout`](Self::handle_timeout) or [`fill`](Self::fill) has something to do; at once, if packets wait.
    pub fn next_timeout(&self, now: u64) -> Option<u64> {
        let waits = self.handed < self.batch.len() || self.endpoint.has_packets() || self.iwarp.has_work();
        if waits {
            return Some(now);
        }
        let of_connections = self.connections.as_ref().and_then(|table| table.next_timeout());
        let timers = [self.endpoint.next_timeout(), of_connections, self.iwarp.next_timeout()];
        timers.into_iter().flatten().min()
    }

    /// The packet that is to be sent next, with the headroom in front; none if [`fill`](Self::fill) is to make more.
    pub fn packet(&mut self) -> Option<&mut [u8]> {
        self.batch.with_headroom(self.handed)
    }

    /// The packet was sent, or will never be.
    pub fn pass(&mut self) {
        self.handed += 1;
    }

    /// The packet goes to the port itself, instead of being sent. It still has to be [passed](Self::pass).
    pub fn loop_back(&mut self, now: u64) {
        let Self { endpoint, context, batch, handed, headroom, .. } = self;
        if let Some(packet) = batch.with_headroom(*handed).and_then(|packet| packet.get(*headroom..)) {
            endpoint.handle_packet(context, now, packet);
        }
    }

    /// Makes packets, once all have been passed; `false` if there are none to send now.
    pub fn fill(&mut self, now: u64) -> bool {
        self.batch.clear();
        self.handed = 0;
        self.service_connections(now);
        self.endpoint.poll(&mut self.context, now, &mut self.batch);
        !self.batch.is_empty()
    }
}
