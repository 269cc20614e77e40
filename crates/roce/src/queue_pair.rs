//! A queue pair: its state, its settings, and the two halves that do the work.
//!
//! What the halves may do depends on the state, and is decided here alone: [`QueuePair::next`] says what could be sent
//! now, and feeds both [`transmit`](QueuePair::transmit) and the endpoint's list of queue pairs that are ready.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::hint::black_box;

use rdmalab_verbs::{
    Attributes, Context, ModifyError, Path, PostError, QueuePairType, ReceiveRequest, SendRequest,
    SharedReceiveQueueId, State, Target,
};
use rdmalab_wire::{Body, Bth, Datagram, Ecn, NetworkHeader, Packet, Psn, Qpn, Transport};

use crate::assembly::Fault;
use crate::batch::Batch;
use crate::config::{EndpointConfig, QueuePairConfig};
use crate::congestion::{CongestionControl, Controller, NotificationPacer, NotificationState};
use crate::counters::{Counters, Discard};
use crate::event::Event;
use crate::halves::{ReceiveHalf, SendHalf};
use crate::ip_layer::Numbering;
use crate::outlet::Outlet;
use crate::receives::Landing;
use crate::requester::Failure;
use crate::responder::Broken;
pub(crate) use crate::settings::Settings;
use crate::settings::{is_answered_by, network_header, notification_header};

/// Packets that a queue pair may send before it is another's turn.
const TURN: usize = 16;

/// Bytes of a congestion notification's payload, all reserved.
const NOTIFICATION_PAYLOAD: usize = 16;

/// Who a half works for, and where it reports.
pub(crate) struct Owner<'a> {
    pub(crate) number: Qpn,
    pub(crate) settings: &'a Settings,
    pub(crate) port: &'a EndpointConfig,
    pub(crate) counters: &'a mut Counters,
    pub(crate) events: &'a mut VecDeque<Event>,
}

impl Owner<'_> {
    /// The base header of a packet to the peer.
    pub(crate) fn bth(&self, psn: Psn) -> Bth {
        self.settings.bth(psn, &self.port.profile)
    }

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

/// With a hundred thousand of them, none is in a cache when its turn comes, and each cache line costs a wait for memory.
/// So fields stand in the order of their use: what every packet needs in front, 128 bytes with the table's generation,
/// then the halves, each of which does the same, then what few packets need.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct QueuePair {
    settings: Settings,
    state: State,
    /// Whether it stands in the endpoint's list of those that may send.
    pub(crate) is_listed: bool,
    /// Whether a request goes first when both halves have something, so that neither starves.
    request_first: bool,
    /// The peer is to be told that a packet came marked.
    notifies: bool,
    /// Whether the half that sends has anything to do, so that one without need not be looked at; and the other's answers.
    has_requests: bool,
    has_answers: bool,
    /// The headers in front of every packet to the peer; a connection has them from RTR on.
    network: Option<NetworkHeader>,
    /// None where nothing limits the rate.
    pace: Option<Box<Pace>>,
    send_half: SendHalf,
    receive_half: ReceiveHalf,
    established: bool,
    drained: bool,
    path: Option<Path>,
    notification: NotificationState,
}

/// Invariant: `until` is set only while the rate of the flow holds back a packet that could go out otherwise.
#[derive(Debug)]
struct Pace {
    controller: Controller,
    until: Option<u64>,
}

impl Pace {
    fn new(control: CongestionControl) -> Option<Box<Self>> {
        let controller = Controller::new(control);
        (!matches!(controller, Controller::None)).then(|| Box::new(Self { controller, until: None }))
    }
}

macro_rules! owner {
    ($queue_pair:expr, $port:expr) => {
        Owner {
            number: $queue_pair.settings.number,
            settings: &$queue_pair.settings,
            port: &$port.config,
            counters: &mut $port.counters,
            events: &mut $port.events,
        }
    };
}

impl QueuePair {
    pub(crate) fn new(number: Qpn, config: &QueuePairConfig, port: &EndpointConfig, serial: u64) -> Self {
        Self {
            settings: Settings::new(number, config, port, serial),
            state: State::Reset,
            is_listed: false,
            request_first: false,
            notifies: false,
            established: false,
            drained: false,
            has_requests: false,
            has_answers: false,
            network: None,
            pace: Pace::new(port.congestion_control),
            send_half: SendHalf::new(config),
            receive_half: ReceiveHalf::new(config),
            path: None,
            notification: NotificationState::default(),
        }
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Reads a word of each cache line that a packet from the peer needs, for [`look_ahead`](crate::look_ahead).
    pub(crate) fn touch_for_packet(&self, is_response: bool) {
        black_box((self.settings.serial, self.state));
        if is_response {
            self.send_half.touch();
        } else {
            self.receive_half.touch();
        }
    }

    /// The same for a turn in sending.
    pub(crate) fn touch_for_turn(&self) {
        black_box((self.settings.serial, self.state));
        if self.has_requests {
            self.send_half.touch();
        }
        if self.has_answers {
            self.receive_half.touch();
        }
    }

    /// The same for what the halves point to.
    pub(crate) fn touch_queues(&self) {
        if self.has_requests {
            self.send_half.touch_queues();
        } else {
            self.receive_half.touch_queues();
        }
    }

    /// Whether a datagram comes from the peer. Without a connection, none does.
    pub(crate) fn is_from_peer(&self, datagram: &Datagram<'_>) -> bool {
        self.network.as_ref().is_some_and(|network| is_answered_by(network, datagram))
    }

    /// The rate to which the network's congestion holds it, in bytes per second.
    pub(crate) fn rate(&self) -> Option<u64> {
        self.pace.as_ref()?.controller.rate()
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
            self.path = attributes.path;
            let Settings { number, destination, .. } = self.settings;
            self.network =
                self.path.and_then(|path| network_header(&path, number, destination, &port.config));
        }
        if let Some(psn) = attributes.receive_psn {
            self.receive_half.start(psn, &self.settings);
        }
        if attributes.retry_count.is_some() || attributes.rnr_retry.is_some() {
            self.send_half.set_budgets(&self.settings);
        }
        if let Some(psn) = attributes.send_psn {
            self.send_half.start(psn, &self.settings, &port.config);
        }
        let from = core::mem::replace(&mut self.state, to);
        match to {
            State::Reset => {
                self.send_half.reset();
                self.receive_half.reset();
                self.network = None;
                (self.established, self.drained, self.notifies) = (false, false, false);
                if let Some(pace) = &mut self.pace {
                    pace.controller.reset();
                    pace.until = None;
                }
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
        self.note_requests();
        self.note_answers();
    }

    fn note_requests(&mut self) {
        self.has_requests = !self.send_half.is_idle();
    }

    fn note_answers(&mut self) {
        self.has_answers = self.receive_half.may_send();
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
            self.send_half.flush(context, self.settings.number, &self.settings);
        }
        self.note_requests();
        Ok(())
    }

    pub(crate) fn post_receive(
        &mut self,
        context: &mut Context,
        request: &ReceiveRequest<'_>,
        port: &EndpointConfig,
    ) -> Result<(), PostError> {
        if self.state == State::Reset {
            return Err(PostError::WrongState(self.state));
        }
        let tells = self.state.receives() && self.settings.grants_credits(&port.profile);
        self.receive_half.post(request, &self.settings, tells)?;
        if self.state == State::Err {
            self.receive_half.flush(context, self.settings.number, &self.settings);
        }
        self.note_answers();
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
            if let Some(pace) = &mut self.pace {
                pace.controller.handle_notification(now);
            }
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
            owner!(self, port).event(Event::CommunicationEstablished(self.settings.number));
        }
        if is_request {
            if let Err(Broken) = self.handle_request(context, datagram, packet, port) {
                self.enter_error(context, port);
            }
            self.note_answers();
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
        self.note_requests();
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
        self.note_answers();
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
        let Some(notifications) = port.config.profile.notifications else { return };
        let pacer = NotificationPacer::new(notifications.interval);
        if self.network.is_some() && pacer.is_due(&mut self.notification, now) {
            self.notifies = true;
        }
    }

    pub(crate) fn handle_timeout(&mut self, context: &mut Context, now: u64, port: &mut Port) {
        if let Some(pace) = &mut self.pace
            && pace.until.is_some_and(|until| until <= now)
        {
            pace.until = None;
        }
        if let Err(failure) = self.send_half.handle_timeout(now, &mut owner!(self, port)) {
            self.fail(context, failure, port);
        }
        self.note_requests();
    }

    pub(crate) fn next_timeout(&self) -> Option<u64> {
        let requests = if self.has_requests { self.send_half.next_timeout() } else { None };
        match (requests, self.paced_until()) {
            (Some(timeout), Some(paced)) => Some(timeout.min(paced)),
            (timeout, paced) => timeout.or(paced),
        }
    }

    fn paced_until(&self) -> Option<u64> {
        self.pace.as_ref()?.until
    }

    fn next(&self, port: &EndpointConfig) -> Next {
        if self.notifies {
            return Next::Notification;
        }
        debug_assert_eq!(self.has_answers, self.receive_half.may_send());
        debug_assert_eq!(self.has_requests, !self.send_half.is_idle());
        let is_free = self.paced_until().is_none();
        let answer = self.has_answers && (is_free || !self.receive_half.sends_data());
        let request = is_free
            && self.has_requests
            && self.state.sends()
            && self.send_half.may_send(&self.settings, port, self.state == State::Rts);
        match (answer, request) {
            (true, true) if self.request_first => Next::Request,
            (true, _) => Next::Answer,
            (false, true) => Next::Request,
            (false, false) => Next::Nothing,
        }
    }

    pub(crate) fn may_send(&self, port: &EndpointConfig) -> bool {
        self.next(port) != Next::Nothing
    }

    /// Sends packets until there are no more, the batch is full, or the turn is over.
    pub(crate) fn transmit(&mut self, context: &mut Context, now: u64, port: &mut Port, batch: &mut Batch) {
        for _ in 0..TURN {
            let next = self.next(&port.config);
            if next == Next::Nothing || batch.is_full() {
                return;
            }
            let is_data = next == Next::Request || (next == Next::Answer && self.receive_half.sends_data());
            if is_data
                && let Some(pace) = &mut self.pace
                && let Some(until) = pace.controller.wait_until(now)
            {
                pace.until = Some(until);
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
            let settings = &self.settings;
            let mut owner = Owner { number: settings.number, settings, port: config, counters, events };
            let outcome = match next {
                Next::Notification => {
                    self.notifies = false;
                    notify(self.path.as_ref(), &mut owner, &mut outlet);
                    Ok(())
                }
                Next::Answer => {
                    self.receive_half.send(context, &mut owner, &mut outlet).map_err(|Broken| None)
                }
                _ => self.send_half.send(context, now, &mut owner, &mut outlet).map_err(Some),
            };
            self.request_first = next == Next::Answer;
            if is_data
                && outlet.sent > 0
                && let Some(pace) = &mut self.pace
            {
                pace.controller.handle_sent(now, outlet.bytes);
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
            match next {
                Next::Answer => self.note_answers(),
                _ => self.note_requests(),
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
            owner!(self, port).event(Event::SendQueueDrained(self.settings.number));
        }
    }

    /// A request met an error. A reliable connection ends with it; an unreliable queue pair stops sending.
    fn fail(&mut self, context: &mut Context, Failure(status): Failure, port: &mut Port) {
        self.send_half.fail(context, self.settings.number, &self.settings, status);
        self.note_requests();
        match self.send_half {
            SendHalf::Unreliable(_) => self.state = State::Sqe,
            SendHalf::Reliable(_) | SendHalf::None => self.enter_error(context, port),
        }
    }

    /// A completion queue has overrun: what the application is not told of must not happen.
    pub(crate) fn end_by_overrun(&mut self, context: &mut Context, port: &mut Port) {
        if !matches!(self.state, State::Reset | State::Err) {
            owner!(self, port).event(Event::Fatal(self.settings.number));
            self.enter_error(context, port);
        }
    }

    /// Into ERR by the protocol: answers that are due, among them the NAK, still go out.
    fn enter_error(&mut self, context: &mut Context, port: &mut Port) {
        let from = core::mem::replace(&mut self.state, State::Err);
        self.flush(context, from, port);
    }

    fn flush(&mut self, context: &mut Context, from: State, port: &mut Port) {
        if let Some(pace) = &mut self.pace {
            pace.until = None;
        }
        self.send_half.flush(context, self.settings.number, &self.settings);
        self.receive_half.flush(context, self.settings.number, &self.settings);
        self.note_requests();
        self.note_answers();
        if from != State::Err && self.settings.shared.is_some() {
            owner!(self, port).event(Event::LastReceiveReached(self.settings.number));
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
fn notify(path: Option<&Path>, owner: &mut Owner<'_>, outlet: &mut Outlet<'_>) {
    let (Some(path), Some(notifications)) = (path, owner.port.profile.notifications) else { return };
    let network = notification_header(path, owner.settings, owner.port, &notifications);
    let Some(network) = network else { return };
    let bth = Bth { becn: true, ..owner.bth(Psn::new(0)) };
    let body = Body::CongestionNotification;
    let Ok(()) = outlet.send_through(&network, &Transport::Cnp, &bth, &body, NOTIFICATION_PAYLOAD, |data| {
        data.fill(0);
        Ok::<(), core::convert::Infallible>(())
    });
    owner.counters.np_cnp_sent += 1;
}

#[cfg(test)]
mod tests {
    use core::mem::offset_of;

    use super::*;

    /// Bytes in front of a queue pair in a slot of the table.
    const GENERATION: usize = 8;
    const LINE: usize = 64;

    #[test]
    fn what_every_packet_needs_of_a_queue_pair_lies_in_its_first_two_cache_lines() {
        assert_eq!(size_of::<Settings>(), LINE);
        let end = offset_of!(QueuePair, network) + size_of::<Option<NetworkHeader>>();
        assert!(GENERATION + end <= 2 * LINE, "{end}");
    }

    #[test]
    fn a_queue_pair_stays_small() {
        assert!(GENERATION + size_of::<Option<QueuePair>>() <= 9 * LINE, "{}", size_of::<QueuePair>());
    }
}
