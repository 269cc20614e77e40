//! Two adapters on a simulated link, and what an application does with them once [`setup`] has made a queue pair at each.

use std::cell::RefCell;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU64;
use std::sync::Arc;

use rdmalab_device::{
    AdapterConfig, DeviceEvent, HostAddress, IwarpCounters, IwarpSettings, Network, NetworkConfig, Passage,
};
use rdmalab_roce::{CongestionControl, Event, Profile};
use rdmalab_sim::{End, LinkConfig, PerEnd, RuleSet, Seed};
use rdmalab_verbs::{
    AddressHandleId, Completion, CompletionQueueId, FastRegistration, HeapMemory, Memory, Operation,
    ProtectionDomainId, ReceiveRequest, RemoteAddress, SendFlags, SendRequest, Sge, SharedReceiveQueueId,
    Target,
};
use rdmalab_wire::{PathMtu, Psn, QKey, Qpn, RKey, ack_timeout_nanoseconds};

use super::connection::Line;
use super::kind::Kind;
use super::plan::Plan;
use super::setup;
use super::transport::Transport;
use super::witness::Witness;
use crate::outcome::{Error, Result};

/// Nanoseconds from one end of the link to the other.
pub const LATENCY: u64 = 5_000;
/// Bits per second of the link.
pub const BANDWIDTH: NonZeroU64 = NonZeroU64::new(100_000_000_000).unwrap();
/// What the link may hold, in bytes: more than a demonstration ever sends at once, so that only rules lose packets.
const ROOM: usize = 1 << 30;
/// MTU of the link, in bytes.
pub const LINK_MTU: usize = 1500;
/// The path MTU that goes with it.
pub const PATH_MTU: PathMtu = PathMtu::M1024;
/// Local ACK timeout, as the 5-bit code: about a millisecond, longer than the link needs for the longest answers that may
/// stand in front of one ([`READS`] of [`Plan::MOST_SIZE`]).
pub const TIMEOUT: u8 = 8;
/// Retries before a queue pair gives up.
pub const RETRY_COUNT: u8 = 7;
/// READs and atomics outstanding at once.
pub const READS: u8 = 4;
/// The PSNs with which the two begin unless others are asked for. Real adapters draw them by chance; these are easy to
/// read.
pub const FIRST_PSNS: PerEnd<u32> = PerEnd { a: 100, b: 500 };
/// Virtual address of both regions.
pub const BASE: u64 = 0x1000;
/// The queue key of B's datagram queue pair.
pub const QUEUE_KEY: QKey = QKey::new(0x1111_1111);
/// Another one.
pub const WRONG_KEY: QKey = QKey::new(0x2222_2222);

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
    /// XRC has a queue pair for each direction: the one for requests of B's to A.
    pub back: Option<Qpn>,
    pub(super) domain: ProtectionDomainId,
    pub(super) send_queue: CompletionQueueId,
    pub(super) receive_queue: CompletionQueueId,
    pub(super) memory: Arc<HeapMemory>,
    pub(super) key: u32,
    /// Where XRC messages to this side take their receives from.
    pub shared_receive_queue: Option<SharedReceiveQueueId>,
    /// The way to the other side, for datagrams.
    pub(super) way: Option<AddressHandleId>,
    /// A key that is given and taken away again and again.
    pub(super) fast_region: RKey,
}

impl Side {
    /// Its region as it is now.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.memory.length()];
        // The length is its own.
        let _ = self.memory.read(0, &mut bytes);
        bytes
    }

    /// Bytes of its region as they are now.
    pub fn bytes_at(&self, offset: u64, length: u32) -> Vec<u8> {
        let mut bytes = vec![0; length as usize];
        // What is asked for lies in the plan.
        let _ = self.memory.read(offset as usize, &mut bytes);
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

/// What the adapters and the link are like.
pub struct Habits {
    /// The implementation whose habits both have.
    pub profile: Profile,
    /// What slows a flow down.
    pub congestion_control: CongestionControl,
    /// How connections over iWARP are made.
    pub iwarp: IwarpSettings,
    /// Where the numbers come from with which TCP and connection management begin.
    pub seed: Seed,
    /// What happens to frames.
    pub rules: RuleSet,
    /// The connection is made in view, over RoCE by the connection manager.
    pub connects: bool,
    /// The PSNs with which the two begin, if they are exchanged beforehand.
    pub first_psns: PerEnd<Psn>,
}

/// Both sides and the link.
pub struct Pair {
    pub(super) network: Network,
    pub(super) sides: PerEnd<Side>,
    /// The connection, if it is made in view: always over iWARP.
    pub(super) line: Option<Line>,
    /// The PSNs with which the two begin, if they were exchanged beforehand.
    pub first_psns: PerEnd<Psn>,
    transport: Transport,
}

impl Pair {
    /// Two adapters with the plan's memory, over RoCE connected. Nothing has been sent.
    pub fn new(plan: &Plan, habits: Habits) -> Result<Self> {
        let address = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
        let connects = habits.connects || plan.transport == Transport::Iwarp;
        let adapter = |last| {
            let mut config = AdapterConfig {
                report_retries: true,
                profile: habits.profile,
                congestion_control: habits.congestion_control,
                ..AdapterConfig::new(vec![HostAddress::new(address(last), 24)], LINK_MTU)
            };
            if plan.transport == Transport::Iwarp {
                config.host.seed = habits.seed.branch(u64::from(last)).random().below(u64::MAX);
            }
            config
        };
        let link = LinkConfig {
            latency: LATENCY,
            bandwidth: Some(BANDWIDTH),
            queue_limit: ROOM,
            in_flight_limit: ROOM,
        };
        let adapters = PerEnd { a: adapter(1), b: adapter(2) };
        let config = NetworkConfig { adapters, link, rules: habits.rules };
        let mut network = Network::new(config).map_err(unexpected)?;
        let addresses = PerEnd { a: address(1), b: address(2) };
        let first_psns = habits.first_psns;
        let sides = setup::sides(&mut network, plan, addresses, (!connects).then_some(first_psns))?;
        let line = match connects {
            true => Some(Line::new(&mut network, plan.transport, &habits.iwarp, habits.seed)?),
            false => None,
        };
        Ok(Self { network, sides, line, first_psns, transport: plan.transport })
    }

    /// One side.
    pub fn side(&self, end: End) -> &Side {
        &self.sides[end]
    }

    /// The virtual time, in nanoseconds.
    pub fn now(&self) -> u64 {
        self.network.now()
    }

    /// A begins to ask the link where B is.
    pub fn look_for_peer(&mut self) {
        let (now, peer) = (self.network.now(), self.sides.b.address);
        self.network.adapter(End::A).host.look_for(now, peer);
    }

    /// Goes on to the next event; `false` if there is none before `until`.
    pub fn step<W: Write>(&mut self, until: u64, witness: &mut Witness<W>) -> bool {
        let witness = RefCell::new(witness);
        let sent = |passage: &Passage<'_>| witness.borrow_mut().frame(passage);
        self.network.step_watched(until, sent, |arrival| witness.borrow_mut().arrival(arrival))
    }

    /// Lets time pass, where [`step`](Self::step) has found nothing before.
    pub fn wait(&mut self, until: u64) {
        self.network.wait(until);
    }

    /// Whether frames are on their way.
    pub fn is_carrying(&self) -> bool {
        self.network.link().next_arrival().is_some()
    }

    /// Whether frames are on their way or wait to be sent, or something else is due now.
    pub fn is_busy(&mut self) -> bool {
        let now = self.network.now();
        let mut is_due = |end| self.network.adapter(end).next_timeout(now).is_some_and(|due| due <= now);
        is_due(End::A) || is_due(End::B) || self.is_carrying()
    }

    /// Posts a send request at A, for an operation of a kind.
    pub fn post_send(
        &mut self,
        id: u64,
        kind: Kind,
        operation: Operation,
        offset: u64,
        length: u32,
    ) -> Result<()> {
        let (ours, theirs) = (&self.sides[End::A], &self.sides[End::B]);
        let target = match (self.transport, ours.way, theirs.shared_receive_queue) {
            (Transport::Ud, Some(path), _) => {
                let queue_key = if kind == Kind::WrongKey { WRONG_KEY } else { QUEUE_KEY };
                Target::Datagram { path, queue_pair: theirs.queue_pair, queue_key }
            }
            (Transport::Xrc, _, Some(queue)) => Target::Xrc(queue),
            _ => Target::Connected,
        };
        let elements = [ours.element(offset, length)];
        let request = SendRequest {
            id,
            operation,
            target,
            elements: if operation.is_without_elements() { &[] } else { &elements },
            flags: SendFlags::SIGNALED,
            ..SendRequest::default()
        };
        let adapter = self.network.adapter(End::A);
        // What is flushed out by a FLUSH must have been written before.
        if let Operation::Flush { remote, .. } = operation {
            let write = SendRequest {
                operation: Operation::RdmaWrite(remote),
                elements: &elements,
                flags: SendFlags::empty(),
                ..request
            };
            adapter.port.post_send(ours.queue_pair, &write).map_err(unexpected)?;
        }
        adapter.port.post_send(ours.queue_pair, &request).map_err(unexpected)
    }

    /// Posts a receive at B.
    pub fn post_receive(&mut self, id: u64, offset: u64, length: u32) -> Result<()> {
        let side = &self.sides[End::B];
        let elements = [side.element(offset, length)];
        let request = ReceiveRequest { id, elements: &elements };
        let adapter = self.network.adapter(End::B);
        match side.shared_receive_queue {
            Some(queue) => adapter.port.context.post_shared_receive(queue, &request),
            None => adapter.port.post_receive(side.queue_pair, &request),
        }
        .map_err(unexpected)
    }

    /// B gives a key away, under a new name each time: it registers a region by a work request, for which no packet is
    /// sent.
    pub fn give_key(&mut self) -> Result<RKey> {
        let side = &mut self.sides[End::B];
        let region = side.fast_region;
        let key = RKey::new(region.value() & !0xff | (region.value().wrapping_add(1) & 0xff));
        side.fast_region = key;
        let registration = FastRegistration {
            region,
            key,
            offset: 0,
            length: setup::FAST_REGION as u64,
            address: BASE,
            access: rdmalab_verbs::Access::REMOTE_READ,
        };
        let request = SendRequest { operation: Operation::FastRegister(registration), ..Default::default() };
        let queue_pair = side.back.unwrap_or(side.queue_pair);
        let adapter = self.network.adapter(End::B);
        adapter.port.post_send(queue_pair, &request).map_err(unexpected)?;
        Ok(key)
    }

    /// Whether a key of B's gives access to anything.
    pub fn is_valid(&mut self, key: RKey) -> bool {
        self.network.adapter(End::B).port.context.region(key.value()).is_some()
    }

    /// The next completion of a send request at A.
    pub fn poll_send(&mut self) -> Option<Completion> {
        let queue = self.sides[End::A].send_queue;
        self.network.adapter(End::A).port.context.poll_completion(queue)
    }

    /// The next completion of a receive at B.
    pub fn poll_receive(&mut self) -> Option<Completion> {
        let queue = self.sides[End::B].receive_queue;
        self.network.adapter(End::B).port.context.poll_completion(queue)
    }

    /// The next event of an adapter.
    pub fn poll_event(&mut self, end: End) -> Option<Event> {
        let port = &mut self.network.adapter(end).port;
        while let Some(event) = port.poll_asynchronous_event() {
            if let DeviceEvent::QueuePair(event) = event {
                return Some(event);
            }
        }
        None
    }

    /// What an adapter counted.
    pub fn counters(&mut self, end: End) -> rdmalab_roce::Counters {
        *self.network.adapter(end).port.endpoint.counters()
    }

    /// What an adapter counted of iWARP.
    pub fn iwarp_counters(&mut self, end: End) -> IwarpCounters {
        self.network.adapter(end).port.iwarp_counters()
    }
}

/// For what the demonstration itself sees to that it cannot happen.
pub fn unexpected(error: impl std::fmt::Display) -> Error {
    Error::failed(format_args!("the demonstration could not be set up: {error}"))
        .advice("this is a fault of rdmalab; please report it with the command line")
}
