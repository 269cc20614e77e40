//! Two adapters on a simulated link with one connected queue pair each: everything an application would set up.

use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU64;
use std::sync::Arc;

use rdmalab_device::{AdapterConfig, HostAddress, Network, NetworkConfig, Passage};
use rdmalab_roce::{Event, QueuePairConfig};
use rdmalab_sim::{End, LinkConfig, PerEnd, RuleSet};
use rdmalab_verbs::{
    Access, Attributes, Capabilities, Completion, CompletionQueueId, HeapMemory, Memory, Operation, Path,
    QueuePairType, ReceiveRequest, RemoteAddress, SendFlags, SendRequest, Sge, State,
};
use rdmalab_wire::{PathMtu, Psn, Qpn, RKey, ack_timeout_nanoseconds};

use super::plan::Plan;
use crate::outcome::{Error, Result};

/// Nanoseconds from one end of the link to the other.
pub const LATENCY: u64 = 5_000;
/// Bits per second of the link.
pub const BANDWIDTH: NonZeroU64 = NonZeroU64::new(100_000_000_000).unwrap();
/// What the link may hold, in bytes: more than a demonstration ever sends at once, so that only rules lose packets.
const ROOM: usize = 1 << 30;
/// MTU of the link, in bytes.
const LINK_MTU: usize = 1500;
/// The path MTU that goes with it.
pub const PATH_MTU: PathMtu = PathMtu::M1024;
/// Local ACK timeout, as the 5-bit code: about a millisecond, longer than the link needs for the longest answers that may
/// stand in front of one ([`READS`] of [`Plan::MOST_SIZE`]).
const TIMEOUT: u8 = 8;
/// Retries before a queue pair gives up.
pub const RETRY_COUNT: u8 = 7;
/// READs and atomics outstanding at once.
const READS: u8 = 4;
/// The PSNs with which the two begin. Real adapters draw them by chance; these are easy to read.
pub const FIRST_PSN: PerEnd<u32> = PerEnd { a: 100, b: 500 };
/// Virtual address of both regions.
const BASE: u64 = 0x1000;

/// The local ACK timeout in nanoseconds.
pub fn timeout() -> u64 {
    ack_timeout_nanoseconds(TIMEOUT).unwrap_or(0)
}

/// One side: its queue pair and its memory.
pub struct Side {
    /// Its address.
    pub address: IpAddr,
    /// Its queue pair.
    pub queue_pair: Qpn,
    send_queue: CompletionQueueId,
    receive_queue: CompletionQueueId,
    memory: Arc<HeapMemory>,
    key: u32,
}

impl Side {
    /// Its region as it is now.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.memory.length()];
        // The length is its own.
        let _ = self.memory.read(0, &mut bytes);
        bytes
    }

    /// A place in its region, for the peer.
    pub fn remote(&self, offset: u64) -> RemoteAddress {
        RemoteAddress { address: BASE + offset, key: RKey::new(self.key) }
    }

    fn element(&self, offset: u64, length: u32) -> Sge {
        Sge { address: BASE + offset, length, key: self.key }
    }
}

/// Both sides and the link.
pub struct Pair {
    network: Network,
    sides: PerEnd<Side>,
}

impl Pair {
    /// Two adapters with the plan's memory, connected. Nothing has been sent.
    pub fn new(plan: &Plan, rules: RuleSet) -> Result<Self> {
        let address = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
        let adapter = |last| AdapterConfig {
            report_retries: true,
            ..AdapterConfig::new(vec![HostAddress::new(address(last), 24)], LINK_MTU)
        };
        let link = LinkConfig {
            latency: LATENCY,
            bandwidth: Some(BANDWIDTH),
            queue_limit: ROOM,
            in_flight_limit: ROOM,
        };
        let config = NetworkConfig { adapters: PerEnd { a: adapter(1), b: adapter(2) }, link, rules };
        let mut network = Network::new(config).map_err(unexpected)?;
        let sides = PerEnd {
            a: open(&mut network, End::A, address(1), &plan.a)?,
            b: open(&mut network, End::B, address(2), &plan.b)?,
        };
        connect(&mut network, End::A, &sides)?;
        connect(&mut network, End::B, &sides)?;
        Ok(Self { network, sides })
    }

    /// One side.
    pub fn side(&self, end: End) -> &Side {
        &self.sides[end]
    }

    /// The virtual time, in nanoseconds.
    pub fn now(&self) -> u64 {
        self.network.now()
    }

    /// Goes on to the next event; `false` if there is none before `until`.
    pub fn step(&mut self, until: u64, watch: impl FnMut(&Passage<'_>)) -> bool {
        self.network.step(until, watch)
    }

    /// Whether frames are on their way.
    pub fn is_carrying(&self) -> bool {
        self.network.link().next_arrival().is_some()
    }

    /// Posts a send request at A.
    pub fn post_send(&mut self, id: u64, operation: Operation, offset: u64, length: u32) -> Result<()> {
        let side = &self.sides[End::A];
        let elements = [side.element(offset, length)];
        let request = SendRequest {
            id,
            operation,
            elements: &elements,
            flags: SendFlags::SIGNALED,
            ..SendRequest::default()
        };
        let adapter = self.network.adapter(End::A);
        adapter.endpoint.post_send(&mut adapter.context, side.queue_pair, &request).map_err(unexpected)
    }

    /// Posts a receive at B.
    pub fn post_receive(&mut self, id: u64, offset: u64, length: u32) -> Result<()> {
        let side = &self.sides[End::B];
        let elements = [side.element(offset, length)];
        let request = ReceiveRequest { id, elements: &elements };
        let adapter = self.network.adapter(End::B);
        adapter.endpoint.post_receive(&mut adapter.context, side.queue_pair, &request).map_err(unexpected)
    }

    /// The next completion of a send request at A.
    pub fn poll_send(&mut self) -> Option<Completion> {
        let queue = self.sides[End::A].send_queue;
        self.network.adapter(End::A).context.poll_completion(queue)
    }

    /// The next completion of a receive at B.
    pub fn poll_receive(&mut self) -> Option<Completion> {
        let queue = self.sides[End::B].receive_queue;
        self.network.adapter(End::B).context.poll_completion(queue)
    }

    /// The next event of an adapter.
    pub fn poll_event(&mut self, end: End) -> Option<Event> {
        self.network.adapter(end).endpoint.poll_event()
    }

    /// What an adapter counted.
    pub fn counters(&mut self, end: End) -> rdmalab_roce::Counters {
        *self.network.adapter(end).endpoint.counters()
    }
}

/// Makes domain, region, queues and queue pair of one side.
fn open(network: &mut Network, end: End, address: IpAddr, contents: &[u8]) -> Result<Side> {
    let adapter = network.adapter(end);
    let context = &mut adapter.context;
    let domain = context.allocate_protection_domain().map_err(unexpected)?;
    let send_queue = context.create_completion_queue(256).map_err(unexpected)?;
    let receive_queue = context.create_completion_queue(256).map_err(unexpected)?;
    let memory = Arc::new(HeapMemory::new(contents.len()));
    // The length is its own.
    let _ = memory.write(0, contents);
    let shared = Arc::clone(&memory) as Arc<dyn Memory>;
    let key = context.register(domain, BASE, shared, Access::FULL).map_err(unexpected)?;
    let config = QueuePairConfig {
        receive_queue,
        ..QueuePairConfig::new(QueuePairType::Rc, domain, send_queue, Capabilities::default())
    };
    let queue_pair = adapter.endpoint.create_queue_pair(context, &config).map_err(unexpected)?;
    Ok(Side { address, queue_pair, send_queue, receive_queue, memory, key })
}

/// Brings the queue pair of one side to RTS, with what the other side told it.
fn connect(network: &mut Network, end: End, sides: &PerEnd<Side>) -> Result<()> {
    let (ours, theirs) = (&sides[end], &sides[end.opposite()]);
    let steps = [
        Attributes {
            state: Some(State::Init),
            partition_index: Some(0),
            access: Some(Access::FULL),
            ..Attributes::default()
        },
        Attributes {
            state: Some(State::Rtr),
            path: Some(Path::new(ours.address, theirs.address)),
            path_mtu: Some(PATH_MTU),
            destination: Some(theirs.queue_pair),
            receive_psn: Some(Psn::new(FIRST_PSN[end.opposite()])),
            max_destination_reads: Some(READS),
            min_rnr_timer: Some(12),
            ..Attributes::default()
        },
        Attributes {
            state: Some(State::Rts),
            timeout: Some(TIMEOUT),
            retry_count: Some(RETRY_COUNT),
            rnr_retry: Some(RETRY_COUNT),
            send_psn: Some(Psn::new(FIRST_PSN[end])),
            max_reads: Some(READS),
            ..Attributes::default()
        },
    ];
    let adapter = network.adapter(end);
    steps.iter().try_for_each(|attributes| {
        adapter.endpoint.modify(&mut adapter.context, ours.queue_pair, attributes).map_err(unexpected)
    })
}

/// For what the demonstration itself sees to that it cannot happen.
fn unexpected(error: impl std::fmt::Display) -> Error {
    Error::failed(format_args!("the demonstration could not be set up: {error}"))
        .advice("this is a fault of rdmalab; please report it with the command line")
}
