//! Two emulated hosts on a simulated link: what is on the wire, and what TCP makes of a bad one.
//!
//! Rule: mpa-fpdu-aligned: An FPDU should begin at the start of a TCP segment and fill no more than one; what TCP sends again
//! may be cut in any way (RFC 5044 §5).

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use rdmalab_device::{
    Access, AdapterConfig, Capabilities, CmChannel, CmEventKind, CmId, CompletionQueueId, CompletionStatus,
    ConnectionParameters, Connections, DisconnectCause, HeapMemory, HostAddress, IwarpSettings, Memory,
    Network, NetworkConfig, Operation, Passage, PortSpace, ProtectionDomainId, Qpn, QueuePairConfig,
    QueuePairType, RKey, RemoteAddress, SendFlags, SendRequest, Sge, Transport,
};
use rdmalab_sim::rule::{lose, nth};
use rdmalab_sim::{End, LinkConfig, PerEnd, Probability, RuleSet, Seed, Verdict};

use crate::side::pattern;

const PORT: u16 = 7174;
const MTU: usize = 1500;

/// Which TCP segments there were.
#[derive(Default)]
struct Segments {
    /// By direction: one behind the last byte that was sent.
    next: BTreeMap<(SocketAddr, SocketAddr), u32>,
    fpdus: usize,
    start_ups: usize,
    again: usize,
}

impl Segments {
    /// Checks that a segment that is not sent again is one FPDU, or a frame of the start-up.
    #[track_caller]
    fn see(&mut self, passage: &Passage<'_>) {
        let packet = &passage.frame[14..];
        if packet[0] >> 4 != 4 || packet[9] != 6 {
            return;
        }
        let address = |at: usize| IpAddr::from(<[u8; 4]>::try_from(&packet[at..at + 4]).unwrap());
        let segment = &packet[20..];
        let port = |at: usize| u16::from_be_bytes([segment[at], segment[at + 1]]);
        let ends = (SocketAddr::new(address(12), port(0)), SocketAddr::new(address(16), port(2)));
        let sequence = u32::from_be_bytes(segment[4..8].try_into().unwrap());
        let payload = &segment[usize::from(segment[12] >> 4) * 4..];
        if segment[13] & 2 != 0 {
            self.next.insert(ends, sequence.wrapping_add(1));
            return;
        }
        if payload.is_empty() {
            return;
        }
        let next = self.next.get_mut(&ends).expect("a SYN came first");
        if sequence != *next {
            assert!(sequence.wrapping_sub(*next).cast_signed() < 0, "a gap");
            self.again += 1;
            return;
        }
        *next = sequence.wrapping_add(payload.len() as u32);
        if payload.starts_with(b"MPA ID Re") {
            self.start_ups += 1;
            return;
        }
        let ulpdu = usize::from(u16::from_be_bytes([payload[0], payload[1]]));
        assert_eq!(payload.len(), (2 + ulpdu).next_multiple_of(4) + 4, "segment and FPDU coincide");
        self.fpdus += 1;
    }
}

const LENGTH: usize = 300_000;
const ADDRESS: u64 = 0x10_0000;

struct Side {
    channel: CmChannel,
    completions: CompletionQueueId,
    domain: ProtectionDomainId,
    memory: Arc<HeapMemory>,
    key: u32,
    queue_pair: Qpn,
    identifier: CmId,
}

struct Pair {
    network: Network,
    sides: PerEnd<Side>,
    segments: Segments,
}

fn address(end: End) -> IpAddr {
    if end == End::A { [10, 0, 0, 1].into() } else { [10, 0, 0, 2].into() }
}

impl Pair {
    /// Connected by the one end.
    fn new(rules: RuleSet) -> Self {
        let adapter = |end| AdapterConfig::new(vec![HostAddress::new(address(end), 24)], MTU);
        let adapters = PerEnd { a: adapter(End::A), b: adapter(End::B) };
        let mut network =
            Network::new(NetworkConfig { adapters, link: LinkConfig::default(), rules }).unwrap();
        let mut side = |end: End| {
            let port = &mut network.adapter(end).port;
            port.manage_connections(3).unwrap();
            port.set_transport(Transport::Iwarp, IwarpSettings::default());
            let mut connections = port.connections().unwrap();
            let channel = connections.create_channel().unwrap();
            let identifier = connections.create_id(channel, PortSpace::Tcp).unwrap();
            let completions = port.context.create_completion_queue(64).unwrap();
            let domain = port.context.allocate_protection_domain().unwrap();
            let memory = Arc::new(HeapMemory::new(LENGTH));
            let key = port.context.register(domain, ADDRESS, Arc::clone(&memory) as _, Access::FULL).unwrap();
            Side { channel, completions, domain, memory, key, queue_pair: Qpn::default(), identifier }
        };
        let sides = PerEnd { a: side(End::A), b: side(End::B) };
        let mut pair = Self { network, sides, segments: Segments::default() };
        pair.connect();
        pair
    }

    fn connections(&mut self, end: End) -> Connections<'_> {
        self.network.adapter(end).port.connections().unwrap()
    }

    /// Time passes until there is what is looked for.
    #[track_caller]
    fn wait<T>(&mut self, mut look: impl FnMut(&mut Self) -> Option<T>) -> T {
        let mut goes_on = true;
        loop {
            if let Some(found) = look(self) {
                return found;
            }
            // What happens at one end without a frame is there behind the last step.
            assert!(goes_on, "nothing happens any more");
            let segments = &mut self.segments;
            goes_on = self.network.step(u64::MAX, |passage| segments.see(passage));
        }
    }

    #[track_caller]
    fn event(&mut self, end: End) -> (CmId, CmEventKind) {
        let channel = self.sides[end].channel;
        let event = self.wait(|pair| pair.connections(end).poll_event(channel));
        (event.id, event.kind)
    }

    fn create_queue_pair(&mut self, end: End, id: CmId) {
        let Side { domain, completions, .. } = self.sides[end];
        let config = QueuePairConfig::new(QueuePairType::Rc, domain, completions, Capabilities::default());
        let number = self.connections(end).create_queue_pair(id, &config).unwrap();
        (self.sides[end].queue_pair, self.sides[end].identifier) = (number, id);
    }

    fn connect(&mut self) {
        let (listener, caller) = (self.sides.b.identifier, self.sides.a.identifier);
        let at = SocketAddr::new(address(End::B), PORT);
        self.connections(End::B).listen(listener, SocketAddr::from(([0; 4], PORT)), 8).unwrap();
        self.wait(|pair| pair.connections(End::B).listening(listener).unwrap());
        let now = self.network.now();
        self.connections(End::A).resolve_address(caller, None, at).unwrap();
        self.connections(End::A).resolve_route(caller).unwrap();
        self.create_queue_pair(End::A, caller);
        let reads = ConnectionParameters { responder_resources: 4, initiator_depth: 4, ..Default::default() };
        self.connections(End::A).connect(now, caller, &reads).unwrap();
        let (called, kind) = self.event(End::B);
        assert!(matches!(kind, CmEventKind::ConnectRequest { .. }), "{kind:?}");
        self.create_queue_pair(End::B, called);
        self.connections(End::B).accept(now, called, &reads).unwrap();
        for end in [End::A, End::B] {
            while !matches!(self.event(end).1, CmEventKind::Established { .. }) {}
        }
    }

    fn post(&mut self, end: End, id: u64, operation: Operation, length: usize) {
        let Side { key, queue_pair, .. } = self.sides[end];
        let elements = [Sge { address: ADDRESS, length: length as u32, key }];
        let flags = SendFlags::SIGNALED;
        let request = SendRequest { id, operation, elements: &elements, flags, ..SendRequest::default() };
        self.network.adapter(end).port.post_send(queue_pair, &request).unwrap();
    }

    #[track_caller]
    fn done(&mut self, end: End) -> u64 {
        let completions = self.sides[end].completions;
        let found = self.wait(|pair| pair.network.adapter(end).port.context.poll_completion(completions));
        assert_eq!(found.status, CompletionStatus::Success);
        found.id
    }

    /// A long WRITE each way and a READ back of each.
    fn exchange(&mut self) {
        for (end, salt) in [(End::A, 1), (End::B, 2)] {
            let data = pattern(LENGTH, salt);
            self.sides[end].memory.write(0, &data).unwrap();
            let remote = RemoteAddress { address: ADDRESS, key: RKey::new(self.sides[end.opposite()].key) };
            self.post(end, 1, Operation::RdmaWrite(remote), LENGTH);
            assert_eq!(self.done(end), 1);
            self.post(end, 2, Operation::RdmaRead(remote), LENGTH);
            assert_eq!(self.done(end), 2);
            for side in [&self.sides.a, &self.sides.b] {
                let mut there = vec![0; LENGTH];
                side.memory.read(0, &mut there).unwrap();
                assert!(there == data, "what was written");
            }
        }
    }

    fn disconnect(&mut self) {
        let (now, ours) = (self.network.now(), self.sides.a.identifier);
        self.connections(End::A).disconnect(now, ours).unwrap();
        for (end, cause) in [(End::B, DisconnectCause::Peer), (End::A, DisconnectCause::Ours)] {
            let id = self.sides[end].identifier;
            assert_eq!(self.event(end), (id, CmEventKind::Disconnected(cause)));
        }
    }
}

#[test]
fn each_segment_is_one_fpdu() {
    let mut pair = Pair::new(RuleSet::new(Seed::new(1)));
    pair.exchange();
    pair.disconnect();
    let Segments { fpdus, start_ups, again, .. } = pair.segments;
    assert_eq!((start_ups, again), (2, 0));
    assert!(fpdus > 4 * LENGTH / MTU, "{fpdus}");
}

#[test]
fn each_segment_is_one_fpdu_or_sent_again_where_segments_are_lost() {
    for seed in 1..=5 {
        let rules = RuleSet::new(Seed::new(seed)).with(lose(Probability::new(0.02).unwrap()));
        let mut pair = Pair::new(rules);
        pair.exchange();
        pair.disconnect();
        assert!(pair.segments.again > 0, "seed {seed}: nothing was lost");
    }
}

#[test]
fn every_frame_of_a_short_connection_may_be_lost_once() {
    // ARP, the handshake, the start-up, a message with its answer, and the finish are fewer than a dozen each way.
    for (end, lost) in [End::A, End::B].into_iter().flat_map(|end| (0..12).map(move |lost| (end, lost))) {
        let rules = RuleSet::new(Seed::new(1)).with(nth(end, lost, Verdict::Drop));
        let mut pair = Pair::new(rules);
        let remote = RemoteAddress { address: ADDRESS, key: RKey::new(pair.sides.b.key) };
        pair.post(End::A, 7, Operation::RdmaRead(remote), 8);
        assert_eq!(pair.done(End::A), 7, "frame {lost} of {end:?} lost");
        pair.disconnect();
    }
}

#[test]
fn the_same_seeds_give_the_same_frames() {
    let frames = || {
        let rules = RuleSet::new(Seed::new(9)).with(lose(Probability::new(0.02).unwrap()));
        let mut pair = Pair::new(rules);
        pair.exchange();
        (pair.network.now(), pair.segments.next, pair.segments.fpdus, pair.segments.again)
    };
    assert_eq!(frames(), frames());
}
