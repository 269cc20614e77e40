//! The byte streams of a port's iWARP over the kernel's TCP.
//!
//! The kernel holds back who sends more than its peer reads; then the stream's output waits in the port, and with it the work
//! of its queue pair. Callers that find the backlog full wait in the kernel's queue.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr};

use rdmalab_iwarp::End;
use rdmalab_net::{TcpEvent, TcpRead, TcpSockets};

use super::on_link;
use crate::connections::CmError;
use crate::iwarp::{Command, IwarpTable, ListenerId, Loss, StreamId};
use crate::port::Port;

/// Sockets at most, listeners among them; the process may be allowed fewer.
const SOCKETS: usize = (1 << 16) + (1 << 12);
/// Bytes that are read from one stream before it is the next one's turn.
const READ: usize = 256 * 1024;
/// Sockets that are seen to before it is the sender's turn.
const TURN: usize = 64;
/// A segment where the kernel does not tell (RFC 1122 §4.2.2.6).
const SMALLEST_SEGMENT: usize = 536;

pub(super) struct KernelStreams {
    pub(super) sockets: TcpSockets,
    address: IpAddr,
    scope: u32,
    buffer: Box<[u8]>,
    /// Listeners whose callers wait for room in the backlog, or for a descriptor.
    crowded: BTreeSet<ListenerId>,
}

impl KernelStreams {
    /// Streams from one of the kernel's addresses.
    pub(super) fn open(address: IpAddr, scope: u32) -> io::Result<Self> {
        let sockets = TcpSockets::new(SOCKETS)?;
        Ok(Self { sockets, address, scope, buffer: vec![0; READ].into(), crowded: BTreeSet::new() })
    }

    /// Whether there is something to do of which the descriptor tells nothing.
    pub(super) fn has_events(&self) -> bool {
        self.sockets.has_events()
    }

    /// Carries out what the port orders, and brings it what came.
    pub(super) fn receive(&mut self, port: &mut Port) -> io::Result<()> {
        self.obey(port);
        self.sockets.poll()?;
        for _ in 0..self.sockets.ready_count().min(TURN) {
            let Some(event) = self.sockets.next_event() else { break };
            self.handle(port, event);
        }
        for listener in std::mem::take(&mut self.crowded) {
            self.accept(&mut port.iwarp, listener);
        }
        Ok(())
    }

    /// Takes away what is to be sent, as much of it as the kernel has room for.
    pub(super) fn send(&mut self, port: &mut Port) {
        let Port { iwarp, context, .. } = port;
        for _ in 0..iwarp.ready_count() {
            let Some(stream) = iwarp.next_ready() else { break };
            let bytes = iwarp.output(context, stream);
            if bytes.is_empty() {
                continue;
            }
            match self.sockets.write(stream.key(), bytes) {
                Ok(count) => iwarp.sent(stream, count),
                // Reading tells more, and comes to what the peer said before.
                Err(_) => iwarp.block(stream),
            }
        }
        self.obey(port);
    }

    fn obey(&mut self, port: &mut Port) {
        while let Some(command) = port.iwarp.next_command() {
            match command {
                Command::Listen { listener, at } => {
                    let outcome = self.listen(listener, at);
                    port.iwarp.listens(listener, outcome);
                }
                Command::StopListening(listener) => {
                    self.crowded.remove(&listener);
                    self.sockets.close(listener.key());
                }
                Command::Connect { stream, source, peer } => {
                    if let Err(error) = self.sockets.connect(stream.key(), source, on_link(peer, self.scope))
                    {
                        port.iwarp.failed(&mut port.context, stream, loss(&error));
                    }
                }
                Command::ShutDown(stream) => self.sockets.shut_down(stream.key()),
                Command::Close(stream) => self.sockets.close(stream.key()),
                Command::Reset(stream) => self.sockets.reset(stream.key()),
            }
        }
    }

    fn listen(&mut self, listener: ListenerId, at: SocketAddr) -> Result<SocketAddr, CmError> {
        if at.is_ipv4() != self.address.is_ipv4() {
            return Err(CmError::NoAddress(at.ip()));
        }
        // Other devices of this machine have the other addresses, and the same port.
        let own = on_link(SocketAddr::new(self.address, at.port()), self.scope);
        self.sockets.listen(listener.key(), own).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => CmError::PortTaken(own),
            reason => CmError::NotListening { at: own, reason },
        })
    }

    fn handle(&mut self, port: &mut Port, event: TcpEvent) {
        let Port { iwarp, context, .. } = port;
        match event {
            TcpEvent::Acceptable(key) => self.accept(iwarp, ListenerId::of_key(key)),
            TcpEvent::Connected(key) => {
                if let Some((local, _)) = self.sockets.ends(key) {
                    iwarp.connected(StreamId::of_key(key), local, self.segment_size(key), false);
                }
            }
            TcpEvent::Failed(key, error) => iwarp.failed(context, StreamId::of_key(key), loss(&error)),
            TcpEvent::Writable(key) => iwarp.unblocked(StreamId::of_key(key)),
            TcpEvent::Readable(key) => {
                let stream = StreamId::of_key(key);
                match self.sockets.read(key, &mut self.buffer) {
                    Ok(TcpRead::Bytes(count)) => {
                        iwarp.handle_bytes(context, stream, &self.buffer[..count]);
                    }
                    Ok(TcpRead::Nothing) => {}
                    Ok(TcpRead::End) => iwarp.handle_end(context, stream, End::Graceful),
                    Err(_) => iwarp.handle_end(context, stream, End::Abortive),
                }
            }
        }
    }

    /// Lets in who waits, as long as there is room.
    fn accept(&mut self, iwarp: &mut IwarpTable, listener: ListenerId) {
        while iwarp.has_room(listener) {
            match self.sockets.accept(listener.key()) {
                Ok(None) => return,
                Ok(Some(accepted)) => {
                    let (local, peer) = (accepted.local, accepted.peer);
                    let Some(stream) = iwarp.accepted(local, peer) else {
                        accepted.refuse();
                        continue;
                    };
                    let key = stream.key();
                    match self.sockets.adopt(key, accepted) {
                        Ok(()) => iwarp.set_segments(stream, self.segment_size(key), false),
                        Err(_) => iwarp.turn_away(stream),
                    }
                }
                Err(_) => break,
            }
        }
        if iwarp.listening(listener).is_some() {
            self.crowded.insert(listener);
        }
    }

    fn segment_size(&self, key: u64) -> usize {
        self.sockets.max_segment(key).unwrap_or(SMALLEST_SEGMENT)
    }
}

fn loss(error: &io::Error) -> Loss {
    match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => Loss::Refused,
        io::ErrorKind::TimedOut | io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            Loss::TimedOut
        }
        _ => Loss::Broken,
    }
}

#[cfg(test)]
mod tests;
