//! One port with its queue pairs: finds whom a packet is for, whose timer is due, and who may send.

use alloc::collections::VecDeque;

use rdmalab_verbs::{
    Attributes, Context, LimitReached, ModifyError, PostError, ReceiveRequest, SendRequest, State, Table,
};
use rdmalab_wire::{Bth, Datagram, PKey, Packet, Qpn, TransportKind};

use crate::batch::Batch;
use crate::config::{CreateError, EndpointConfig, MAX_ELEMENTS, MAX_REQUESTS, QueuePairConfig};
use crate::counters::{Counters, Discard};
use crate::event::Event;
use crate::queue_pair::{Port, QueuePair};
use crate::timer_heap::TimerHeap;

/// A queue pair number is an index and a generation: a number that is gone is not given again for long.
const GENERATION_BITS: u32 = 7;
/// Numbers 0 and 1 are the special queue pairs; the whole first generation of index 0 is left out.
const FIRST_INDEX: u32 = 1;
const MAX_QUEUE_PAIRS: usize = (1 << (24 - GENERATION_BITS)) - FIRST_INDEX as usize;

/// Events that wait to be taken out.
const MAX_EVENTS: usize = 1024;

/// A port and its queue pairs.
///
/// Invariants: a queue pair stands in `ready` exactly once if it may send, and never otherwise for longer than one
/// [`poll`](Self::poll); `timers` hold for each queue pair the time that its `next_timeout` says.
#[derive(Debug)]
pub struct Endpoint {
    queue_pairs: Table<QueuePair>,
    ready: VecDeque<u32>,
    timers: TimerHeap,
    port: Port,
}

impl Endpoint {
    /// A port without queue pairs.
    pub fn new(config: EndpointConfig) -> Self {
        let limit = config.max_queue_pairs.min(MAX_QUEUE_PAIRS);
        Self {
            queue_pairs: Table::new(limit, GENERATION_BITS, FIRST_INDEX, false),
            ready: VecDeque::new(),
            timers: TimerHeap::default(),
            port: Port {
                config,
                counters: Counters::default(),
                events: VecDeque::with_capacity(MAX_EVENTS),
                identification: 0,
            },
        }
    }

    /// How it was made.
    pub fn config(&self) -> &EndpointConfig {
        &self.port.config
    }

    /// What was counted so far.
    pub fn counters(&self) -> &Counters {
        &self.port.counters
    }

    /// Takes the oldest event out.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.port.events.pop_front()
    }

    /// Makes a queue pair, in RESET.
    pub fn create_queue_pair(
        &mut self,
        context: &mut Context,
        config: &QueuePairConfig,
    ) -> Result<Qpn, CreateError> {
        let capabilities = config.capabilities;
        let limit =
            |what, limit| Err(CreateError::LimitReached(LimitReached { what, limit: limit as usize }));
        if capabilities.max_send_requests.max(capabilities.max_receive_requests) > MAX_REQUESTS {
            return limit("requests of a queue", MAX_REQUESTS);
        }
        if capabilities.max_send_elements.max(capabilities.max_receive_elements) > MAX_ELEMENTS {
            return limit("elements of a request", MAX_ELEMENTS);
        }
        let queues = [config.send_queue, config.receive_queue];
        context.attach(config.protection_domain, queues).map_err(|_| CreateError::NoSuchObject)?;
        let port = &self.port.config;
        let made = self.queue_pairs.insert_with(|handle| QueuePair::new(Qpn::new(handle), config, port));
        let Ok(handle) = made else {
            context.detach(config.protection_domain, queues);
            return limit("queue pairs", self.port.config.max_queue_pairs as u32);
        };
        let places = self.queue_pairs.index(handle).map_or(0, |index| index + 1);
        self.timers.reserve(places);
        self.ready.reserve(places.saturating_sub(self.ready.len()));
        Ok(Qpn::new(handle))
    }

    /// Ends a queue pair. Its requests vanish without completions; packets for it are dropped.
    pub fn destroy_queue_pair(&mut self, context: &mut Context, number: Qpn) -> Result<(), ModifyError> {
        let index = self.queue_pairs.index(number.value());
        let gone = self.queue_pairs.remove(number.value()).ok_or(ModifyError::NoSuchQueuePair)?;
        if let Some(index) = index {
            self.timers.set(index as u32, None);
            self.ready.retain(|&ready| ready as usize != index);
        }
        let settings = gone.settings();
        context.detach(settings.protection_domain, [settings.send_queue, settings.receive_queue]);
        Ok(())
    }

    /// The state of a queue pair.
    pub fn state(&self, number: Qpn) -> Option<State> {
        self.queue_pairs.get(number.value()).map(QueuePair::state)
    }

    /// Changes a queue pair's state or attributes, by the table of [`rdmalab_verbs::transitions`].
    pub fn modify(
        &mut self,
        context: &mut Context,
        number: Qpn,
        attributes: &Attributes,
    ) -> Result<(), ModifyError> {
        let config = &self.port.config;
        let queue_pair = self.queue_pairs.get_mut(number.value()).ok_or(ModifyError::NoSuchQueuePair)?;
        let to = attributes.check(queue_pair.state())?;
        let bad = |attribute, allowed| Err(ModifyError::BadValue { attribute, allowed });
        if attributes.path.is_some_and(|path| !config.addresses.contains(&path.source)) {
            return bad("IBV_QP_AV", "from an address of this port");
        }
        if attributes.path_mtu.is_some_and(|mtu| mtu.bytes() > config.max_mtu.bytes()) {
            return bad("IBV_QP_PATH_MTU", "at most what the link's MTU carries");
        }
        queue_pair.modify(context, attributes, to, &mut self.port);
        self.settle(number);
        Ok(())
    }

    /// Posts to the send queue.
    pub fn post_send(
        &mut self,
        context: &mut Context,
        number: Qpn,
        request: &SendRequest<'_>,
    ) -> Result<(), PostError> {
        let queue_pair = self.queue_pairs.get_mut(number.value()).ok_or(PostError::NoSuchQueue)?;
        queue_pair.post_send(context, request)?;
        self.settle(number);
        Ok(())
    }

    /// Posts to the receive queue.
    pub fn post_receive(
        &mut self,
        context: &mut Context,
        number: Qpn,
        request: &ReceiveRequest<'_>,
    ) -> Result<(), PostError> {
        let queue_pair = self.queue_pairs.get_mut(number.value()).ok_or(PostError::NoSuchQueue)?;
        queue_pair.post_receive(context, request)
    }

    /// Takes a packet that begins with its IP header. What is not for a queue pair, or not sound, is dropped and
    /// counted; a packet never makes this fail.
    pub fn handle_packet(&mut self, context: &mut Context, now: u64, packet: &[u8]) {
        let Ok(datagram) = Datagram::parse(packet) else {
            self.port.counters.discard(Discard::Malformed);
            return;
        };
        match self.accept(context, now, &datagram) {
            Ok(number) => self.settle(number),
            Err(reason) => self.port.counters.discard(reason),
        }
    }

    /// The checks of a packet before its transport's own, in the order in which Linux rxe does them.
    fn accept(&mut self, context: &mut Context, now: u64, datagram: &Datagram<'_>) -> Result<Qpn, Discard> {
        let head = datagram.ib.first_chunk::<{ Bth::LENGTH }>().ok_or(Discard::Malformed)?;
        let (opcode, bth) = Bth::decode(head);
        let number = bth.destination;
        let queue_pair = self.queue_pairs.get_mut(number.value()).ok_or(Discard::UnknownQueuePair)?;
        if !queue_pair.state().receives() {
            return Err(Discard::State);
        }
        if opcode.row().is_none_or(|row| row.transport != TransportKind::Rc) {
            return Err(Discard::Opcode);
        }
        let packet = Packet::parse(datagram.ib).map_err(|_| Discard::Malformed)?;
        let settings = queue_pair.settings();
        let from_peer = settings
            .path
            .is_some_and(|path| path.destination == datagram.source && path.source == datagram.destination);
        if !from_peer {
            return Err(Discard::Address);
        }
        if !keys_match(packet.bth.partition_key, settings.partition_key) {
            return Err(Discard::PartitionKey);
        }
        datagram.verify_icrc().map_err(|_| Discard::Icrc)?;
        queue_pair.handle(context, now, &packet, &mut self.port);
        Ok(number)
    }

    /// The earliest time at which [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn next_timeout(&self) -> Option<u64> {
        self.timers.first().map(|(deadline, _)| deadline)
    }

    /// Does everything that is due by `now`.
    pub fn handle_timeout(&mut self, context: &mut Context, now: u64) {
        while let Some((deadline, index)) = self.timers.first() {
            if deadline > now {
                return;
            }
            if let Some(queue_pair) = self.queue_pairs.at(index as usize) {
                queue_pair.handle_timeout(context, now, &mut self.port);
            }
            self.settle_at(index);
        }
    }

    /// Whether a queue pair may have something to send.
    pub fn has_packets(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Puts packets into the batch until it is full or there are no more. Queue pairs take turns.
    pub fn poll(&mut self, context: &mut Context, now: u64, batch: &mut Batch) {
        while !batch.is_full() {
            let Some(index) = self.ready.pop_front() else { return };
            if let Some(queue_pair) = self.queue_pairs.at(index as usize) {
                queue_pair.is_listed = false;
                queue_pair.transmit(context, now, &mut self.port, batch);
            }
            self.settle_at(index);
        }
    }

    fn settle(&mut self, number: Qpn) {
        if let Some(index) = self.queue_pairs.index(number.value()) {
            self.settle_at(index as u32);
        }
    }

    /// Brings the list of those that may send and the timers in line with a queue pair that was touched.
    fn settle_at(&mut self, index: u32) {
        let Some(queue_pair) = self.queue_pairs.at(index as usize) else { return };
        self.timers.set(index, queue_pair.next_timeout());
        if !queue_pair.is_listed && queue_pair.may_send() {
            queue_pair.is_listed = true;
            self.ready.push_back(index);
        }
    }
}

/// Two partition keys match if they name one partition and at least one of them is a full member.
fn keys_match(theirs: PKey, ours: PKey) -> bool {
    theirs.partition() == ours.partition() && (theirs.is_full_member() || ours.is_full_member())
}
