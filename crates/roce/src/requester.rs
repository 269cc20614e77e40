//! The reliable requester: turns work requests into packets and takes back what the peer answers.
//!
//! Requests sit in the send queue, oldest first. Those that have been started have a [`Flight`] beside them, with the
//! PSNs they take. A cursor says which packet goes out next; go-back-N sets it back to the oldest unacknowledged
//! packet, which is always in the oldest request, so going back costs nothing. Local requests (binding a window,
//! registering or invalidating a key) are carried out when the cursor reaches them; they take no PSN, and complete in
//! their turn.
//!
//! Invariants: `flights` belong to the first requests of the queue, in order, with PSNs that join without a gap;
//! `unacknowledged` lies in the oldest flight or equals `next_psn`; the cursor never stands on a packet that is
//! acknowledged.

mod complete;
mod credit;
mod responses;
mod retry;
pub(crate) mod segment;

use core::hint::black_box;

use rdmalab_verbs::{
    Access, CompletionStatus, Context, Operation, PostError, SendFlags, SendQueue, SendRequest, SendWork,
};
use rdmalab_wire::{Bth, Msn, Psn};

use crate::config::EndpointConfig;
use crate::event::{Event, RetryCause};
use crate::outlet::Outlet;
use crate::port::Owner;
use crate::requester::credit::Credit;
use crate::requester::retry::Retry;
use crate::ring::Ring;
use crate::settings::Settings;

/// PSNs that may be outstanding at once: beyond them a duplicate could not be told from a new packet.
pub(crate) const MAX_OUTSTANDING: u32 = (1 << 23) - 1;

pub(crate) use complete::report;

/// The PSNs of a request that was started.
#[derive(Clone, Copy, Debug, Default)]
struct Flight {
    first: Psn,
    /// How many it takes; a local request takes none.
    packets: u32,
    /// Its number among the messages sent, from 1 on (SSN). A local request has that of the message before it.
    number: Msn,
    /// Responses received, for READs and atomics.
    received: u32,
    /// `received` when the request was last sent: the next response may begin anew.
    requested: u32,
}

/// The packet to be sent next: in the request `place` behind the oldest, the `packet`-th.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cursor {
    place: u32,
    packet: u32,
}

/// The queue pair cannot go on: the oldest request ends with this status, and everything else is flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure(pub(crate) CompletionStatus);

impl Failure {
    /// Whether the request's own memory could not be reached.
    pub(crate) fn is_of_memory(self) -> bool {
        self.0 == CompletionStatus::LocalProtectionError
    }
}

/// In the order of use, as [`QueuePair`](crate::queue_pair::QueuePair) says: two cache lines, and the end of the queue.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Requester {
    cursor: Cursor,
    /// First PSN of the next request to be started.
    next_psn: Psn,
    /// The oldest PSN that is not acknowledged.
    unacknowledged: Psn,
    /// One behind the last PSN ever sent, or asked for by a READ.
    sent_end: Psn,
    /// One behind the last packet that asked for an answer.
    asked_end: Psn,
    retry: Retry,
    /// Number of the last message started.
    started: Msn,
    /// Packets sent since the last one that asked for an acknowledgement.
    silent: u32,
    flights: Ring<Flight>,
    credit: Credit,
    /// READs and atomics among the flights.
    reads: u16,
    /// A local element of the request under the cursor is bad: wait until it is the oldest, then fail it.
    blocked: bool,
    queue: SendQueue,
}

impl Requester {
    pub(crate) fn new(requests: u32, elements: u32, inline: u32) -> Self {
        Self {
            cursor: Cursor::default(),
            next_psn: Psn::default(),
            unacknowledged: Psn::default(),
            sent_end: Psn::default(),
            asked_end: Psn::default(),
            retry: Retry::default(),
            started: Msn::default(),
            silent: 0,
            flights: Ring::new(requests as usize),
            credit: Credit::default(),
            reads: 0,
            blocked: false,
            queue: SendQueue::new(requests, elements, inline),
        }
    }

    /// Makes it ready to send from a PSN on.
    pub(crate) fn start(&mut self, psn: Psn, settings: &Settings, port: &EndpointConfig) {
        (self.next_psn, self.unacknowledged, self.sent_end) = (psn, psn, psn);
        self.asked_end = psn;
        self.started = Msn::default();
        self.credit = Credit::new(settings.honours_credits(&port.profile));
        self.retry = Retry::new(settings);
    }

    /// Follows a change of the retry counts.
    pub(crate) fn set_budgets(&mut self, settings: &Settings) {
        self.retry.set_budgets(settings);
    }

    /// Forgets everything, without completions.
    pub(crate) fn reset(&mut self) {
        while self.queue.pop().is_some() {}
        self.flights.clear();
        self.cursor = Cursor::default();
        (self.reads, self.silent, self.blocked) = (0, 0, false);
        self.retry = Retry::default();
    }

    pub(crate) fn post(&mut self, request: &SendRequest<'_>, settings: &Settings) -> Result<(), PostError> {
        if request.operation.is_read_or_atomic() && settings.max_reads == 0 {
            return Err(PostError::NoReadsNegotiated);
        }
        self.queue.push(request, settings.longest_reliable())
    }

    /// Reads a word of each of its cache lines.
    pub(crate) fn touch(&self) {
        black_box((self.next_psn, self.silent, self.queue.len()));
    }

    /// The same for what it points to.
    pub(crate) fn touch_queues(&self) {
        black_box(self.queue.get(0).map(|(work, _)| work.id));
        self.flights.touch();
    }

    /// Whether everything that was started is done.
    pub(crate) fn is_drained(&self) -> bool {
        self.flights.is_empty()
    }

    /// Whether no request is left, and so nothing to wait for.
    pub(crate) fn is_idle(&self) -> bool {
        debug_assert!(!self.queue.is_empty() || self.retry.next().is_none());
        self.queue.is_empty()
    }

    /// Whether a packet could go out now. `starts` says whether new requests may be begun.
    pub(crate) fn may_send(&self, settings: &Settings, port: &EndpointConfig, starts: bool) -> bool {
        if self.retry.is_held_back() || (self.blocked && self.cursor.place > 0) {
            return false;
        }
        let place = self.cursor.place as usize;
        let Some((work, _)) = self.queue.get(place) else { return false };
        let (psn, packets) = match self.flights.get(place) {
            Some(flight) => {
                let first_is_acknowledged = self.unacknowledged.distance(flight.first) > 0;
                let may_go_on = self.cursor.packet == 0
                    || first_is_acknowledged
                    || self.credit.covers(&work.operation, flight.number);
                if !may_go_on {
                    return false;
                }
                (flight.first.add(self.cursor.packet), 0)
            }
            None if !starts => return false,
            None => {
                if work.flags.contains(SendFlags::FENCE) && self.reads > 0 {
                    return false;
                }
                if work.operation.is_read_or_atomic() && self.reads >= u16::from(settings.max_reads) {
                    return false;
                }
                if !self.credit.lets_start(&work.operation, self.started.next()) {
                    return false;
                }
                (self.next_psn, segment::packets(work, settings.mtu))
            }
        };
        let outstanding = psn.distance(self.unacknowledged).max(0) as u32;
        outstanding < self.retry.window(port.effective_window()) && outstanding + packets <= MAX_OUTSTANDING
    }

    /// Sends the packet under the cursor; [`may_send`](Self::may_send) said that it may go.
    pub(crate) fn send(
        &mut self,
        context: &mut Context,
        now: u64,
        owner: &mut Owner<'_>,
        outlet: &mut Outlet<'_>,
    ) -> Result<(), Failure> {
        match self.step(context, now, owner, outlet) {
            Ok(()) => {
                self.blocked = false;
                Ok(())
            }
            // Older requests must complete first; then the same request fails again, for good.
            Err(_) if self.cursor.place > 0 => {
                self.blocked = true;
                Ok(())
            }
            Err(status) => Err(Failure(status)),
        }
    }

    fn step(
        &mut self,
        context: &mut Context,
        now: u64,
        owner: &mut Owner<'_>,
        outlet: &mut Outlet<'_>,
    ) -> Result<(), CompletionStatus> {
        let Some((work, _)) = self.queue.get(self.cursor.place as usize) else { return Ok(()) };
        if !work.operation.is_local() {
            return self.send_packet(context, now, owner, outlet);
        }
        let work = *work;
        // Going back leads over local requests that were carried out before.
        if self.cursor.place as usize == self.flights.len() {
            carry_out(&work.operation, context, owner)?;
            self.start_flight(&work, 0);
        }
        self.cursor = Cursor { place: self.cursor.place + 1, packet: 0 };
        self.complete_local(context, owner);
        Ok(())
    }

    fn start_flight(&mut self, work: &SendWork, packets: u32) {
        if packets > 0 {
            self.started = self.started.next();
            self.credit.start(&work.operation, self.started);
        }
        let first = self.next_psn;
        self.flights.push(Flight { first, packets, number: self.started, received: 0, requested: 0 });
        self.next_psn = self.next_psn.add(packets);
        self.reads += u16::from(work.operation.is_read_or_atomic());
    }

    fn send_packet(
        &mut self,
        context: &Context,
        now: u64,
        owner: &Owner<'_>,
        outlet: &mut Outlet<'_>,
    ) -> Result<(), CompletionStatus> {
        let settings = owner.settings;
        let Cursor { place, packet } = self.cursor;
        let place = place as usize;
        let Some((work, elements)) = self.queue.get(place) else { return Ok(()) };
        let read_or_atomic = work.operation.is_read_or_atomic();
        if place == self.flights.len() {
            let access = if read_or_atomic { Access::LOCAL_WRITE } else { Access::empty() };
            context
                .check_local(settings.protection_domain, elements, access)
                .map_err(|_| CompletionStatus::LocalProtectionError)?;
            let (work, packets) = (*work, segment::packets(work, settings.mtu));
            self.start_flight(&work, packets);
        }
        let (Some(flight), Some((work, elements))) = (self.flights.get_mut(place), self.queue.get(place))
        else {
            return Ok(());
        };

        let packet = if read_or_atomic { flight.received } else { packet };
        let segment = segment::segment(work, settings.mtu, packet, flight.packets);
        let psn = flight.first.add(packet);
        let end = if read_or_atomic { flight.first.add(flight.packets) } else { psn.next() };
        // An acknowledgement must be asked for before the window closes or the credits end, or both sides would wait.
        let window = self.retry.window(owner.port.effective_window());
        let closes = end.distance(self.unacknowledged) >= window as i32
            || (packet == 0 && !self.credit.covers(&work.operation, flight.number));
        let asks = segment.last || closes || self.silent + 1 >= owner.port.ack_interval();

        let bth = Bth { solicited: segment.solicited, ack_request: asks, ..owner.bth(psn) };
        let transport = segment::transport(work, settings);
        let inline = if work.inline { self.queue.inline(place) } else { None };
        outlet
            .send(&transport, &bth, &segment.body, segment.payload, |data| {
                segment::fill(work, elements, inline, segment.offset, data, context, settings)
            })
            .map_err(|_| CompletionStatus::LocalProtectionError)?;

        if read_or_atomic {
            flight.requested = flight.received;
        }
        if psn.distance(self.sent_end) < 0 {
            outlet.repeated += 1;
        }
        if end.distance(self.sent_end) > 0 {
            self.sent_end = end;
        }
        self.silent = if asks { 0 } else { self.silent + 1 };
        self.cursor = if segment.last {
            Cursor { place: self.cursor.place + 1, packet: 0 }
        } else {
            Cursor { packet: packet + 1, ..self.cursor }
        };
        if asks {
            if end.distance(self.asked_end) > 0 {
                self.asked_end = end;
            }
            self.retry.arm(now, settings);
        }
        Ok(())
    }

    pub(crate) fn next_timeout(&self) -> Option<u64> {
        self.retry.next()
    }

    /// Does what is due by now.
    pub(crate) fn handle_timeout(&mut self, now: u64, owner: &mut Owner<'_>) -> Result<(), Failure> {
        if self.retry.is_overdue(now) {
            owner.counters.local_ack_timeout += 1;
            self.go_back(RetryCause::Timeout, owner)?;
            self.retry.shrink(owner.port.effective_window());
            // The peer may have much of it already, and nothing that asked to be told so: the first packet asks.
            self.silent = owner.port.ack_interval() - 1;
        }
        Ok(())
    }

    /// Goes back to the oldest unacknowledged packet, if the budget allows.
    fn go_back(&mut self, cause: RetryCause, owner: &mut Owner<'_>) -> Result<(), Failure> {
        if cause != RetryCause::RnrNak && !self.retry.take() {
            owner.counters.retry_exceeded_err += 1;
            return Err(Failure(CompletionStatus::RetryExceeded));
        }
        owner.counters.completer_retry_err += u64::from(cause != RetryCause::RnrNak);
        if owner.port.report_retries {
            owner.event(Event::Retry { queue_pair: owner.number, psn: self.unacknowledged, cause });
        }
        self.retry.disarm();
        self.retry.restarted = Some(self.unacknowledged);
        self.cursor = Cursor::default();
        self.skip_acknowledged();
        (self.silent, self.blocked) = (0, false);
        self.asked_end = self.unacknowledged;
        Ok(())
    }

    /// Keeps the cursor behind what is acknowledged of the oldest request.
    fn skip_acknowledged(&mut self) {
        if self.cursor.place == 0
            && let Some(oldest) = self.flights.front()
        {
            let done = self.unacknowledged.distance(oldest.first).max(0) as u32;
            self.cursor.packet = self.cursor.packet.max(done);
        }
    }
}

/// Does what a local request asks for.
pub(crate) fn carry_out(
    operation: &Operation,
    context: &mut Context,
    owner: &Owner<'_>,
) -> Result<(), CompletionStatus> {
    let accessor = owner.settings.accessor();
    match operation {
        Operation::LocalInvalidate(key) => context
            .invalidate(&accessor, *key, rdmalab_verbs::Invalidation::Local)
            .map_err(|_| CompletionStatus::LocalQueuePairOperationError),
        Operation::FastRegister(registration) => context
            .fast_register(&accessor, registration)
            .map_err(|_| CompletionStatus::LocalQueuePairOperationError),
        Operation::BindWindow(binding) => {
            context.bind_window(&accessor, binding).map_err(|_| CompletionStatus::MemoryWindowBindError)
        }
        _ => Ok(()),
    }
}
