//! The TCP calls of a host. None of them waits: data moves when frames do, and what changed is found by asking.

use core::net::SocketAddr;

use super::Host;
use crate::tcp::stream::{ConnectError, ListenError, ListenerId, Read, StreamError, StreamId, StreamState};

impl Host {
    /// Accepts connections to this TCP port of any of our addresses from now on. Up to 16 wait to be
    /// [accepted](Self::accept); more are refused, and so is every one beyond
    /// [`STREAMS_MAX`](crate::STREAMS_MAX) connections altogether.
    pub fn listen(&mut self, port: u16) -> Result<ListenerId, ListenError> {
        self.tcp.listen(port)
    }

    /// Whether somebody listens on this TCP port.
    pub fn is_listening(&self, port: u16) -> bool {
        self.tcp.is_listening(port)
    }

    /// Stops listening. Connections that wait to be accepted are reset, accepted ones go on.
    pub fn close_listener(&mut self, id: ListenerId) {
        self.tcp.close_listener(&mut self.stack, id);
    }

    /// The connection that has waited longest for this listener, if one does.
    pub fn accept(&mut self, id: ListenerId) -> Option<StreamId> {
        self.tcp.accept(&mut self.stack, id)
    }

    /// Begins to connect; [`stream_state`](Self::stream_state) tells how it goes.
    pub fn connect(&mut self, peer: SocketAddr) -> Result<StreamId, ConnectError> {
        self.tcp.connect(&mut self.stack, &self.addresses, peer)
    }

    /// Where a connection stands; `None` once it was [closed](Self::close) or [aborted](Self::abort).
    pub fn stream_state(&self, id: StreamId) -> Option<StreamState> {
        self.tcp.state(&self.stack, id)
    }

    /// Our end and the peer's end of a connection that is not over.
    pub fn stream_ends(&self, id: StreamId) -> Option<(SocketAddr, SocketAddr)> {
        self.tcp.ends(&self.stack, id)
    }

    /// Bytes that can be read at once.
    pub fn readable(&self, id: StreamId) -> usize {
        self.tcp.room(&self.stack, id).map_or(0, |(readable, _)| readable)
    }

    /// Bytes that can be written at once.
    pub fn writable(&self, id: StreamId) -> usize {
        self.tcp.room(&self.stack, id).map_or(0, |(_, writable)| writable)
    }

    /// Whether so many bytes, no more than [`segment_size`](Self::segment_size), would go out as a segment of their own, and
    /// at once: segments have carried all that was written before, and the peer has room. If it has not even with nothing
    /// under way, they go out in pieces.
    pub fn takes_segment(&self, id: StreamId, length: usize) -> bool {
        self.tcp.takes_segment(&self.stack, id, length)
    }

    /// Bytes of payload that one of our segments to `peer` carries at most, as long as the peer takes segments as long as
    /// we do.
    pub fn segment_size(&self, peer: core::net::IpAddr) -> usize {
        self.mtu - if peer.is_ipv4() { 40 } else { 60 }
    }

    /// Takes received bytes. After the connection has ended, what arrived before can still be read.
    pub fn read(&mut self, id: StreamId, into: &mut [u8]) -> Result<Read, StreamError> {
        self.tcp.read(&mut self.stack, id, into)
    }

    /// Hands bytes over to be sent and returns how many there was room for: none while connecting, and none while
    /// 262,144 wait for the peer.
    pub fn write(&mut self, id: StreamId, data: &[u8]) -> Result<usize, StreamError> {
        self.tcp.write(&mut self.stack, id, data)
    }

    /// Finishes sending; the peer reads the end after what was written. Reading goes on.
    pub fn shut_down(&mut self, id: StreamId) -> Result<(), StreamError> {
        self.tcp.shut_down(&mut self.stack, id)
    }

    /// Finishes sending and lets go of the stream: what was written still arrives, what comes in is thrown away, and
    /// after a minute the connection is reset if the peer has not finished too.
    pub fn close(&mut self, id: StreamId) -> Result<(), StreamError> {
        self.tcp.close(&mut self.stack, id)
    }

    /// Closed streams whose peer has not confirmed all that was sent: as long as there are some, a host that stops
    /// loses data.
    pub fn unfinished_streams(&self) -> usize {
        self.tcp.unfinished(&self.stack)
    }

    /// Closed streams whose peer has confirmed all and not finished itself. A host that stops will not answer it when it
    /// does.
    pub fn half_closed_streams(&self) -> usize {
        self.tcp.half_closed(&self.stack)
    }

    /// Resets the connection and lets go of the stream; what was written may not arrive.
    pub fn abort(&mut self, id: StreamId) -> Result<(), StreamError> {
        self.tcp.abort(&mut self.stack, id)
    }
}
