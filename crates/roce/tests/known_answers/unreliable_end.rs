//! One end of an unreliable flow in a capture, played by our endpoint: it takes what the capture's sender sent, or sends what
//! that one must have been told to send.

use std::sync::Arc;

use rdmalab_roce::{Batch, Counters, Endpoint, EndpointConfig, Profile, QueuePairConfig};
use rdmalab_verbs::{
    Access, Attributes, Capabilities, CompletionQueueId, CompletionStatus, Context, HeapMemory, Memory,
    Operation, Path, ProtectionDomainId, QueuePairType, ReceiveRequest, SendFlags, SendRequest, Sge, State,
    Target,
};
use rdmalab_wire::{Body, ImmDt, PathMtu, QKey, Qpn, Transport};

use crate::answerer::for_queue_pair;
use crate::capture::{Flow, Heard};

/// More than the longest message and its network header.
const PLACE: usize = 8192;
/// More messages than any of the captures has in one flow.
const PLACES: usize = 16;
/// Bytes of the network header in front of a datagram.
const AREA: usize = 40;

/// A message that was sent, or received.
pub struct Message {
    pub bytes: Vec<u8>,
    pub immediate: Option<ImmDt>,
    pub solicited: bool,
    /// Who sent a datagram.
    pub source: Option<Qpn>,
    /// The network header that came with a datagram.
    pub area: Option<Vec<u8>>,
}

/// The messages that the packets of a flow make up. Nothing may be missing.
pub fn messages(flow: &Flow) -> Vec<Message> {
    let mut found = Vec::new();
    let mut bytes = Vec::new();
    for heard in &flow.packets {
        let packet = heard.packet();
        bytes.extend_from_slice(packet.payload);
        let immediate = match packet.body {
            Body::SendFirst | Body::SendMiddle => continue,
            Body::SendOnly | Body::SendLast => None,
            Body::SendOnlyImm(data) | Body::SendLastImm(data) => Some(data),
            body => panic!("frame {}: {body:?}", heard.frame),
        };
        let source = match packet.transport {
            Transport::Ud(deth) => Some(deth.source),
            _ => None,
        };
        let solicited = packet.bth.solicited;
        found.push(Message { bytes: std::mem::take(&mut bytes), immediate, solicited, source, area: None });
    }
    found
}

pub struct End {
    context: Context,
    endpoint: Endpoint,
    domain: ProtectionDomainId,
    queue_pair: Qpn,
    completions: CompletionQueueId,
    memory: Arc<HeapMemory>,
    key: u32,
    is_datagram: bool,
}

impl End {
    /// The end that a flow goes to, in RTS. It sends with the PSNs of the flow, too.
    pub fn new(flow: &Flow, mtu: PathMtu) -> Self {
        let mut context = Context::default();
        let mut endpoint = Endpoint::new(EndpointConfig {
            profile: Profile::RXE,
            ..EndpointConfig::new(vec![flow.receiver], PathMtu::M4096)
        });
        let domain = context.allocate_protection_domain().unwrap();
        let completions = context.create_completion_queue(64).unwrap();
        let memory = Arc::new(HeapMemory::new(PLACES * PLACE));
        let key = context.register(domain, 0, memory.clone(), Access::LOCAL_WRITE).unwrap();
        let first = flow.packets[0].packet();
        let (kind, queue_key) = match first.transport {
            Transport::Ud(deth) => (QueuePairType::Ud, Some(deth.queue_key)),
            _ => (QueuePairType::Uc, None),
        };
        let config = QueuePairConfig::new(kind, domain, completions, Capabilities::default());
        let queue_pair = endpoint.create_queue_pair(&mut context, &config).unwrap();
        for attributes in steps(flow, mtu, queue_key) {
            endpoint.modify(&mut context, queue_pair, &attributes).unwrap();
        }
        let is_datagram = kind == QueuePairType::Ud;
        Self { context, endpoint, domain, queue_pair, completions, memory, key, is_datagram }
    }

    fn place(&self, number: usize, length: usize) -> Sge {
        Sge { address: (number * PLACE) as u64, length: length as u32, key: self.key }
    }

    pub fn post_receives(&mut self, count: usize) {
        for number in 0..count {
            let elements = [self.place(number, PLACE)];
            let receive = ReceiveRequest { id: number as u64, elements: &elements };
            self.endpoint.post_receive(&mut self.context, self.queue_pair, &receive).unwrap();
        }
    }

    /// Takes a packet of the capture; returns its network header as it was handed in.
    pub fn hear(&mut self, heard: &Heard) -> Vec<u8> {
        let bytes = for_queue_pair(heard, self.queue_pair, |_| ());
        self.endpoint.handle_packet(&mut self.context, 0, &bytes);
        bytes[..20].to_vec()
    }

    /// What filled the receives, in order.
    pub fn received(&mut self) -> Vec<Message> {
        let mut found = Vec::new();
        while let Some(done) = self.context.poll_completion(self.completions) {
            assert_eq!(done.status, CompletionStatus::Success);
            let mut bytes = vec![0; done.length as usize];
            self.memory.read(done.id as usize * PLACE, &mut bytes).unwrap();
            let area = self.is_datagram.then(|| bytes.drain(..AREA).collect());
            let (immediate, solicited, source) = (done.immediate, done.solicited, done.source);
            found.push(Message { bytes, immediate, solicited, source, area });
        }
        found
    }

    /// Posts what the sender of a flow must have posted.
    pub fn post_sends(&mut self, flow: &Flow, messages: &[Message]) {
        let path = Path::new(flow.sender, flow.receiver);
        let path = self.context.create_address_handle(self.domain, path).unwrap();
        for (number, message) in messages.iter().enumerate() {
            self.memory.write(number * PLACE, &message.bytes).unwrap();
            let elements = [self.place(number, message.bytes.len())];
            let target = match flow.packets[0].packet().transport {
                Transport::Ud(deth) => {
                    Target::Datagram { path, queue_pair: flow.queue_pair, queue_key: deth.queue_key }
                }
                _ => Target::Connected,
            };
            let request = SendRequest {
                id: number as u64,
                operation: message.immediate.map_or(Operation::Send, Operation::SendWithImmediate),
                target,
                elements: &elements,
                flags: if message.solicited { SendFlags::SOLICITED } else { SendFlags::empty() },
                ..SendRequest::default()
            };
            self.endpoint.post_send(&mut self.context, self.queue_pair, &request).unwrap();
        }
    }

    /// What goes out now.
    pub fn sent(&mut self) -> Vec<Heard> {
        let mut batch = Batch::new(256, PathMtu::M4096, 0);
        self.endpoint.poll(&mut self.context, 0, &mut batch);
        batch.packets().map(|bytes| Heard { frame: 0, bytes: bytes.to_vec() }).collect()
    }

    pub fn has_packets(&self) -> bool {
        self.endpoint.has_packets()
    }

    pub fn counters(&self) -> &Counters {
        self.endpoint.counters()
    }
}

/// From RESET to RTS: of a connection, or of a datagram queue pair with this queue key.
fn steps(flow: &Flow, mtu: PathMtu, queue_key: Option<QKey>) -> [Attributes; 3] {
    let first = flow.packets[0].packet().bth.psn;
    let is_connected = queue_key.is_none();
    let rtr = Attributes { state: Some(State::Rtr), ..Attributes::default() };
    [
        Attributes {
            state: Some(State::Init),
            partition_index: Some(0),
            access: is_connected.then_some(Access::empty()),
            queue_key,
            ..Attributes::default()
        },
        if is_connected {
            Attributes {
                path: Some(Path::new(flow.receiver, flow.sender)),
                path_mtu: Some(mtu),
                destination: Some(flow.queue_pair),
                receive_psn: Some(first),
                ..rtr
            }
        } else {
            rtr
        },
        Attributes { state: Some(State::Rts), send_psn: Some(first), ..Attributes::default() },
    ]
}
