//! A queue pair: its state, its settings, and the two halves that do the work.
//!
//! What the halves may do depends on the state, and is decided here alone: [`QueuePair::next`] says what could be sent
//! now, and feeds both [`transmit`](QueuePair::transmit) and the endpoint's list of queue pairs that are ready.

use alloc::collections::VecDeque;

use rdmalab_verbs::{
    Attributes, Context, ModifyError, PostError, QueuePairType, ReceiveRequest, SendRequest,
    SharedReceiveQueueId, State, Target,
};
use rdmalab_wire::{Body, Bth, Datagram, Ecn, NetworkHeader, Packet, Psn, Qpn, Transport};

use crate::assembly::Fault;
use crate::batch::Batch;
use crate::config::{EndpointConfig, QueuePairConfig};
use crate::congestion::{Controller, NotificationPacer, NotificationState};
use crate::counters::{Counters, Discard};
use crate::event::Event;
use crate::halves::{ReceiveHalf, SendHalf};
use crate::ip_layer::Numbering;
use crate::outlet::Outlet;
use crate::receives::Landing;
use crate::requester::Failure;
use crate::responder::Broken;
pub(crate) use crate::settings::Settings;

/// Packets that a queue pair may send before it is another's turn.
const TURN: usize = 16;

/// Bytes of a congestion notification's payload, all reserved.
const NOTIFICATION_PAYLOAD: usize = 16;

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
    /// IPv4 identifications.
    pub(crate) numbering: Numbering,
}

/// What could be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// That a packet came marked.
    Notification,
    Answer,
    Request,
    Nothing,
}

/// Invariant: `paced_until` is set only while the rate of the flow holds back a packet that could go out otherwise.
#[derive(Debug)]
pub(crate) struct QueuePair {
    number: Qpn,
    state: State,
    settings: Settings,
    /// The headers in front of every packet to the peer; a connection has them from RTR on.
    network: Option<NetworkHeader>,
    send_half: SendHalf,
    receive_half: ReceiveHalf,
    /// Whether a request goes first when both halves have something, so that neither starves.
    request_first: bool,
    established: bool,
    drained: bool,
    controller: Controller,
    paced_until: Option<u64>,
    notification: NotificationState,
    /// The peer is to be told that a packet came marked.
    notifies: bool,
    /// Whether it stands in the endpoint's list of those that may send.
    pub(crate) is_listed: bool,
}

macro_rules! owner {
    ($queue_pair:expr, $port:expr) => {
        Owner {
            number: $queue_pair.number,
            settings: &$queue_pair.settings,
            counters: &mut $port.counters,
            events: &mut $port.events,
        }
    };
}

impl QueuePair {
    pub(crate) fn new(number: Qpn, config: &QueuePairConfig, port: &EndpointConfig, serial: u64) -> Self {
        Self {
            number,
            state: State::Reset,
            settings: Settings::new(config, port, serial),
            network: None,
            send_half: SendHalf::new(config),
            receive_half: ReceiveHalf::new(config),
            request_first: false,
            established: false,
            drained: false,
            controller: Controller::new(port.congestion_control),
            paced_until: None,
            notification: NotificationState::default(),
            notifies: false,
            is_listed: false,
        }
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The rate to which the network's congestion holds it, in bytes per second.
    pub(crate) fn rate(&self) -> Option<u64> {
        self.controller.rate()
    }

    /// Whether a change that the table has may be made now.
    pub(crate) fn may_change(
        &self,
        context: &Context,
        attributes: &Attributes,
        to: State,
    ) -> Result<(), ModifyError> {
        if matches!(to, State::Reset | State::Err) {
            return Ok(());
        }
        if self.settings.has_overrun(context) {
            return Err(ModifyError::CompletionQueueOverrun);
        }
        let changes = to != State::Sqd || !attributes.set().is_empty();
        if self.state == State::Sqd && !self.drained && changes {
            return Err(ModifyError::Draining);
        }
        Ok(())
    }

    /// Carries out a change that was checked against the table.
    pub(crate) fn modify(
        &mut self,
        context: &mut Context,
        attributes: &Attributes,
        to: State,
        port: &mut Port,
    ) {
        self.settings.apply(attributes, &port.config);
        if attributes.max_destination_reads.is_some() {
            self.receive_half.resize(&self.settings);
        }
        if attributes.path.is_some() {
            let Settings { path, destination, .. } = &self.settings;
            self.network =
                path.and_then(|path| self.settings.network_header(&path, self.number, *destination));
        }
        if let Some(psn) = attributes.receive_psn {
            self.receive_half.start(psn, &self.settings);
        }
        if attributes.retry_count.is_some() || attributes.rnr_retry.is_some() {
            self.send_half.set_budgets(&self.settings);
        }
        if let Some(psn) = attributes.send_psn {
            self.send_half.start(psn, &self.settings);
        }
        let from = core::mem::replace(&mut self.state, to);
        match to {
            State::Reset => {
                self.send_half.reset();
                self.receive_half.reset();
                self.network = None;
                (self.established, self.drained, self.notifies) = (false, false, false);
                self.controller.reset();
                self.paced_until = None;
            }
            State::Err => {
                self.receive_half.forget_replies();
                self.notifies = false;
                self.flush(context, from, port);
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
        port: &EndpointConfig,
    ) -> Result<(), PostError> {
        match self.state {
            State::Reset | State::Init | State::Rtr => return Err(PostError::WrongState(self.state)),
            State::Rts | State::Sqd | State::Sqe | State::Err => {}
        }
        request.check(self.settings.kind)?;
        if let Target::Datagram { path, .. } = request.target {
            context
                .address_handle(path)
                .filter(|handle| handle.protection_domain == self.settings.protection_domain)
                .filter(|handle| port.addresses.contains(&handle.path.source))
                .ok_or(PostError::NoSuchAddressHandle)?;
        }
        self.send_half.post(request, &self.settings)?;
        if matches!(self.state, State::Sqe | State::Err) {
            self.send_half.flush(context, self.number, &self.settings);
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
        self.receive_half.post(request, &self.settings, self.state.receives())?;
        if self.state == State::Err {
            self.receive_half.flush(context, self.number, &self.settings);
        }
        Ok(())
    }

    /// Takes a packet that is for this queue pair, comes from its peer and is sound.
    pub(crate) fn handle(
        &mut self,
        context: &mut Context,
        now: u64,
        datagram: &Datagram<'_>,
        packet: &Packet<'_>,
        port: &mut Port,
    ) {
        if packet.transport == Transport::Cnp {
            port.counters.rcvd_pkts += 1;
            port.counters.rp_cnp_handled += 1;
            self.controller.handle_notification(now);
            return;
        }
        let is_request = !packet.body.is_response();
        if !(if is_request { self.state.receives() } else { self.state.sends() }) {
            port.counters.discard(Discard::State);
            return;
        }
        port.counters.rcvd_pkts += 1;
        if datagram.ecn == Ecn::Ce {
            self.notice_mark(now, port);
        }
        if self.state == State::Rtr && !self.established && self.settings.kind != QueuePairType::Ud {
            self.established = true;
            owner!(self, port).event(Event::CommunicationEstablished(self.number));
        }
        if is_request {
            if let Err(Broken) = self.handle_request(context, datagram, packet, port) {
                self.enter_error(context, port);
            }
            return;
        }
        let SendHalf::Reliable(requester) = &mut self.send_half else {
            port.counters.discard(Discard::Opcode);
            return;
        };
        match requester.handle(context, now, packet, &mut owner!(self, port)) {
            Ok(()) => self.notice_drained(port),
            Err(failure) => self.fail(context, failure, port),
        }
    }

    /// Takes a request that is sound but for its opcode, which is reserved, or for its payload, of a length that the
    /// operation never has. A responder whose turn it is says so; in any other place it is dropped for that reason.
    pub(crate) fn refuse(
        &mut self,
        context: &mut Context,
        psn: Psn,
        reason: Discard,
        port: &mut Port,
    ) -> Result<(), Discard> {
        let ReceiveHalf::Reliable(responder) = &mut self.receive_half else { return Err(reason) };
        if !self.state.receives() || !responder.is_due(psn) {
            return Err(reason);
        }
        port.counters.rcvd_pkts += 1;
        if responder.refuse(context, psn, Fault::INVALID, &mut owner!(self, port)).is_err() {
            self.enter_error(context, port);
        }
        Ok(())
    }

    fn handle_request(
        &mut self,
        context: &mut Context,
        datagram: &Datagram<'_>,
        packet: &Packet<'_>,
        port: &mut Port,
    ) -> Result<(), Broken> {
        let own = Landing {
            accessor: self.settings.accessor(),
            shared: self.settings.shared,
            completions: self.settings.receive_queue,
        };
        let owner = &mut owner!(self, port);
        match (&mut self.receive_half, &packet.transport) {
            (ReceiveHalf::Reliable(responder), Transport::Rc) => {
                responder.handle(context, packet, &own, owner)
            }
            (ReceiveHalf::Reliable(responder), Transport::Xrc(Some(xrceth))) => {
                let named = SharedReceiveQueueId::from_number(xrceth.shared_receive_queue);
                match xrc_landing(context, named, owner.settings) {
                    Some(landing) => {
                        responder.handle(context, packet, &landing, owner)?;
                        // That queue's completions are not the queue pair's own, which the endpoint looks after.
                        if context.is_overrun(landing.completions) {
                            owner.event(Event::Fatal(owner.number));
                            return Err(Broken);
                        }
                        Ok(())
                    }
                    // A queue that is not there, or is none of ours to lend, is an invalid request.
                    None if responder.is_due(packet.bth.psn) => {
                        responder.refuse(context, packet.bth.psn, Fault::INVALID, owner)
                    }
                    None => responder.handle(context, packet, &own, owner),
                }
            }
            (ReceiveHalf::Unreliable(receiver), Transport::Uc) => {
                receiver.handle(context, packet, &own, owner)
            }
            (ReceiveHalf::Datagram(receiver), Transport::Ud(deth)) => {
                receiver.handle(context, datagram, deth, packet, &own, owner)
            }
            _ => {
                owner.counters.discard(Discard::Opcode);
                Ok(())
            }
        }
    }

    /// A switch marked a packet of the peer: it is told, but not too often.
    fn notice_mark(&mut self, now: u64, port: &mut Port) {
        port.counters.np_ecn_marked_roce_packets += 1;
        let Some(notifications) = self.settings.profile.notifications else { return };
        let pacer = NotificationPacer::new(notifications.interval);
        if self.network.is_some() && pacer.is_due(&mut self.notification, now) {
            self.notifies = true;
        }
    }

    pub(crate) fn handle_timeout(&mut self, context: &mut Context, now: u64, port: &mut Port) {
        if self.paced_until.is_some_and(|until| until <= now) {
            self.paced_until = None;
        }
        if let Err(failure) = self.send_half.handle_timeout(now, &mut owner!(self, port)) {
            self.fail(context, failure, port);
        }
    }

    pub(crate) fn next_timeout(&self) -> Option<u64> {
        match (self.send_half.next_timeout(), self.paced_until) {
            (Some(timeout), Some(paced)) => Some(timeout.min(paced)),
            (timeout, paced) => timeout.or(paced),
        }
    }

    fn next(&self) -> Next {
        if self.notifies {
            return Next::Notification;
        }
        let is_free = self.paced_until.is_none();
        let answer = self.receive_half.may_send() && (is_free || !self.receive_half.sends_data());
        let request = is_free
            && self.state.sends()
            && self.send_half.may_send(&self.settings, self.state == State::Rts);
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
            if next == Next::Nothing || batch.is_full() {
                return;
            }
            let is_data = next == Next::Request || (next == Next::Answer && self.receive_half.sends_data());
            if is_data && let Some(until) = self.controller.wait_until(now) {
                self.paced_until = Some(until);
                continue;
            }
            let Port { counters, events, numbering, config } = &mut *port;
            let network = self.network.as_ref();
            let mut outlet = Outlet {
                batch,
                network,
                numbering,
                ip_layer: config.ip_layer,
                bytes: 0,
                sent: 0,
                repeated: 0,
            };
            let mut owner = Owner { number: self.number, settings: &self.settings, counters, events };
            let outcome = match next {
                Next::Notification => {
                    self.notifies = false;
                    notify(&mut owner, &mut outlet);
                    Ok(())
                }
                Next::Answer => {
                    self.receive_half.send(context, &mut owner, &mut outlet).map_err(|Broken| None)
                }
                _ => self.send_half.send(context, now, &mut owner, &mut outlet).map_err(Some),
            };
            self.request_first = next == Next::Answer;
            if is_data && outlet.sent > 0 {
                self.controller.handle_sent(now, outlet.bytes);
            }
            counters.sent_pkts += outlet.sent;
            counters.retransmitted_pkts += outlet.repeated;
            match outcome {
                Ok(()) => {}
                Err(None) => {
                    counters.send_err += 1;
                    self.enter_error(context, port);
                }
                Err(Some(failure)) => {
                    // Local work that fails was no packet.
                    counters.send_err +=
                        u64::from(self.settings.kind == QueuePairType::Ud || failure.is_of_memory());
                    self.fail(context, failure, port);
                }
            }
            if self.state == State::Sqd {
                self.notice_drained(port);
            }
        }
    }

    /// In SQD, tells once when everything that was begun is done.
    fn notice_drained(&mut self, port: &mut Port) {
        if self.state == State::Sqd && !self.drained && self.send_half.is_drained() {
            self.drained = true;
            owner!(self, port).event(Event::SendQueueDrained(self.number));
        }
    }

    /// A request met an error. A reliable connection ends with it; an unreliable queue pair stops sending.
    fn fail(&mut self, context: &mut Context, Failure(status): Failure, port: &mut Port) {
        self.send_half.fail(context, self.number, &self.settings, status);
        match self.send_half {
            SendHalf::Unreliable(_) => self.state = State::Sqe,
            SendHalf::Reliable(_) | SendHalf::None => self.enter_error(context, port),
        }
    }

    /// A completion queue has overrun: what the application is not told of must not happen.
    pub(crate) fn end_by_overrun(&mut self, context: &mut Context, port: &mut Port) {
        if !matches!(self.state, State::Reset | State::Err) {
            owner!(self, port).event(Event::Fatal(self.number));
            self.enter_error(context, port);
        }
    }

    /// Into ERR by the protocol: answers that are due, among them the NAK, still go out.
    fn enter_error(&mut self, context: &mut Context, port: &mut Port) {
        let from = core::mem::replace(&mut self.state, State::Err);
        self.flush(context, from, port);
    }

    fn flush(&mut self, context: &mut Context, from: State, port: &mut Port) {
        self.paced_until = None;
        self.send_half.flush(context, self.number, &self.settings);
        self.receive_half.flush(context, self.number, &self.settings);
        if from != State::Err && self.settings.shared.is_some() {
            owner!(self, port).event(Event::LastReceiveReached(self.number));
        }
    }
}

/// Where a request over XRC lands, if the queue that it names belongs to the target's domain.
fn xrc_landing(context: &Context, named: SharedReceiveQueueId, settings: &Settings) -> Option<Landing> {
    let queue = context.shared_receive_queue(named)?;
    if queue.xrc_domain().is_none() || queue.xrc_domain() != settings.xrc_domain {
        return None;
    }
    let accessor = rdmalab_verbs::Accessor { protection_domain: queue.domain(), queue_pair: settings.serial };
    Some(Landing { accessor, shared: Some(named), completions: queue.completions()? })
}

/// Sends a congestion notification: to the peer's queue pair, with BECN set, PSN 0 and sixteen bytes of zero.
fn notify(owner: &mut Owner<'_>, outlet: &mut Outlet<'_>) {
    let Some(notifications) = owner.settings.profile.notifications else { return };
    let Some(network) = owner.settings.notification_header(owner.number, &notifications) else { return };
    let bth = Bth { becn: true, ..owner.settings.bth(Psn::new(0)) };
    let body = Body::CongestionNotification;
    let Ok(()) = outlet.send_through(&network, &Transport::Cnp, &bth, &body, NOTIFICATION_PAYLOAD, |data| {
        data.fill(0);
        Ok::<(), core::convert::Infallible>(())
    });
    owner.counters.np_cnp_sent += 1;
}
