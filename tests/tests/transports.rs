//! One program over two transports: what both have gives the same completions and the same memory, over RoCE and over iWARP.
//!
//! Each request has a place of its own in both memories, but for the atomics of a direction, which share a word, so that nothing
//! depends on how the two directions meet. Sends and receives of a side are compared each in their order: that is all that
//! the verbs promise.

use std::sync::Arc;

use proptest::prelude::*;
use rdmalab_iwarp::{
    End, Event, Identity, Negotiated, QueuePair, QueuePairConfig as IwarpConfig, Role, StreamSettings,
};
use rdmalab_roce::{Batch, Endpoint, EndpointConfig, QueuePairConfig};
use rdmalab_verbs::{
    Access, Attributes, Capabilities, Completion, CompletionKind, CompletionQueueId, CompletionStatus,
    Context, HeapMemory, Memory, Operation, Path, ProtectionDomainId, QueuePairType, ReceiveRequest,
    RemoteAddress, SendFlags, SendRequest, Sge, State,
};
use rdmalab_wire::{ImmDt, PathMtu, Psn, Qpn, RKey};

/// Address of the memory's first byte.
const BASE: u64 = 0x10_0000;
/// Bytes of a place.
const PLACE: usize = 2500;
/// Requests of a side.
const MOST: usize = 12;
/// Where a side's receives, what it is written, and what it reads lie.
const RECEIVED: usize = MOST * PLACE;
const WRITTEN: usize = 2 * MOST * PLACE;
const SOURCE: usize = 3 * MOST * PLACE;
/// The word of the peer's atomics.
const WORD: usize = 4 * MOST * PLACE;
const MEMORY: usize = WORD + 8;
/// READs and atomics at once.
const READS: u8 = 3;

#[derive(Clone, Copy, Debug)]
enum Kind {
    Send,
    Inline,
    Write,
    Read,
    Add,
    Swap,
    WriteImmediate,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    side: usize,
    kind: Kind,
    length: usize,
    flags: SendFlags,
    /// Both sides come to rest behind it.
    settles: bool,
}

/// What a side has, whatever the transport.
struct Common {
    context: Context,
    domain: ProtectionDomainId,
    completions: CompletionQueueId,
    memory: Arc<HeapMemory>,
    key: u32,
}

const CAPABILITIES: Capabilities = Capabilities {
    max_send_requests: MOST as u32 + 1,
    max_receive_requests: MOST as u32,
    max_send_elements: 2,
    max_receive_elements: 1,
    max_inline: 64,
};

impl Common {
    fn new(side: usize) -> Self {
        let mut context = Context::default();
        let domain = context.allocate_protection_domain().unwrap();
        let completions = context.create_completion_queue(256).unwrap();
        let memory = Arc::new(HeapMemory::new(MEMORY));
        let bytes: Vec<u8> = (0..WORD).map(|at| (at / 7 + at * (side + 3)) as u8).collect();
        memory.write(0, &bytes).unwrap();
        let shared = Arc::clone(&memory) as Arc<dyn Memory>;
        let key = context.register(domain, BASE, shared, Access::FULL).unwrap();
        Self { context, domain, completions, memory, key }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; MEMORY];
        self.memory.read(0, &mut bytes).unwrap();
        bytes
    }
}

/// Two connected queue pairs.
trait Pair {
    fn common(&mut self, side: usize) -> &mut Common;
    fn post(&mut self, side: usize, request: &SendRequest<'_>);
    fn receive(&mut self, side: usize, request: &ReceiveRequest<'_>);
    /// Until neither has anything to say.
    fn settle(&mut self);
    fn state(&self, side: usize) -> State;
}

struct Roce {
    sides: [(Common, Endpoint, Qpn); 2],
    now: u64,
}

impl Roce {
    fn new() -> Self {
        let address = |side: u8| std::net::IpAddr::from([10, 0, 0, side + 1]);
        let mut sides = [0, 1].map(|side| {
            let mut common = Common::new(side);
            let config = EndpointConfig::new(vec![address(side as u8)], PathMtu::M1024);
            let mut endpoint = Endpoint::new(config);
            let (domain, completions) = (common.domain, common.completions);
            let config = QueuePairConfig::new(QueuePairType::Rc, domain, completions, CAPABILITIES);
            let number = endpoint.create_queue_pair(&mut common.context, &config).unwrap();
            (common, endpoint, number)
        });
        let numbers = [sides[0].2, sides[1].2];
        for (side, (common, endpoint, number)) in sides.iter_mut().enumerate() {
            let init = Attributes {
                state: Some(State::Init),
                partition_index: Some(0),
                access: Some(Access::REMOTE),
                ..Attributes::default()
            };
            let receive = Attributes {
                state: Some(State::Rtr),
                path: Some(Path::new(address(side as u8), address(1 - side as u8))),
                path_mtu: Some(PathMtu::M1024),
                destination: Some(numbers[1 - side]),
                receive_psn: Some(Psn::new(0)),
                max_destination_reads: Some(READS),
                min_rnr_timer: Some(1),
                ..Attributes::default()
            };
            let send = Attributes {
                state: Some(State::Rts),
                timeout: Some(10),
                retry_count: Some(7),
                rnr_retry: Some(7),
                send_psn: Some(Psn::new(0)),
                max_reads: Some(READS),
                ..Attributes::default()
            };
            for attributes in [init, receive, send] {
                endpoint.modify(&mut common.context, *number, &attributes).unwrap();
            }
        }
        Self { sides, now: 0 }
    }
}

impl Pair for Roce {
    fn common(&mut self, side: usize) -> &mut Common {
        &mut self.sides[side].0
    }

    fn post(&mut self, side: usize, request: &SendRequest<'_>) {
        let (common, endpoint, number) = &mut self.sides[side];
        endpoint.post_send(&mut common.context, *number, request).unwrap();
    }

    fn receive(&mut self, side: usize, request: &ReceiveRequest<'_>) {
        let (common, endpoint, number) = &mut self.sides[side];
        endpoint.post_receive(&mut common.context, *number, request).unwrap();
    }

    fn settle(&mut self) {
        let mut batch = Batch::new(32, PathMtu::M1024, 0);
        while self.sides.iter().any(|(_, endpoint, _)| endpoint.has_packets()) {
            for from in 0..2 {
                batch.clear();
                let (common, endpoint, _) = &mut self.sides[from];
                endpoint.poll(&mut common.context, self.now, &mut batch);
                let (common, endpoint, _) = &mut self.sides[1 - from];
                for at in 0..batch.len() {
                    if let Some(packet) = batch.with_headroom(at) {
                        endpoint.handle_packet(&mut common.context, self.now, packet);
                    }
                }
            }
        }
    }

    fn state(&self, side: usize) -> State {
        let (_, endpoint, number) = &self.sides[side];
        endpoint.state(*number).unwrap()
    }
}

struct Iwarp {
    sides: [(Common, QueuePair); 2],
}

impl Iwarp {
    fn new(crc: bool, markers: bool) -> Self {
        let sides = [(0, Role::Initiator), (1, Role::Responder)].map(|(side, role)| {
            let mut common = Common::new(side);
            let config = IwarpConfig::new(common.domain, common.completions, CAPABILITIES);
            let identity = Identity { number: Qpn::new(9), accessor: 1 };
            let mut queue_pair = QueuePair::new(&mut common.context, identity, &config).unwrap();
            let negotiated = Negotiated {
                role,
                revision: 2,
                crc,
                send_markers: markers,
                receive_markers: markers,
                ird: READS.into(),
                ord: READS.into(),
                // So that either side may begin, as over RoCE.
                ready_to_receive: Some(rdmalab_iwarp::ReadyToReceive::Write),
            };
            queue_pair.establish(&common.context, &negotiated, &StreamSettings::new(1460)).unwrap();
            (common, queue_pair)
        });
        Self { sides }
    }
}

impl Pair for Iwarp {
    fn common(&mut self, side: usize) -> &mut Common {
        &mut self.sides[side].0
    }

    fn post(&mut self, side: usize, request: &SendRequest<'_>) {
        let (common, queue_pair) = &mut self.sides[side];
        queue_pair.post_send(&mut common.context, request).unwrap();
    }

    fn receive(&mut self, side: usize, request: &ReceiveRequest<'_>) {
        let (common, queue_pair) = &mut self.sides[side];
        queue_pair.post_receive(&mut common.context, request).unwrap();
    }

    fn settle(&mut self) {
        let mut out = vec![0; self.sides[0].1.max_fpdu()];
        while self.sides.iter().any(|(_, queue_pair)| queue_pair.has_work()) {
            for from in 0..2 {
                let (common, queue_pair) = &mut self.sides[from];
                let length = queue_pair.poll_transmit(&mut common.context, &mut out);
                let mut ends = false;
                while let Some(event) = queue_pair.poll_event() {
                    ends |= event == Event::CloseSending;
                }
                let (common, queue_pair) = &mut self.sides[1 - from];
                queue_pair.handle_bytes(&mut common.context, &out[..length]);
                if ends {
                    queue_pair.handle_end(&mut common.context, End::Graceful);
                }
            }
        }
    }

    fn state(&self, side: usize) -> State {
        self.sides[side].1.state()
    }
}

/// What an application sees in the end.
#[derive(Debug, PartialEq)]
struct Seen {
    sends: [Vec<Completion>; 2],
    receives: [Vec<Completion>; 2],
    states: [State; 2],
    memory: [Vec<u8>; 2],
}

/// A key of nothing.
const BAD_KEY: u32 = 7;

fn play(pair: &mut dyn Pair, steps: &[Step], bad_read: Option<usize>) -> Seen {
    for side in 0..2 {
        for place in 0..MOST {
            let key = pair.common(side).key;
            let address = BASE + (RECEIVED + place * PLACE) as u64;
            let elements = [Sge { address, length: PLACE as u32, key }];
            pair.receive(side, &ReceiveRequest { id: place as u64, elements: &elements });
        }
    }
    let mut posted = [0; 2];
    for step in steps {
        let place = posted[step.side];
        if place < MOST {
            posted[step.side] += 1;
            post(pair, step, place);
        }
        if step.settles {
            pair.settle();
        }
    }
    pair.settle();
    if let Some(side) = bad_read {
        for (place, key) in [(0, BAD_KEY), (1, pair.common(1 - side).key)] {
            let remote = RemoteAddress { address: BASE, key: RKey::new(key) };
            let elements = [Sge { address: BASE, length: 10, key: pair.common(side).key }];
            let request = SendRequest {
                id: 100 + place,
                operation: Operation::RdmaRead(remote),
                elements: &elements,
                ..SendRequest::default()
            };
            pair.post(side, &request);
        }
        pair.settle();
    }
    let mut seen = Seen {
        sends: Default::default(),
        receives: Default::default(),
        states: [pair.state(0), pair.state(1)],
        memory: [pair.common(0).bytes(), pair.common(1).bytes()],
    };
    for side in 0..2 {
        let common = pair.common(side);
        while let Some(completion) = common.context.poll_completion(common.completions) {
            // The transports number queue pairs each in its way, and of one that failed nothing else means anything.
            let completion = Completion { queue_pair: Qpn::default(), ..completion };
            let is_receive =
                matches!(completion.kind, CompletionKind::Receive | CompletionKind::ReceiveRdmaWithImmediate);
            let list = if is_receive { &mut seen.receives[side] } else { &mut seen.sends[side] };
            list.push(completion);
        }
    }
    seen
}

fn post(pair: &mut dyn Pair, step: &Step, place: usize) {
    let key = pair.common(1 - step.side).key;
    let remote = |offset: usize| RemoteAddress { address: BASE + offset as u64, key: RKey::new(key) };
    let own = remote(WRITTEN + place * PLACE);
    let word = remote(WORD);
    let (operation, length) = match step.kind {
        Kind::Send | Kind::Inline => (Operation::Send, step.length),
        Kind::Write => (Operation::RdmaWrite(own), step.length),
        Kind::Read => (Operation::RdmaRead(remote(SOURCE + place * PLACE)), step.length),
        Kind::Add => (Operation::FetchAndAdd { remote: word, add: 1 + place as u64 }, 8),
        Kind::Swap => (Operation::CompareAndSwap { remote: word, compare: 3, swap: place as u64 }, 8),
        Kind::WriteImmediate => {
            (Operation::RdmaWriteWithImmediate(own, ImmDt((place as u32).to_be_bytes())), step.length)
        }
    };
    let inline = [place as u8; 64];
    let inline = matches!(step.kind, Kind::Inline).then(|| &inline[..step.length.min(64)]);
    let first = length as u32 / 3;
    let key = pair.common(step.side).key;
    let address = BASE + (place * PLACE) as u64;
    let elements = [
        Sge { address, length: first, key },
        Sge { address: address + u64::from(first), length: length as u32 - first, key },
    ];
    let request = SendRequest {
        id: place as u64,
        operation,
        elements: if inline.is_some() { &[] } else { &elements },
        inline,
        flags: step.flags,
        ..SendRequest::default()
    };
    pair.post(step.side, &request);
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kind = prop_oneof![
        Just(Kind::Send),
        Just(Kind::Inline),
        Just(Kind::Write),
        Just(Kind::Read),
        Just(Kind::Add),
        Just(Kind::Swap),
        Just(Kind::WriteImmediate)
    ];
    let length = prop_oneof![Just(0), 1..100_usize, 1..PLACE];
    let step = (0..2_usize, kind, length, 0..8_u8, prop::bool::weighted(0.2)).prop_map(
        |(side, kind, length, flags, settles)| {
            let flags = SendFlags::from_bits_truncate(flags);
            Step { side, kind, length, flags, settles }
        },
    );
    prop::collection::vec(step, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn a_program_gives_the_same_over_both_transports(
        steps in steps(),
        bad_read in prop::option::weighted(0.3, 0..2_usize),
        crc in any::<bool>(),
        markers in any::<bool>(),
    ) {
        let roce = play(&mut Roce::new(), &steps, bad_read);
        let iwarp = play(&mut Iwarp::new(crc, markers), &steps, bad_read);
        prop_assert!(roce.memory == iwarp.memory, "the memories differ");
        prop_assert_eq!(&roce.sends, &iwarp.sends);
        prop_assert_eq!(&roce.receives, &iwarp.receives);
        prop_assert_eq!(roce.states, iwarp.states);
        if let Some(side) = bad_read {
            let last = &iwarp.sends[side][iwarp.sends[side].len() - 2..];
            prop_assert_eq!(last[0].status, CompletionStatus::RemoteAccessError);
            prop_assert_eq!(last[1].status, CompletionStatus::WorkRequestFlushed);
        }
    }
}
