//! The byte streams of a port's iWARP over the TCP of an emulated host. Sans-IO.
//!
//! Each FPDU begins a segment, and has one of its own: the next is handed over only when segments have carried all before it
//! and the peer has room for a whole one. For that the peer is taken to accept segments as long as ours; where it takes
//! shorter ones only, or never has room for one, FPDUs are spread over several. What is sent again may be cut in any way (RFC
//! 5044 §5 allows both).
//!
//! The host tells nothing by itself, so its streams, of which there are at most
//! [`STREAMS_MAX`](rdmalab_host::STREAMS_MAX), are looked at each time.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use rdmalab_host::{
    CloseReason, ConnectError, Host, ListenError, ListenerId as HostListener, Read, StreamId as HostStream,
    StreamState,
};
use rdmalab_iwarp::End;

use crate::connections::CmError;
use crate::iwarp::{Command, ListenerId, Loss, StreamId};
use crate::port::Port;

/// Bytes that are read from a stream at once.
const READ: usize = 64 * 1024;
/// Ports that are tried where any will do: those that RFC 6335 §6 leaves to everybody.
const ANY_PORT: core::ops::RangeInclusive<u16> = 49152..=65535;

struct Stream {
    host: HostStream,
    segment_size: usize,
    /// The host has not connected it yet.
    is_connecting: bool,
    /// The peer's end was passed on.
    has_ended: bool,
    /// It waits until segments have carried what was written.
    waits: bool,
}

/// A TCP port, for all listeners that have it.
struct Listening {
    host: HostListener,
    listeners: usize,
}

#[derive(Default)]
pub(crate) struct EmulatedStreams {
    streams: BTreeMap<StreamId, Stream>,
    listeners: BTreeMap<ListenerId, u16>,
    ports: BTreeMap<u16, Listening>,
    /// Streams to shut down once segments have carried all that was written.
    parting: Vec<StreamId>,
    buffer: Vec<u8>,
}

impl EmulatedStreams {
    /// Carries out what the port orders, and brings it what came.
    pub(crate) fn receive(&mut self, host: &mut Host, port: &mut Port) {
        self.obey(host, port);
        if !self.ports.is_empty() {
            self.accept(host, port);
        }
        if !self.streams.is_empty() {
            self.look(host, port);
        }
        self.obey(host, port);
    }

    /// Hands the host what is to be sent, of each stream as much as it takes; `false` if that is nothing.
    pub(crate) fn send(&mut self, host: &mut Host, port: &mut Port) -> bool {
        let mut sent = self.part(host);
        for _ in 0..port.iwarp.ready_count() {
            let Some(id) = port.iwarp.next_ready() else { break };
            let Some(stream) = self.streams.get_mut(&id) else { continue };
            if !host.takes_segment(stream.host, stream.segment_size) {
                stream.waits = true;
                port.iwarp.block(id);
                continue;
            }
            let bytes = port.iwarp.output(&mut port.context, id);
            if bytes.is_empty() {
                continue;
            }
            match host.write(stream.host, bytes) {
                Ok(count) => {
                    sent |= count > 0;
                    port.iwarp.sent(id, count);
                }
                // Reading tells more.
                Err(_) => port.iwarp.block(id),
            }
        }
        self.obey(host, port);
        sent
    }

    /// Shuts streams down, each with a segment of its own: Linux' siw hears of an end before it sees the data of the same
    /// segment, and so loses the private data of a rejection. `true` if there was one.
    fn part(&mut self, host: &mut Host) -> bool {
        let mut parted = false;
        let streams = &self.streams;
        self.parting.retain(|id| {
            let Some(stream) = streams.get(id) else { return false };
            if !host.takes_segment(stream.host, 0) {
                return true;
            }
            parted |= host.shut_down(stream.host).is_ok();
            false
        });
        parted
    }

    fn obey(&mut self, host: &mut Host, port: &mut Port) {
        while let Some(command) = port.iwarp.next_command() {
            match command {
                Command::Listen { listener, at } => {
                    let outcome = self.listen(host, listener, at);
                    port.iwarp.listens(listener, outcome);
                }
                Command::StopListening(listener) => self.stop_listening(host, listener),
                Command::Connect { stream, peer, .. } => match host.connect(peer) {
                    Ok(begun) => {
                        let segment_size = host.segment_size(peer.ip());
                        self.streams.insert(stream, Stream::new(begun, segment_size, true));
                    }
                    Err(error) => {
                        let loss = match error {
                            ConnectError::NoRoute(_) => Loss::TimedOut,
                            ConnectError::TooMany => Loss::NoRoom,
                            _ => Loss::Broken,
                        };
                        port.iwarp.failed(&mut port.context, stream, loss);
                    }
                },
                Command::ShutDown(id) => self.parting.push(id),
                // The host winds up what the port has no use for any more.
                Command::Close(id) => {
                    if let Some(stream) = self.streams.remove(&id) {
                        let _ = host.close(stream.host);
                    }
                }
                Command::Reset(id) => {
                    if let Some(stream) = self.streams.remove(&id) {
                        let _ = host.abort(stream.host);
                    }
                }
            }
        }
    }

    /// All listeners of a TCP port share the host's; the port tells them apart by address.
    fn listen(
        &mut self,
        host: &mut Host,
        listener: ListenerId,
        at: SocketAddr,
    ) -> Result<SocketAddr, CmError> {
        let port = match at.port() {
            // Those of outgoing connections come from the other end of the range.
            0 => ANY_PORT.rev().find(|port| !self.ports.contains_key(port) && !host.is_listening(*port)),
            port => Some(port),
        };
        let Some(port) = port else { return Err(CmError::PortTaken(at)) };
        let found = SocketAddr::new(at.ip(), port);
        if let Some(listening) = self.ports.get_mut(&port) {
            listening.listeners += 1;
        } else {
            let begun = host.listen(port).map_err(|error| match error {
                ListenError::PortTaken(_) => CmError::PortTaken(found),
                _ => CmError::NotListening { at: found, reason: std::io::ErrorKind::QuotaExceeded },
            })?;
            self.ports.insert(port, Listening { host: begun, listeners: 1 });
        }
        self.listeners.insert(listener, port);
        Ok(found)
    }

    fn stop_listening(&mut self, host: &mut Host, listener: ListenerId) {
        let Some(port) = self.listeners.remove(&listener) else { return };
        let Some(listening) = self.ports.get_mut(&port) else { return };
        listening.listeners -= 1;
        if listening.listeners == 0 {
            host.close_listener(listening.host);
            self.ports.remove(&port);
        }
    }

    /// Lets in who waits, as long as there is room; the host keeps a few.
    fn accept(&mut self, host: &mut Host, port: &mut Port) {
        for (number, listening) in &self.ports {
            while port.iwarp.has_room_at(*number)
                && let Some(accepted) = host.accept(listening.host)
            {
                let ends = host.stream_ends(accepted);
                let id = ends.and_then(|(local, peer)| port.iwarp.accepted(local, peer));
                match (id, ends) {
                    (Some(id), Some((_, peer))) => {
                        let segment_size = host.segment_size(peer.ip());
                        port.iwarp.set_segments(id, segment_size, true);
                        self.streams.insert(id, Stream::new(accepted, segment_size, false));
                    }
                    _ => drop(host.abort(accepted)),
                }
            }
        }
    }

    /// Looks what has become of the streams.
    fn look(&mut self, host: &mut Host, port: &mut Port) {
        let Port { iwarp, context, .. } = port;
        self.buffer.resize(READ, 0);
        for (id, stream) in &mut self.streams {
            if stream.is_connecting {
                match host.stream_state(stream.host) {
                    Some(StreamState::Connecting) => continue,
                    Some(StreamState::Open | StreamState::PeerFinished) => {
                        stream.is_connecting = false;
                        let Some((local, _)) = host.stream_ends(stream.host) else { continue };
                        iwarp.connected(*id, local, stream.segment_size, true);
                    }
                    state => {
                        stream.has_ended = true;
                        stream.is_connecting = false;
                        iwarp.failed(context, *id, loss(state));
                        continue;
                    }
                }
            }
            while !stream.has_ended {
                match host.read(stream.host, &mut self.buffer) {
                    Ok(Read::Bytes(count)) => iwarp.handle_bytes(context, *id, &self.buffer[..count]),
                    Ok(Read::Nothing) => break,
                    Ok(Read::End) => {
                        stream.has_ended = true;
                        iwarp.handle_end(context, *id, End::Graceful);
                    }
                    Err(_) => {
                        stream.has_ended = true;
                        iwarp.handle_end(context, *id, End::Abortive);
                    }
                }
            }
            if stream.waits && host.takes_segment(stream.host, stream.segment_size) {
                stream.waits = false;
                iwarp.unblocked(*id);
            }
        }
    }
}

impl Stream {
    fn new(host: HostStream, segment_size: usize, is_connecting: bool) -> Self {
        Self { host, segment_size, is_connecting, has_ended: false, waits: false }
    }
}

fn loss(state: Option<StreamState>) -> Loss {
    match state {
        Some(StreamState::Closed(CloseReason::Refused | CloseReason::Reset)) => Loss::Refused,
        Some(StreamState::Closed(CloseReason::TimedOut | CloseReason::Unreachable)) => Loss::TimedOut,
        _ => Loss::Broken,
    }
}
