//! One port with its queue pairs: finds whom a packet is for, whose timer is due, and who may send.

use alloc::collections::VecDeque;
use core::net::IpAddr;

use rdmalab_verbs::{
    Attributes, Context, Full, Handle, LimitReached, ModifyError, PostError, QueuePairType, ReceiveRequest,
    SendRequest, State, Table,
};
use rdmalab_wire::{Bth, Datagram, PKey, Packet, QKey, Qpn, Transport, TransportKind};

use crate::batch::Batch;
use crate::config::{CreateError, EndpointConfig, QueuePairConfig};
use crate::counters::{Counters, Discard};
use crate::event::Event;
use crate::ip_layer::{IpLayer, Numbering};
use crate::multicast::{Groups, MulticastError};
use crate::queue_pair::{Port, QueuePair};
use crate::timer_heap::TimerHeap;

/// A queue pair number is an index and a generation: a number that is gone is not given again for long.
const GENERATION_BITS: u32 = 7;
/// Numbers 0 and 1 are the special queue pairs: index 0 is not given out.
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
    pub(crate) queue_pairs: Table<QueuePair>,
    pub(crate) ready: VecDeque<u32>,
    timers: TimerHeap,
    groups: Groups,
    port: Port,
    /// Queue pairs made so far.
    made: u64,
    /// Completion queues that had overrun when it was looked last.
    overruns: u64,
}

impl Endpoint {
    /// A port without queue pairs.
    pub fn new(config: EndpointConfig) -> Self {
        let limit = config.max_queue_pairs.min(MAX_QUEUE_PAIRS);
        Self {
            queue_pairs: Table::new(limit, GENERATION_BITS, FIRST_INDEX, false),
            ready: VecDeque::new(),
            timers: TimerHeap::default(),
            groups: Groups::default(),
            made: 0,
            overruns: 0,
            port: Port {
                config,
                counters: Counters::default(),
                events: VecDeque::with_capacity(MAX_EVENTS),
                numbering: Numbering::default(),
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
        let limit = LimitReached { what: "queue pairs", limit: self.port.config.max_queue_pairs };
        self.create(context, config, limit, |table, made| table.insert_with(|handle| made(Qpn::new(handle))))
    }

    /// Makes the general services interface (GSI), queue pair 1, in RESET: the datagram queue pair over which nodes
    /// manage each other. A port has at most one. Its queue key is to be [`QKey::GSI`].
    pub fn create_gsi(
        &mut self,
        context: &mut Context,
        config: &QueuePairConfig,
    ) -> Result<Qpn, CreateError> {
        if config.kind != QueuePairType::Ud {
            return Err(CreateError::NotDatagram);
        }
        let limit = LimitReached { what: "general services interfaces", limit: 1 };
        self.create(context, config, limit, |table, made| {
            table.insert_at(Qpn::GSI.value(), made(Qpn::GSI)).map(|()| Qpn::GSI.value())
        })
    }

    /// Makes a queue pair and lets `insert` put it into the table.
    fn create(
        &mut self,
        context: &mut Context,
        config: &QueuePairConfig,
        limit: LimitReached,
        insert: impl FnOnce(&mut Table<QueuePair>, &dyn Fn(Qpn) -> QueuePair) -> Result<Handle, Full>,
    ) -> Result<Qpn, CreateError> {
        config.check()?;
        let attachment = config.attachment();
        context.attach(&attachment).map_err(|_| CreateError::NoSuchObject)?;
        self.made += 1;
        let (serial, port) = (self.made, &self.port.config);
        let made = |number| QueuePair::new(number, config, port, serial);
        let Ok(handle) = insert(&mut self.queue_pairs, &made) else {
            context.detach(&attachment);
            return Err(CreateError::LimitReached(limit));
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
        self.groups.leave_all(number);
        context.detach(&gone.settings().attachment());
        Ok(())
    }

    /// The state of a queue pair.
    pub fn state(&self, number: Qpn) -> Option<State> {
        self.queue_pairs.get(number.value()).map(QueuePair::state)
    }

    /// The rate in bytes per second to which congestion control holds a queue pair; none without a limit.
    pub fn rate(&self, number: Qpn) -> Option<u64> {
        self.queue_pairs.get(number.value()).and_then(QueuePair::rate)
    }

    /// Attaches a UD queue pair to a multicast group (`ibv_attach_mcast`).
    pub fn attach_multicast(&mut self, number: Qpn, group: IpAddr) -> Result<(), MulticastError> {
        let queue_pair = self.queue_pairs.get(number.value()).ok_or(MulticastError::NoSuchQueuePair)?;
        if queue_pair.settings().kind != QueuePairType::Ud {
            return Err(MulticastError::NotDatagram);
        }
        self.groups.join(number, group)
    }

    /// Detaches a UD queue pair from a multicast group (`ibv_detach_mcast`).
    pub fn detach_multicast(&mut self, number: Qpn, group: IpAddr) -> Result<(), MulticastError> {
        self.groups.leave(number, group)
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
        let to = attributes.check(queue_pair.settings().kind, queue_pair.state())?;
        queue_pair.may_change(context, attributes, to)?;
        let bad = |attribute, allowed| Err(ModifyError::BadValue { attribute, allowed });
        if attributes.path.is_some_and(|path| !config.addresses.contains(&path.source)) {
            return bad("IBV_QP_AV", "from an address of this port");
        }
        if attributes.partition_index.is_some_and(|index| usize::from(index) >= config.partition_keys.len()) {
            return bad("IBV_QP_PKEY_INDEX", "an index into the port's table of partition keys");
        }
        if attributes.path_mtu.is_some_and(|mtu| mtu.bytes() > config.max_mtu.bytes()) {
            return bad("IBV_QP_PATH_MTU", "at most what the link's MTU carries");
        }
        queue_pair.modify(context, attributes, to, &mut self.port);
        self.settle(number);
        self.notice_overruns(context);
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
        queue_pair.post_send(context, request, &self.port.config)?;
        self.settle(number);
        self.notice_overruns(context);
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
        queue_pair.post_receive(context, request, &self.port.config)?;
        self.settle(number);
        self.notice_overruns(context);
        Ok(())
    }

    /// Takes a packet that begins with its IP header. What is not for a queue pair, or not sound, is dropped and
    /// counted; a packet never makes this fail.
    pub fn handle_packet(&mut self, context: &mut Context, now: u64, packet: &[u8]) {
        let Ok(datagram) = Datagram::parse(packet) else {
            self.port.counters.discard(Discard::Malformed);
            return;
        };
        if let Err(reason) = self.accept(context, now, &datagram) {
            self.port.counters.discard(reason);
        }
        self.notice_overruns(context);
    }

    /// The checks of a packet before its transport's own, in the order in which Linux rxe does them.
    fn accept(&mut self, context: &mut Context, now: u64, datagram: &Datagram<'_>) -> Result<(), Discard> {
        let head = datagram.ib.first_chunk::<{ Bth::LENGTH }>().ok_or(Discard::Malformed)?;
        let (opcode, bth) = Bth::decode(head);
        if bth.destination == Qpn::MULTICAST {
            return self.accept_multicast(context, now, datagram);
        }
        let number = bth.destination;
        let queue_pair = self.queue_pairs.get_mut(number.value()).ok_or(Discard::UnknownQueuePair)?;
        let transport = opcode.transport().ok_or(Discard::Opcode)?;
        if !queue_pair.state().receives() {
            return Err(Discard::State);
        }
        let settings = queue_pair.settings();
        if !speaks(settings.kind, transport) {
            return Err(Discard::Opcode);
        }
        let packet = match (Packet::parse(datagram.ib), opcode.row()) {
            (Ok(packet), _) => Ok(packet),
            // What a responder may have to refuse is looked at further.
            (Err(_), None) if is_reliable(transport) && bth.header_version == 0 => Err(Discard::Opcode),
            (Err(_), None) => return Err(Discard::Opcode),
            (Err(error), Some(row)) if row.is_request && error.is_payload_length() => Err(Discard::Malformed),
            _ => return Err(Discard::Malformed),
        };
        let is_addressed = match settings.kind {
            QueuePairType::Ud => self.port.config.addresses.contains(&datagram.destination),
            _ => queue_pair.is_from_peer(datagram),
        };
        if !is_addressed {
            return Err(Discard::Address);
        }
        if !keys_match(bth.partition_key, settings.partition_key) {
            return Err(Discard::PartitionKey);
        }
        if packet.is_ok_and(|packet| !has_queue_key(&packet, settings.queue_key)) {
            return Err(Discard::QueueKey);
        }
        verify(datagram, self.port.config.ip_layer)?;
        match packet {
            Ok(packet) => queue_pair.handle(context, now, datagram, &packet, &mut self.port),
            Err(reason) => queue_pair.refuse(context, bth.psn, reason, &mut self.port)?,
        }
        self.settle(number);
        Ok(())
    }

    /// A datagram to a multicast group: each queue pair that is attached gets it.
    fn accept_multicast(
        &mut self,
        context: &mut Context,
        now: u64,
        datagram: &Datagram<'_>,
    ) -> Result<(), Discard> {
        let packet = Packet::parse(datagram.ib).map_err(|_| Discard::Malformed)?;
        // The number names no queue pair, except for datagrams.
        if !matches!(packet.transport, Transport::Ud(_)) {
            return Err(Discard::UnknownQueuePair);
        }
        let members = self.groups.members(datagram.destination).ok_or(Discard::NoMember)?;
        verify(datagram, self.port.config.ip_layer)?;
        for place in 0..members {
            let Some(number) = self.groups.member(datagram.destination, place) else { break };
            let Some(queue_pair) = self.queue_pairs.get_mut(number.value()) else { continue };
            let settings = queue_pair.settings();
            if !queue_pair.state().receives() {
                self.port.counters.discard(Discard::State);
            } else if !keys_match(packet.bth.partition_key, settings.partition_key) {
                self.port.counters.discard(Discard::PartitionKey);
            } else if !has_queue_key(&packet, settings.queue_key) {
                self.port.counters.discard(Discard::QueueKey);
            } else {
                queue_pair.handle(context, now, datagram, &packet, &mut self.port);
            }
            self.settle(number);
        }
        Ok(())
    }

    /// The earliest time at which [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn next_timeout(&self) -> Option<u64> {
        self.timers.first().map(|(deadline, _)| deadline)
    }

    /// Does everything that is due by `now`.
    pub fn handle_timeout(&mut self, context: &mut Context, now: u64) {
        while let Some((deadline, index)) = self.timers.first() {
            if deadline > now {
                break;
            }
            if let Some(queue_pair) = self.queue_pairs.at_mut(index as usize) {
                queue_pair.handle_timeout(context, now, &mut self.port);
            }
            self.settle_at(index);
        }
        self.notice_overruns(context);
    }

    /// Whether a queue pair may have something to send.
    pub fn has_packets(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Puts packets into the batch until it is full or there are no more. Queue pairs take turns.
    pub fn poll(&mut self, context: &mut Context, now: u64, batch: &mut Batch) {
        let mut prepared = 0;
        while !batch.is_full() {
            if prepared == 0 {
                prepared = self.look_ahead_of_ready();
            }
            prepared = prepared.saturating_sub(1);
            let Some(index) = self.ready.pop_front() else { break };
            if let Some(queue_pair) = self.queue_pairs.at_mut(index as usize) {
                queue_pair.is_listed = false;
                queue_pair.transmit(context, now, &mut self.port, batch);
            }
            self.settle_at(index);
        }
        self.notice_overruns(context);
    }

    /// Ends the queue pairs whose completion queues have overrun. That happens once for a queue, so that looking at all
    /// queue pairs then costs nothing that counts.
    #[inline]
    fn notice_overruns(&mut self, context: &mut Context) {
        if self.overruns != context.overruns() {
            self.end_overrun(context);
        }
    }

    #[cold]
    fn end_overrun(&mut self, context: &mut Context) {
        self.overruns = context.overruns();
        for index in 0..self.queue_pairs.places() {
            let Some(queue_pair) = self.queue_pairs.at_mut(index) else { continue };
            if queue_pair.settings().has_overrun(context) {
                queue_pair.end_by_overrun(context, &mut self.port);
                self.settle_at(index as u32);
            }
        }
    }

    fn settle(&mut self, number: Qpn) {
        if let Some(index) = self.queue_pairs.index(number.value()) {
            self.settle_at(index as u32);
        }
    }

    /// Brings the list of those that may send and the timers in line with a queue pair that was prepared.
    fn settle_at(&mut self, index: u32) {
        let Some(queue_pair) = self.queue_pairs.at_mut(index as usize) else { return };
        self.timers.set(index, queue_pair.next_timeout());
        if !queue_pair.is_listed && queue_pair.may_send(&self.port.config) {
            queue_pair.is_listed = true;
            self.ready.push_back(index);
        }
    }
}

/// The check of the ICRC.
#[inline]
fn verify(datagram: &Datagram<'_>, ip_layer: IpLayer) -> Result<(), Discard> {
    let sound = match ip_layer {
        IpLayer::Own => datagram.verify_icrc(),
        IpLayer::Kernel { .. } => datagram.verify_icrc_of_any_identification().map(drop),
    };
    sound.map_err(|_| Discard::Icrc)
}

/// Two partition keys match if they name one partition and at least one of them is a full member.
fn keys_match(theirs: PKey, ours: PKey) -> bool {
    theirs.partition() == ours.partition() && (theirs.is_full_member() || ours.is_full_member())
}

/// The queue key of a packet matches, if it has one.
fn has_queue_key(packet: &Packet<'_>, queue_key: QKey) -> bool {
    match packet.transport {
        Transport::Ud(deth) => deth.queue_key == queue_key,
        _ => true,
    }
}

/// Whether requests of a transport are answered.
fn is_reliable(transport: TransportKind) -> bool {
    matches!(transport, TransportKind::Rc | TransportKind::Xrc)
}

/// Whether packets of a transport may be for a queue pair of a kind. Notifications are for connections.
fn speaks(kind: QueuePairType, transport: TransportKind) -> bool {
    match transport {
        TransportKind::Rc => kind == QueuePairType::Rc,
        TransportKind::Uc => kind == QueuePairType::Uc,
        TransportKind::Ud => kind == QueuePairType::Ud,
        TransportKind::Xrc => kind.is_xrc(),
        TransportKind::Cnp => kind != QueuePairType::Ud,
        TransportKind::Rd => false,
    }
}
