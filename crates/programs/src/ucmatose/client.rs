//! The client: all connections first, then the messages of one after the other.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rdmalab_device::{
    Access, Capabilities, ChannelEvent, CmEventKind, CmId, Completion, CompletionKind, CompletionQueue,
    CompletionStatus, ConnectionParameters, Device, DisconnectCause, EventChannel, Identifier, MemoryRegion,
    Operation, PortSpace, ProtectionDomain, QueuePair, QueuePairOptions, QueuePairType, ReceiveRequest,
    SendFlags, SendRequest,
};

use super::WINDOW;
use crate::calling::{next_event, patiently, refusal, way};
use crate::client_options::ClientOptions;
use crate::connect_error::ConnectError;
use crate::report::Report;

/// Calls that are under way at once: more than a real server's backlog would only be repeated.
const CALLS: usize = 128;

struct Connection {
    identifier: Identifier,
    // Dropped in this order: the queue pair before what it uses.
    queue_pair: QueuePair,
    completions: CompletionQueue,
}

struct Client<'a> {
    device: &'a Device,
    options: &'a ClientOptions,
    channel: EventChannel,
    /// The connections that have ended, and who ended them.
    ended: RefCell<BTreeMap<CmId, DisconnectCause>>,
    memory: MemoryRegion,
    domain: ProtectionDomain,
}

/// Calls a server, plays all messages, and waits until the server has ended all connections.
pub fn connect(device: &Device, options: &ClientOptions) -> Result<Report, ConnectError> {
    let channel = device.event_channel()?;
    let domain = device.protection_domain()?;
    let memory = domain.register(options.size as usize, Access::LOCAL_WRITE)?;
    let client = Client { device, options, channel, ended: RefCell::default(), memory, domain };
    let mut connections = BTreeMap::new();
    let outcome = client.play(&mut connections);
    if outcome.is_err() {
        client.part(&connections);
    }
    outcome
}

/// What is waited for in the end.
const END: &str = "the end of a connection (was the server told the same -c and -C?)";
/// How long the server may take to confirm that it is left.
const PARTING: Duration = Duration::from_secs(2);

impl Client<'_> {
    fn play(&self, connections: &mut BTreeMap<CmId, Connection>) -> Result<Report, ConnectError> {
        let options = self.options;
        let begun = Instant::now();
        self.call(connections)?;
        let connecting = begun.elapsed();
        let begun = Instant::now();
        if options.messages > 0 {
            for connection in connections.values() {
                self.exchange(connection)?;
            }
        }
        let time = begun.elapsed();
        while self.ended.borrow().len() < options.connections as usize {
            let event = patiently(options.patience, &options.stop, &options.herald, END, |left| {
                let event = self.channel.wait(Some(left))?;
                Ok(event.map(Ok).or_else(|| self.more_than_told(connections).map(Err)))
            })??;
            self.note(&event);
        }
        // A server that ended for want of our receives has said so in this way.
        if let Some(error) = self.more_than_told(connections) {
            return Err(error);
        }
        let connected = u64::from(options.connections);
        let messages = connected * u64::from(options.messages);
        Ok(Report { connections: connected, messages, size: options.size, connecting, time })
    }

    /// Whether a server has sent more than it should, which is why it does not come to its end.
    fn more_than_told(&self, connections: &BTreeMap<CmId, Connection>) -> Option<ConnectError> {
        let is_message = |completion: Completion| {
            completion.status == CompletionStatus::Success && completion.kind == CompletionKind::Receive
        };
        let has_more = |connection: &Connection| connection.completions.poll().is_some_and(is_message);
        let told = self.options.messages;
        connections.values().any(has_more).then_some(ConnectError::TooMany { told })
    }

    /// Ends what stands, so that the server need not find out by itself.
    fn part(&self, connections: &BTreeMap<CmId, Connection>) {
        // What does not stand cannot be ended.
        let standing = connections.values().filter(|connection| connection.identifier.disconnect().is_ok());
        let mut ending: BTreeSet<CmId> = standing.map(|connection| connection.identifier.id()).collect();
        let end = Instant::now() + PARTING;
        while !ending.is_empty() {
            let left = end.saturating_duration_since(Instant::now());
            let Ok(Some(event)) = self.channel.wait(Some(left)) else { return };
            if let CmEventKind::Disconnected(_) = event.kind {
                ending.remove(&event.id);
            }
        }
    }

    /// Makes all connections. Some may have ended again already when the last one stands.
    fn call(&self, connections: &mut BTreeMap<CmId, Connection>) -> Result<(), ConnectError> {
        let wanted = self.options.connections as usize;
        let (mut called, mut standing) = (0, 0);
        while standing < wanted {
            while called < wanted && called - standing < CALLS {
                let connection = self.open()?;
                connection
                    .identifier
                    .connect(&ConnectionParameters { retry_count: 5, ..ConnectionParameters::default() })?;
                connections.insert(connection.identifier.id(), connection);
                called += 1;
            }
            let ClientOptions { patience, ref stop, ref herald, .. } = *self.options;
            let event = next_event(&self.channel, patience, stop, herald, "an answer to a call")?;
            self.note(&event);
            match &event.kind {
                CmEventKind::Established { .. } => standing += 1,
                kind => {
                    if let Some(error) = refusal(kind, self.options.server) {
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }

    fn open(&self) -> Result<Connection, ConnectError> {
        let ClientOptions { source, server, messages, .. } = *self.options;
        let identifier = way(&self.channel, PortSpace::Tcp, source, server)?;
        let window = messages.clamp(1, WINDOW);
        // One receive more than there should be messages, so that it is noticed if there are more.
        let completions = self.device.completion_queue(2 * window + 1)?;
        let capabilities = Capabilities {
            max_send_requests: window,
            max_receive_requests: window + 1,
            max_send_elements: 1,
            max_receive_elements: 1,
            max_inline: 0,
        };
        let usual = QueuePairOptions::new(QueuePairType::Rc, &completions);
        let queue_pair = identifier.queue_pair(&self.domain, &QueuePairOptions { capabilities, ..usual })?;
        let connection = Connection { identifier, queue_pair, completions };
        for _ in 0..=messages.min(WINDOW) {
            self.receive(&connection)?;
        }
        Ok(connection)
    }

    fn receive(&self, connection: &Connection) -> Result<(), ConnectError> {
        let elements = [self.memory.element(0, self.options.size)];
        connection.queue_pair.post_receive(&ReceiveRequest { id: 0, elements: &elements })?;
        Ok(())
    }

    /// The messages of one connection: the server's, then as many back.
    fn exchange(&self, connection: &Connection) -> Result<(), ConnectError> {
        let ClientOptions { messages, size, .. } = *self.options;
        let (mut posted, mut received) = (messages.min(WINDOW), 0);
        while received < messages {
            let completion = self.completion(connection, received, CompletionKind::Receive)?;
            if completion != size {
                let (message, found, expected) = (received.into(), completion, size);
                return Err(ConnectError::Length { message, found, expected });
            }
            received += 1;
            if posted < messages {
                self.receive(connection)?;
                posted += 1;
            }
        }
        let (mut posted, mut sent) = (0, 0);
        while sent < messages {
            while posted < messages && posted - sent < WINDOW {
                connection.queue_pair.post_send(&SendRequest {
                    id: 1,
                    operation: Operation::Send,
                    elements: &[self.memory.element(0, size)],
                    flags: SendFlags::SIGNALED,
                    ..SendRequest::default()
                })?;
                posted += 1;
            }
            self.completion(connection, sent, CompletionKind::Send)?;
            sent += 1;
        }
        Ok(())
    }

    /// Waits for a completion of this kind, and gives its length.
    fn completion(
        &self,
        connection: &Connection,
        done: u32,
        expected: CompletionKind,
    ) -> Result<u32, ConnectError> {
        let ClientOptions { patience, ref stop, ref herald, .. } = *self.options;
        let what = match expected {
            CompletionKind::Receive => "a message (was the server told the same -c and -C?)",
            _ => "an acknowledgement",
        };
        let wait = |patience| connection.completions.wait(Some(patience));
        let completion = patiently(patience, stop, herald, what, wait)?;
        if completion.status == CompletionStatus::Success {
            return match completion.kind == expected {
                true => Ok(completion.length),
                // All that were told of have come.
                false => Err(ConnectError::TooMany { told: self.options.messages }),
            };
        }
        let (done, of) = (u64::from(done), Some(u64::from(self.options.messages)));
        match self.cause_of_end(connection) {
            // A server ends a connection when it has all that we sent, and its last acknowledgement may be lost.
            Some(DisconnectCause::Peer | DisconnectCause::Both) if expected == CompletionKind::Send => Ok(0),
            Some(cause) => Err(ConnectError::Disconnected { done, of, cause }),
            None => {
                let request = if expected == CompletionKind::Receive { "receive" } else { "send" };
                Err(ConnectError::Failed { message: done, request, status: completion.status })
            }
        }
    }

    fn note(&self, event: &ChannelEvent) {
        if let CmEventKind::Disconnected(cause) = event.kind {
            self.ended.borrow_mut().insert(event.id, cause);
        }
    }

    /// Who ended a connection whose queue pair has just failed, if that is known within a moment.
    fn cause_of_end(&self, connection: &Connection) -> Option<DisconnectCause> {
        const MOMENT: Duration = Duration::from_millis(50);
        loop {
            if let Some(&cause) = self.ended.borrow().get(&connection.identifier.id()) {
                return Some(cause);
            }
            self.note(&self.channel.wait(Some(MOMENT)).ok()??);
        }
    }
}
