//! One end of a connection: a queue pair with its context, memory and completion queue.

use std::sync::Arc;

use rdmalab_iwarp::{Identity, Negotiated, QueuePair, QueuePairConfig, ReadyToReceive, Role, StreamSettings};
use rdmalab_verbs::{
    Access, Capabilities, Completion, CompletionQueueId, Context, HeapMemory, Memory, PostError,
    ProtectionDomainId, ReceiveRequest, RemoteAddress, SendRequest, Sge, SharedReceiveQueueConfig,
    SharedReceiveQueueId,
};
use rdmalab_wire::{Qpn, RKey};

/// Address of the memory's first byte.
pub const BASE: u64 = 0x10_0000;

/// How a side is made and connected.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub role: Role,
    pub crc: bool,
    pub markers: bool,
    pub segment_size: usize,
    pub ird: u16,
    pub ord: u16,
    pub ready: Option<ReadyToReceive>,
    pub rfc7306: bool,
    pub swapped: bool,
    pub waits: bool,
    /// Of the queue pair.
    pub access: Access,
    /// Of the region.
    pub rights: Access,
    pub shared: bool,
    pub depth: u32,
    pub inline: u32,
    /// Bytes of memory.
    pub memory: usize,
    /// Entries of the completion queue.
    pub entries: u32,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            role: Role::Initiator,
            crc: true,
            markers: false,
            segment_size: 1460,
            ird: 4,
            ord: 4,
            ready: None,
            rfc7306: true,
            swapped: false,
            waits: true,
            access: Access::REMOTE,
            rights: Access::FULL,
            shared: false,
            depth: 32,
            inline: 64,
            memory: 1 << 16,
            entries: 256,
        }
    }
}

impl Setup {
    /// The same for the other end.
    pub fn mirrored(self) -> Self {
        let role = match self.role {
            Role::Initiator => Role::Responder,
            Role::Responder => Role::Initiator,
        };
        Self { role, ird: self.ord, ord: self.ird, ..self }
    }

    pub fn negotiated(&self) -> Negotiated {
        Negotiated {
            role: self.role,
            revision: 2,
            crc: self.crc,
            send_markers: self.markers,
            receive_markers: self.markers,
            ird: self.ird,
            ord: self.ord,
            ready_to_receive: self.ready,
        }
    }

    pub fn stream(&self) -> StreamSettings {
        StreamSettings {
            segment_size: self.segment_size,
            rfc7306: self.rfc7306,
            swapped_terminates: self.swapped,
            waits_for_initiator: self.waits,
        }
    }
}

#[derive(Debug)]
pub struct Side {
    pub context: Context,
    pub domain: ProtectionDomainId,
    pub completions: CompletionQueueId,
    pub shared: Option<SharedReceiveQueueId>,
    pub memory: Arc<HeapMemory>,
    pub key: u32,
    pub queue_pair: QueuePair,
}

impl Side {
    /// A side that is connected.
    pub fn new(setup: &Setup) -> Self {
        let mut side = Self::unconnected(setup);
        side.queue_pair.establish(&side.context, &setup.negotiated(), &setup.stream()).unwrap();
        side
    }

    pub fn unconnected(setup: &Setup) -> Self {
        let mut context = Context::default();
        let domain = context.allocate_protection_domain().unwrap();
        let completions = context.create_completion_queue(setup.entries).unwrap();
        let memory = Arc::new(HeapMemory::new(setup.memory));
        let key =
            context.register(domain, BASE, Arc::clone(&memory) as Arc<dyn Memory>, setup.rights).unwrap();
        let shared_config =
            SharedReceiveQueueConfig { max_requests: setup.depth, ..SharedReceiveQueueConfig::default() };
        let shared =
            setup.shared.then(|| context.create_shared_receive_queue(domain, &shared_config).unwrap());
        let capabilities = Capabilities {
            max_send_requests: setup.depth,
            max_receive_requests: setup.depth,
            max_inline: setup.inline,
            ..Capabilities::default()
        };
        let config = QueuePairConfig {
            access: setup.access,
            shared_receive_queue: shared,
            ..QueuePairConfig::new(domain, completions, capabilities)
        };
        let identity = Identity { number: Qpn::new(0x11), accessor: 0x1_0000_0001 };
        let queue_pair = QueuePair::new(&mut context, identity, &config).unwrap();
        Self { context, domain, completions, shared, memory, key, queue_pair }
    }

    pub fn sge(&self, offset: usize, length: usize) -> Sge {
        Sge { address: BASE + offset as u64, length: length as u32, key: self.key }
    }

    /// What the other side names to reach our memory.
    pub fn remote(&self, offset: usize) -> RemoteAddress {
        RemoteAddress { address: BASE + offset as u64, key: RKey::new(self.key) }
    }

    pub fn bytes(&self, offset: usize, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.memory.read(offset, &mut bytes).unwrap();
        bytes
    }

    pub fn fill(&self, offset: usize, bytes: &[u8]) {
        self.memory.write(offset, bytes).unwrap();
    }

    pub fn post(&mut self, request: &SendRequest<'_>) -> Result<(), PostError> {
        self.queue_pair.post_send(&mut self.context, request)
    }

    pub fn receive(&mut self, id: u64, offset: usize, length: usize) {
        let elements = [self.sge(offset, length)];
        let request = ReceiveRequest { id, elements: &elements };
        match self.shared {
            Some(shared) => self.context.post_shared_receive(shared, &request).unwrap(),
            None => self.queue_pair.post_receive(&mut self.context, &request).unwrap(),
        }
    }

    pub fn take_completions(&mut self) -> Vec<Completion> {
        std::iter::from_fn(|| self.context.poll_completion(self.completions)).collect()
    }
}

/// Bytes that tell where they belong.
pub fn pattern(seed: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| (seed * 31 + at * 7 + at / 251) as u8 | 1).collect()
}
