//! One port with its queue pairs: finds whom a packet is for, whose timer is due, and who may send.

mod accept;
mod create;
mod look_ahead;
mod overrun;

use alloc::collections::VecDeque;
use core::net::IpAddr;

use rdmalab_verbs::{
    Attributes, Context, ModifyError, PostError, QueuePairType, ReceiveRequest, SendRequest, State, Table,
};
use rdmalab_wire::{Datagram, Qpn};

use crate::batch::Batch;
use crate::config::EndpointConfig;
use crate::counters::{Counters, Discard, Served};
use crate::event::Event;
use crate::ip_layer::Numbering;
use crate::multicast::{Groups, MulticastError};
use crate::port::Port;
use crate::queue_pair::QueuePair;
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
    queue_pairs: Table<QueuePair>,
    ready: VecDeque<u32>,
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
            queue_pairs: Table::new(limit, GENERATION_BITS, FIRST_INDEX, false)
                .beginning_at(config.first_generation.into()),
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

    /// Whether events wait to be taken out.
    pub fn has_events(&self) -> bool {
        !self.port.events.is_empty()
    }

    /// The state of a queue pair.
    pub fn state(&self, number: Qpn) -> Option<State> {
        self.queue_pairs.get(number.value()).map(QueuePair::state)
    }

    /// What the requests of a queue pair's peer came to, since it was made.
    pub fn served(&self, number: Qpn) -> Option<Served> {
        self.queue_pairs.get(number.value()).map(QueuePair::served)
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

    /// Gives a connection up: the queue pair goes into ERR, where its work is flushed. Unlike after a
    /// [`modify`](Self::modify) to ERR, which ends everything at once, what it has carried out is still answered, so that
    /// the peer does not repeat it: of a long response to a READ nothing more, else up to 128 packets. In RESET, nothing
    /// happens.
    pub fn give_up(&mut self, context: &mut Context, number: Qpn) -> Result<(), ModifyError> {
        let queue_pair = self.queue_pairs.get_mut(number.value()).ok_or(ModifyError::NoSuchQueuePair)?;
        queue_pair.give_up(context, &mut self.port);
        self.settle(number);
        self.notice_overruns(context);
        Ok(())
    }

    /// Whether a queue pair has carried out something that it has not answered yet.
    pub fn owes_answers(&self, number: Qpn) -> bool {
        self.queue_pairs.get(number.value()).is_some_and(QueuePair::owes_answers)
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
