//! Connections by rdma_cm (`-R`): one that carries the conversation, each message a SEND, and one for each queue pair of
//! the test. The client makes them all, one after the other, to the same port.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use rdmalab_device::{
    Access, Capabilities, CmEventKind, CompletionKind, CompletionQueue, CompletionStatus,
    ConnectionParameters, Device, EventChannel, Identifier, MemoryRegion, Operation, PortSpace,
    ProtectionDomain, QueuePair, QueuePairOptions, QueuePairType, ReceiveRequest, RejReason, SendFlags,
    SendRequest,
};

use super::Role;
use super::error::PerfError;
use super::exchange::Wait;
use super::options::Options;
use crate::calling::{next_event, refusal, way};
use crate::connect_error::ConnectError;

/// Callers that may wait while one is let in.
const BACKLOG: usize = 16;
/// Bytes of the longest message, with room to spare.
const LONGEST: usize = 256;
/// Messages that may arrive before one is read.
const RECEIVES: usize = 4;
/// How long the peer may take to say that a connection is over.
const PARTING: Duration = Duration::from_secs(1);

/// Makes the connections of one test.
pub(super) struct Manager {
    // Dropped in this order.
    place: Place,
    channel: EventChannel,
    patience: Option<Duration>,
}

enum Place {
    Caller { server: SocketAddr, source: Option<IpAddr> },
    Called { _listener: Identifier },
}

impl Manager {
    /// Listens as server, on the address given; as client, knows whom to call.
    pub(super) fn new(
        device: &Device,
        role: Role,
        options: &Options,
        own: IpAddr,
    ) -> Result<Self, PerfError> {
        let channel = device.event_channel()?;
        let place = match role {
            Role::Server => {
                let listener = channel.identifier(PortSpace::Tcp)?;
                listener.listen(SocketAddr::new(own, options.port), BACKLOG)?;
                Place::Called { _listener: listener }
            }
            Role::Client(server) => {
                let source = options.gid_index.map(|_| own);
                Place::Caller { server: SocketAddr::new(server, options.port), source }
            }
        };
        Ok(Self { place, channel, patience: options.patience })
    }

    /// Makes the next connection, for which so many READs and atomics may be under way each way. A peer that takes us for
    /// a caller whom it knows from before, since our numbers are the same, is called again when it may have forgotten him.
    pub(super) fn connect(
        &self,
        domain: &ProtectionDomain,
        options: &QueuePairOptions<'_>,
        reads: u8,
        prepare: impl Fn(&QueuePair) -> Result<(), PerfError>,
    ) -> Result<(Identifier, QueuePair), PerfError> {
        const PAUSE: Duration = Duration::from_millis(500);
        let end = Instant::now() + self.patience.unwrap_or(Duration::from_secs(60));
        loop {
            match self.connect_once(domain, options, reads, &prepare) {
                Err(PerfError::Connect(ConnectError::Rejected {
                    reason: RejReason::STALE_CONNECTION,
                    ..
                })) if Instant::now() < end => {
                    std::thread::sleep(PAUSE);
                }
                outcome => return outcome,
            }
        }
    }

    fn connect_once(
        &self,
        domain: &ProtectionDomain,
        options: &QueuePairOptions<'_>,
        reads: u8,
        prepare: &impl Fn(&QueuePair) -> Result<(), PerfError>,
    ) -> Result<(Identifier, QueuePair), PerfError> {
        let parameters = ConnectionParameters {
            responder_resources: reads,
            initiator_depth: reads,
            ..ConnectionParameters::default()
        };
        let (identifier, queue_pair, peer) = match &self.place {
            Place::Caller { server, source } => {
                let identifier = way(&self.channel, PortSpace::Tcp, *source, *server)?;
                let queue_pair = identifier.queue_pair(domain, options)?;
                prepare(&queue_pair)?;
                identifier.connect(&parameters)?;
                (identifier, queue_pair, *server)
            }
            Place::Called { .. } => {
                let called = loop {
                    // What else happens concerns nobody who is here.
                    if let Some(called) = next_event(&self.channel, self.patience, "a client's call")?.called
                    {
                        break called;
                    }
                };
                let peer = called.ends()?.1.unwrap_or(SocketAddr::from(([0; 4], 0)));
                let queue_pair = called.queue_pair(domain, options)?;
                prepare(&queue_pair)?;
                called.accept(&parameters)?;
                (called, queue_pair, peer)
            }
        };
        loop {
            let event = next_event(&self.channel, self.patience, "the end of a call")?;
            // Another caller is refused by being forgotten.
            if event.id != identifier.id() || event.called.is_some() {
                continue;
            }
            if let CmEventKind::Established { .. } = event.kind {
                return Ok((identifier, queue_pair));
            }
            if let Some(refusal) = refusal(&event.kind, peer) {
                return Err(refusal.into());
            }
        }
    }

    /// Ends the connections of the test, as client; as server, waits for the client to do so.
    pub(super) fn part(&self, identifiers: &[Identifier]) {
        if let Place::Caller { .. } = self.place {
            for identifier in identifiers {
                // One that is over needs no end.
                let _ = identifier.disconnect();
            }
        }
        let (end, mut over) = (Instant::now() + PARTING, 0);
        while over < identifiers.len() {
            let left = end.saturating_duration_since(Instant::now());
            match self.channel.wait(Some(left)) {
                Ok(Some(event)) => over += usize::from(matches!(event.kind, CmEventKind::Disconnected(_))),
                _ => return,
            }
        }
    }
}

/// A connection that carries messages as TCP carries bytes: whole ones are written, and read in any pieces.
pub(super) struct Talk {
    // Dropped in this order: the queue pair before what it uses.
    queue_pair: QueuePair,
    _identifier: Identifier,
    completions: CompletionQueue,
    /// A place for what is sent, then one for each receive.
    memory: MemoryRegion,
    _domain: ProtectionDomain,
    is_sending: bool,
    arrived: VecDeque<u8>,
    patience: Option<Duration>,
}

impl Talk {
    /// Makes the first connection, and talks over it.
    pub(super) fn open(device: &Device, manager: &Manager) -> Result<Self, PerfError> {
        let domain = device.protection_domain()?;
        let memory = domain.register(LONGEST * (RECEIVES + 1), Access::LOCAL_WRITE)?;
        let capabilities = Capabilities {
            max_send_requests: 1,
            max_receive_requests: RECEIVES as u32,
            max_send_elements: 1,
            max_receive_elements: 1,
            max_inline: 0,
        };
        let completions = device.completion_queue(RECEIVES as u32 + 1)?;
        let usual = QueuePairOptions::new(QueuePairType::Rc, &completions);
        let prepare = |queue_pair: &QueuePair| {
            (1..=RECEIVES as u64).try_for_each(|id| receive(queue_pair, &memory, id))
        };
        let options = QueuePairOptions { capabilities, ..usual };
        let (identifier, queue_pair) = manager.connect(&domain, &options, 1, prepare)?;
        Ok(Self {
            queue_pair,
            _identifier: identifier,
            completions,
            memory,
            _domain: domain,
            is_sending: false,
            arrived: VecDeque::new(),
            patience: manager.patience,
        })
    }

    /// Takes a completion. `false` if the connection is over.
    fn take(&mut self) -> io::Result<bool> {
        let completion = self.completions.wait(self.patience).map_err(io::Error::other)?;
        let completion = completion.ok_or(io::ErrorKind::TimedOut)?;
        match completion.status {
            CompletionStatus::Success => {}
            CompletionStatus::WorkRequestFlushed => return Ok(false),
            status => return Err(io::Error::other(format!("a message of it failed with {status}"))),
        }
        if completion.kind != CompletionKind::Receive {
            self.is_sending = false;
            return Ok(true);
        }
        let mut message = [0; LONGEST];
        let message = &mut message[..(completion.length as usize).min(LONGEST)];
        // Inside the region, each receive at its place.
        let _ = self.memory.read(LONGEST * completion.id as usize, message);
        self.arrived.extend(&*message);
        receive(&self.queue_pair, &self.memory, completion.id).map_err(io::Error::other)?;
        Ok(true)
    }
}

/// Posts the receive of a number at its place.
fn receive(queue_pair: &QueuePair, memory: &MemoryRegion, id: u64) -> Result<(), PerfError> {
    let elements = [memory.element(LONGEST as u64 * id, LONGEST as u32)];
    Ok(queue_pair.post_receive(&ReceiveRequest { id, elements: &elements })?)
}

impl Read for Talk {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.arrived.is_empty() {
            if !self.take()? {
                return Ok(0);
            }
        }
        self.arrived.read(out)
    }
}

impl Write for Talk {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        while self.is_sending {
            if !self.take()? {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
        }
        let message = &data[..data.len().min(LONGEST)];
        // Inside the region.
        let _ = self.memory.write(0, message);
        let elements = [self.memory.element(0, message.len() as u32)];
        let request = SendRequest {
            operation: Operation::Send,
            elements: &elements,
            flags: SendFlags::SIGNALED,
            ..SendRequest::default()
        };
        self.queue_pair.post_send(&request).map_err(io::Error::other)?;
        self.is_sending = true;
        Ok(message.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Wait for Talk {
    fn set_patience(&mut self, patience: Option<Duration>) {
        self.patience = patience;
    }
}
