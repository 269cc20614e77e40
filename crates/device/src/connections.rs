//! Connections made by addresses and ports: the shape of librdmacm over connection management (`rdmalab-cm`). Sans-IO.
//!
//! A program has identifiers ([`CmId`], `rdma_cm_id`) whose events come out of channels ([`CmChannel`],
//! `rdma_event_channel`). An identifier that calls: `resolve_address`, `resolve_route`, `create_queue_pair`, `connect`. One
//! that is called: `listen`, and for each caller an identifier of its own, `create_queue_pair`, `accept`. The queue pair
//! is moved along, as librdmacm does it.
//!
//! Invariants: of each identifier at most one of connection, listener, question and stream exists below, and each of those belongs
//! to one identifier (`owners`). Every event of below goes to a channel or, where its identifier is gone, nowhere.

mod attributes;
mod calling;
mod channel;
mod event;
mod happening;
mod identifier;
mod listening;
mod resolving;
mod streams;

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use rdmalab_cm::{AnswerRequest, Cm, Config, ConnectionId, ListenerId, ResolutionId};
use rdmalab_roce::{CreateError, Endpoint, Event};
use rdmalab_sim::{Random, Seed};
use rdmalab_verbs::{Context, LimitReached, Table};
use rdmalab_wire::mad::{PortSpace, SidrStatus};
use rdmalab_wire::{PKey, Psn};

use crate::general_services::GeneralServices;
use crate::inquiries::Inquiries;
use crate::iwarp::{self, IwarpTable, StreamId, Transport};
use channel::Channel;
use identifier::{Identifier, Stage};

pub use calling::ConnectionParameters;
pub use event::{AddressError, CallFailure, CmError, CmEvent, CmEventKind, Offer};

/// Channels of a port.
const MAX_CHANNELS: usize = 1 << 12;
/// Identifiers of a port: those of connections, and of listeners and questions beside them.
const MAX_IDENTIFIERS: usize = 1 << 17;
/// Events of queue pairs that wait to be taken out.
const MAX_EVENTS: usize = 1024;

/// An identifier of a connection, a listener or a question (`rdma_cm_id`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CmId(u32);

/// Where events of identifiers come out (`rdma_event_channel`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CmChannel(u32);

/// What an identifier has below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Below {
    Connection(ConnectionId),
    Listener(ListenerId),
    Question(ResolutionId),
    Stream(StreamId),
    StreamListener(iwarp::ListenerId),
}

/// The state of a port's connections.
pub(crate) struct ConnectionTable {
    cm: Cm,
    services: GeneralServices,
    identifiers: Table<Identifier>,
    owners: BTreeMap<Below, CmId>,
    channels: Table<Channel>,
    /// Events of the transport, which pass through here because some concern connections.
    events: VecDeque<Event>,
    random: Random,
    /// Events of the transport that found no room.
    lost_events: u64,
    /// Over what identifiers talk of which nothing else is said.
    transport: Transport,
    /// Streams that identifiers have given up.
    given_up: Vec<StreamId>,
    /// Events that channels were told of so far, those that came from another channel once more.
    told: u64,
}

impl ConnectionTable {
    /// A port that manages connections from now on. `seed` must differ from run to run where peers outlive runs.
    pub(crate) fn new(
        endpoint: &mut Endpoint,
        context: &mut Context,
        seed: u64,
    ) -> Result<Self, CreateError> {
        let services = GeneralServices::new(endpoint, context)?;
        let guid = guid(&endpoint.config().addresses);
        let config = Config { path_mtu: endpoint.config().max_mtu, ..Config::new(guid) };
        let seeds = Seed::new(seed);
        let mut random = seeds.branch(0).random();
        Ok(Self {
            cm: Cm::new(config, random.below(u64::MAX)),
            services,
            identifiers: Table::new(MAX_IDENTIFIERS, 12, 1, false),
            owners: BTreeMap::new(),
            channels: Table::new(MAX_CHANNELS, 12, 1, false),
            events: VecDeque::new(),
            random,
            lost_events: 0,
            transport: Transport::default(),
            given_up: Vec::new(),
            told: 0,
        })
    }

    /// Over what identifiers talk of which nothing else is said.
    pub(crate) fn transport(&self) -> Transport {
        self.transport
    }

    /// Lets identifiers of which nothing else is said talk over this from now on.
    pub(crate) fn set_transport(&mut self, transport: Transport) {
        self.transport = transport;
    }

    /// The next event of the transport.
    pub(crate) fn poll_transport_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether events of the transport wait here.
    pub(crate) fn has_transport_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Events of the transport that were lost because nobody took the others out.
    pub(crate) fn lost_events(&self) -> u64 {
        self.lost_events
    }

    /// When [`service`](Self::service) has something to do besides what comes in.
    pub(crate) fn next_timeout(&self) -> Option<u64> {
        self.cm.next_timeout()
    }

    /// Takes in what came, does what is due, and puts out what follows.
    pub(crate) fn service(
        &mut self,
        endpoint: &mut Endpoint,
        context: &mut Context,
        iwarp: &mut IwarpTable,
        now: u64,
    ) {
        self.heed_streams(context, iwarp);
        // What follows from one message is done before the next: it may be about the same connection.
        while let Some((route, bytes)) = self.services.receive(endpoint, context) {
            self.cm.handle_mad(now, route, &bytes);
            self.heed(endpoint, context, now);
        }
        while let Some(event) = endpoint.poll_event() {
            if let Event::CommunicationEstablished(number) = event {
                self.cm.communication_established(number);
            }
            // Nobody may be interested. What concerns connections is heeded all the same.
            if self.events.len() < MAX_EVENTS {
                self.events.push_back(event);
            } else {
                self.lost_events += 1;
            }
        }
        if self.cm.next_timeout().is_some_and(|due| due <= now) {
            self.cm.handle_timeout(now);
        }
        self.heed(endpoint, context, now);
        while self.services.has_room()
            && let Some(outgoing) = self.cm.poll_transmit()
        {
            self.services.send(endpoint, context, &outgoing);
        }
    }

    /// Does what follows from what connection management tells.
    fn heed(&mut self, endpoint: &mut Endpoint, context: &mut Context, now: u64) {
        while let Some(event) = self.cm.poll_event() {
            self.happen(endpoint, context, now, event);
        }
    }

    fn tell(&mut self, id: CmId, kind: CmEventKind) {
        let Some(identifier) = self.identifiers.get_mut(id.0) else { return };
        // What is in a channel that is gone nobody will ask for.
        if let Some(channel) = self.channels.get_mut(identifier.channel) {
            channel.push(CmEvent { id, kind });
            identifier.waiting += 1;
            self.told += 1;
        }
    }

    /// Events that came into channels so far.
    #[cfg(feature = "net")]
    pub(crate) fn told(&self) -> u64 {
        self.told
    }

    /// Whether a channel has events, be it of identifiers that are gone.
    #[cfg(feature = "net")]
    pub(crate) fn has_event(&self, channel: CmChannel) -> bool {
        self.channels.get(channel.0).is_some_and(|channel| !channel.is_empty())
    }

    fn psn(&mut self) -> Psn {
        Psn::new(self.random.below(1 << 24) as u32)
    }

    fn identifier(&mut self, id: CmId) -> Result<&mut Identifier, CmError> {
        self.identifiers.get_mut(id.0).ok_or(CmError::UnknownId)
    }

    /// An identifier that is at this point of its way.
    fn at(&mut self, id: CmId, stage: Stage) -> Result<&mut Identifier, CmError> {
        let identifier = self.identifier(id)?;
        if identifier.stage == stage {
            Ok(identifier)
        } else {
            Err(CmError::WrongState(identifier.stage.name()))
        }
    }
}

/// What goes into messages as the adapter's GUID: made from the port's first address, as its MAC address is.
fn guid(addresses: &[IpAddr]) -> u64 {
    match addresses.first() {
        Some(IpAddr::V4(address)) => 0x0200_00ff_fe00_0000 | u64::from(address.to_bits()),
        Some(IpAddr::V6(address)) => address.to_bits() as u64 | 1 << 57,
        None => 1 << 57,
    }
}

/// The connections of a port, with what they work on: made by [`Port::connections`](crate::Port::connections).
///
/// Times are those of the port.
pub struct Connections<'p> {
    pub(crate) table: &'p mut ConnectionTable,
    pub(crate) endpoint: &'p mut Endpoint,
    pub(crate) context: &'p mut Context,
    pub(crate) iwarp: &'p mut IwarpTable,
    pub(crate) inquiries: &'p mut Inquiries,
}

impl Connections<'_> {
    /// Makes a channel (`rdma_create_event_channel`).
    pub fn create_channel(&mut self) -> Result<CmChannel, CmError> {
        let full = LimitReached { what: "event channels", limit: MAX_CHANNELS };
        self.table.channels.insert(Channel::default()).map(CmChannel).map_err(|_| CmError::Limit(full))
    }

    /// Ends a channel; its events are lost.
    pub fn destroy_channel(&mut self, channel: CmChannel) {
        self.table.channels.remove(channel.0);
    }

    /// Takes the oldest event out (`rdma_get_cm_event`).
    pub fn poll_event(&mut self, channel: CmChannel) -> Option<CmEvent> {
        let ConnectionTable { channels, identifiers, .. } = &mut *self.table;
        let event = channels.get_mut(channel.0)?.next(|id| identifiers.get(id.0).is_some())?;
        if let Some(identifier) = identifiers.get_mut(event.id.0) {
            identifier.waiting = identifier.waiting.saturating_sub(1);
        }
        Some(event)
    }

    /// Makes an identifier (`rdma_create_id`): [`PortSpace::Tcp`] for connections, [`PortSpace::Udp`] for datagrams. It talks
    /// over the port's usual transport.
    pub fn create_id(&mut self, channel: CmChannel, space: PortSpace) -> Result<CmId, CmError> {
        self.create_id_over(self.table.transport, channel, space)
    }

    /// Ends an identifier (`rdma_destroy_id`), whatever it is doing: a call is taken back, one that nobody has answered
    /// refused, and so is a question, a connection ended. Its queue pair stays. No events follow.
    pub fn destroy_id(&mut self, now: u64, id: CmId) -> Result<(), CmError> {
        let table = &mut *self.table;
        let identifier = table.identifiers.remove(id.0).ok_or(CmError::UnknownId)?;
        if identifier.pending.is_some() {
            self.inquiries.forget(id);
        }
        if let Some(below) = identifier.below {
            table.owners.remove(&below);
            // What is over already needs no end.
            let _ = match below {
                Below::Connection(connection) => table.cm.destroy(now, connection),
                Below::Listener(listener) => table.cm.stop_listening(listener),
                // Who asks is not left without an answer.
                Below::Question(question) if identifier.stage == Stage::Called => {
                    let refused = AnswerRequest::Refused { status: SidrStatus::REJECTED, private_data: &[] };
                    table.cm.answer(now, question, &refused)
                }
                Below::Question(question) => table.cm.cancel_resolution(question),
                Below::Stream(stream) => {
                    self.iwarp.forget(self.context, stream);
                    Ok(())
                }
                Below::StreamListener(listener) => {
                    self.iwarp.stop_listening(listener);
                    Ok(())
                }
            };
        }
        if let Some(port) = identifier.taken_port {
            table.cm.ports().release(identifier.space, port);
        }
        let ConnectionTable { channels, identifiers, .. } = &mut *table;
        if let Some(channel) = channels.get_mut(identifier.channel) {
            channel.depart(identifier.waiting, |id| identifiers.get(id.0).is_some());
            // Callers about whom the program has not been told will never be answered by it.
            let orphans =
                if identifier.stage == Stage::Listening { channel.callers_of(id) } else { Vec::new() };
            for orphan in orphans {
                let _ = self.destroy_id(now, orphan);
            }
        }
        Ok(())
    }

    /// Lets the events of an identifier come out of another channel (`rdma_migrate_id`), those that wait already, too.
    pub fn migrate_id(&mut self, id: CmId, channel: CmChannel) -> Result<(), CmError> {
        self.table.channels.get(channel.0).ok_or(CmError::UnknownChannel)?;
        let ConnectionTable { channels, identifiers, .. } = &mut *self.table;
        let identifier = identifiers.get_mut(id.0).ok_or(CmError::UnknownId)?;
        let from = std::mem::replace(&mut identifier.channel, channel.0);
        if identifier.waiting == 0 {
            return Ok(());
        }
        // Of a channel that is gone there is nothing left.
        let Some(moved) = channels.get_mut(from).map(|from| from.take_of(id)) else {
            identifier.waiting = 0;
            return Ok(());
        };
        if let Some(to) = channels.get_mut(channel.0) {
            to.append(moved);
            self.table.told += 1;
        }
        Ok(())
    }

    /// The queue pair of an identifier.
    pub fn queue_pair(&mut self, id: CmId) -> Result<rdmalab_wire::Qpn, CmError> {
        self.table.identifier(id)?.queue_pair.map(|(number, _)| number).ok_or(CmError::NoQueuePair)
    }

    /// The addresses of an identifier: ours and the peer's, as far as they are known.
    pub fn ends(
        &mut self,
        id: CmId,
    ) -> Result<(Option<std::net::SocketAddr>, Option<std::net::SocketAddr>), CmError> {
        let identifier = self.table.identifier(id)?;
        Ok((identifier.local, identifier.peer))
    }

    /// Moves the queue pair of an identifier to the error state; what it has carried out it still answers.
    fn break_queue_pair(&mut self, id: CmId) {
        if let Ok(Identifier { queue_pair: Some((number, _)), .. }) = self.table.identifier(id) {
            // It may be gone.
            let _ = self.endpoint.give_up(self.context, *number);
        }
    }
}

/// The partition that connections are in.
const PARTITION: PKey = PKey::DEFAULT;
