//! The one object: what comes in is handed to the file that knows the message, what goes out waits here.

mod active;
mod datagram;
mod ending;
mod passive;
mod patience;
mod rejecting;
mod release;
mod sending;
mod soundness;

use alloc::collections::VecDeque;

use rdmalab_wire::mad::{CmMad, CmMessage, Mad};

use crate::config::Config;
use crate::connection::{Connection, State};
use crate::connections::Connections;
use crate::counters::Counters;
use crate::error::CommandError;
use crate::event::Event;
use crate::ids::{ConnectionId, ListenerId};
use crate::listeners::{Listen, Listeners};
use crate::ports::Ports;
use crate::resolutions::Resolutions;
use crate::route::{Outgoing, Route};
use crate::seed::Seed;
use crate::timers::{Owner, Timers};

/// The communication manager of one port: all its connections, listeners and questions.
///
/// Times are nanoseconds of whatever clock the owner has; they never go back.
pub struct Cm {
    config: Config,
    counters: Counters,
    connections: Connections,
    resolutions: Resolutions,
    listeners: Listeners,
    ports: Ports,
    timers: Timers,
    events: VecDeque<Event>,
    transmits: VecDeque<Outgoing>,
    /// Communication and request IDs count up from the seed.
    last_id: u32,
    /// The upper half of our transaction IDs; the lower is the communication's or question's.
    transaction_base: u32,
}

impl Cm {
    /// Nobody listens, nothing is connected. The same seed gives the same IDs; hosts that talk to each other should have
    /// different ones, and so should two runs of one host.
    pub fn new(config: Config, seed: u64) -> Self {
        let mut seed = Seed::new(seed);
        Cm {
            config,
            counters: Counters::default(),
            connections: Connections::default(),
            resolutions: Resolutions::default(),
            listeners: Listeners::default(),
            ports: Ports::default(),
            timers: Timers::default(),
            events: VecDeque::new(),
            transmits: VecDeque::new(),
            last_id: seed.next(),
            transaction_base: seed.next(),
        }
    }

    /// The setting.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// What was counted since the start.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The ports of RDMA-CM that are taken. Neither listening nor calling takes one: who binds an address does.
    pub const fn ports(&mut self) -> &mut Ports {
        &mut self.ports
    }

    /// How many connections there are in any state: calls, requests, time-wait and remembered rejections included.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// The connections that the owner has not given up, in no particular order; for a list to show, since it looks at all.
    pub fn connection_ids(&self) -> impl Iterator<Item = ConnectionId> {
        let owned = |connection: &Connection| !connection.abandoned && connection.state != State::Rejected;
        self.connections
            .iter()
            .filter_map(move |(id, connection)| owned(connection).then_some(ConnectionId(id)))
    }

    /// How many questions for datagram services there are, ours and those of peers: remembered answers included.
    pub fn resolutions(&self) -> usize {
        self.resolutions.len()
    }

    /// Begins to listen.
    ///
    /// # Errors
    ///
    /// [`ServiceInUse`](CommandError::ServiceInUse), [`TooMany`](CommandError::TooMany).
    pub fn listen(&mut self, listen: &Listen) -> Result<ListenerId, CommandError> {
        self.listeners.add(listen, self.config.limits.listeners)
    }

    /// Stops listening. Requests that wait for a decision still can be accepted or rejected.
    ///
    /// # Errors
    ///
    /// [`UnknownListener`](CommandError::UnknownListener).
    pub fn stop_listening(&mut self, listener: ListenerId) -> Result<(), CommandError> {
        self.listeners.remove(listener)
    }

    /// How many requests to this listener wait for a decision; `None` for an unknown one.
    pub fn waiting_requests(&self, listener: ListenerId) -> Option<usize> {
        self.listeners.waiting(listener)
    }

    /// Takes what came to the general services interface, the payload of one packet. Whatever is wrong with it is counted.
    pub fn handle_mad(&mut self, now: u64, route: Route, bytes: &[u8]) {
        self.counters.received += 1;
        match Mad::parse(bytes) {
            Ok(Mad::Cm(mad)) => self.handle_message(now, route, &mad),
            Ok(Mad::Other { header, data }) => self.handle_other(route, &header, data),
            Err(_) => self.counters.malformed += 1,
        }
    }

    fn handle_message(&mut self, now: u64, route: Route, mad: &CmMad) {
        match &mad.message {
            CmMessage::Req(req) => self.handle_req(now, route, mad.transaction_id, req),
            CmMessage::Mra(mra) => self.handle_mra(now, route, mra),
            CmMessage::Rej(rej) => self.handle_rej(now, route, rej),
            CmMessage::Rep(rep) => self.handle_rep(now, route, mad.transaction_id, rep),
            CmMessage::Rtu(rtu) => self.handle_rtu(now, route, rtu),
            CmMessage::Dreq(dreq) => self.handle_dreq(now, route, mad.transaction_id, dreq),
            CmMessage::Drep(drep) => self.handle_drep(now, route, drep),
            CmMessage::SidrReq(req) => self.handle_sidr_req(now, route, mad.transaction_id, req),
            CmMessage::SidrRep(rep) => self.handle_sidr_rep(route, rep),
            CmMessage::Lap(lap) => self.handle_lap(route, mad.transaction_id, lap),
            CmMessage::Apr(_) => self.counters.unexpected += 1,
        }
    }

    /// Sends again, gives up, or forgets whatever is due.
    pub fn handle_timeout(&mut self, now: u64) {
        while let Some(owner) = self.timers.pop_due(now) {
            match owner {
                Owner::Connection(id) => self.connection_timeout(now, id),
                Owner::Asked(id) => self.asked_timeout(now, id),
                Owner::Question(id) => self.question_timeout(id),
            }
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do; `None`: never.
    pub fn next_timeout(&self) -> Option<u64> {
        self.timers.first()
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Outgoing> {
        self.transmits.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn connection_timeout(&mut self, now: u64, id: u32) {
        let Some(connection) = self.connections.find_mut(id) else { return };
        connection.deadline = None;
        match connection.state {
            State::RequestSent | State::ReplySent | State::ReleaseSent(_) => {
                if connection.retries_left == 0 {
                    self.counters.timeouts += 1;
                    self.give_up(now, id);
                    return;
                }
                connection.retries_left -= 1;
                let at = now.saturating_add(connection.wait);
                self.timers.arm(Owner::Connection(id), &mut connection.deadline, at);
                self.counters.retransmitted += 1;
                self.send_last(id);
            }
            State::TimeWait => self.forget(id),
            State::Rejected => {
                self.connections.remove(id);
            }
            State::ReplyReceived | State::RequestReceived | State::Established => {}
        }
    }

    /// An ID that neither a connection nor a question has.
    fn fresh_id(&mut self) -> u32 {
        loop {
            self.last_id = self.last_id.wrapping_add(1);
            let id = self.last_id;
            if id != 0 && !self.connections.contains(id) && !self.resolutions.contains(id) {
                return id;
            }
        }
    }

    fn own_transaction(&self, id: u32) -> u64 {
        u64::from(self.transaction_base) << 32 | u64::from(id)
    }

    /// The connection as its owner knows it.
    fn owned(&self, id: ConnectionId) -> Result<&Connection, CommandError> {
        self.connections
            .find(id.0)
            .filter(|connection| !connection.abandoned && connection.state != State::Rejected)
            .ok_or(CommandError::UnknownConnection)
    }

    /// Tells the owner of a connection, if it still has an interest.
    fn tell(&mut self, id: u32, event: Event) {
        if self.connections.find(id).is_some_and(|connection| !connection.abandoned) {
            self.events.push_back(event);
        }
    }

    /// Whether there is room for what strangers cause.
    fn has_room_for_events(&mut self) -> bool {
        let has_room = self.events.len() < self.config.limits.events;
        self.counters.events_full += u64::from(!has_room);
        has_room
    }
}
