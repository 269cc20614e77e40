//! A queue pair: its state, its settings, and the two halves that do the work.
//!
//! What the halves may do depends on the state, and is decided here alone: [`QueuePair::next`] says what could be sent
//! now, and feeds both [`transmit`](QueuePair::transmit) and the endpoint's list of queue pairs that are ready.

use alloc::collections::VecDeque;

use rdmalab_verbs::{
    Access, Attributes, CompletionQueueId, Context, Path, PostError, ProtectionDomainId, ReceiveRequest,
    SendRequest, State,
};
use rdmalab_wire::{Ecn, NetworkHeader, PKey, Packet, PathMtu, Qpn, ack_timeout_nanoseconds};

use crate::batch::Batch;
use crate::config::{EndpointConfig, QueuePairConfig};
use crate::counters::{Counters, Discard};
use crate::event::Event;
use crate::outlet::Outlet;
use crate::requester::{Failure, Requester};
use crate::responder::{Broken, Responder};

/// Packets that a queue pair may send before it is another's turn.
const TURN: usize = 16;

/// What `modify` set, as plain values.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) protection_domain: ProtectionDomainId,
    pub(crate) send_queue: CompletionQueueId,
    pub(crate) receive_queue: CompletionQueueId,
    pub(crate) partition_key: PKey,
    pub(crate) window: u32,
    pub(crate) ack_interval: u32,
    pub(crate) report_retries: bool,
    pub(crate) access: Access,
    pub(crate) path: Option<Path>,
    pub(crate) mtu: PathMtu,
    pub(crate) destination: Qpn,
    pub(crate) max_destination_reads: u8,
    pub(crate) max_reads: u8,
    pub(crate) min_rnr_timer: u8,
    /// In nanoseconds; without one, lost packets are never noticed.
    pub(crate) ack_timeout: Option<u64>,
    pub(crate) retry_count: u8,
    pub(crate) rnr_retry: u8,
}

/// Who a half works for, and where it reports.
pub(crate) struct Owner<'a> {
    pub(crate) number: Qpn,
    pub(crate) settings: &'a Settings,
    pub(crate) counters: &'a mut Counters,
    pub(crate) events: &'a mut VecDeque<Event>,
}

impl Owner<'_> {
    /// Reports an event. The queue's capacity is its limit: what does not fit is counted and lost.
    pub(crate) fn event(&mut self, event: Event) {
        if self.events.len() < self.events.capacity() {
            self.events.push_back(event);
        } else {
            self.counters.lost_events += 1;
        }
    }
}

/// What the queue pairs of an endpoint share.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) config: EndpointConfig,
    pub(crate) counters: Counters,
    pub(crate) events: VecDeque<Event>,
    /// IPv4 identification of the last packet sent.
    pub(crate) identification: u16,
}

/// Which half could send a packet now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Answer,
    Request,
    Nothing,
}

#[derive(Debug)]
pub(crate) struct QueuePair {
    number: Qpn,
    state: State,
    settings: Settings,
    /// The headers in front of every packet; there is one from RTR on.
    network: Option<NetworkHeader>,
    requester: Requester,
    responder: Responder,
    /// Whether a request goes first when both halves have something, so that neither starves.
    request_first: bool,
    established: bool,
    drained: bool,
    /// Whether it stands in the endpoint's list of those that may send.
    pub(crate) is_listed: bool,
}

impl QueuePair {
    pub(crate) fn new(number: Qpn, config: &QueuePairConfig, port: &EndpointConfig) -> Self {
        let capabilities = config.capabilities;
        Self {
            number,
            state: State::Reset,
            settings: Settings {
                protection_domain: config.protection_domain,
                send_queue: config.send_queue,
                receive_queue: config.receive_queue,
                partition_key: port.partition_key,
                window: port.window.max(1),
                ack_interval: port.ack_interval.clamp(1, port.window.max(1)),
                report_retries: port.report_retries,
                access: Access::empty(),
                path: None,
                mtu: PathMtu::M256,
                destination: Qpn::default(),
                max_destination_reads: 0,
                max_reads: 0,
                min_rnr_timer: 0,
                ack_timeout: None,
                retry_count: 0,
                rnr_retry: 0,
            },
            network: None,
            requester: Requester::new(capabilities.max_send_requests, capabilities.max_send_elements),
            responder: Responder::new(capabilities.max_receive_requests, capabilities.max_receive_elements),
            request_first: false,
            established: false,
            drained: false,
            is_listed: false,
        }
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Carries out a change that was checked against the table.
    pub(crate) fn modify(
        &mut self,
        context: &mut Context,
        attributes: &Attributes,
        to: State,
        port: &mut Port,
    ) {
        self.settings.apply(attributes);
        if attributes.max_destination_reads.is_some() {
            self.responder.resize(&self.settings);
        }
        if attributes.path.is_some() {
            self.network = self.settings.network_header(self.number);
        }
        if let Some(psn) = attributes.receive_psn {
            self.responder.start(psn, &self.settings);
        }
        if attributes.retry_count.is_some() || attributes.rnr_retry.is_some() {
            self.requester.set_budgets(&self.settings);
        }
        if let Some(psn) = attributes.send_psn {
            self.requester.start(psn, &self.settings);
        }
        let from = core::mem::replace(&mut self.state, to);
        match to {
            State::Reset => {
                self.requester.reset();
                self.responder.reset();
                self.network = None;
                (self.established, self.drained) = (false, false);
            }
            State::Err => {
                self.responder.forget_replies();
                self.flush(context);
            }
            State::Sqd if from != State::Sqd => {
                self.drained = false;
                self.notice_drained(port);
            }
            _ => {}
        }
    }

    pub(crate) fn post_send(
        &mut self,
        context: &mut Context,
        request: &SendRequest<'_>,
    ) -> Result<(), PostError> {
        match self.state {
            State::Reset | State::Init | State::Rtr => return Err(PostError::WrongState(self.state)),
            State::Rts | State::Sqd | State::Sqe | State::Err => {}
        }
        self.requester.post(request, &self.settings)?;
        if self.state == State::Err {
            self.requester.flush(context, self.number, &self.settings);
        }
        Ok(())
    }

    pub(crate) fn post_receive(
        &mut self,
        context: &mut Context,
        request: &ReceiveRequest<'_>,
    ) -> Result<(), PostError> {
        if self.state == State::Reset {
            return Err(PostError::WrongState(self.state));
        }
        self.responder.post(request)?;
        if self.state == State::Err {
            self.responder.flush(context, self.number, &self.settings);
        }
        Ok(())
    }

    /// Takes a packet that is for this queue pair, comes from its peer and is sound.
    pub(crate) fn handle(&mut self, context: &mut Context, now: u64, packet: &Packet<'_>, port: &mut Port) {
        let is_request = !packet.body.is_response();
        if !(if is_request { self.state.receives() } else { self.state.sends() }) {
            port.counters.discard(Discard::State);
            return;
        }
        port.counters.rcvd_pkts += 1;
        let mut owner = Owner {
            number: self.number,
            settings: &self.settings,
            counters: &mut port.counters,
            events: &mut port.events,
        };
        if self.state == State::Rtr && !self.established {
            self.established = true;
            owner.event(Event::CommunicationEstablished(self.number));
        }
        if is_request {
            if let Err(Broken) = self.responder.handle(context, packet, &mut owner) {
                self.enter_error(context);
            }
        } else {
            match self.requester.handle(context, now, packet, &mut owner) {
                Ok(()) => self.notice_drained(port),
                Err(failure) => self.fail(context, failure),
            }
        }
    }

    pub(crate) fn handle_timeout(&mut self, context: &mut Context, now: u64, port: &mut Port) {
        let mut owner = Owner {
            number: self.number,
            settings: &self.settings,
            counters: &mut port.counters,
            events: &mut port.events,
        };
        if let Err(failure) = self.requester.handle_timeout(now, &mut owner) {
            self.fail(context, failure);
        }
    }

    pub(crate) fn next_timeout(&self) -> Option<u64> {
        self.requester.next_timeout()
    }

    fn next(&self) -> Next {
        let answer = self.responder.may_send();
        let request = self.state.sends() && self.requester.may_send(&self.settings, self.state == State::Rts);
        match (answer, request) {
            (true, true) if self.request_first => Next::Request,
            (true, _) => Next::Answer,
            (false, true) => Next::Request,
            (false, false) => Next::Nothing,
        }
    }

    pub(crate) fn may_send(&self) -> bool {
        self.next() != Next::Nothing
    }

    /// Sends packets until there are no more, the batch is full, or the turn is over.
    pub(crate) fn transmit(&mut self, context: &mut Context, now: u64, port: &mut Port, batch: &mut Batch) {
        for _ in 0..TURN {
            let next = self.next();
            let Some(network) = &self.network else { return };
            let Port { counters, events, identification, .. } = &mut *port;
            if next == Next::Nothing {
                return;
            }
            let mut outlet = Outlet { batch, network, identification, sent: 0, repeated: 0 };
            if outlet.is_full() {
                return;
            }
            let outcome = if next == Next::Answer {
                let mut owner = Owner { number: self.number, settings: &self.settings, counters, events };
                self.responder.send(context, &mut owner, &mut outlet).map_err(|Broken| None)
            } else {
                self.requester.send(context, now, &self.settings, &mut outlet).map_err(Some)
            };
            self.request_first = next == Next::Answer;
            counters.sent_pkts += outlet.sent;
            counters.retransmitted_pkts += outlet.repeated;
            match outcome {
                Ok(()) => {}
                Err(None) => self.enter_error(context),
                Err(Some(failure)) => self.fail(context, failure),
            }
        }
    }

    /// In SQD, tells once when everything that was begun is done.
    fn notice_drained(&mut self, port: &mut Port) {
        if self.state == State::Sqd && !self.drained && self.requester.is_drained() {
            self.drained = true;
            let mut owner = Owner {
                number: self.number,
                settings: &self.settings,
                counters: &mut port.counters,
                events: &mut port.events,
            };
            owner.event(Event::SendQueueDrained(self.number));
        }
    }

    /// The requester met an error: its oldest request ends with it.
    fn fail(&mut self, context: &mut Context, failure: Failure) {
        self.requester.fail(context, self.number, &self.settings, failure.0);
        self.enter_error(context);
    }

    /// Into ERR by the protocol: answers that are due, among them the NAK, still go out.
    fn enter_error(&mut self, context: &mut Context) {
        self.state = State::Err;
        self.flush(context);
    }

    fn flush(&mut self, context: &mut Context) {
        self.requester.flush(context, self.number, &self.settings);
        self.responder.flush(context, self.number, &self.settings);
    }
}

impl Settings {
    fn apply(&mut self, attributes: &Attributes) {
        fn set<T>(value: &mut T, new: Option<T>) {
            if let Some(new) = new {
                *value = new;
            }
        }
        set(&mut self.access, attributes.access);
        set(&mut self.mtu, attributes.path_mtu);
        set(&mut self.destination, attributes.destination);
        set(&mut self.max_destination_reads, attributes.max_destination_reads);
        set(&mut self.max_reads, attributes.max_reads);
        set(&mut self.min_rnr_timer, attributes.min_rnr_timer);
        set(&mut self.retry_count, attributes.retry_count);
        set(&mut self.rnr_retry, attributes.rnr_retry);
        set(&mut self.ack_timeout, attributes.timeout.map(ack_timeout_nanoseconds));
        if attributes.path.is_some() {
            self.path = attributes.path;
        }
    }

    /// The headers in front of every packet of the flow, once the path is known.
    fn network_header(&self, number: Qpn) -> Option<NetworkHeader> {
        let path = self.path?;
        let ecn = Ecn::from_bits(path.traffic_class);
        let dscp = path.traffic_class >> 2;
        NetworkHeader::new(
            path.source,
            path.destination,
            source_port(number, self.destination),
            dscp,
            ecn,
            path.hop_limit,
        )
    }
}

/// The UDP source port of a flow, in the dynamic range as rxe and adapters have it, so that routers can spread flows.
fn source_port(number: Qpn, destination: Qpn) -> u16 {
    let mixed = number.value().wrapping_mul(0x9e37_79b1) ^ destination.value().wrapping_mul(0x85eb_ca6b);
    0xc000 | (mixed >> 16) as u16 & 0x3fff
}
