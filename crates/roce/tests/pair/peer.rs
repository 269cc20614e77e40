//! One end of a connection: an endpoint, memory, and the queue pairs of one transport service.
//!
//! Over RC, UC and UD one queue pair does both directions; over XRC an initiator asks and a target answers, and receives
//! lie in a shared queue.

use std::net::IpAddr;
use std::sync::Arc;

use rdmalab_roce::{Batch, CongestionControl, Endpoint, EndpointConfig, Profile, QueuePairConfig};
use rdmalab_verbs::{
    Access, Attributes, Capabilities, CompletionQueueId, Context, HeapMemory, ModifyError, Operation, Path,
    PostError, ProtectionDomainId, QueuePairType, ReceiveRequest, RemoteAddress, SendFlags, SendRequest, Sge,
    SharedReceiveQueueConfig, SharedReceiveQueueId, State, Target, WindowType, XrcUse,
};
use rdmalab_wire::{PathMtu, Psn, Qpn, RKey};

pub use super::application::{Application, BASE, PLAIN, QUEUE_KEY, address};

/// Bytes that a request may carry in itself.
pub const INLINE: usize = 64;

/// The transport service of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    Rc,
    Uc,
    Ud,
    Xrc,
}

impl Service {
    /// Of the queue pair that sends.
    fn sending_kind(self) -> QueuePairType {
        match self {
            Self::Rc => QueuePairType::Rc,
            Self::Uc => QueuePairType::Uc,
            Self::Ud => QueuePairType::Ud,
            Self::Xrc => QueuePairType::XrcInitiator,
        }
    }
}

/// How a connection is set up.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub service: Service,
    pub profile: Profile,
    /// What holds both sides back.
    pub congestion_control: CongestionControl,
    /// Of the path; of datagrams, the port's.
    pub mtu: PathMtu,
    pub first_psn: u32,
    pub reads: u8,
    pub timeout: u8,
    pub retry_count: u8,
    pub rnr_retry: u8,
    /// Receives come from a shared queue. Over XRC they always do.
    pub shares_receives: bool,
    /// Bytes of each peer's memory.
    pub memory: usize,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            service: Service::Rc,
            profile: PLAIN,
            congestion_control: CongestionControl::None,
            mtu: PathMtu::M1024,
            first_psn: 0,
            reads: 4,
            timeout: 14,
            retry_count: 7,
            rnr_retry: 7,
            shares_receives: false,
            memory: 256 * 1024,
        }
    }
}

/// What a key of a peer stands for. Keys of windows and of fast regions have the consumer's number in their low 8 bits,
/// with which they were bound or registered last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// All of the memory, always.
    Region,
    /// A window of type 1.
    WindowOne(u8),
    /// A window of type 2.
    WindowTwo(u8),
    /// A region that is registered fast.
    Fast(u8),
}

pub struct Peer {
    pub context: Context,
    pub endpoint: Endpoint,
    /// Posts requests.
    pub sender: Qpn,
    /// Takes those of the peer. The same, but over XRC.
    pub receiver: Qpn,
    /// Where receives come from, if not from the queue pair's own queue.
    pub shared: Option<SharedReceiveQueueId>,
    /// Whom requests are for: the one peer; over XRC the other's shared receive queue; the other by address.
    pub target: Target,
    pub completions: CompletionQueueId,
    pub domain: ProtectionDomainId,
    pub memory: Arc<HeapMemory>,
    pub key: u32,
    pub window_one: RKey,
    pub window_two: RKey,
    pub fast: u32,
    pub address: IpAddr,
    batch: Batch,
    /// What the last call of [`fill_batch`](Self::fill_batch) found.
    pub packets: Vec<Vec<u8>>,
}

impl Application for Peer {
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

impl Peer {
    /// A peer with queue pairs in RESET.
    pub fn new(n: u8, setup: &Setup) -> Self {
        let mut context = Context::default();
        let port_mtu = if setup.service == Service::Ud { setup.mtu } else { PathMtu::M4096 };
        let mut endpoint = Endpoint::new(EndpointConfig {
            report_retries: true,
            profile: setup.profile,
            congestion_control: setup.congestion_control,
            ..EndpointConfig::new(vec![address(n)], port_mtu)
        });
        let domain = context.allocate_protection_domain().unwrap();
        let completions = context.create_completion_queue(1024).unwrap();
        let memory = Arc::new(HeapMemory::new(setup.memory));
        let key = context.register(domain, BASE, memory.clone(), Access::FULL).unwrap();
        let capabilities = Capabilities {
            max_send_requests: 128,
            max_receive_requests: 128,
            max_inline: INLINE as u32,
            ..Capabilities::default()
        };
        let is_xrc = setup.service == Service::Xrc;
        let xrc_domain = is_xrc.then(|| context.allocate_xrc_domain().unwrap());
        let shared = (setup.shares_receives || is_xrc).then(|| {
            let xrc = xrc_domain.map(|domain| XrcUse { domain, completions });
            let config = SharedReceiveQueueConfig { xrc, ..SharedReceiveQueueConfig::default() };
            context.create_shared_receive_queue(domain, &config).unwrap()
        });
        let mut create = |kind| {
            let config = QueuePairConfig {
                shared_receive_queue: shared.filter(|_| !is_xrc),
                xrc_domain: xrc_domain.filter(|_| kind == QueuePairType::XrcTarget),
                ..QueuePairConfig::new(kind, domain, completions, capabilities)
            };
            endpoint.create_queue_pair(&mut context, &config).unwrap()
        };
        let (sender, receiver) = match setup.service {
            Service::Xrc => (create(QueuePairType::XrcInitiator), create(QueuePairType::XrcTarget)),
            service => {
                let both = create(service.sending_kind());
                (both, both)
            }
        };
        let window_one = context.allocate_window(domain, WindowType::One).unwrap();
        let window_two = context.allocate_window(domain, WindowType::Two).unwrap();
        let fast = context.allocate_fast_region(domain, memory.clone()).unwrap();
        Self {
            context,
            endpoint,
            sender,
            receiver,
            shared,
            target: Target::Connected,
            completions,
            domain,
            memory,
            key,
            window_one,
            window_two,
            fast,
            address: address(n),
            batch: Batch::new(16, setup.mtu, 0),
            packets: Vec::new(),
        }
    }

    /// Brings the queue pairs to RTS, towards the other's.
    pub fn connect(&mut self, setup: &Setup, other: &Peer) {
        self.raise(setup, setup.service.sending_kind(), self.sender, other, other.receiver);
        match setup.service {
            Service::Rc | Service::Uc => {}
            Service::Ud if self.target == Target::Connected => {
                let way = Path::new(self.address, other.address);
                let path = self.context.create_address_handle(self.domain, way).unwrap();
                self.target = Target::Datagram { path, queue_pair: other.receiver, queue_key: QUEUE_KEY };
            }
            Service::Ud => {}
            Service::Xrc => {
                self.target = other.shared.map_or(Target::Connected, Target::Xrc);
                self.raise(setup, QueuePairType::XrcTarget, self.receiver, other, other.sender);
            }
        }
    }

    fn raise(&mut self, setup: &Setup, kind: QueuePairType, queue_pair: Qpn, other: &Peer, destination: Qpn) {
        let (answers, asks) = match kind {
            QueuePairType::Rc => (true, true),
            QueuePairType::XrcInitiator => (false, true),
            QueuePairType::XrcTarget => (true, false),
            _ => (false, false),
        };
        let psn = Some(Psn::new(setup.first_psn));
        let connects = kind != QueuePairType::Ud;
        let steps = [
            Attributes {
                state: Some(State::Init),
                partition_index: Some(0),
                access: connects.then_some(Access::FULL),
                queue_key: (!connects).then_some(QUEUE_KEY),
                ..Attributes::default()
            },
            Attributes {
                state: Some(State::Rtr),
                path: connects.then_some(Path::new(self.address, other.address)),
                path_mtu: connects.then_some(setup.mtu),
                destination: connects.then_some(destination),
                receive_psn: psn.filter(|_| connects),
                max_destination_reads: answers.then_some(setup.reads),
                min_rnr_timer: answers.then_some(12),
                ..Attributes::default()
            },
            Attributes {
                state: Some(State::Rts),
                timeout: (asks || answers).then_some(setup.timeout),
                retry_count: asks.then_some(setup.retry_count),
                rnr_retry: asks.then_some(setup.rnr_retry),
                send_psn: psn,
                max_reads: asks.then_some(setup.reads),
                ..Attributes::default()
            },
        ];
        for attributes in &steps {
            self.endpoint.modify(&mut self.context, queue_pair, attributes).unwrap();
        }
    }

    /// Posts a request with these elements.
    pub fn post_elements(
        &mut self,
        id: u64,
        operation: Operation,
        elements: &[Sge],
        flags: SendFlags,
    ) -> Result<(), PostError> {
        self.post_request(id, operation, elements, None, flags)
    }

    /// Posts a request with these elements or these bytes.
    pub fn post_request(
        &mut self,
        id: u64,
        operation: Operation,
        elements: &[Sge],
        inline: Option<&[u8]>,
        flags: SendFlags,
    ) -> Result<(), PostError> {
        let target = if operation.is_local() { Target::Connected } else { self.target };
        self.post_to(target, id, operation, elements, inline, flags)
    }

    /// As [`post_request`](Self::post_request), for somebody else.
    pub fn post_to(
        &mut self,
        target: Target,
        id: u64,
        operation: Operation,
        elements: &[Sge],
        inline: Option<&[u8]>,
        flags: SendFlags,
    ) -> Result<(), PostError> {
        let request = SendRequest { id, operation, target, elements, inline, flags };
        self.endpoint.post_send(&mut self.context, self.sender, &request)
    }

    /// Posts a signaled request.
    pub fn post(
        &mut self,
        id: u64,
        operation: Operation,
        offset: usize,
        length: usize,
    ) -> Result<(), PostError> {
        let element = [self.sge(offset, length)];
        let elements = if operation.is_without_elements() { &[][..] } else { &element };
        self.post_elements(id, operation, elements, SendFlags::SIGNALED)
    }

    /// Posts a receive with these elements.
    pub fn receive_elements(&mut self, id: u64, elements: &[Sge]) -> Result<(), PostError> {
        let request = ReceiveRequest { id, elements };
        match self.shared {
            Some(shared) => self.context.post_shared_receive(shared, &request),
            None => self.endpoint.post_receive(&mut self.context, self.receiver, &request),
        }
    }

    pub fn receive(&mut self, id: u64, offset: usize, length: usize) -> Result<(), PostError> {
        self.receive_elements(id, &[self.sge(offset, length)])
    }

    /// The key of a door.
    pub fn key_of(&self, door: Door) -> RKey {
        let numbered = |key: u32, number: u8| RKey::new(key & !0xff | u32::from(number));
        match door {
            Door::Region => RKey::new(self.key),
            Door::WindowOne(number) => numbered(self.window_one.value(), number),
            Door::WindowTwo(number) => numbered(self.window_two.value(), number),
            Door::Fast(number) => numbered(self.fast, number),
        }
    }

    /// A place in this peer's memory, for the other.
    pub fn remote(&self, door: Door, offset: usize) -> RemoteAddress {
        RemoteAddress { address: BASE + offset as u64, key: self.key_of(door) }
    }

    /// Windows and fast region go, whatever their keys, and new ones come.
    pub fn renew_doors(&mut self) {
        let numbers = |key: u32| (0..=0xff).map(move |number| RKey::new(key & !0xff | number));
        let gone = numbers(self.window_one.value()).any(|key| self.context.deallocate_window(key).is_ok())
            && numbers(self.window_two.value()).any(|key| self.context.deallocate_window(key).is_ok())
            && numbers(self.fast).any(|key| self.context.deregister(key.value()).is_ok());
        assert!(gone, "a door has none of its keys");
        self.window_one = self.context.allocate_window(self.domain, WindowType::One).unwrap();
        self.window_two = self.context.allocate_window(self.domain, WindowType::Two).unwrap();
        self.fast = self.context.allocate_fast_region(self.domain, self.memory.clone()).unwrap();
    }

    pub fn state(&self, queue_pair: Qpn) -> State {
        self.endpoint.state(queue_pair).unwrap()
    }

    pub fn set_state(&mut self, queue_pair: Qpn, state: State) {
        self.try_state(queue_pair, state).unwrap();
    }

    pub fn try_state(&mut self, queue_pair: Qpn, state: State) -> Result<(), ModifyError> {
        let attributes = Attributes { state: Some(state), ..Attributes::default() };
        self.endpoint.modify(&mut self.context, queue_pair, &attributes)
    }

    /// From one state to another; `false` if it must wait until what was begun is done.
    pub fn change(&mut self, queue_pair: Qpn, from: State, to: State) -> bool {
        if self.state(queue_pair) != from {
            return true;
        }
        match self.try_state(queue_pair, to) {
            Ok(()) => true,
            Err(ModifyError::Draining) => false,
            Err(error) => panic!("{error}"),
        }
    }

    /// Takes one batch of packets out.
    pub fn fill_batch(&mut self, now: u64) {
        self.batch.clear();
        self.endpoint.poll(&mut self.context, now, &mut self.batch);
        self.packets.clear();
        self.packets.extend(self.batch.packets().map(<[u8]>::to_vec));
    }
}
