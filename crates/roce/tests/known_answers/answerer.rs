//! Our responder in the place of the one in a capture: the same address, PSN, path MTU and memory.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use rdmalab_roce::{Batch, Endpoint, EndpointConfig, Profile, QueuePairConfig};
use rdmalab_verbs::{
    Access, Attributes, Capabilities, Context, HeapMemory, Memory, Path, QueuePairType, ReceiveRequest, Sge,
    State,
};
use rdmalab_wire::{Body, NetworkHeader, PathMtu, Psn, Qpn, RKey, Syndrome};

use crate::capture::{Conversation, Heard};

const PAGE: u64 = 4096;
/// Longest message in the captures that fills a receive, and more.
const RECEIVE: usize = 65536;

/// A region that the requests reach.
struct Region {
    /// Its key in the capture, and the one that it has here.
    theirs: RKey,
    ours: RKey,
    base: u64,
    memory: Arc<HeapMemory>,
}

pub struct Answerer {
    context: Context,
    endpoint: Endpoint,
    queue_pair: Qpn,
    regions: Vec<Region>,
    receive: Sge,
    completions: rdmalab_verbs::CompletionQueueId,
    receive_is_posted: bool,
    mtu: PathMtu,
    /// PSN of the next new request, and whether a NAK is out for it.
    expected: Psn,
    told: bool,
}

impl Answerer {
    pub fn new(conversation: &Conversation, mtu: PathMtu) -> Self {
        let mut context = Context::default();
        let mut endpoint = Endpoint::new(EndpointConfig {
            profile: Profile::RXE,
            ..EndpointConfig::new(vec![conversation.responder], PathMtu::M4096)
        });
        let domain = context.allocate_protection_domain().unwrap();
        let completions = context.create_completion_queue(64).unwrap();
        let mut regions = Vec::new();
        for (theirs, addresses) in reached(&conversation.requests) {
            let memory = Arc::new(HeapMemory::new((addresses.end - addresses.start) as usize));
            let base = addresses.start;
            let ours = RKey::new(context.register(domain, base, memory.clone(), Access::FULL).unwrap());
            regions.push(Region { theirs, ours, base, memory });
        }
        let sink = Arc::new(HeapMemory::new(RECEIVE));
        let sink_key = context.register(domain, 0, sink, Access::LOCAL_WRITE).unwrap();
        let config = QueuePairConfig::new(QueuePairType::Rc, domain, completions, Capabilities::default());
        let queue_pair = endpoint.create_queue_pair(&mut context, &config).unwrap();
        let first = conversation.requests.first().unwrap().packet().bth.psn;
        let init = Attributes {
            state: Some(State::Init),
            partition_index: Some(0),
            access: Some(Access::FULL),
            ..Attributes::default()
        };
        let rtr = Attributes {
            state: Some(State::Rtr),
            path: Some(Path::new(conversation.responder, conversation.requester)),
            path_mtu: Some(mtu),
            destination: Some(conversation.queue_pair),
            receive_psn: Some(first),
            max_destination_reads: Some(16),
            min_rnr_timer: Some(12),
            ..Attributes::default()
        };
        for attributes in [init, rtr] {
            endpoint.modify(&mut context, queue_pair, &attributes).unwrap();
        }
        Self {
            context,
            endpoint,
            queue_pair,
            regions,
            receive: Sge { address: 0, length: RECEIVE as u32, key: sink_key },
            completions,
            receive_is_posted: false,
            mtu,
            expected: first,
            told: false,
        }
    }

    /// Puts things as they must have been when rxe took this request: the memory that its answers show, and a receive if
    /// it had one. `answers` are those that rxe gave from here on.
    pub fn make_ready(&mut self, request: &Heard, answers: &[Heard]) {
        let packet = request.packet();
        let psn = packet.bth.psn;
        let answer_to = |psn: Psn| answers.iter().find(|answer| answer.packet().bth.psn == psn);
        match packet.body {
            Body::ReadRequest(reth) => {
                for n in 0..packets_of(reth.length, self.mtu) {
                    let Some(answer) = answer_to(psn.add(n)) else { continue };
                    let address = reth.virtual_address + u64::from(n) * self.mtu.bytes() as u64;
                    self.fill(reth.key, address, answer.packet().payload);
                }
            }
            Body::CompareSwap(atomic) | Body::FetchAdd(atomic) => {
                if let Some(Body::AtomicAcknowledge(_, result)) =
                    answer_to(psn).map(|answer| answer.packet().body)
                {
                    self.fill(atomic.key, atomic.virtual_address, &result.original.to_ne_bytes());
                }
            }
            _ => {}
        }
        let was_not_ready = answers.first().is_some_and(|answer| {
            answer.packet().bth.psn == psn && matches!(answer.syndrome(), Some(Syndrome::RnrNak { .. }))
        });
        if psn == self.expected && !was_not_ready && !self.receive_is_posted {
            let receive = ReceiveRequest { id: 0, elements: &[self.receive] };
            self.endpoint.post_receive(&mut self.context, self.queue_pair, &receive).unwrap();
            self.receive_is_posted = true;
        }
    }

    fn fill(&self, key: RKey, address: u64, bytes: &[u8]) {
        let region = self.region(key);
        region.memory.write((address - region.base) as usize, bytes).unwrap();
    }

    /// The region that has this key in the capture.
    fn region(&self, key: RKey) -> &Region {
        self.regions.iter().find(|region| region.theirs == key).unwrap()
    }

    /// Whether rxe took a WRITE or SEND, to judge by its next answer: was it an answer to this request, or one that it
    /// can only have given if this request never came?
    pub fn arrived(&self, request: &Heard, next: Option<&Heard>) -> bool {
        let psn = request.packet().bth.psn;
        let Some(next) = next else { return true };
        let answered = next.packet().bth.psn;
        match psn.distance(self.expected) {
            // Taken, unless what comes next still waits for it.
            0 => answered.distance(self.expected) >= 0 && !(next.is_sequence_nak() && answered == psn),
            // A duplicate is always answered.
            ..0 => !next.is_sequence_nak() && answered == self.expected.sub(1),
            // A gap is told once.
            _ => self.told || (next.is_sequence_nak() && answered == self.expected),
        }
    }

    /// Whether a request is a repeated SEND or WRITE that asks for no acknowledgement, and `next` is rxe's for it.
    pub fn is_acknowledged_by_rxe_alone(&self, request: &Heard, next: Option<&Heard>) -> bool {
        let packet = request.packet();
        let is_quiet = packet.bth.psn.distance(self.expected) < 0 && !packet.bth.ack_request;
        let acknowledges = |next: &Heard| {
            let next = next.packet();
            matches!(next.body, Body::Acknowledge(aeth) if matches!(aeth.syndrome, Syndrome::Ack { .. }))
                && next.bth.psn == self.expected.sub(1)
        };
        is_quiet && next.is_some_and(acknowledges)
    }

    /// Our answers to a request.
    pub fn feed(&mut self, request: &Heard) -> Vec<Heard> {
        let bytes = for_queue_pair(request, self.queue_pair, |body| match body {
            Body::WriteFirst(reth)
            | Body::WriteOnly(reth)
            | Body::WriteOnlyImm(reth, _)
            | Body::ReadRequest(reth) => reth.key = self.region(reth.key).ours,
            Body::CompareSwap(atomic) | Body::FetchAdd(atomic) => atomic.key = self.region(atomic.key).ours,
            _ => {}
        });
        self.endpoint.handle_packet(&mut self.context, 0, &bytes);
        let mut answers = Vec::new();
        let mut batch = Batch::new(32, PathMtu::M4096, 0);
        while self.endpoint.has_packets() {
            batch.clear();
            self.endpoint.poll(&mut self.context, 0, &mut batch);
            answers.extend(batch.packets().map(|bytes| Heard { frame: 0, bytes: bytes.to_vec() }));
        }
        while self.context.poll_completion(self.completions).is_some() {
            self.receive_is_posted = false;
        }
        self.follow(request, &answers);
        answers
    }

    /// Keeps track of which request is the next new one.
    fn follow(&mut self, request: &Heard, answers: &[Heard]) {
        let packet = request.packet();
        let refused =
            answers.iter().any(|answer| !matches!(answer.syndrome(), None | Some(Syndrome::Ack { .. })));
        self.told |= refused;
        if packet.bth.psn == self.expected && !refused {
            let taken = match packet.body {
                Body::ReadRequest(reth) => packets_of(reth.length, self.mtu),
                _ => 1,
            };
            self.expected = self.expected.add(taken);
            self.told = false;
        }
    }
}

/// The same packet for our queue pair, with what else is to be changed.
pub fn for_queue_pair(heard: &Heard, queue_pair: Qpn, change: impl FnOnce(&mut Body)) -> Vec<u8> {
    let datagram = heard.datagram();
    let mut packet = heard.packet();
    packet.bth.destination = queue_pair;
    change(&mut packet.body);
    let network = NetworkHeader::new(
        datagram.source,
        datagram.destination,
        datagram.source_port,
        datagram.dscp,
        datagram.ecn,
        datagram.ttl,
    )
    .unwrap();
    let start = network.length();
    let mut bytes = vec![0; start + packet.encoded_length() + 4];
    packet.encode(&mut bytes[start..]).unwrap();
    network.finish(&mut bytes, 1).unwrap();
    bytes
}

/// PSNs that a READ of so many bytes takes.
pub fn packets_of(length: u32, mtu: PathMtu) -> u32 {
    length.div_ceil(mtu.bytes() as u32).max(1)
}

/// For each key, whole pages around all addresses that requests reach for with it.
fn reached(requests: &[Heard]) -> BTreeMap<RKey, Range<u64>> {
    let mut found: BTreeMap<RKey, Range<u64>> = BTreeMap::new();
    for request in requests {
        let (key, address, length) = match request.packet().body {
            Body::WriteFirst(reth)
            | Body::WriteOnly(reth)
            | Body::WriteOnlyImm(reth, _)
            | Body::ReadRequest(reth) => (reth.key, reth.virtual_address, u64::from(reth.length)),
            Body::CompareSwap(atomic) | Body::FetchAdd(atomic) => (atomic.key, atomic.virtual_address, 8),
            _ => continue,
        };
        let (start, end) = (address / PAGE * PAGE, (address + length).next_multiple_of(PAGE));
        let range = found.entry(key).or_insert(start..end);
        *range = range.start.min(start)..range.end.max(end);
    }
    found
}
