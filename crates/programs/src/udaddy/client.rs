//! The client: asks for each service, then sends its datagrams and takes the answers.

use std::collections::BTreeMap;
use std::time::Instant;

use rdmalab_device::{
    Access, AddressHandle, Capabilities, CmEventKind, CmId, CompletionKind, CompletionQueue,
    CompletionStatus, ConnectionParameters, Device, EventChannel, Identifier, ImmDt, MemoryRegion, Operation,
    Path, PortSpace, ProtectionDomain, QueuePair, QueuePairOptions, QueuePairType, ReceiveRequest, SendFlags,
    SendRequest, Target,
};

use super::AREA;
use crate::calling::{next_event, patiently, refusal, way};
use crate::client_options::ClientOptions;
use crate::connect_error::ConnectError;
use crate::report::Report;

/// Datagrams to one service at most: a real server answers when it has them all, so that receives for all answers are
/// posted at the beginning.
const MOST: u32 = 8192;

struct Service {
    identifier: Identifier,
    // Dropped in this order: the queue pair before what it uses.
    queue_pair: QueuePair,
    completions: CompletionQueue,
    way: Option<(AddressHandle, Target)>,
}

struct Client<'a> {
    device: &'a Device,
    options: &'a ClientOptions,
    channel: EventChannel,
    /// The datagram that is sent, then where the answers come.
    memory: MemoryRegion,
    domain: ProtectionDomain,
}

/// Asks for the services, and plays all datagrams.
pub fn connect(device: &Device, options: &ClientOptions) -> Result<Report, ConnectError> {
    let most = device.max_mtu().bytes();
    if options.size as usize > most {
        return Err(ConnectError::TooLong { size: options.size, most });
    }
    if options.messages > MOST {
        return Err(ConnectError::Options("a service gets 8192 datagrams (-C) at most"));
    }
    let channel = device.event_channel()?;
    let domain = device.protection_domain()?;
    let memory = domain.register((2 * options.size + AREA) as usize, Access::LOCAL_WRITE)?;
    let client = Client { device, options, channel, memory, domain };
    let begun = Instant::now();
    let services = client.ask()?;
    let connecting = begun.elapsed();
    let begun = Instant::now();
    // A real server answers nobody until it has everything of everybody.
    for service in services.values() {
        client.send(service)?;
    }
    for service in services.values() {
        client.take(service)?;
    }
    let connections = u64::from(options.connections);
    let messages = connections * u64::from(options.messages);
    Ok(Report { connections, messages, size: options.size, connecting, time: begun.elapsed() })
}

impl Client<'_> {
    fn ask(&self) -> Result<BTreeMap<CmId, Service>, ConnectError> {
        let mut services = BTreeMap::new();
        for _ in 0..self.options.connections {
            let service = self.open()?;
            service.identifier.connect(&ConnectionParameters::default())?;
            services.insert(service.identifier.id(), service);
        }
        let mut found = 0;
        while found < self.options.connections {
            let ClientOptions { patience, ref stop, ref herald, .. } = *self.options;
            let event = next_event(&self.channel, patience, stop, herald, "an answer to a question")?;
            let CmEventKind::ServiceResolved { queue_pair, queue_key, .. } = event.kind else {
                let error = refusal(&event.kind, self.options.server);
                return Err(error.unwrap_or(ConnectError::Unreachable(self.options.server)));
            };
            let Some(service) = services.get_mut(&event.id) else { continue };
            let (Some(own), Some(peer)) = service.identifier.ends()? else { continue };
            let way = self.domain.address_handle(Path::new(own.ip(), peer.ip()))?;
            let target = way.target(queue_pair, queue_key);
            service.way = Some((way, target));
            found += 1;
        }
        Ok(services)
    }

    fn open(&self) -> Result<Service, ConnectError> {
        let ClientOptions { source, server, messages, .. } = *self.options;
        let identifier = way(&self.channel, PortSpace::Udp, source, server)?;
        let window = messages.max(1);
        let completions = self.device.completion_queue(2 * window)?;
        let capabilities = Capabilities {
            max_send_requests: window,
            max_receive_requests: window,
            max_send_elements: 1,
            max_receive_elements: 1,
            max_inline: 0,
        };
        let usual = QueuePairOptions::new(QueuePairType::Ud, &completions);
        let queue_pair = identifier.queue_pair(&self.domain, &QueuePairOptions { capabilities, ..usual })?;
        let service = Service { identifier, queue_pair, completions, way: None };
        for _ in 0..messages {
            self.receive(&service)?;
        }
        Ok(service)
    }

    fn receive(&self, service: &Service) -> Result<(), ConnectError> {
        let size = self.options.size;
        let elements = [self.memory.element(size.into(), AREA + size)];
        service.queue_pair.post_receive(&ReceiveRequest { id: 0, elements: &elements })?;
        Ok(())
    }

    /// Sends all datagrams of one service.
    fn send(&self, service: &Service) -> Result<(), ConnectError> {
        let ClientOptions { messages, size, .. } = *self.options;
        let Some((_, target)) = service.way else { return Ok(()) };
        let number = service.queue_pair.number().value().to_be_bytes();
        for _ in 0..messages {
            service.queue_pair.post_send(&SendRequest {
                id: 1,
                operation: Operation::SendWithImmediate(ImmDt::new(number)),
                target,
                elements: &[self.memory.element(0, size)],
                flags: SendFlags::SIGNALED,
                ..SendRequest::default()
            })?;
        }
        Ok(())
    }

    /// Takes all answers of one service.
    fn take(&self, service: &Service) -> Result<(), ConnectError> {
        let ClientOptions { messages, size, patience, ref stop, ref herald, .. } = *self.options;
        let (mut sent, mut back) = (0, 0);
        while sent < messages || back < messages {
            let lost = ConnectError::Lost { missing: u64::from(messages - back), of: u64::from(messages) };
            let wait = |patience| service.completions.wait(Some(patience));
            let completion = match patiently(patience, stop, herald, "an answer", wait) {
                Err(ConnectError::Silence { .. }) => return Err(lost),
                completion => completion?,
            };
            if completion.status != CompletionStatus::Success {
                let (message, status) = (u64::from(back), completion.status);
                return Err(ConnectError::Failed { message, request: "datagram", status });
            }
            if completion.kind != CompletionKind::Receive {
                sent += 1;
                continue;
            }
            if completion.length != AREA + size {
                let (message, found) = (u64::from(back), completion.length);
                return Err(ConnectError::Length { message, found, expected: AREA + size });
            }
            back += 1;
        }
        Ok(())
    }
}
