//! What an application sees of its connections: identifiers, states, errors, and reading and writing.

use core::fmt;
use core::net::{IpAddr, SocketAddr};

use smoltcp::socket::tcp::{RecvError, Socket, State};

use super::{Owner, Stream, Tcp, socket};
use crate::stack::Stack;

/// A port a host listens on. Never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenerId(pub(crate) u64);

/// One connection, from connecting or accepting it to closing or aborting it. Never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub(crate) u64);

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamState {
    /// The peer has not answered yet.
    Connecting,
    /// Both sides can send.
    Open,
    /// The peer will send no more; what it sent may still wait to be read. This side can send.
    PeerFinished,
    /// This side has shut down sending; the peer may still send, or has not confirmed all of it.
    Finishing,
    /// Over. What arrived before may still wait to be read.
    Closed(CloseReason),
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// Both sides finished, all data arrived.
    Finished,
    /// The peer refused the connection: nobody listens there, or it has no room.
    Refused,
    /// The peer reset it.
    Reset,
    /// The peer stopped answering.
    TimedOut,
    /// The neighbour on the way to the peer does not answer.
    Unreachable,
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Finished => "finished by both sides",
            Self::Refused => "refused by the peer",
            Self::Reset => "reset by the peer",
            Self::TimedOut => "the peer stopped answering",
            Self::Unreachable => "the neighbour on the way does not answer",
        })
    }
}

/// What reading gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// This many bytes, at least one.
    Bytes(usize),
    /// Nothing has arrived yet (or the buffer handed in was empty).
    Nothing,
    /// The peer finished and everything has been read.
    End,
}

/// Why a port cannot be listened on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenError {
    /// Port 0 is no port.
    NoPort,
    /// Somebody listens on it already.
    PortTaken(u16),
    /// [`LISTENERS_MAX`](crate::LISTENERS_MAX) ports are listened on.
    TooMany,
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPort => f.write_str("port 0 cannot be listened on"),
            Self::PortTaken(port) => write!(f, "port {port} is listened on already"),
            Self::TooMany => f.write_str("too many ports are listened on"),
        }
    }
}

impl core::error::Error for ListenError {}

/// Why a connection cannot even be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// Port 0 is no port.
    NoPort,
    /// The host has no address, or no way, to reach this one.
    NoRoute(IpAddr),
    /// The peer would be this host; it has no loopback.
    OwnAddress,
    /// [`STREAMS_MAX`](crate::STREAMS_MAX) connections exist.
    TooMany,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPort => f.write_str("port 0 cannot be connected to"),
            Self::NoRoute(peer) => write!(f, "no route to {peer}"),
            Self::OwnAddress => f.write_str("a host cannot connect to itself"),
            Self::TooMany => f.write_str("too many connections"),
        }
    }
}

impl core::error::Error for ConnectError {}

/// Why a stream could not be read from or written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamError {
    /// No such stream, or it was closed or aborted by the application.
    Unknown,
    /// The connection is over.
    Closed(CloseReason),
    /// This side has shut down sending.
    ShutDown,
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("no such connection"),
            Self::Closed(reason) => write!(f, "connection over: {reason}"),
            Self::ShutDown => f.write_str("this side has finished sending"),
        }
    }
}

impl core::error::Error for StreamError {}

/// What the application does with its streams.
impl Tcp {
    fn application(&mut self, id: StreamId) -> Option<&mut Stream> {
        self.streams.get_mut(&id).filter(|stream| stream.owner == Owner::Application)
    }

    fn peek(&self, id: StreamId) -> Option<&Stream> {
        self.streams.get(&id).filter(|stream| stream.owner == Owner::Application)
    }

    pub(crate) fn state(&self, stack: &Stack, id: StreamId) -> Option<StreamState> {
        let stream = self.peek(id)?;
        if let Some(reason) = stream.closed {
            return Some(StreamState::Closed(reason));
        }
        Some(match stack.sockets.get::<Socket<'_>>(stream.handle).state() {
            State::SynSent | State::SynReceived | State::Listen => StreamState::Connecting,
            State::Established => StreamState::Open,
            State::CloseWait => StreamState::PeerFinished,
            State::FinWait1 | State::FinWait2 | State::Closing | State::LastAck => StreamState::Finishing,
            // All is said; the rest of the wait only guards against strays.
            State::TimeWait | State::Closed => StreamState::Closed(CloseReason::Finished),
        })
    }

    pub(crate) fn ends(&self, stack: &Stack, id: StreamId) -> Option<(SocketAddr, SocketAddr)> {
        let socket = stack.sockets.get::<Socket<'_>>(self.peek(id)?.handle);
        let address = |end: smoltcp::wire::IpEndpoint| SocketAddr::new(end.addr.into(), end.port);
        Some((address(socket.local_endpoint()?), address(socket.remote_endpoint()?)))
    }

    /// Bytes that can be read, and that can be written.
    pub(crate) fn room(&self, stack: &Stack, id: StreamId) -> Option<(usize, usize)> {
        let stream = self.peek(id)?;
        let socket = stack.sockets.get::<Socket<'_>>(stream.handle);
        let writable = if socket.may_send() { socket.send_capacity() - socket.send_queue() } else { 0 };
        Some((stream.leftover.len() + socket.recv_queue(), writable))
    }

    /// Whether so many bytes would go out as one segment at once.
    pub(crate) fn takes_segment(&self, stack: &Stack, id: StreamId, length: usize) -> bool {
        let Some(Stream { progress, .. }) = self.peek(id) else { return false };
        let is_writable = self.room(stack, id).is_some_and(|(_, writable)| writable >= length);
        // A peer that never has so much room gets it in pieces.
        let has_room =
            progress.unconfirmed() == 0 || progress.room() >= length && progress.is_straight(length);
        is_writable && progress.unsent() == 0 && has_room
    }

    pub(crate) fn read(
        &mut self,
        stack: &mut Stack,
        id: StreamId,
        into: &mut [u8],
    ) -> Result<Read, StreamError> {
        let stream = self.application(id).ok_or(StreamError::Unknown)?;
        if !stream.leftover.is_empty() {
            let length = into.len().min(stream.leftover.len());
            into[..length].copy_from_slice(&stream.leftover[..length]);
            stream.leftover.drain(..length);
            return Ok(if length == 0 { Read::Nothing } else { Read::Bytes(length) });
        }
        let socket = socket(stack, stream);
        match socket.recv_slice(into) {
            Ok(0) => Ok(Read::Nothing),
            Ok(length) => {
                // The window grew.
                self.due = Some(0);
                Ok(Read::Bytes(length))
            }
            Err(RecvError::Finished) => Ok(Read::End),
            Err(RecvError::InvalidState) => match stream.closed {
                Some(CloseReason::Finished) => Ok(Read::End),
                Some(reason) => Err(StreamError::Closed(reason)),
                None => Ok(Read::Nothing),
            },
        }
    }

    pub(crate) fn write(
        &mut self,
        stack: &mut Stack,
        id: StreamId,
        data: &[u8],
    ) -> Result<usize, StreamError> {
        let stream = self.application(id).ok_or(StreamError::Unknown)?;
        if let Some(reason) = stream.closed {
            return Err(StreamError::Closed(reason));
        }
        let socket = socket(stack, stream);
        match socket.state() {
            State::SynSent | State::SynReceived | State::Listen => return Ok(0),
            State::Established | State::CloseWait => {}
            _ => return Err(StreamError::ShutDown),
        }
        let was_empty = socket.send_queue() == 0;
        let written = socket.send_slice(data).map_err(|_| StreamError::ShutDown)?;
        if let Some(stream) = self.application(id) {
            stream.progress.write(written, was_empty);
        }
        self.due = Some(0);
        Ok(written)
    }

    /// Finishes sending: a FIN follows what was written.
    pub(crate) fn shut_down(&mut self, stack: &mut Stack, id: StreamId) -> Result<(), StreamError> {
        let stream = self.application(id).ok_or(StreamError::Unknown)?;
        let socket = socket(stack, stream);
        socket.close();
        stream.seen = socket.state();
        self.due = Some(0);
        Ok(())
    }

    /// Finishes sending and lets go of the stream; TCP winds it up in the background.
    pub(crate) fn close(&mut self, stack: &mut Stack, id: StreamId) -> Result<(), StreamError> {
        self.shut_down(stack, id)?;
        self.let_go(stack, id);
        Ok(())
    }

    /// Resets the connection and lets go of the stream.
    pub(crate) fn abort(&mut self, stack: &mut Stack, id: StreamId) -> Result<(), StreamError> {
        let stream = self.application(id).ok_or(StreamError::Unknown)?;
        let socket = socket(stack, stream);
        // After TIME-WAIT has begun the peer knows of no connection that could be reset.
        if socket.state() != State::TimeWait {
            socket.abort();
        }
        self.due = Some(0);
        self.let_go(stack, id);
        Ok(())
    }

    fn let_go(&mut self, stack: &mut Stack, id: StreamId) {
        let Some(stream) = self.application(id) else { return };
        stream.owner = Owner::Nobody;
        stream.leftover = Vec::new();
        let socket = socket(stack, stream);
        // A host may stop as soon as its own words are confirmed; it must not owe the peer the confirmation of the last ones.
        socket.set_ack_delay(None);
        stream.seen = socket.state();
        if socket.state() == State::Closed && socket.local_endpoint().is_none() {
            self.remove(stack, id);
        }
    }
}
