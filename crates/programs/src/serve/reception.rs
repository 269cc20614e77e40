//! All clients that come by RDMA-CM: who calls is let in or refused, who is in is served, and who goes is let go.
//!
//! One thread waits for events of connections, another for completions; both take the lock of the clients for one event.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rdmalab_device::{
    ChannelEvent, CmEventKind, CmId, Completion, CompletionQueue, Device, DeviceError, EventChannel,
    Identifier, Offer, PortSpace, ProtectionDomain,
};

use super::client::{Client, Place, Stage, most_completions};
use super::places::Places;
use super::{Happening, Ledger, Numbers, Program, Services, Step, Tell};
use crate::calling::refusal;
use crate::connect_error::ConnectError;

/// How soon a thread that waits notices that it is to stop.
const NOTICE: Duration = Duration::from_millis(100);
/// How long a connection that has done what it was for still stands: whoever ends it at once may take the last
/// acknowledgements along, which then are neither sent nor heard.
const PARTING: Duration = Duration::from_millis(20);
/// Callers that may wait for an answer.
const BACKLOG: usize = 1024;
/// Who asked for a datagram service says nothing when he goes: he is taken for gone after this.
const DATAGRAM_IDLE: Duration = Duration::from_secs(5);
/// How long a client whose turn it is to speak first may wait with that. Whoever called another program's port waits, too.
const FIRST_WORD: Duration = Duration::from_secs(3);
/// Clients of udaddy at once: their receives take much room.
const MOST_DATAGRAM_CLIENTS: usize = 512;

/// Where clients come in. Dropping it ends all connections.
pub struct Reception<'d> {
    // Dropped in this order: clients before what they use.
    clients: Mutex<Clients>,
    listeners: Vec<(Identifier, Program)>,
    channel: EventChannel,
    completions: CompletionQueue,
    domain: ProtectionDomain,
    device: &'d Device,
    services: Services,
}

#[derive(Default)]
struct Clients {
    /// By the number that their work requests carry, which never comes again.
    by_number: HashMap<u64, Client>,
    numbers: HashMap<CmId, u64>,
    last_number: u64,
    /// Who is done, and when that is to be told; the oldest first.
    done: VecDeque<(Instant, u64)>,
    /// Who has come to each program, and who else may.
    places: HashMap<&'static str, Places>,
}

impl Clients {
    /// A place is free again.
    fn give_back(&mut self, program: Program, ip: Option<IpAddr>) {
        if let Some(places) = self.places.get_mut(program.name()) {
            places.give_back(ip);
        }
    }
}

impl<'d> Reception<'d> {
    /// Listens on all addresses of the services that come by RDMA-CM.
    pub fn open(device: &'d Device, services: &Services) -> Result<Self, ConnectError> {
        let channel = device.event_channel()?;
        // As many as all clients can have at once, and once more as many that were left by clients that have gone.
        let clients = services.most_clients.saturating_mul(3).saturating_mul(2);
        let entries = (most_completions(services) as usize).saturating_mul(clients).clamp(1, 1 << 20);
        let completions = device.completion_queue(entries as u32)?;
        let domain = device.protection_domain()?;
        let mut listeners = Vec::new();
        for (program, space, at) in [
            (Program::Rping, PortSpace::Tcp, &services.rping),
            (Program::Ucmatose, PortSpace::Tcp, &services.ucmatose),
            (Program::Udaddy, PortSpace::Udp, &services.udaddy),
        ] {
            for &at in at {
                let listener = channel.identifier(space)?;
                listener.listen(at, BACKLOG)?;
                listeners.push((listener, program));
            }
        }
        let (clients, services) = (Mutex::default(), services.clone());
        Ok(Self { clients, listeners, channel, completions, domain, device, services })
    }

    /// Serves until `stop`, or until the device fails.
    pub fn run(&self, ledger: &Ledger, stop: &AtomicBool, tell: &Tell<'_>) -> Result<(), ConnectError> {
        let desk = Desk { reception: self, ledger, tell };
        std::thread::scope(|scope| {
            let events = scope.spawn(|| {
                let outcome = desk.events(stop);
                stop.store(true, Ordering::Relaxed);
                outcome
            });
            let outcome = desk.completions(stop);
            stop.store(true, Ordering::Relaxed);
            let events = events.join().unwrap_or(Err(DeviceError::Stopped));
            outcome.and(events).map_err(ConnectError::from)
        })
    }
}

/// A reception at work.
struct Desk<'a, 'd> {
    reception: &'a Reception<'d>,
    ledger: &'a Ledger,
    tell: &'a Tell<'a>,
}

impl Desk<'_, '_> {
    fn events(&self, stop: &AtomicBool) -> Result<(), DeviceError> {
        let mut round = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            if let Some(event) = self.reception.channel.wait(Some(NOTICE))? {
                self.event(event);
            }
            // Nobody here needs the events of queue pairs: their completions say the same.
            while self.reception.device.poll_event().is_some() {}
            if round.elapsed() > Duration::from_secs(1) {
                round = Instant::now();
                self.send_idle_away();
            }
        }
        Ok(())
    }

    fn completions(&self, stop: &AtomicBool) -> Result<(), DeviceError> {
        while !stop.load(Ordering::Relaxed) {
            let next = self.end_those_done();
            if let Some(completion) = self.reception.completions.wait(Some(next))? {
                self.take(&mut self.clients(), &completion);
            }
        }
        Ok(())
    }

    fn clients(&self) -> std::sync::MutexGuard<'_, Clients> {
        self.reception.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn event(&self, event: ChannelEvent) {
        let mut clients = self.clients();
        match event.kind {
            CmEventKind::ConnectRequest { listener, offer, .. } => {
                if let Some(caller) = event.called {
                    self.call(&mut clients, listener, caller, &offer);
                }
            }
            CmEventKind::Established { .. } => {
                let Some(&number) = clients.numbers.get(&event.id) else { return };
                let Some(client) = clients.by_number.get_mut(&number) else { return };
                let outcome = client.established();
                self.follow(&mut clients, number, outcome);
            }
            CmEventKind::Rejected { .. }
            | CmEventKind::Unreachable
            | CmEventKind::ConnectError(_)
            | CmEventKind::Disconnected(_) => {
                let Some(&number) = clients.numbers.get(&event.id) else { return };
                // What it said last may still wait to be read.
                while let Some(completion) = self.reception.completions.poll() {
                    self.take(&mut clients, &completion);
                }
                let Some(client) = clients.by_number.get(&number) else { return };
                // A client of rping alone knows how many pings it sends.
                let of = (client.program == Program::Ucmatose)
                    .then(|| u64::from(self.reception.services.messages));
                let done = client.messages();
                let failure = match event.kind {
                    _ if client.stage == Stage::Ending => None,
                    CmEventKind::Disconnected(cause) if client.is_content() && !cause.is_terminate() => None,
                    CmEventKind::Disconnected(cause) => Some(ConnectError::Disconnected { done, of, cause }),
                    ref kind => client.peer.and_then(|peer| refusal(kind, peer)),
                };
                self.leave(&mut clients, number, failure.as_ref());
            }
            _ => {}
        }
    }

    fn call(&self, clients: &mut Clients, listener: CmId, caller: Identifier, offer: &Offer) {
        let mut listeners = self.reception.listeners.iter();
        let Some(&(_, program)) = listeners.find(|(own, _)| own.id() == listener) else { return };
        let peer = caller.ends().ok().and_then(|(_, peer)| peer);
        let services = &self.reception.services;
        let most = match program {
            Program::Udaddy => services.most_clients.min(MOST_DATAGRAM_CLIENTS),
            _ => services.most_clients,
        };
        let refuse = |why: &str| {
            self.ledger.refused(program, peer.map(|peer| peer.ip()));
            (self.tell)(&Happening::Refused(program, peer, why));
        };
        let ip = peer.map(|peer| peer.ip());
        let places = clients.places.entry(program.name()).or_insert_with(|| Places::new(most));
        if let Err(full) = places.take(ip) {
            let _ = caller.reject_for_want_of_room();
            refuse(full.why());
            return;
        }
        let id = caller.id();
        clients.last_number += 1;
        let number = clients.last_number;
        let place = Place {
            domain: &self.reception.domain,
            completions: &self.reception.completions,
            services,
            longest: self.reception.device.max_mtu(),
        };
        match Client::accept(program, caller, offer, &place, Numbers(number)) {
            Ok(client) => {
                self.ledger.came(program, peer.map(|peer| peer.ip()));
                (self.tell)(&Happening::Came(program, peer));
                clients.numbers.insert(id, number);
                clients.by_number.insert(number, client);
            }
            Err(error) => {
                clients.give_back(program, ip);
                refuse(&error.to_string());
            }
        }
    }

    /// Ends the connections whose time has come, and tells when the next ones' comes.
    fn end_those_done(&self) -> Duration {
        let mut clients = self.clients();
        while let Some(&(due, number)) = clients.done.front() {
            let left = due.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                return left.min(NOTICE);
            }
            clients.done.pop_front();
            if let Some(client) = clients.by_number.get_mut(&number) {
                client.end();
            }
        }
        NOTICE
    }

    fn take(&self, clients: &mut Clients, completion: &Completion) {
        let number = Numbers::client(completion.id);
        // It may have gone meanwhile.
        let Some(client) = clients.by_number.get_mut(&number) else { return };
        let mut ping = |text: &str| (self.tell)(&Happening::Ping(text));
        let outcome = client.completed(&self.reception.domain, completion, &mut ping);
        self.follow(clients, number, outcome);
    }

    /// What follows from a client's step.
    fn follow(&self, clients: &mut Clients, number: u64, outcome: Result<Step, ConnectError>) {
        let Some(client) = clients.by_number.get_mut(&number) else { return };
        match outcome {
            Ok(step) => {
                let peer = client.peer.map(|peer| peer.ip());
                if step.messages > 0 {
                    self.ledger.did(client.program, peer, step.messages, step.bytes);
                }
                if step.gone {
                    client.end();
                    self.leave(clients, number, None);
                } else if step.finished && client.messages() == 0 {
                    client.end();
                } else if step.finished {
                    clients.done.push_back((Instant::now() + PARTING, number));
                }
            }
            Err(error) => {
                client.end();
                self.leave(clients, number, Some(&error));
            }
        }
    }

    fn leave(&self, clients: &mut Clients, number: u64, failure: Option<&ConnectError>) {
        let Some(client) = clients.by_number.remove(&number) else { return };
        clients.numbers.remove(&client.id());
        let ip = client.peer.map(|peer| peer.ip());
        clients.give_back(client.program, ip);
        self.ledger.gone(client.program, ip, failure.is_some());
        let failure = failure.map(|failure| failure as &(dyn std::error::Error + 'static));
        (self.tell)(&Happening::Gone(client.program, client.peer, failure));
    }

    fn send_idle_away(&self) {
        let mut clients = self.clients();
        let idle = self.reception.services.idle;
        let is_idle = |client: &Client| {
            let most = match client.program {
                Program::Udaddy => DATAGRAM_IDLE.min(idle),
                _ if client.owes_first_word() => FIRST_WORD.min(idle),
                _ => idle,
            };
            client.last.elapsed() > most
        };
        let all: Vec<u64> = clients
            .by_number
            .iter()
            .filter(|(_, client)| is_idle(client))
            .map(|(&number, _)| number)
            .collect();
        for number in all {
            let Some(client) = clients.by_number.get_mut(&number) else { continue };
            let failure = match client.program {
                Program::Udaddy => None,
                _ if client.owes_first_word() => Some(ConnectError::Foreign {
                    program: "rping",
                    what: "a client speaks first, and this one says nothing; is this the port that it meant?",
                }),
                _ => Some(ConnectError::Silence { what: "the next message", patience: idle }),
            };
            client.end();
            self.leave(&mut clients, number, failure.as_ref());
        }
    }
}
