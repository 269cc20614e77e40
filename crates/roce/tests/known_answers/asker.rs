//! Our requester in the place of the one in a capture: it is given the work that rxe's must have had, and rxe's answers.

use std::sync::Arc;

use rdmalab_roce::{Batch, Endpoint, EndpointConfig, Profile, QueuePairConfig};
use rdmalab_verbs::{
    Access, Attributes, Capabilities, CompletionStatus, Context, HeapMemory, Memory, Operation, Path,
    QueuePairType, RemoteAddress, SendFlags, SendRequest, Sge, State,
};
use rdmalab_wire::{Body, PathMtu, Psn, Qpn, Reth};

use crate::answerer::{for_queue_pair, packets_of};
use crate::capture::{Conversation, Heard};

/// A message of the capture: what was asked, and the bytes that went out with it or were to come back.
struct Message {
    operation: Operation,
    flags: SendFlags,
    bytes: Vec<u8>,
}

pub struct Asker {
    context: Context,
    endpoint: Endpoint,
    queue_pair: Qpn,
    completions: rdmalab_verbs::CompletionQueueId,
    memory: Arc<HeapMemory>,
    messages: Vec<Message>,
}

impl Asker {
    /// A queue pair in RTS, with all the work posted.
    pub fn new(conversation: &Conversation, mtu: PathMtu) -> Self {
        let messages = messages(conversation, mtu);
        let mut context = Context::default();
        let mut endpoint = Endpoint::new(EndpointConfig {
            profile: Profile::RXE,
            ..EndpointConfig::new(vec![conversation.requester], PathMtu::M4096)
        });
        let domain = context.allocate_protection_domain().unwrap();
        let completions = context.create_completion_queue(256).unwrap();
        let memory = Arc::new(HeapMemory::new(messages.iter().map(|message| message.bytes.len()).sum()));
        let key = context.register(domain, 0, memory.clone(), Access::LOCAL_WRITE).unwrap();
        let config = QueuePairConfig::new(QueuePairType::Rc, domain, completions, Capabilities::default());
        let queue_pair = endpoint.create_queue_pair(&mut context, &config).unwrap();
        let first = conversation.requests.first().unwrap().packet().bth.psn;
        for attributes in steps(conversation, mtu, first) {
            endpoint.modify(&mut context, queue_pair, &attributes).unwrap();
        }
        let mut offset = 0;
        for (id, message) in messages.iter().enumerate() {
            if !message.operation.is_read_or_atomic() {
                memory.write(offset, &message.bytes).unwrap();
            }
            let length = message.bytes.len();
            let elements = [Sge { address: offset as u64, length: length as u32, key }];
            let Message { operation, flags, .. } = *message;
            let request = SendRequest {
                id: id as u64,
                operation,
                elements: &elements,
                flags,
                ..SendRequest::default()
            };
            endpoint.post_send(&mut context, queue_pair, &request).unwrap();
            offset += length;
        }
        Self { context, endpoint, queue_pair, completions, memory, messages }
    }

    /// What goes out now.
    pub fn ask(&mut self) -> Vec<Heard> {
        let mut batch = Batch::new(256, PathMtu::M4096, 0);
        self.endpoint.poll(&mut self.context, 0, &mut batch);
        assert!(!self.endpoint.has_packets());
        batch.packets().map(|bytes| Heard { frame: 0, bytes: bytes.to_vec() }).collect()
    }

    pub fn hear(&mut self, answer: &Heard) {
        let bytes = for_queue_pair(answer, self.queue_pair, |_| ());
        self.endpoint.handle_packet(&mut self.context, 0, &bytes);
    }

    /// All of the work is done, and what was to come back is in memory.
    pub fn expect_done(&mut self, name: &str) {
        let mut offset = 0;
        for (id, message) in self.messages.iter().enumerate() {
            let done = self.context.poll_completion(self.completions).expect("every request completes");
            assert_eq!((done.id, done.status), (id as u64, CompletionStatus::Success), "{name}");
            let mut found = vec![0; message.bytes.len()];
            self.memory.read(offset, &mut found).unwrap();
            assert!(found == message.bytes, "{name}: the bytes of request {id}");
            offset += found.len();
        }
        assert_eq!(self.endpoint.next_timeout(), None, "{name}: nothing is outstanding");
    }
}

fn steps(conversation: &Conversation, mtu: PathMtu, first: Psn) -> [Attributes; 3] {
    [
        Attributes {
            state: Some(State::Init),
            partition_index: Some(0),
            access: Some(Access::empty()),
            ..Attributes::default()
        },
        Attributes {
            state: Some(State::Rtr),
            path: Some(Path::new(conversation.requester, conversation.responder)),
            path_mtu: Some(mtu),
            destination: Some(conversation.queue_pair),
            receive_psn: Some(Psn::new(0)),
            max_destination_reads: Some(0),
            min_rnr_timer: Some(12),
            ..Attributes::default()
        },
        Attributes {
            state: Some(State::Rts),
            timeout: Some(14),
            retry_count: Some(0),
            rnr_retry: Some(0),
            send_psn: Some(first),
            max_reads: Some(16),
            ..Attributes::default()
        },
    ]
}

/// The messages that the requests are the packets of. No request may have been repeated.
fn messages(conversation: &Conversation, mtu: PathMtu) -> Vec<Message> {
    let mut found = Vec::new();
    let mut bytes = Vec::new();
    let mut begun = None;
    for request in &conversation.requests {
        let packet = request.packet();
        bytes.extend_from_slice(packet.payload);
        let remote = |reth: Reth| RemoteAddress { address: reth.virtual_address, key: reth.key };
        let operation = match packet.body {
            Body::WriteFirst(reth) => {
                begun = Some(remote(reth));
                continue;
            }
            Body::SendFirst | Body::SendMiddle | Body::WriteMiddle => continue,
            Body::SendOnly | Body::SendLast => Operation::Send,
            Body::SendOnlyImm(data) | Body::SendLastImm(data) => Operation::SendWithImmediate(data),
            Body::WriteOnly(reth) => Operation::RdmaWrite(remote(reth)),
            Body::WriteLast => Operation::RdmaWrite(begun.take().unwrap()),
            Body::WriteOnlyImm(reth, data) => Operation::RdmaWriteWithImmediate(remote(reth), data),
            Body::WriteLastImm(data) => Operation::RdmaWriteWithImmediate(begun.take().unwrap(), data),
            Body::ReadRequest(reth) => {
                bytes = response(conversation, packet.bth.psn, packets_of(reth.length, mtu));
                Operation::RdmaRead(remote(reth))
            }
            Body::CompareSwap(atomic) => {
                bytes = response(conversation, packet.bth.psn, 1);
                let remote = RemoteAddress { address: atomic.virtual_address, key: atomic.key };
                Operation::CompareAndSwap { remote, compare: atomic.compare, swap: atomic.swap_or_add }
            }
            Body::FetchAdd(atomic) => {
                bytes = response(conversation, packet.bth.psn, 1);
                let remote = RemoteAddress { address: atomic.virtual_address, key: atomic.key };
                Operation::FetchAndAdd { remote, add: atomic.swap_or_add }
            }
            body => panic!("frame {}: {body:?}", request.frame),
        };
        let solicited = if packet.bth.solicited { SendFlags::SOLICITED } else { SendFlags::empty() };
        let flags = SendFlags::SIGNALED | solicited;
        found.push(Message { operation, flags, bytes: std::mem::take(&mut bytes) });
    }
    found
}

/// What came back for a READ or atomic with these PSNs.
fn response(conversation: &Conversation, first: Psn, packets: u32) -> Vec<u8> {
    let answers = conversation.answers.iter().map(Heard::packet);
    let own = answers.filter(|packet| (0..packets as i32).contains(&packet.bth.psn.distance(first)));
    own.flat_map(|packet| match packet.body {
        Body::AtomicAcknowledge(_, result) => result.original.to_ne_bytes().to_vec(),
        _ => packet.payload.to_vec(),
    })
    .collect()
}
