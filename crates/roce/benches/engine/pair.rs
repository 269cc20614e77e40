//! Two endpoints in one process with any number of connected queue pairs. Packets go from the batch of one straight
//! into the other: no copy, no allocation, no link between.
//!
//! The benchmarks and the tests that count allocations run on it. A queue pair has a piece of each side's memory, of its
//! own or shared by all; the first half of the piece is a source, the second half a target.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use rdmalab_roce::{Batch, CongestionControl, Endpoint, EndpointConfig, Profile, QueuePairConfig};
use rdmalab_verbs::{
    Access, AddressHandleId, AttributeSet, Attributes, Capabilities, CompletionQueueId, CompletionStatus,
    Context, HeapMemory, Memory, Operation, Path, ProtectionDomainId, QueuePairType, ReceiveRequest,
    RemoteAddress, SendFlags, SendRequest, Sge, SharedReceiveQueueConfig, SharedReceiveQueueId, State,
    Target, XrcUse, transition,
};
use rdmalab_wire::{PathMtu, Psn, QKey, Qpn, RKey};

/// Where the region begins, on both sides.
pub const BASE: u64 = 0x10_0000;
/// Packets of a batch.
const BATCH: usize = 32;
/// Bytes that a receive of a datagram keeps free for the network header.
const DATAGRAM_HEADER: usize = 40;
const QUEUE_KEY: QKey = QKey::new(0x1234);

/// What the two sides are like.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Of side 0. Side 1 has the same, or the targets of XRC initiators.
    pub kind: QueuePairType,
    pub queue_pairs: usize,
    /// Bytes of a piece of memory.
    pub piece: usize,
    /// All queue pairs use the same piece.
    pub shares_memory: bool,
    /// All queue pairs of a side draw from one receive queue; XRC always does.
    pub shares_receives: bool,
    pub mtu: PathMtu,
    /// Work requests that a queue holds.
    pub depth: u32,
    /// READs and atomics at once.
    pub reads: u8,
    pub inline: u32,
    /// Local ACK timeout, as a code.
    pub timeout: u8,
    pub profile: Profile,
    pub congestion: CongestionControl,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            kind: QueuePairType::Rc,
            queue_pairs: 1,
            piece: 2 * 4096,
            shares_memory: false,
            shares_receives: false,
            mtu: PathMtu::M4096,
            depth: 64,
            reads: 16,
            inline: 0,
            timeout: 8,
            profile: Profile::RXE,
            congestion: CongestionControl::None,
        }
    }
}

impl Setup {
    fn kind_of(&self, side: usize) -> QueuePairType {
        match (self.kind, side) {
            (QueuePairType::XrcInitiator, 1) => QueuePairType::XrcTarget,
            (kind, _) => kind,
        }
    }

    fn pieces(&self) -> usize {
        if self.shares_memory { 1 } else { self.queue_pairs }
    }
}

pub struct Side {
    pub context: Context,
    pub endpoint: Endpoint,
    pub queue_pairs: Vec<Qpn>,
    pub domain: ProtectionDomainId,
    pub key: u32,
    completions: CompletionQueueId,
    shared: Option<SharedReceiveQueueId>,
    /// The way to the other side, for datagrams.
    handle: AddressHandleId,
    batch: Batch,
}

/// Two endpoints, side 0 and side 1, whose queue pairs are connected one by one.
pub struct Pair {
    pub setup: Setup,
    pub sides: [Side; 2],
    pub now: u64,
    /// Packets handed over so far.
    pub packets: u64,
    /// Whether packets arrive with a congestion mark, where their sender allows it.
    pub marks: bool,
}

fn address(side: usize) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, side as u8 + 1))
}

fn path(side: usize) -> Path {
    Path::new(address(side), address(1 - side))
}

/// Sets Congestion Experienced in an IPv4 header, as a switch does.
fn mark(packet: &mut [u8]) {
    const TYPE_OF_SERVICE: usize = 1;
    const CHECKSUM: usize = 10;
    let before = packet[TYPE_OF_SERVICE];
    if before & 3 == 0 {
        return;
    }
    packet[TYPE_OF_SERVICE] |= 3;
    // One's complement arithmetic: what is added to the header is taken from its checksum.
    let checksum = u16::from_be_bytes([packet[CHECKSUM], packet[CHECKSUM + 1]]);
    let (less, borrows) = checksum.overflowing_sub(u16::from(packet[TYPE_OF_SERVICE] - before));
    packet[CHECKSUM..CHECKSUM + 2].copy_from_slice(&(less - u16::from(borrows)).to_be_bytes());
}

impl Side {
    fn new(side: usize, setup: &Setup) -> Self {
        let kind = setup.kind_of(side);
        let mut context = Context::default();
        let mut endpoint = Endpoint::new(EndpointConfig {
            profile: setup.profile,
            congestion_control: setup.congestion,
            ..EndpointConfig::new(vec![address(side)], PathMtu::M4096)
        });
        let domain = context.allocate_protection_domain().unwrap();
        // Every request of every queue may be done before anybody looks, but no queue may be larger than the limit.
        let most = 2 * u64::from(setup.depth) * setup.queue_pairs as u64;
        let completions = context.create_completion_queue(most.min(1 << 20) as u32).unwrap();
        let memory = HeapMemory::new(setup.pieces() * setup.piece);
        let pattern: Vec<u8> = (0..memory.length()).map(|n| n as u8).collect();
        memory.write(0, &pattern).unwrap();
        let key = context.register(domain, BASE, Arc::new(memory), Access::FULL).unwrap();
        let handle = context.create_address_handle(domain, path(side)).unwrap();
        let xrc_domain = (kind == QueuePairType::XrcTarget).then(|| context.allocate_xrc_domain().unwrap());
        let shared = (setup.shares_receives || xrc_domain.is_some()).then(|| {
            let config = SharedReceiveQueueConfig {
                max_requests: setup.depth * setup.queue_pairs as u32,
                max_elements: 1,
                limit: 0,
                xrc: xrc_domain.map(|domain| XrcUse { domain, completions }),
            };
            context.create_shared_receive_queue(domain, &config).unwrap()
        });
        let capabilities = Capabilities {
            max_send_requests: setup.depth,
            max_receive_requests: setup.depth,
            max_send_elements: 1,
            max_receive_elements: 1,
            max_inline: setup.inline,
        };
        let config = QueuePairConfig {
            shared_receive_queue: shared.filter(|_| xrc_domain.is_none()),
            xrc_domain,
            ..QueuePairConfig::new(kind, domain, completions, capabilities)
        };
        let queue_pairs = (0..setup.queue_pairs)
            .map(|_| endpoint.create_queue_pair(&mut context, &config).unwrap())
            .collect();
        let batch = Batch::new(BATCH, PathMtu::M4096, 0);
        Self { context, endpoint, queue_pairs, domain, key, completions, shared, handle, batch }
    }

    /// Hands one batch of packets over.
    pub fn send(&mut self, now: u64, take: impl FnMut(&mut [u8])) {
        self.fill(now);
        self.hand_over(take);
    }

    fn fill(&mut self, now: u64) {
        self.batch.clear();
        self.endpoint.poll(&mut self.context, now, &mut self.batch);
    }

    fn hand_over(&mut self, mut take: impl FnMut(&mut [u8])) {
        for n in 0..self.batch.len() {
            if let Some(packet) = self.batch.with_headroom(n) {
                take(packet);
            }
        }
    }

    /// Brings a queue pair to RTS, with those of the attributes that its kind must have.
    fn connect(&mut self, number: Qpn, path: Path, peer: Qpn, setup: &Setup, kind: QueuePairType) {
        for (from, to) in [(State::Reset, State::Init), (State::Init, State::Rtr), (State::Rtr, State::Rts)] {
            let needed = transition(kind, from, to).unwrap().required;
            let has = |attribute: AttributeSet| needed.contains(attribute);
            let attributes = Attributes {
                state: Some(to),
                partition_index: has(AttributeSet::PARTITION).then_some(0),
                access: has(AttributeSet::ACCESS).then_some(Access::FULL),
                queue_key: has(AttributeSet::QUEUE_KEY).then_some(QUEUE_KEY),
                path: has(AttributeSet::PATH).then_some(path),
                path_mtu: has(AttributeSet::PATH_MTU).then_some(setup.mtu),
                destination: has(AttributeSet::DESTINATION).then_some(peer),
                receive_psn: has(AttributeSet::RECEIVE_PSN).then_some(Psn::new(0)),
                max_destination_reads: has(AttributeSet::MAX_DESTINATION_READS).then_some(setup.reads),
                min_rnr_timer: has(AttributeSet::MIN_RNR_TIMER).then_some(1),
                timeout: has(AttributeSet::TIMEOUT).then_some(setup.timeout),
                retry_count: has(AttributeSet::RETRY_COUNT).then_some(7),
                rnr_retry: has(AttributeSet::RNR_RETRY).then_some(7),
                send_psn: has(AttributeSet::SEND_PSN).then_some(Psn::new(0)),
                max_reads: has(AttributeSet::MAX_READS).then_some(setup.reads),
            };
            self.endpoint.modify(&mut self.context, number, &attributes).unwrap();
        }
    }
}

impl Pair {
    /// A pair with all its queue pairs connected.
    pub fn new(setup: Setup) -> Self {
        let mut sides = [0, 1].map(|side| Side::new(side, &setup));
        for from in 0..2 {
            for n in 0..setup.queue_pairs {
                let (ours, peer) = (sides[from].queue_pairs[n], sides[1 - from].queue_pairs[n]);
                sides[from].connect(ours, path(from), peer, &setup, setup.kind_of(from));
            }
        }
        Self { setup, sides, now: 0, packets: 0, marks: false }
    }

    /// Bytes of a queue pair's memory on a side.
    pub fn element(&self, side: usize, queue_pair: usize, offset: usize, length: usize) -> Sge {
        let piece = if self.setup.shares_memory { 0 } else { queue_pair };
        let address = BASE + (piece * self.setup.piece + offset) as u64;
        Sge { address, length: length as u32, key: self.sides[side].key }
    }

    /// The target half of a queue pair's memory on side 1.
    pub fn remote(&self, queue_pair: usize) -> RemoteAddress {
        let target = self.element(1, queue_pair, self.setup.piece / 2, 0);
        RemoteAddress { address: target.address, key: RKey::new(target.key) }
    }

    /// Posts on side 0, with the source half of the queue pair's memory as the local side.
    pub fn post(&mut self, queue_pair: usize, operation: Operation, length: usize) {
        let elements = [self.element(0, queue_pair, 0, length)];
        let elements = if operation.is_without_elements() { &[][..] } else { &elements };
        self.post_request(queue_pair, &SendRequest { operation, elements, ..SendRequest::default() });
    }

    /// Posts a request on side 0, signaled and for the queue pair's peer.
    pub fn post_request(&mut self, queue_pair: usize, request: &SendRequest<'_>) {
        let target = match (self.setup.kind, self.sides[1].shared) {
            (QueuePairType::Ud, _) => Target::Datagram {
                path: self.sides[0].handle,
                queue_pair: self.sides[1].queue_pairs[queue_pair],
                queue_key: QUEUE_KEY,
            },
            (QueuePairType::XrcInitiator, Some(shared)) => Target::Xrc(shared),
            _ => Target::Connected,
        };
        let request = SendRequest { target, flags: request.flags | SendFlags::SIGNALED, ..*request };
        let side = &mut self.sides[0];
        side.endpoint.post_send(&mut side.context, side.queue_pairs[queue_pair], &request).unwrap();
    }

    /// Posts a receive on side 1, into the target half of the queue pair's memory.
    pub fn receive(&mut self, queue_pair: usize, length: usize) {
        let header = if self.setup.kind == QueuePairType::Ud { DATAGRAM_HEADER } else { 0 };
        let elements = [self.element(1, queue_pair, self.setup.piece / 2, length + header)];
        let request = ReceiveRequest { id: 0, elements: &elements };
        let side = &mut self.sides[1];
        match side.shared {
            Some(shared) => side.context.post_shared_receive(shared, &request).unwrap(),
            None => {
                let number = side.queue_pairs[queue_pair];
                side.endpoint.post_receive(&mut side.context, number, &request).unwrap();
            }
        }
    }

    /// Hands packets over until nobody has any; `loses` is asked about each by its number.
    pub fn exchange(&mut self, mut loses: impl FnMut(u64) -> bool) {
        let [mut from, mut to] = self.sides.each_mut();
        loop {
            let mut idle = true;
            for _ in 0..2 {
                while from.endpoint.has_packets() {
                    idle = false;
                    from.fill(self.now);
                    to.endpoint.look_ahead(from.batch.packets());
                    from.hand_over(|packet| {
                        self.packets += 1;
                        if self.marks {
                            mark(packet);
                        }
                        if !loses(self.packets) {
                            to.endpoint.handle_packet(&mut to.context, self.now, packet);
                        }
                    });
                }
                std::mem::swap(&mut from, &mut to);
            }
            if idle {
                return;
            }
        }
    }

    /// As [`exchange`](Self::exchange), and goes on after timeouts until no requests are left. Events are dropped.
    pub fn settle(&mut self, mut loses: impl FnMut(u64) -> bool) {
        loop {
            self.exchange(&mut loses);
            for side in &mut self.sides {
                while side.endpoint.poll_event().is_some() {}
            }
            let deadlines = self.sides.iter().filter_map(|side| side.endpoint.next_timeout());
            let Some(next) = deadlines.min() else { return };
            self.now = self.now.max(next);
            for side in &mut self.sides {
                side.endpoint.handle_timeout(&mut side.context, self.now);
            }
        }
    }

    /// Takes out the completions of a side, all of which must be successes, and says how many they were.
    pub fn completions(&mut self, side: usize) -> usize {
        let mut count = 0;
        while self.completed(side).is_some() {
            count += 1;
        }
        count
    }

    /// Takes the oldest completion of a side out, which must be a success, and says whose it is.
    pub fn completed(&mut self, side: usize) -> Option<Qpn> {
        let side = &mut self.sides[side];
        let completion = side.context.poll_completion(side.completions)?;
        assert_eq!(completion.status, CompletionStatus::Success);
        Some(completion.queue_pair)
    }
}
