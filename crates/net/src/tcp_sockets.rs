//! Many TCP sockets of the kernel's at once, none of which ever blocks.
//!
//! The owner names each socket by a key of its own choice, and is told by key what it may do now. Who waits for a set waits
//! for its descriptor ([`AsFd`]), which is readable when the kernel has something to tell.
//!
//! Invariants: there are never more sockets than the limit. A socket is in the queue of those that are ready at most once,
//! and as long as it has something to be taken ([`TcpSockets::has_events`]). Bytes of a stream come out in order.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use nix::sys::socket::{getsockopt, sockopt::TcpMaxSeg};
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_linger;

use crate::tcp::begin_connect;

/// Events that are taken from the kernel at once.
const EVENTS: usize = 64;

/// What may be done with a socket now.
#[derive(Debug)]
pub enum TcpEvent {
    /// Somebody waits to be [accepted](TcpSockets::accept). It is told once, for all who wait then.
    Acceptable(u64),
    /// The connection that was begun stands.
    Connected(u64),
    /// The connection that was begun does not come about. The socket is gone.
    Failed(u64, io::Error),
    /// [`read`](TcpSockets::read) has something.
    Readable(u64),
    /// A [`write`](TcpSockets::write) that found no room finds some now.
    Writable(u64),
}

/// What reading gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpRead {
    /// So many bytes, at least one.
    Bytes(usize),
    /// Nothing is here now.
    Nothing,
    /// The peer has finished, and all it said was read.
    End,
}

/// Somebody who connected and is not in a set yet. Dropping it ends the connection.
#[derive(Debug)]
pub struct AcceptedTcp {
    stream: TcpStream,
    /// Our end.
    pub local: SocketAddr,
    /// The peer's.
    pub peer: SocketAddr,
}

#[derive(Debug)]
enum Kind {
    Listener(TcpListener),
    Stream(TcpStream),
}

#[derive(Debug)]
struct Socket {
    kind: Kind,
    /// A stream that does not stand yet.
    is_connecting: bool,
    /// The kernel has said so, and nobody has found out otherwise.
    readable: bool,
    /// The peer has finished or the connection broke: reading comes to an end, of which nothing more is told.
    hung_up: bool,
    /// A write found no room.
    blocked: bool,
    /// The kernel has said that there is some.
    has_room: bool,
    is_queued: bool,
}

/// A set of sockets.
#[derive(Debug)]
pub struct TcpSockets {
    epoll: OwnedFd,
    sockets: BTreeMap<u64, Socket>,
    ready: VecDeque<u64>,
    limit: usize,
}

impl TcpSockets {
    /// A set of at most so many sockets.
    ///
    /// # Errors
    /// The kernel's, when the process has no descriptor left.
    pub fn new(limit: usize) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self { epoll, sockets: BTreeMap::new(), ready: VecDeque::new(), limit })
    }

    /// Listens on one of the kernel's addresses, port 0 for any; returns where.
    ///
    /// # Errors
    /// The kernel's: the port is taken, the address is not its own, the set is full.
    pub fn listen(&mut self, key: u64, at: SocketAddr) -> io::Result<SocketAddr> {
        self.check_room(key)?;
        let listener = TcpListener::bind(at)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        self.insert(key, Kind::Listener(listener), false)?;
        Ok(address)
    }

    /// Begins to connect from one of the kernel's addresses; [`TcpEvent::Connected`] or [`TcpEvent::Failed`] follows.
    ///
    /// # Errors
    /// The kernel's, as when there is no way to the peer; or the set is full.
    pub fn connect(&mut self, key: u64, source: IpAddr, peer: SocketAddr) -> io::Result<()> {
        self.check_room(key)?;
        let stream = begin_connect(source, peer)?;
        let _ = stream.set_nodelay(true);
        self.insert(key, Kind::Stream(stream), true)
    }

    /// The next of those who wait for a listener; `None` if there is nobody now.
    ///
    /// # Errors
    /// The kernel's, as when the process has no descriptor left: whoever waits goes on waiting.
    pub fn accept(&mut self, key: u64) -> io::Result<Option<AcceptedTcp>> {
        let Some(Socket { kind: Kind::Listener(listener), .. }) = self.sockets.get(&key) else {
            return Ok(None);
        };
        loop {
            match listener.accept() {
                Ok((stream, peer)) => {
                    stream.set_nonblocking(true)?;
                    let _ = stream.set_nodelay(true);
                    return Ok(Some(AcceptedTcp { local: stream.local_addr()?, peer, stream }));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                // The peer has gone again, or a signal came.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted
                    ) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes somebody who was accepted into the set.
    ///
    /// # Errors
    /// The set is full, or the kernel has no room for it.
    pub fn adopt(&mut self, key: u64, accepted: AcceptedTcp) -> io::Result<()> {
        self.check_room(key)?;
        self.insert(key, Kind::Stream(accepted.stream), false)
    }

    /// Takes in what the kernel has to tell; [`next_event`](Self::next_event) gives it out.
    ///
    /// # Errors
    /// The kernel's.
    pub fn poll(&mut self) -> io::Result<()> {
        loop {
            let mut room = [const { MaybeUninit::uninit() }; EVENTS];
            let found = match epoll::wait(&self.epoll, &mut room, Some(&Timespec::default())) {
                Ok((found, _)) => found,
                Err(Errno::INTR) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            let count = found.len();
            for event in found {
                self.note(event.data.u64(), event.flags);
            }
            if count < EVENTS {
                return Ok(());
            }
        }
    }

    fn note(&mut self, key: u64, flags: epoll::EventFlags) {
        let Some(socket) = self.sockets.get_mut(&key) else { return };
        let broken = flags.intersects(epoll::EventFlags::ERR | epoll::EventFlags::HUP);
        socket.hung_up |= broken || flags.contains(epoll::EventFlags::RDHUP);
        socket.readable |= socket.hung_up || flags.contains(epoll::EventFlags::IN);
        socket.has_room |= broken || flags.contains(epoll::EventFlags::OUT);
        self.queue(key);
    }

    /// Puts a socket among those that are ready, if it is.
    fn queue(&mut self, key: u64) {
        let Some(socket) = self.sockets.get_mut(&key) else { return };
        if socket.is_ready() && !socket.is_queued {
            socket.is_queued = true;
            self.ready.push_back(key);
        }
    }

    /// Whether [`next_event`](Self::next_event) may have something without the kernel's telling: who waits for the set must
    /// not sleep then.
    #[must_use]
    pub fn has_events(&self) -> bool {
        !self.ready.is_empty()
    }

    /// How many sockets are ready.
    #[must_use]
    pub fn ready_count(&self) -> usize {
        self.ready.len()
    }

    /// What may be done with the socket whose turn it is.
    pub fn next_event(&mut self) -> Option<TcpEvent> {
        while let Some(key) = self.ready.pop_front() {
            let Some(socket) = self.sockets.get_mut(&key) else { continue };
            socket.is_queued = false;
            match &socket.kind {
                Kind::Listener(_) if socket.readable => {
                    socket.readable = false;
                    return Some(TcpEvent::Acceptable(key));
                }
                Kind::Stream(stream) if socket.is_connecting => {
                    return Some(match stream.take_error() {
                        Ok(None) => {
                            socket.is_connecting = false;
                            self.queue(key);
                            TcpEvent::Connected(key)
                        }
                        Ok(Some(error)) | Err(error) => {
                            self.sockets.remove(&key);
                            TcpEvent::Failed(key, error)
                        }
                    });
                }
                Kind::Stream(_) if socket.blocked && socket.has_room => {
                    socket.blocked = false;
                    self.queue(key);
                    return Some(TcpEvent::Writable(key));
                }
                Kind::Stream(_) if socket.readable => {
                    // Reading says whether it stays so.
                    self.queue(key);
                    return Some(TcpEvent::Readable(key));
                }
                _ => {}
            }
        }
        None
    }

    /// Takes bytes that arrived.
    ///
    /// # Errors
    /// The connection broke.
    pub fn read(&mut self, key: u64, into: &mut [u8]) -> io::Result<TcpRead> {
        let Some(socket) = self.sockets.get_mut(&key) else { return Ok(TcpRead::Nothing) };
        let Kind::Stream(stream) = &mut socket.kind else { return Ok(TcpRead::Nothing) };
        if socket.is_connecting {
            return Ok(TcpRead::Nothing);
        }
        loop {
            match stream.read(into) {
                Ok(0) if into.is_empty() => return Ok(TcpRead::Nothing),
                Ok(0) => {
                    socket.readable = false;
                    return Ok(TcpRead::End);
                }
                Ok(count) => {
                    // The kernel tells again when more arrives, but not again that the peer has finished.
                    socket.readable = count == into.len() || socket.hung_up;
                    self.queue(key);
                    return Ok(TcpRead::Bytes(count));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    socket.readable = false;
                    return Ok(TcpRead::Nothing);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    socket.readable = false;
                    return Err(error);
                }
            }
        }
    }

    /// Hands bytes over to be sent and returns how many there was room for. If there was none for some, it is told when
    /// there is.
    ///
    /// # Errors
    /// The connection broke, or was shut down.
    pub fn write(&mut self, key: u64, bytes: &[u8]) -> io::Result<usize> {
        let Some(socket) = self.sockets.get_mut(&key) else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let Kind::Stream(stream) = &mut socket.kind else { return Ok(0) };
        if socket.is_connecting {
            return Ok(0);
        }
        let mut written = 0;
        while written < bytes.len() {
            match stream.write(&bytes[written..]) {
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    (socket.blocked, socket.has_room) = (true, false);
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(written)
    }

    /// Finishes sending; the peer reads the end behind what was written. Reading goes on.
    pub fn shut_down(&mut self, key: u64) {
        if let Some(Socket { kind: Kind::Stream(stream), .. }) = self.sockets.get(&key) {
            // One that is broken needs no end.
            let _ = stream.shutdown(std::net::Shutdown::Write);
        }
    }

    /// Takes a socket out and closes it. What was written still arrives; if something was not read, the peer is told by a
    /// reset.
    pub fn close(&mut self, key: u64) {
        self.sockets.remove(&key);
    }

    /// Takes a socket out and resets its connection. What was written may not arrive.
    pub fn reset(&mut self, key: u64) {
        if let Some(Socket { kind: Kind::Stream(stream), .. }) = self.sockets.remove(&key) {
            reset(&stream);
        }
    }

    /// The most payload that one segment to the peer carries, options not counted off; what the kernel cuts by.
    #[must_use]
    pub fn max_segment(&self, key: u64) -> Option<usize> {
        let Kind::Stream(stream) = &self.sockets.get(&key)?.kind else { return None };
        getsockopt(stream, TcpMaxSeg).ok().and_then(|most| usize::try_from(most).ok())
    }

    /// Our end and the peer's.
    #[must_use]
    pub fn ends(&self, key: u64) -> Option<(SocketAddr, SocketAddr)> {
        let Kind::Stream(stream) = &self.sockets.get(&key)?.kind else { return None };
        Some((stream.local_addr().ok()?, stream.peer_addr().ok()?))
    }

    /// Sockets in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sockets.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sockets.is_empty()
    }

    fn check_room(&self, key: u64) -> io::Result<()> {
        if self.sockets.contains_key(&key) {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the key is in use"));
        }
        if self.sockets.len() >= self.limit {
            let text = format!("there are {} TCP sockets already, which is the most", self.limit);
            return Err(io::Error::new(io::ErrorKind::QuotaExceeded, text));
        }
        Ok(())
    }

    fn insert(&mut self, key: u64, kind: Kind, is_connecting: bool) -> io::Result<()> {
        let all = match &kind {
            Kind::Listener(_) => epoll::EventFlags::IN,
            _ => epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP,
        };
        // By edges: what was told is remembered here, and a stream that has no room, or has ended, is not told of on and on.
        let flags = all | epoll::EventFlags::ET;
        epoll::add(&self.epoll, kind.as_fd(), epoll::EventData::new_u64(key), flags)?;
        let fresh = Socket {
            kind,
            is_connecting,
            readable: false,
            hung_up: false,
            blocked: false,
            has_room: false,
            is_queued: false,
        };
        self.sockets.insert(key, fresh);
        Ok(())
    }
}

impl Socket {
    fn is_ready(&self) -> bool {
        match self.kind {
            Kind::Listener(_) => self.readable,
            Kind::Stream(_) if self.is_connecting => self.readable || self.has_room,
            Kind::Stream(_) => self.readable || self.blocked && self.has_room,
        }
    }
}

impl Kind {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Listener(listener) => listener.as_fd(),
            Self::Stream(stream) => stream.as_fd(),
        }
    }
}

impl AcceptedTcp {
    /// Ends the connection by a reset.
    pub fn refuse(self) {
        reset(&self.stream);
    }
}

/// Lets dropping the last descriptor reset the connection.
fn reset(stream: &TcpStream) {
    let _ = set_socket_linger(stream, Some(Duration::ZERO));
}

impl AsFd for TcpSockets {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}
