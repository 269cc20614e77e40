//! iWARP in a port: queue pairs, the byte streams that they talk over, and the start-up of each. Sans-IO.
//!
//! The table knows no sockets. A carrier has the byte streams: it carries out [`Command`]s, tells what came of them, brings
//! what the peers send ([`IwarpTable::handle_bytes`]) and takes away what is to be sent ([`IwarpTable::output`]). What TCP does
//! not take stays in one buffer for each stream, and as long as there is something in it, the queue pair is asked for nothing
//! more: so a peer that does not read holds back the work of its own queue pair, and of nobody else's.
//!
//! Invariants: a queue pair has at most one stream, and a stream at most one queue pair, each knowing the other. A stream is
//! in the ready list at most once. It has at most one deadline, which stands in `deadlines`, or a patience, and then it
//! stands in `begun`.
//!
//! Limits: [`MAX_QUEUE_PAIRS`], [`MAX_STREAMS`]; for each listener, callers that nobody has answered yet: its backlog. Each
//! stream waits with few commands and happenings, so their queues are bounded by the number of streams.

mod carrier;
mod closing;
mod counters;
mod established;
mod listening;
mod output;
mod queue_pairs;
mod settings;
mod start_up;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use rdmalab_cm::DisconnectCause;
use rdmalab_iwarp::{Initiator, Responder};
use rdmalab_roce::Event as TransportEvent;
use rdmalab_verbs::Table;
use rdmalab_wire::Qpn;

use listening::Listener;
use output::{Buffers, Output};
use queue_pairs::Held;

pub(crate) use carrier::{Command, Happening, ListenerId, Loss, StreamId};
pub use counters::IwarpCounters;
pub(crate) use listening::Listening;
pub(crate) use queue_pairs::{OTHERS, is_iwarp};
pub use settings::{IwarpSettings, Transport};

/// Queue pairs of a port that speak iWARP.
pub(crate) const MAX_QUEUE_PAIRS: usize = (1 << 15) - 1;
/// Byte streams of a port, those that are beginning and ending included.
const MAX_STREAMS: usize = 1 << 16;
/// Listeners of a port.
const MAX_LISTENERS: usize = 1 << 12;
/// Events of queue pairs that wait to be taken out.
const MAX_EVENTS: usize = 1024;
/// Bits of a stream's number that change when its place is used again.
const GENERATION_BITS: u32 = 12;

const SECOND: u64 = 1_000_000_000;
/// How long our call may take until the peer has answered it; its application decides meanwhile.
const CALL_PATIENCE: u64 = 60 * SECOND;
/// How long a caller may take to send its request (RFC 5044 §7.1.2 wants such a limit).
const REQUEST_PATIENCE: u64 = 10 * SECOND;
/// How long a peer may take to close its direction behind ours, and to take what we sent before.
const CLOSE_PATIENCE: u64 = 10 * SECOND;

/// How far a stream has come.
enum Stage {
    /// TCP is connecting; the request is ready.
    Connecting(Box<Initiator>),
    /// Our request is out, or on its way out.
    Initiating(Box<Initiator>),
    /// The caller's request is not whole.
    Asking(Box<Responder>),
    /// The application decides about it.
    Called(Box<Responder>),
    /// It belongs to its queue pair.
    Established,
    /// It belongs to nobody: what is left of the output goes out, then the end.
    Parting,
}

/// A byte stream.
struct Stream {
    stage: Stage,
    /// Whose it is, or will be.
    queue_pair: Option<Qpn>,
    /// Where it was accepted.
    listener: Option<ListenerId>,
    local: SocketAddr,
    peer: SocketAddr,
    /// Bytes of a TCP segment.
    segment_size: usize,
    /// TCP is handed one FPDU at a time, so that each begins a segment.
    is_aligned: bool,
    output: Output,
    /// It stands in the ready list.
    is_ready: bool,
    /// TCP has no room.
    is_blocked: bool,
    /// The peer has just accepted our call, or we its, and it gets time to be ready for what follows.
    is_paused: bool,
    /// That begins when our reply is out.
    pauses_behind_reply: bool,
    /// When it is given up, if nothing happens.
    deadline: Option<u64>,
    /// How long it has, as long as the time is not known at which that begins.
    patience: Option<u64>,
    /// Our application has ended the connection.
    is_ours_to_end: bool,
    /// A Terminate message ends it.
    terminated: Option<DisconnectCause>,
    /// Our direction is to be closed once the output is empty.
    wants_end: bool,
    /// Our direction is closed.
    has_ended: bool,
    /// The peer's direction is closed.
    peer_ended: bool,
    /// The application is told that the connection stands once the reply is out.
    tells_established: bool,
    /// And only when the peer has said something.
    awaits_peer: bool,
}

/// The state of a port's iWARP.
pub(crate) struct IwarpTable {
    settings: IwarpSettings,
    queue_pairs: Table<Option<Held>>,
    /// Queue pairs made so far.
    made: u64,
    streams: Table<Stream>,
    listeners: BTreeMap<ListenerId, Listener>,
    bound: BTreeMap<SocketAddr, ListenerId>,
    next_listener: u32,
    commands: VecDeque<Command>,
    happenings: VecDeque<Happening>,
    ready: VecDeque<StreamId>,
    deadlines: BTreeSet<(u64, StreamId)>,
    /// Streams that have a patience.
    begun: Vec<StreamId>,
    /// Streams whose pause, of so many nanoseconds, begins when the table is next told the time, and those that pause until then.
    falling_silent: Vec<(StreamId, u64)>,
    paused: BTreeSet<(u64, StreamId)>,
    buffers: Buffers,
    /// Asynchronous events of queue pairs, by the names that RoCE has for them.
    events: VecDeque<TransportEvent>,
    counters: IwarpCounters,
    lost_events: u64,
}

impl Default for IwarpTable {
    fn default() -> Self {
        Self {
            settings: IwarpSettings::default(),
            queue_pairs: queue_pairs::table(),
            made: 0,
            streams: Table::new(MAX_STREAMS, GENERATION_BITS, 1, false),
            listeners: BTreeMap::new(),
            bound: BTreeMap::new(),
            next_listener: 0,
            commands: VecDeque::new(),
            happenings: VecDeque::new(),
            ready: VecDeque::new(),
            deadlines: BTreeSet::new(),
            begun: Vec::new(),
            falling_silent: Vec::new(),
            paused: BTreeSet::new(),
            buffers: Buffers::default(),
            events: VecDeque::new(),
            counters: IwarpCounters::default(),
            lost_events: 0,
        }
    }
}

impl IwarpTable {
    /// How connections are made from now on.
    pub(crate) fn set_settings(&mut self, settings: IwarpSettings) {
        self.settings = settings;
    }

    /// The next thing for the carrier to do.
    pub(crate) fn next_command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }

    /// The next thing for connections to know.
    pub(crate) fn next_happening(&mut self) -> Option<Happening> {
        self.happenings.pop_front()
    }

    /// The next asynchronous event of a queue pair.
    pub(crate) fn poll_event(&mut self) -> Option<TransportEvent> {
        self.events.pop_front()
    }

    /// Whether [`poll_event`](Self::poll_event) has something.
    pub(crate) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Events that were lost because nobody took the others out.
    pub(crate) fn lost_events(&self) -> u64 {
        self.lost_events
    }

    /// What was counted so far.
    pub(crate) fn counters(&self) -> IwarpCounters {
        self.counters
    }

    /// Whether the carrier has something to do, connections have something to hear, or the time is to be told.
    pub(crate) fn has_work(&self) -> bool {
        !self.commands.is_empty()
            || !self.ready.is_empty()
            || !self.happenings.is_empty()
            || !self.begun.is_empty()
            || !self.falling_silent.is_empty()
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do.
    pub(crate) fn next_timeout(&self) -> Option<u64> {
        let (deadline, pause) = (self.deadlines.first(), self.paused.first());
        deadline.into_iter().chain(pause).map(|(at, _)| *at).min()
    }

    /// Streams with output that TCP has not taken: as long as there are some, a device that stops loses data.
    pub(crate) fn has_unsent(&self) -> bool {
        self.streams.iter().any(|stream| !stream.output.is_empty() || stream.wants_end && !stream.has_ended)
    }

    /// Our end and the peer's.
    pub(crate) fn ends(&self, stream: StreamId) -> Option<(SocketAddr, SocketAddr)> {
        self.streams.get(stream.0).map(|stream| (stream.local, stream.peer))
    }

    fn event(&mut self, event: TransportEvent) {
        if self.events.len() < MAX_EVENTS {
            self.events.push_back(event);
        } else {
            self.lost_events += 1;
        }
    }

    fn insert(&mut self, stream: Stream) -> Option<StreamId> {
        self.streams.insert(stream).map(StreamId).ok()
    }

    /// Gives a stream so many nanoseconds from now on, or all the time there is. Now is when the table is next told the time.
    fn give_time(&mut self, id: StreamId, patience: Option<u64>) {
        let Some(stream) = self.streams.get_mut(id.0) else { return };
        if let Some(before) = stream.deadline.take() {
            self.deadlines.remove(&(before, id));
        }
        if patience.is_some() && stream.patience.is_none() {
            self.begun.push(id);
        }
        stream.patience = patience;
    }

    /// Sets the deadlines of those whose time has begun.
    fn set_deadlines(&mut self, now: u64) {
        for id in self.begun.drain(..) {
            let Some(stream) = self.streams.get_mut(id.0) else { continue };
            if let Some(patience) = stream.patience.take() {
                let deadline = now.saturating_add(patience);
                stream.deadline = Some(deadline);
                self.deadlines.insert((deadline, id));
            }
        }
    }

    /// A stream sends nothing for a while.
    fn fall_silent(&mut self, id: StreamId, pause: Duration) {
        if !pause.is_zero()
            && let Some(stream) = self.streams.get_mut(id.0)
        {
            stream.is_paused = true;
            self.falling_silent.push((id, u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX)));
        }
    }

    /// Ends the pauses that are over by `now`, and lets those begin that are due.
    fn pause(&mut self, now: u64) {
        let begun = self.falling_silent.drain(..);
        self.paused.extend(begun.map(|(id, pause)| (now.saturating_add(pause), id)));
        while let Some(&(at, id)) = self.paused.first()
            && at <= now
        {
            self.paused.pop_first();
            if let Some(stream) = self.streams.get_mut(id.0) {
                stream.is_paused = false;
            }
            self.make_ready_if_due(id);
        }
    }

    /// Puts a stream into the ready list, unless it is there, TCP takes nothing or it pauses.
    fn make_ready(&mut self, id: StreamId) {
        if let Some(stream) = self.streams.get_mut(id.0)
            && !stream.is_ready
            && !stream.is_blocked
            && !stream.is_paused
        {
            stream.is_ready = true;
            self.ready.push_back(id);
        }
    }

    /// Takes a stream out; its queue pair has none any more. What the carrier is to do about it is up to the caller.
    fn remove(&mut self, id: StreamId) -> Option<Stream> {
        self.give_time(id, None);
        let mut stream = self.streams.remove(id.0)?;
        stream.output.clear(&mut self.buffers);
        self.part(&stream);
        self.leave_backlog(&stream);
        Some(stream)
    }

    /// The queue pair of a stream has none any more.
    fn part(&mut self, stream: &Stream) {
        if let Some(held) = stream.queue_pair.and_then(|number| self.held(number)) {
            held.stream = None;
        }
    }
}

impl Stream {
    fn new(stage: Stage, local: SocketAddr, peer: SocketAddr) -> Self {
        Self {
            stage,
            queue_pair: None,
            listener: None,
            local,
            peer,
            segment_size: 0,
            is_aligned: false,
            output: Output::default(),
            is_ready: false,
            is_blocked: false,
            is_paused: false,
            pauses_behind_reply: false,
            deadline: None,
            patience: None,
            is_ours_to_end: false,
            terminated: None,
            wants_end: false,
            has_ended: false,
            peer_ended: false,
            tells_established: false,
            awaits_peer: false,
        }
    }
}

#[cfg(test)]
mod tests;
