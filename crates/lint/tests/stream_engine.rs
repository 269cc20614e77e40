//! The emulator's own iWARP, over TCP on links that lose, double, delay, reorder and corrupt, is judged clean wherever it is
//! captured. Where the two disagree, one of them is wrong.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use rdmalab_craft::trace::LinkType;
use rdmalab_craft::{Capture, Frame};
use rdmalab_device::{
    Access, AdapterConfig, Capabilities, CmChannel, CmEventKind, CmId, CompletionQueueId, CompletionStatus,
    ConnectionParameters, Connections, HeapMemory, HostAddress, IwarpSettings, Network, NetworkConfig,
    Operation, PortSpace, ProtectionDomainId, Qpn, QueuePairConfig, QueuePairType, RKey, ReceiveRequest,
    RemoteAddress, SendFlags, SendRequest, Sge, Transport,
};
use rdmalab_lint::{Report, Severity, lint};
use rdmalab_sim::rule::{corrupt, delay, duplicate, lose, reorder};
use rdmalab_sim::{End, LinkConfig, PerEnd, Probability, RuleSet, Seed, Verdict};

const PORT: u16 = 7174;
const MTU: usize = 1500;
const MEMORY: usize = 128 * 1024;
const ADDRESS: u64 = 0x10_0000;
const LATENCY: u64 = 1_000;

struct Side {
    channel: CmChannel,
    completions: CompletionQueueId,
    domain: ProtectionDomainId,
    key: u32,
    queue_pair: Qpn,
    identifier: CmId,
}

/// A frame on the link.
struct Sent {
    time: u64,
    verdict: Verdict,
    is_lost: bool,
    bytes: Vec<u8>,
}

struct Pair {
    network: Network,
    sides: PerEnd<Side>,
    frames: Vec<Sent>,
}

fn address(end: End) -> IpAddr {
    if end == End::A { [10, 0, 0, 1].into() } else { [10, 0, 0, 2].into() }
}

impl Pair {
    fn new(rules: RuleSet) -> Self {
        let adapter = |end| AdapterConfig::new(vec![HostAddress::new(address(end), 24)], MTU);
        let adapters = PerEnd { a: adapter(End::A), b: adapter(End::B) };
        let link = LinkConfig { latency: LATENCY, ..LinkConfig::default() };
        let mut network = Network::new(NetworkConfig { adapters, link, rules }).unwrap();
        let mut side = |end: End| {
            let port = &mut network.adapter(end).port;
            port.manage_connections(3).unwrap();
            port.set_transport(Transport::Iwarp, IwarpSettings::default());
            let mut connections = port.connections().unwrap();
            let channel = connections.create_channel().unwrap();
            let identifier = connections.create_id(channel, PortSpace::Tcp).unwrap();
            let completions = port.context.create_completion_queue(256).unwrap();
            let domain = port.context.allocate_protection_domain().unwrap();
            let memory = Arc::new(HeapMemory::new(MEMORY));
            let key = port.context.register(domain, ADDRESS, memory as _, Access::FULL).unwrap();
            Side { channel, completions, domain, key, queue_pair: Qpn::default(), identifier }
        };
        let sides = PerEnd { a: side(End::A), b: side(End::B) };
        let mut pair = Self { network, sides, frames: Vec::new() };
        pair.connect();
        pair
    }

    fn connections(&mut self, end: End) -> Connections<'_> {
        self.network.adapter(end).port.connections().unwrap()
    }

    #[track_caller]
    fn wait<T>(&mut self, mut look: impl FnMut(&mut Self) -> Option<T>) -> T {
        let mut goes_on = true;
        loop {
            if let Some(found) = look(self) {
                return found;
            }
            assert!(goes_on, "nothing happens any more");
            let frames = &mut self.frames;
            goes_on = self.network.step(u64::MAX, |passage| {
                frames.push(Sent {
                    time: passage.now,
                    verdict: passage.report.judgement.verdict,
                    is_lost: passage.report.is_lost(),
                    bytes: passage.frame.to_vec(),
                });
            });
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
        let reads = ConnectionParameters { responder_resources: 2, initiator_depth: 2, ..Default::default() };
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

    fn receive(&mut self, end: End, id: u64) {
        let Side { key, queue_pair, .. } = self.sides[end];
        let elements = [Sge { address: ADDRESS, length: MEMORY as u32, key }];
        let request = ReceiveRequest { id, elements: &elements };
        self.network.adapter(end).port.post_receive(queue_pair, &request).unwrap();
    }

    /// So many operations of each side, in any mixture.
    fn exchange(&mut self, random: &mut impl FnMut(u64) -> u64) {
        let mut open = 0;
        let mut id = 0;
        for _ in 0..1 + random(10) {
            for end in [End::A, End::B] {
                let remote =
                    RemoteAddress { address: ADDRESS, key: RKey::new(self.sides[end.opposite()].key) };
                let length = [0, 1, 8, 700, 1500, 5_000, 20_000][random(7) as usize];
                let (operation, length) = match random(5) {
                    0 => (Operation::RdmaWrite(remote), length),
                    1 => (Operation::RdmaRead(remote), length),
                    2 => (Operation::FetchAndAdd { remote, add: 7 }, 8),
                    3 => (Operation::RdmaRead(remote), 8),
                    _ => {
                        self.receive(end.opposite(), 1_000 + id);
                        open += 1;
                        (Operation::Send, length)
                    }
                };
                self.post(end, id, operation, length);
                (open, id) = (open + 1, id + 1);
            }
        }
        while open > 0 {
            let found = self.wait(|pair| {
                [End::A, End::B].into_iter().find_map(|end| {
                    let completions = pair.sides[end].completions;
                    pair.network.adapter(end).port.context.poll_completion(completions)
                })
            });
            assert_eq!(found.status, CompletionStatus::Success);
            open -= 1;
        }
    }

    fn disconnect(&mut self) {
        let (now, ours) = (self.network.now(), self.sides.a.identifier);
        self.connections(End::A).disconnect(now, ours).unwrap();
        for end in [End::B, End::A] {
            assert!(matches!(self.event(end).1, CmEventKind::Disconnected(_)));
        }
    }
}

/// Where a capture is made.
#[derive(Clone, Copy, Debug)]
enum Place {
    InFront,
    Behind,
}

/// What the capturing program does to its capture.
#[derive(Clone, Copy, Debug)]
enum Fault {
    None,
    /// It misses each n-th frame.
    Missed(usize),
    /// It has each n-th frame behind the next one.
    Swapped(usize),
    /// It keeps so many bytes.
    Cut(usize),
    /// It began so many frames late.
    Late(usize),
}

fn judge(frames: &[Sent], place: Place, fault: Fault) -> Report {
    let mut seen = BTreeMap::new();
    for (number, sent) in frames.iter().enumerate() {
        let number = 4 * number;
        let later = match (place, sent.verdict) {
            (Place::InFront, _) => 0,
            (Place::Behind, _) if sent.is_lost => continue,
            (Place::Behind, Verdict::Delay(by)) => LATENCY + by,
            // Behind the next one, as far as a capture can tell.
            (Place::Behind, Verdict::BehindNext { .. }) => LATENCY + 1,
            (Place::Behind, _) => LATENCY,
        };
        let mut bytes = sent.bytes.clone();
        if let (Place::Behind, Verdict::Corrupt { bit }) = (place, sent.verdict) {
            let bit = bit as usize % (8 * bytes.len());
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        if let (Place::Behind, Verdict::Duplicate) = (place, sent.verdict) {
            seen.insert((sent.time + later, number + 1), bytes.clone());
        }
        seen.insert((sent.time + later, number), bytes);
    }
    let mut seen: Vec<(u64, Vec<u8>)> = seen.into_iter().map(|((time, _), bytes)| (time, bytes)).collect();
    match fault {
        Fault::None | Fault::Cut(_) => {}
        Fault::Missed(every) => {
            let mut index = 0;
            seen.retain(|_| {
                index += 1;
                index % every != 0
            });
        }
        Fault::Swapped(every) => {
            for at in (0..seen.len().saturating_sub(1)).step_by(every) {
                let (first, second) = (seen[at].0, seen[at + 1].0);
                seen.swap(at, at + 1);
                (seen[at].0, seen[at + 1].0) = (first, second);
            }
        }
        Fault::Late(first) => drop(seen.drain(..first.min(seen.len()))),
    }
    let mut capture = Capture::pcapng(Vec::new()).unwrap();
    for (time, bytes) in &seen {
        let kept = match fault {
            Fault::Cut(length) => bytes.get(..length).unwrap_or(bytes),
            _ => bytes,
        };
        let frame = Frame::new(*time, LinkType::ETHERNET, kept);
        capture.write(&Frame { original_length: bytes.len() as u32, ..frame }).unwrap();
    }
    lint(&capture.finish().unwrap()[..], &mut ()).unwrap()
}

fn probability(of: f64) -> Probability {
    Probability::new(of).unwrap()
}

#[test]
fn streams_over_bad_links_are_judged_clean() {
    let (mut captures, mut operations, mut resent) = (0, 0, 0);
    for seed in 1..=40_u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut random = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let some = probability(0.03);
        let rules = match seed % 5 {
            0 => RuleSet::new(Seed::new(seed)),
            1 => RuleSet::new(Seed::new(seed)).with(lose(some)),
            2 => RuleSet::new(Seed::new(seed)).with(duplicate(some)).with(reorder(probability(0.1), 50_000)),
            3 => RuleSet::new(Seed::new(seed)).with(delay(some, 1_000, 3_000_000)).with(lose(some)),
            _ => RuleSet::new(Seed::new(seed)).with(corrupt(some)),
        };
        let mut pair = Pair::new(rules);
        pair.exchange(&mut random);
        pair.disconnect();
        for place in [Place::InFront, Place::Behind] {
            let report = judge(&pair.frames, place, Fault::None);
            // A segment that was corrupted is in the capture behind the link, and its receiver has dropped it.
            if seed % 5 != 4 || matches!(place, Place::InFront) {
                assert!(report.is_clean(), "seed {seed} {place:?}:\n{report}");
                assert_eq!(report.count(Severity::Suspicious), 0, "seed {seed} {place:?}:\n{report}");
                let done: u64 = report.streams.iter().map(|stream| stream.stats.operation_count()).sum();
                assert!(done > 0 && report.streams.len() == 2, "seed {seed} {place:?}:\n{report}");
                operations += done;
            }
            resent +=
                report.streams.iter().map(|stream| stream.stats.resent.iter().sum::<u64>()).sum::<u64>();
            captures += 1;
            if seed % 5 == 4 {
                continue;
            }
            let faults = [3, 7, 11, 23].map(Fault::Missed).into_iter();
            let faults = faults.chain([2, 5].map(Fault::Swapped)).chain([60, 90, 200].map(Fault::Cut));
            for fault in faults.chain([5, 9, 20].map(Fault::Late)) {
                let report = judge(&pair.frames, place, fault);
                assert!(report.is_clean(), "seed {seed} {place:?} {fault:?}:\n{report}");
                captures += 1;
            }
        }
    }
    println!("{captures} captures, {operations} operations, {resent} segments sent again");
    assert!(resent > 20, "{resent}");
}
