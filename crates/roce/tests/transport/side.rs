//! One endpoint with one connected queue pair and a region of memory: what every test begins with.

use std::net::IpAddr;
use std::sync::Arc;

use rdmalab_roce::{Batch, CongestionControl, Endpoint, EndpointConfig, Profile, QueuePairConfig};
use rdmalab_verbs::{
    Access, AddressHandleId, AttributeSet, Attributes, Capabilities, CompletionQueueId, Context, HeapMemory,
    Path, PostError, ProtectionDomainId, QueuePairType, ReceiveRequest, SharedReceiveQueueConfig,
    SharedReceiveQueueId, State, XrcDomainId, XrcUse, transition,
};
use rdmalab_wire::{PathMtu, Psn, Qpn};

pub use crate::application::{Application, BASE, PLAIN, QUEUE_KEY, address};

/// Bytes of the region of each side.
pub const MEMORY: usize = 256 * 1024;
/// Credits are granted and honoured, and nothing else differs.
pub const CREDITS: Profile = Profile { credits: true, ..PLAIN };

/// How a connection is set up.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub kind: QueuePairType,
    /// Receives come from a shared queue. Those of an XRC target always do.
    pub shared: bool,
    pub mtu: PathMtu,
    pub first_psn: u32,
    pub reads: u8,
    pub timeout: u8,
    pub retry_count: u8,
    pub rnr_retry: u8,
    pub access: Access,
    /// The habits of this side.
    pub profile: Profile,
    /// Packets that may be unacknowledged.
    pub window: u32,
    /// What holds it back.
    pub congestion_control: CongestionControl,
    /// Every send request is reported.
    pub signals_all: bool,
    /// Most elements of a request.
    pub elements: u32,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            kind: QueuePairType::Rc,
            shared: false,
            mtu: PathMtu::M1024,
            first_psn: 0,
            reads: 4,
            timeout: 14,
            retry_count: 7,
            rnr_retry: 7,
            access: Access::FULL,
            profile: PLAIN,
            window: 128,
            congestion_control: CongestionControl::None,
            signals_all: false,
            elements: 4,
        }
    }
}

pub struct Side {
    pub kind: QueuePairType,
    /// Where receives come from, if they are shared.
    pub shared: Option<SharedReceiveQueueId>,
    pub xrc_domain: Option<XrcDomainId>,
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

impl Application for Side {
    fn memory(&self) -> &HeapMemory {
        &self.memory
    }

    fn key(&self) -> u32 {
        self.key
    }

    fn completion_queue(&mut self) -> (&mut Context, CompletionQueueId) {
        (&mut self.context, self.completions)
    }
}

impl Side {
    /// A side with a queue pair in RESET.
    pub fn new(n: u8, setup: &Setup) -> Self {
        let mut context = Context::default();
        let mut endpoint = Endpoint::new(EndpointConfig {
            report_retries: true,
            profile: setup.profile,
            window: setup.window,
            congestion_control: setup.congestion_control,
            ..EndpointConfig::new(vec![address(n)], PathMtu::M4096)
        });
        let domain = context.allocate_protection_domain().unwrap();
        let completions = context.create_completion_queue(4096).unwrap();
        let memory = Arc::new(HeapMemory::new(MEMORY));
        let key = context.register(domain, BASE, memory.clone(), Access::FULL).unwrap();
        let capabilities = Capabilities {
            max_send_requests: 256,
            max_receive_requests: 256,
            max_send_elements: setup.elements,
            max_receive_elements: setup.elements,
            max_inline: 256,
        };
        let xrc_domain =
            (setup.kind == QueuePairType::XrcTarget).then(|| context.allocate_xrc_domain().unwrap());
        let shared = (setup.shared || xrc_domain.is_some()).then(|| {
            let config = SharedReceiveQueueConfig {
                max_requests: 256,
                max_elements: setup.elements,
                xrc: xrc_domain.map(|domain| XrcUse { domain, completions }),
                ..SharedReceiveQueueConfig::default()
            };
            context.create_shared_receive_queue(domain, &config).unwrap()
        });
        let config = QueuePairConfig {
            signals_all: setup.signals_all,
            shared_receive_queue: shared.filter(|_| xrc_domain.is_none()),
            xrc_domain,
            ..QueuePairConfig::new(setup.kind, domain, completions, capabilities)
        };
        let queue_pair = endpoint.create_queue_pair(&mut context, &config).unwrap();
        let batch = Batch::new(64, PathMtu::M4096, 0);
        Self {
            kind: setup.kind,
            shared,
            xrc_domain,
            context,
            endpoint,
            queue_pair,
            completions,
            domain,
            memory,
            key,
            address: address(n),
            batch,
        }
    }

    /// Another queue pair like the first, in RESET.
    pub fn another_queue_pair(&mut self) -> Qpn {
        let config = QueuePairConfig {
            shared_receive_queue: self.shared.filter(|_| self.xrc_domain.is_none()),
            xrc_domain: self.xrc_domain,
            ..QueuePairConfig::new(self.kind, self.domain, self.completions, Capabilities::default())
        };
        self.endpoint.create_queue_pair(&mut self.context, &config).unwrap()
    }

    /// Another queue pair like the first, in RTS.
    pub fn connect_another(&mut self, setup: &Setup, peer: IpAddr, peer_queue_pair: Qpn) -> Qpn {
        let number = self.another_queue_pair();
        for attributes in self.steps(setup, peer, peer_queue_pair) {
            self.endpoint.modify(&mut self.context, number, &attributes).unwrap();
        }
        number
    }

    /// Moves to another port, with a new queue pair in RESET.
    pub fn move_to(&mut self, port: EndpointConfig) {
        self.endpoint = Endpoint::new(EndpointConfig { report_retries: true, profile: PLAIN, ..port });
        self.queue_pair = self.another_queue_pair();
    }

    /// A way for datagrams.
    pub fn handle_to(&mut self, peer: IpAddr) -> AddressHandleId {
        self.context.create_address_handle(self.domain, Path::new(self.address, peer)).unwrap()
    }

    /// The three changes that lead from RESET to RTS, with what the kind of queue pair requires.
    pub fn steps(&self, setup: &Setup, peer: IpAddr, peer_queue_pair: Qpn) -> [Attributes; 3] {
        let [init, rtr, rts] = [
            Attributes {
                state: Some(State::Init),
                partition_index: Some(0),
                access: Some(setup.access),
                queue_key: Some(QUEUE_KEY),
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
        ];
        let only_required = |from, attributes: Attributes| {
            let to = attributes.state.unwrap();
            restricted(attributes, transition(self.kind, from, to).unwrap().required)
        };
        [only_required(State::Reset, init), only_required(State::Init, rtr), only_required(State::Rtr, rts)]
    }

    pub fn receive(&mut self, id: u64, offset: usize, length: usize) -> Result<(), PostError> {
        let elements = [self.sge(offset, length)];
        let request = ReceiveRequest { id, elements: &elements };
        if let Some(shared) = self.shared {
            return self.context.post_shared_receive(shared, &request);
        }
        self.endpoint.post_receive(&mut self.context, self.queue_pair, &request)
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

/// The attributes without those outside of a set.
pub fn restricted(mut all: Attributes, set: AttributeSet) -> Attributes {
    let mut keep = |one: AttributeSet, clear: fn(&mut Attributes)| {
        if !set.contains(one) {
            clear(&mut all);
        }
    };
    keep(AttributeSet::PARTITION, |a| a.partition_index = None);
    keep(AttributeSet::ACCESS, |a| a.access = None);
    keep(AttributeSet::QUEUE_KEY, |a| a.queue_key = None);
    keep(AttributeSet::PATH, |a| a.path = None);
    keep(AttributeSet::PATH_MTU, |a| a.path_mtu = None);
    keep(AttributeSet::DESTINATION, |a| a.destination = None);
    keep(AttributeSet::RECEIVE_PSN, |a| a.receive_psn = None);
    keep(AttributeSet::SEND_PSN, |a| a.send_psn = None);
    keep(AttributeSet::MAX_DESTINATION_READS, |a| a.max_destination_reads = None);
    keep(AttributeSet::MAX_READS, |a| a.max_reads = None);
    keep(AttributeSet::MIN_RNR_TIMER, |a| a.min_rnr_timer = None);
    keep(AttributeSet::TIMEOUT, |a| a.timeout = None);
    keep(AttributeSet::RETRY_COUNT, |a| a.retry_count = None);
    keep(AttributeSet::RNR_RETRY, |a| a.rnr_retry = None);
    assert_eq!(all.set(), set & all.set());
    all
}
