//! TCP connections over smoltcp's sockets: listeners, streams, and who owns each.
//!
//! Invariants: at most [`STREAMS_MAX`] sockets exist, since smoltcp looks through all of them for every segment. No
//! socket waits in LISTEN: one is made when a SYN for a listener arrives and there is room, so that a repeated SYN
//! cannot be taken for a second connection, and a SYN without room is refused with RST. Identifiers are never used
//! twice. A stream the application closed belongs to nobody until TCP is done with it, at most [`LINGER`].
//!
//! Simultaneous open (two hosts connecting to each other with the same pair of ports) is not supported: a bare SYN for
//! a connecting stream is dropped.

pub(crate) mod incoming;
mod progress;
pub(crate) mod segment;
pub(crate) mod stream;

use std::collections::BTreeMap;

use core::net::{IpAddr, SocketAddr};

use smoltcp::iface::SocketHandle;
use smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use smoltcp::time::Duration;

use crate::addresses::{Addresses, NextHop};
use crate::stack::Stack;
use progress::Progress;
use segment::{Outgoing, Segment};
use stream::{CloseReason, ConnectError, ListenError, ListenerId, StreamId};

/// TCP connections a host can have at a time, those being set up and wound up included.
pub const STREAMS_MAX: usize = 64;
/// Ports a host can listen on at a time.
pub const LISTENERS_MAX: usize = 64;
/// Bytes that a stream can buffer of what comes in. No more than an unscaled window can say: with larger ones smoltcp
/// 0.14 scales the window of its own SYN-ACK in its books, takes in data beyond its buffer before the handshake ends,
/// and panics.
const RECEIVE_BUFFER: usize = 65_535;
/// Bytes that a stream can buffer of what goes out. The buffer is a ring, at whose end a segment is cut short, unless all before
/// has been confirmed ([`takes_segment`](Tcp::takes_segment)): it is longer than a window, so that this is seldom.
const SEND_BUFFER: usize = 262_144;

const SECOND: u64 = 1_000_000_000;
/// How long a closed stream may take to finish before it is reset.
const LINGER: u64 = 60 * SECOND;
/// Silence after which the peer is asked for a sign of life.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// Silence after which the peer is taken for dead.
const TIMEOUT: Duration = Duration::from_secs(35);
/// Should smoltcp claim to have something to send and not send it, or send without end, it is asked again after this
/// long, not at once.
const PAUSE: u64 = 1_000_000;
/// Passes over the sockets at the same time after which they pause: more than a full buffer has segments.
const PASSES_MAX: u32 = 4096;
/// Local ports of outgoing connections (RFC 6335 §6).
const PORTS: core::ops::RangeInclusive<u16> = 49152..=65535;

pub(crate) struct Tcp {
    streams: BTreeMap<StreamId, Stream>,
    listeners: BTreeMap<ListenerId, u16>,
    next_id: u64,
    next_port: u16,
    /// When the sockets have to be asked next: 0 for at once.
    due: Option<u64>,
    /// The time of the last pass over the sockets, and how many there were at that time.
    passes: (u64, u32),
}

struct Stream {
    handle: SocketHandle,
    owner: Owner,
    /// The socket's state when last looked at, which tells what a state of CLOSED means.
    seen: State,
    closed: Option<CloseReason>,
    /// Received data saved from a socket about to forget it.
    leftover: Vec<u8>,
    /// When a stream of nobody is reset.
    until: Option<u64>,
    /// How far its segments have come.
    progress: Progress,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Application,
    /// Not accepted yet.
    Listener(ListenerId),
    Nobody,
}

/// What happened since the sockets were last looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Event {
    Received,
    Sent,
}

impl Tcp {
    pub(crate) fn new(seed: u64) -> Self {
        // One step of SplitMix64: neighbouring seeds begin at ports far apart.
        let mixed = (seed.wrapping_add(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let offset = (mixed >> 48) as u16 % (PORTS.end() - PORTS.start());
        let next_port = PORTS.start() + offset;
        let (streams, listeners, passes) = Default::default();
        Self { streams, listeners, next_id: 1, next_port, due: None, passes }
    }

    pub(crate) fn listen(&mut self, port: u16) -> Result<ListenerId, ListenError> {
        if port == 0 {
            return Err(ListenError::NoPort);
        }
        if self.is_listening(port) {
            return Err(ListenError::PortTaken(port));
        }
        if self.listeners.len() >= LISTENERS_MAX {
            return Err(ListenError::TooMany);
        }
        let id = ListenerId(self.identifier());
        self.listeners.insert(id, port);
        Ok(id)
    }

    pub(crate) fn is_listening(&self, port: u16) -> bool {
        self.listeners.values().any(|taken| *taken == port)
    }

    pub(crate) fn close_listener(&mut self, stack: &mut Stack, id: ListenerId) {
        self.listeners.remove(&id);
        for stream in self.streams.values_mut().filter(|stream| stream.owner == Owner::Listener(id)) {
            stream.owner = Owner::Nobody;
            socket(stack, stream).abort();
            self.due = Some(0);
        }
    }

    /// Streams that the application closed and whose peer has not confirmed all that was sent.
    pub(crate) fn unfinished(&self, stack: &Stack) -> usize {
        let nobodys = self.streams.values().filter(|stream| stream.owner == Owner::Nobody);
        nobodys
            .filter(|stream| {
                let state = stack.sockets.get::<Socket<'_>>(stream.handle).state();
                matches!(state, State::FinWait1 | State::Closing | State::LastAck)
            })
            .count()
    }

    /// Streams that the application closed, all of which was confirmed, and whose peer has not finished.
    pub(crate) fn half_closed(&self, stack: &Stack) -> usize {
        let nobodys = self.streams.values().filter(|stream| stream.owner == Owner::Nobody);
        nobodys
            .filter(|stream| stack.sockets.get::<Socket<'_>>(stream.handle).state() == State::FinWait2)
            .count()
    }

    /// The connection to this listener that has waited longest.
    pub(crate) fn accept(&mut self, stack: &mut Stack, id: ListenerId) -> Option<StreamId> {
        for (stream_id, stream) in &mut self.streams {
            let ready = matches!(socket(stack, stream).state(), State::Established | State::CloseWait);
            if ready && stream.owner == Owner::Listener(id) {
                stream.owner = Owner::Application;
                return Some(*stream_id);
            }
        }
        None
    }

    pub(crate) fn connect(
        &mut self,
        stack: &mut Stack,
        addresses: &Addresses,
        peer: SocketAddr,
    ) -> Result<StreamId, ConnectError> {
        if peer.port() == 0 {
            return Err(ConnectError::NoPort);
        }
        match addresses.next_hop(peer.ip()) {
            NextHop::Neighbour(_) => {}
            NextHop::Ours => return Err(ConnectError::OwnAddress),
            NextHop::Group(_) | NextHop::None => return Err(ConnectError::NoRoute(peer.ip())),
        }
        let local = addresses.source_for(peer.ip()).ok_or(ConnectError::NoRoute(peer.ip()))?;
        if !self.make_room(stack) {
            return Err(ConnectError::TooMany);
        }
        let port = self.free_port(stack).ok_or(ConnectError::TooMany)?;
        let mut socket = new_socket();
        let (context, _) = stack.connecting();
        socket
            .connect(context, (smoltcp::wire::IpAddress::from(peer.ip()), peer.port()), (local, port))
            .map_err(|_| ConnectError::NoRoute(peer.ip()))?;
        let id = self.add(stack, socket, Owner::Application);
        self.due = Some(0);
        Ok(id)
    }

    /// After the stack has looked at a segment.
    pub(crate) fn after_segment(&mut self, now: u64, stack: &mut Stack) {
        self.settle(now, stack, Event::Received);
        self.due = Some(0);
    }

    /// Whether [`poll`](Self::poll) may have something to send.
    pub(crate) fn is_due(&self, now: u64) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    /// When to call [`poll`](Self::poll) next.
    pub(crate) fn next_timeout(&self, now: u64) -> Option<u64> {
        self.due.map(|due| due.max(now))
    }

    /// Lets the sockets send, at most one packet each.
    pub(crate) fn poll(&mut self, now: u64, stack: &mut Stack) {
        if self.streams.is_empty() {
            self.due = None;
            return;
        }
        stack.poll_sockets(now);
        self.settle(now, stack, Event::Sent);
        self.passes = if self.passes.0 == now { (now, self.passes.1 + 1) } else { (now, 1) };
        self.due = if self.passes.1 > PASSES_MAX {
            self.passes.1 = 0;
            Some(now.saturating_add(PAUSE))
        } else if stack.has_outgoing() {
            Some(0)
        } else {
            let socket = stack
                .next_socket_timeout(now)
                .map(|at| if at <= now { now.saturating_add(PAUSE) } else { at });
            let linger = self.streams.values().filter_map(|stream| stream.until).min();
            [socket, linger].into_iter().flatten().min()
        };
    }

    /// A segment that the stack puts out.
    pub(crate) fn note_outgoing(&mut self, stack: &Stack, segment: &Outgoing) {
        let found = self.streams.values_mut().find(|stream| {
            let socket = stack.sockets.get::<Socket<'_>>(stream.handle);
            segment.is_of(socket)
        });
        if let Some(stream) = found {
            stream.progress.segment(segment);
        }
    }

    /// A segment that came in, before the stack sees it.
    fn note_incoming(&mut self, stack: &Stack, segment: &Segment) {
        let found = self.streams.values_mut().find(|stream| {
            let socket = stack.sockets.get::<Socket<'_>>(stream.handle);
            segment.is_for(socket)
        });
        if let Some(stream) = found {
            stream.progress.confirm(segment);
        }
    }

    /// A neighbour does not answer: connections that are being opened through it end.
    pub(crate) fn neighbour_failed(&mut self, stack: &mut Stack, addresses: &Addresses, neighbour: IpAddr) {
        for stream in self.streams.values_mut() {
            let socket = stack.sockets.get_mut::<Socket<'_>>(stream.handle);
            let Some(peer) = socket.remote_endpoint() else { continue };
            let through = addresses.next_hop(peer.addr.into()) == NextHop::Neighbour(neighbour);
            if through && matches!(socket.state(), State::SynSent | State::SynReceived) {
                socket.abort();
                stream.closed.get_or_insert(CloseReason::Unreachable);
                self.due = Some(0);
            }
        }
    }

    /// Draws the conclusions from the states the sockets are in now.
    fn settle(&mut self, now: u64, stack: &mut Stack, event: Event) {
        let mut finished = Vec::new();
        for (id, stream) in &mut self.streams {
            let socket = stack.sockets.get_mut::<Socket<'_>>(stream.handle);
            let state = socket.state();
            if state == State::Closed && stream.closed.is_none() {
                stream.closed = Some(close_reason(stream.seen, event));
            }
            stream.seen = state;
            match stream.owner {
                Owner::Application => {
                    // At the end of TIME-WAIT smoltcp forgets what was not read.
                    if state == State::TimeWait && socket.can_recv() {
                        drain(socket, |bytes| stream.leftover.extend_from_slice(bytes));
                    }
                }
                Owner::Listener(_) => {
                    // A reset takes a half-open socket back to LISTEN.
                    if matches!(state, State::Listen | State::Closed) {
                        finished.push(*id);
                    }
                }
                Owner::Nobody => {
                    // Nobody will read it, and a full window would keep the peer from finishing.
                    drain(socket, |_| {});
                    let until = *stream.until.get_or_insert(now.saturating_add(LINGER));
                    if state == State::Closed && socket.local_endpoint().is_none() {
                        finished.push(*id);
                    } else if until <= now {
                        stream.until = Some(now.saturating_add(LINGER));
                        socket.abort();
                    }
                }
            }
        }
        for id in finished {
            self.remove(stack, id);
        }
    }

    /// Whether another connection fits. One that nobody owns gives way: the oldest in TIME-WAIT, else the oldest whose peer has all
    /// that was sent and does not finish.
    fn make_room(&mut self, stack: &mut Stack) -> bool {
        if self.streams.len() < STREAMS_MAX {
            return true;
        }
        let oldest = |state: State| {
            let gives_way = |stream: &Stream| stream.owner == Owner::Nobody && stream.seen == state;
            self.streams.iter().find(|(_, stream)| gives_way(stream)).map(|(id, _)| *id)
        };
        let oldest = oldest(State::TimeWait).or_else(|| oldest(State::FinWait2));
        oldest.inspect(|id| self.remove(stack, *id)).is_some()
    }

    fn add(&mut self, stack: &mut Stack, socket: Socket<'static>, owner: Owner) -> StreamId {
        let id = StreamId(self.identifier());
        let seen = socket.state();
        let handle = stack.sockets.add(socket);
        let stream = Stream {
            handle,
            owner,
            seen,
            closed: None,
            leftover: Vec::new(),
            until: None,
            progress: Progress::default(),
        };
        self.streams.insert(id, stream);
        id
    }

    fn remove(&mut self, stack: &mut Stack, id: StreamId) {
        if let Some(stream) = self.streams.remove(&id) {
            stack.sockets.remove(stream.handle);
        }
    }

    fn identifier(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    fn free_port(&mut self, stack: &Stack) -> Option<u16> {
        let taken = |port: u16| {
            self.listeners.values().any(|listening| *listening == port)
                || self.streams.values().any(|stream| {
                    let socket = stack.sockets.get::<Socket<'_>>(stream.handle);
                    socket.local_endpoint().is_some_and(|local| local.port == port)
                })
        };
        // Fewer ports can be taken than there are streams and listeners, so this looks at few.
        let mut port = self.next_port;
        for _ in 0..=STREAMS_MAX + LISTENERS_MAX {
            let next = if port == *PORTS.end() { *PORTS.start() } else { port + 1 };
            if !taken(port) {
                self.next_port = next;
                return Some(port);
            }
            port = next;
        }
        None
    }
}

fn socket<'s>(stack: &'s mut Stack, stream: &Stream) -> &'s mut Socket<'static> {
    stack.sockets.get_mut(stream.handle)
}

fn new_socket() -> Socket<'static> {
    let buffer = |length| SocketBuffer::new(vec![0; length]);
    let mut socket = Socket::new(buffer(RECEIVE_BUFFER), buffer(SEND_BUFFER));
    socket.set_nagle_enabled(false);
    // smoltcp ends even an idle connection after the timeout, unless keep-alives draw signs of life from the peer.
    socket.set_timeout(Some(TIMEOUT));
    socket.set_keep_alive(Some(KEEP_ALIVE));
    socket
}

fn drain(socket: &mut Socket<'_>, mut to: impl FnMut(&[u8])) {
    while socket.can_recv() {
        let taken = socket.recv(|bytes| {
            to(bytes);
            (bytes.len(), bytes.len())
        });
        if !matches!(taken, Ok(1..)) {
            return;
        }
    }
}

/// Why a socket is CLOSED: from the state before and whether it closed when something came in or when it was to send.
fn close_reason(before: State, event: Event) -> CloseReason {
    match (event, before) {
        (_, State::LastAck | State::TimeWait) => CloseReason::Finished,
        (Event::Received, State::SynSent) => CloseReason::Refused,
        (Event::Received, _) => CloseReason::Reset,
        (Event::Sent, _) => CloseReason::TimedOut,
    }
}
