//! One endpoint with one connected queue pair and a region of memory: what every test begins with.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use rdmalab_roce::{Batch, Endpoint, EndpointConfig, Profile, QueuePairConfig};
use rdmalab_verbs::{
    Access, Attributes, Capabilities, Completion, CompletionQueueId, Context, HeapMemory, Memory, Operation,
    Path, PostError, ProtectionDomainId, QueuePairType, ReceiveRequest, RemoteAddress, SendFlags,
    SendRequest, Sge, State,
};
use rdmalab_wire::{PathMtu, Psn, Qpn, RKey};

/// Bytes of the region of each side.
pub const MEMORY: usize = 256 * 1024;
/// Where the region begins, on both sides.
pub const BASE: u64 = 0x10_0000;

/// No credits, no migration bit, no ECN, so that what is expected of a packet is what the test is about.
pub const PLAIN: Profile = Profile { credits: false, migrated: false, ecn_capable: false, ..Profile::SPEC };

/// How a connection is set up.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub mtu: PathMtu,
    pub first_psn: u32,
    pub reads: u8,
    pub timeout: u8,
    pub retry_count: u8,
    pub rnr_retry: u8,
    pub access: Access,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            mtu: PathMtu::M1024,
            first_psn: 0,
            reads: 4,
            timeout: 14,
            retry_count: 7,
            rnr_retry: 7,
            access: Access::FULL,
        }
    }
}

pub struct Side {
    pub context: Context,
    pub endpoint: Endpoint,
    pub queue_pair: Qpn,
    pub completions: CompletionQueueId,
    pub domain: ProtectionDomainId,
    pub memory: Arc<HeapMemory>,
    pub key: u32,
    pub address: IpAddr,
    pub batch: Batch,
}

/// The address of side `n`.
pub fn address(n: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, n))
}

impl Side {
    /// A side with a queue pair in RESET.
    pub fn new(n: u8) -> Self {
        let mut context = Context::default();
        let mut endpoint = Endpoint::new(EndpointConfig {
            report_retries: true,
            profile: PLAIN,
            ..EndpointConfig::new(vec![address(n)], PathMtu::M4096)
        });
        let domain = context.allocate_protection_domain().unwrap();
        let completions = context.create_completion_queue(4096).unwrap();
        let memory = Arc::new(HeapMemory::new(MEMORY));
        let key = context.register(domain, BASE, memory.clone(), Access::FULL).unwrap();
        let capabilities = Capabilities {
            max_send_requests: 256,
            max_receive_requests: 256,
            max_inline: 256,
            ..Capabilities::default()
        };
        let config = QueuePairConfig::new(QueuePairType::Rc, domain, completions, capabilities);
        let queue_pair = endpoint.create_queue_pair(&mut context, &config).unwrap();
        let batch = Batch::new(64, PathMtu::M4096, 0);
        Self { context, endpoint, queue_pair, completions, domain, memory, key, address: address(n), batch }
    }

    /// Brings the queue pair to RTS, towards a peer.
    pub fn connect(&mut self, setup: &Setup, peer: IpAddr, peer_queue_pair: Qpn) {
        for attributes in self.steps(setup, peer, peer_queue_pair) {
            self.endpoint.modify(&mut self.context, self.queue_pair, &attributes).unwrap();
        }
    }

    /// The three changes that lead from RESET to RTS.
    pub fn steps(&self, setup: &Setup, peer: IpAddr, peer_queue_pair: Qpn) -> [Attributes; 3] {
        [
            Attributes {
                state: Some(State::Init),
                partition_index: Some(0),
                access: Some(setup.access),
                ..Attributes::default()
            },
            Attributes {
                state: Some(State::Rtr),
                path: Some(Path::new(self.address, peer)),
                path_mtu: Some(setup.mtu),
                destination: Some(peer_queue_pair),
                receive_psn: Some(Psn::new(setup.first_psn)),
                max_destination_reads: Some(setup.reads),
                min_rnr_timer: Some(12),
                ..Attributes::default()
            },
            Attributes {
                state: Some(State::Rts),
                timeout: Some(setup.timeout),
                retry_count: Some(setup.retry_count),
                rnr_retry: Some(setup.rnr_retry),
                send_psn: Some(Psn::new(setup.first_psn)),
                max_reads: Some(setup.reads),
                ..Attributes::default()
            },
        ]
    }

    pub fn sge(&self, offset: usize, length: usize) -> Sge {
        Sge { address: BASE + offset as u64, length: length as u32, key: self.key }
    }

    pub fn post(
        &mut self,
        id: u64,
        operation: Operation,
        offset: usize,
        length: usize,
    ) -> Result<(), PostError> {
        let elements = [self.sge(offset, length)];
        let request = SendRequest {
            id,
            operation,
            elements: &elements,
            flags: SendFlags::SIGNALED,
            ..SendRequest::default()
        };
        self.endpoint.post_send(&mut self.context, self.queue_pair, &request)
    }

    pub fn receive(&mut self, id: u64, offset: usize, length: usize) -> Result<(), PostError> {
        let elements = [self.sge(offset, length)];
        let request = ReceiveRequest { id, elements: &elements };
        self.endpoint.post_receive(&mut self.context, self.queue_pair, &request)
    }

    /// A place in this side's region, for its peer.
    pub fn remote(&self, offset: usize) -> RemoteAddress {
        RemoteAddress { address: BASE + offset as u64, key: RKey::new(self.key) }
    }

    pub fn fill(&self, offset: usize, length: usize, seed: u8) {
        let bytes: Vec<u8> = (0..length).map(|n| (n as u8).wrapping_mul(31).wrapping_add(seed)).collect();
        self.memory.write(offset, &bytes).unwrap();
    }

    pub fn bytes(&self, offset: usize, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.memory.read(offset, &mut bytes).unwrap();
        bytes
    }

    pub fn completions(&mut self) -> Vec<Completion> {
        std::iter::from_fn(|| self.context.poll_completion(self.completions)).collect()
    }

    /// All packets that can go out now.
    pub fn drain(&mut self, now: u64) -> Vec<Vec<u8>> {
        let mut packets = Vec::new();
        while self.endpoint.has_packets() {
            self.batch.clear();
            self.endpoint.poll(&mut self.context, now, &mut self.batch);
            packets.extend(self.batch.packets().map(<[u8]>::to_vec));
        }
        packets
    }
}
