//! Random operations against an oracle: two queue pairs, streams that move by any number of bytes, posts, closes, aborts and
//! wrong keys in between. Longer: `PROPTEST_CASES=100000 cargo test -p rdmalab-iwarp --test model`.
//!
//! Each request has a place of its own in both memories, but for the atomics of a direction, which share a word: so what each
//! leaves behind does not depend on how the two directions meet, and the oracle knows it without playing the protocol.
//!
//! Rule: rdmap-exactly-once: Each request and each receive completes exactly once, in the order of posting, with its bytes
//! where they belong (RFC 5040 §5.5).

#[path = "stream/side.rs"]
#[allow(dead_code)]
mod side;

use proptest::prelude::*;
use rdmalab_iwarp::{End, Event, ReadyToReceive};
use rdmalab_verbs::{
    Completion, CompletionKind, CompletionStatus, Operation, RemoteAddress, SendFlags, SendRequest, State,
};
use rdmalab_wire::{ImmDt, RKey};
use side::{BASE, Setup, Side, pattern};

/// Bytes of a place.
const PLACE: usize = 2048;
/// Requests of a side.
const MOST: usize = 24;
/// Where a side's receives, what it is written, and what it reads lie.
const RECEIVED: usize = MOST * PLACE;
const WRITTEN: usize = 2 * MOST * PLACE;
const SOURCE: usize = 3 * MOST * PLACE;
/// The word of the peer's atomics.
const WORD: usize = 4 * MOST * PLACE;

#[derive(Clone, Copy, Debug)]
enum Kind {
    Send,
    Write,
    Read,
    Add,
    Swap,
    WriteImmediate,
    /// A WRITE to a key that is not there.
    Bad,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Post {
        side: usize,
        kind: Kind,
        length: usize,
        fence: bool,
        solicited: bool,
    },
    /// Writes FPDUs.
    Write {
        side: usize,
        fpdus: usize,
    },
    /// Brings bytes that this side has written to the other.
    Carry {
        side: usize,
        bytes: usize,
    },
    Disconnect(usize),
    Abort(usize),
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![
        5 => Just(Kind::Send),
        5 => Just(Kind::Write),
        5 => Just(Kind::Read),
        2 => Just(Kind::Add),
        2 => Just(Kind::Swap),
        2 => Just(Kind::WriteImmediate),
    ]
}

fn steps(bad: bool) -> impl Strategy<Value = Vec<Step>> {
    let length = prop_oneof![Just(0), 1..100_usize, 1..PLACE];
    let kind = if bad { prop_oneof![30 => kinds(), 1 => Just(Kind::Bad)].boxed() } else { kinds().boxed() };
    let post = (0..2_usize, kind, length, any::<bool>(), any::<bool>()).prop_map(
        |(side, kind, length, fence, solicited)| Step::Post { side, kind, length, fence, solicited },
    );
    let end = if bad { 1 } else { 0 };
    prop::collection::vec(
        prop_oneof![
            20 => post,
            20 => (0..2_usize, 1..8_usize).prop_map(|(side, fpdus)| Step::Write { side, fpdus }),
            20 => (0..2_usize, 1..3000_usize).prop_map(|(side, bytes)| Step::Carry { side, bytes }),
            end => (0..2_usize).prop_map(Step::Disconnect),
            end => (0..2_usize).prop_map(Step::Abort),
        ],
        0..80,
    )
}

fn setups() -> impl Strategy<Value = Setup> {
    let ready = prop_oneof![
        Just(None),
        Just(Some(ReadyToReceive::Empty)),
        Just(Some(ReadyToReceive::Write)),
        Just(Some(ReadyToReceive::Read))
    ];
    (
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        1..6_u16,
        1..6_u16,
        prop_oneof![Just(140), Just(1460)],
        ready,
    )
        .prop_map(|(crc, markers, shared, ird, ord, segment_size, ready)| Setup {
            crc,
            markers,
            shared,
            ird,
            ord,
            segment_size,
            ready,
            depth: MOST as u32,
            memory: WORD + 16,
            ..Setup::default()
        })
}

/// A request as the oracle remembers it.
#[derive(Clone, Copy, Debug)]
struct Posted {
    kind: Kind,
    length: usize,
    solicited: bool,
}

struct World {
    sides: [Side; 2],
    /// What each side has written and the other has not got.
    wires: [Vec<u8>; 2],
    posted: [Vec<Posted>; 2],
    events: [Vec<Event>; 2],
    /// Its peer was told of its end.
    ended: [bool; 2],
}

impl World {
    fn new(setup: &Setup) -> Self {
        let mut sides = [Side::new(setup), Side::new(&setup.mirrored())];
        for (at, side) in sides.iter_mut().enumerate() {
            for place in 0..MOST {
                side.fill(place * PLACE, &pattern(at * 100 + place, PLACE));
                side.fill(SOURCE + place * PLACE, &pattern(at * 100 + 50 + place, PLACE));
                side.receive(place as u64, RECEIVED + place * PLACE, PLACE);
            }
        }
        Self {
            sides,
            wires: Default::default(),
            posted: Default::default(),
            events: Default::default(),
            ended: [false; 2],
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Post { side, kind, length, fence, solicited } => {
                self.post(side, kind, length, fence, solicited);
            }
            Step::Write { side, fpdus } => (0..fpdus).for_each(|_| _ = self.write(side)),
            Step::Carry { side, bytes } => self.carry(side, bytes),
            Step::Disconnect(side) => {
                let side = &mut self.sides[side];
                side.queue_pair.disconnect(&mut side.context);
            }
            Step::Abort(side) => {
                let side = &mut self.sides[side];
                side.queue_pair.abort(&mut side.context);
            }
        }
        self.take_events();
    }

    fn post(&mut self, at: usize, kind: Kind, length: usize, fence: bool, solicited: bool) {
        let place = self.posted[at].len();
        if place == MOST {
            return;
        }
        let other = &self.sides[1 - at];
        let remote = |offset: usize| other.remote(offset);
        let word = remote(WORD);
        let (operation, length) = match kind {
            Kind::Send => (Operation::Send, length),
            Kind::Write => (Operation::RdmaWrite(remote(WRITTEN + place * PLACE)), length),
            Kind::Read => (Operation::RdmaRead(remote(SOURCE + place * PLACE)), length),
            Kind::Add => (Operation::FetchAndAdd { remote: word, add: 1 + place as u64 }, 8),
            Kind::Swap => (Operation::CompareAndSwap { remote: word, compare: 3, swap: place as u64 }, 8),
            Kind::WriteImmediate => {
                let immediate = ImmDt((place as u32).to_be_bytes());
                (Operation::RdmaWriteWithImmediate(remote(WRITTEN + place * PLACE), immediate), length)
            }
            Kind::Bad => {
                (Operation::RdmaWrite(RemoteAddress { address: BASE, key: RKey::new(1) }), length.max(1))
            }
        };
        let mut flags = SendFlags::SIGNALED;
        flags.set(SendFlags::FENCE, fence);
        flags.set(SendFlags::SOLICITED, solicited);
        let elements = [self.sides[at].sge(place * PLACE, length)];
        let request =
            SendRequest { id: place as u64, operation, elements: &elements, flags, ..SendRequest::default() };
        if self.sides[at].post(&request).is_ok() {
            self.posted[at].push(Posted { kind, length, solicited });
        }
    }

    /// Writes an FPDU, if there is one.
    fn write(&mut self, at: usize) -> bool {
        let side = &mut self.sides[at];
        let mut out = vec![0; side.queue_pair.max_fpdu()];
        let has_work = side.queue_pair.has_work();
        let length = side.queue_pair.poll_transmit(&mut side.context, &mut out);
        assert!(has_work || length == 0);
        self.wires[at].extend_from_slice(&out[..length]);
        length > 0
    }

    fn carry(&mut self, at: usize, bytes: usize) {
        let count = bytes.min(self.wires[at].len());
        let piece: Vec<u8> = self.wires[at].drain(..count).collect();
        let other = &mut self.sides[1 - at];
        other.queue_pair.handle_bytes(&mut other.context, &piece);
    }

    fn take_events(&mut self) {
        for at in 0..2 {
            while let Some(event) = self.sides[at].queue_pair.poll_event() {
                self.events[at].push(event);
                if event == Event::Reset {
                    self.wires[at].clear();
                }
            }
        }
    }

    /// Tells the peer of an end, when all bytes before it are there.
    fn carry_end(&mut self, at: usize) -> bool {
        let end = if self.events[at].contains(&Event::Reset) {
            End::Abortive
        } else if self.events[at].contains(&Event::CloseSending) && self.wires[at].is_empty() {
            End::Graceful
        } else {
            return false;
        };
        if std::mem::replace(&mut self.ended[at], true) {
            return false;
        }
        let other = &mut self.sides[1 - at];
        other.queue_pair.handle_end(&mut other.context, end);
        true
    }

    /// Until nobody has anything to say.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            let wrote = self.write(0) | self.write(1) | self.wires.iter().any(|wire| !wire.is_empty());
            (0..2).for_each(|at| self.carry(at, usize::MAX));
            self.take_events();
            let ended = self.carry_end(0) | self.carry_end(1);
            self.take_events();
            if !wrote && !ended {
                return;
            }
        }
        panic!("the two never come to an end");
    }

    /// Compares a side's completions, and what they left in memory, with what the oracle expects.
    fn check(&mut self, at: usize) {
        let completions = self.sides[at].take_completions();
        let is_receive = |it: &&Completion| {
            matches!(it.kind, CompletionKind::Receive | CompletionKind::ReceiveRdmaWithImmediate)
        };
        let sends: Vec<Completion> = completions.iter().filter(|it| !is_receive(it)).copied().collect();
        let receives: Vec<Completion> = completions.iter().filter(is_receive).copied().collect();
        self.check_sends(at, &sends);
        self.check_receives(at, &receives);
    }

    fn check_sends(&self, at: usize, sends: &[Completion]) {
        let posted = &self.posted[at];
        assert_eq!(sends.len(), posted.len(), "each request completes once: {sends:?}");
        let mut word = 0;
        let mut failed = false;
        for (place, (completion, posted)) in sends.iter().zip(posted).enumerate() {
            assert_eq!(completion.id, place as u64, "in the order of posting");
            failed |= completion.status != CompletionStatus::Success;
            if failed {
                assert_ne!(completion.status, CompletionStatus::Success, "behind an error nothing succeeds");
                continue;
            }
            let landed = self.sides[at].bytes(place * PLACE, posted.length);
            match posted.kind {
                Kind::Read => {
                    let source = pattern((1 - at) * 100 + 50 + place, PLACE);
                    assert_eq!(landed, source[..posted.length]);
                    assert_eq!(completion.length as usize, posted.length);
                }
                Kind::Add | Kind::Swap => assert_eq!(landed, u64::to_ne_bytes(word), "the value found"),
                _ => {}
            }
            match posted.kind {
                Kind::Add => word += 1 + place as u64,
                Kind::Swap if word == 3 => word = place as u64,
                _ => {}
            }
        }
    }

    fn check_receives(&self, at: usize, receives: &[Completion]) {
        let sender = 1 - at;
        let takers = self.posted[sender]
            .iter()
            .enumerate()
            .filter(|(_, it)| matches!(it.kind, Kind::Send | Kind::WriteImmediate));
        let done = receives.iter().take_while(|it| it.status == CompletionStatus::Success).count();
        for (at_receive, completion) in receives.iter().enumerate() {
            assert_eq!(completion.id, at_receive as u64, "in the order of posting");
            assert_eq!(completion.status == CompletionStatus::Success, at_receive < done);
        }
        for ((nth, completion), (place, posted)) in receives[..done].iter().enumerate().zip(takers) {
            assert_eq!((completion.length as usize, completion.solicited), (posted.length, posted.solicited));
            let source = pattern(sender * 100 + place, PLACE);
            let landed = match posted.kind {
                Kind::Send => self.sides[at].bytes(RECEIVED + nth * PLACE, posted.length),
                _ => {
                    assert_eq!(completion.immediate, Some(ImmDt((place as u32).to_be_bytes())));
                    self.sides[at].bytes(WRITTEN + place * PLACE, posted.length)
                }
            };
            assert_eq!(landed, source[..posted.length]);
        }
    }
}

fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    /// Whatever is posted, and however the streams move, all of it arrives.
    #[test]
    fn all_that_is_posted_arrives(setup in setups(), steps in steps(false), closer in 0..2_usize) {
        let mut world = World::new(&setup);
        steps.into_iter().for_each(|step| world.step(step));
        // A responder is heard only behind the initiator's first FPDU.
        world.post(0, Kind::Write, 0, false, false);
        world.settle();
        for at in 0..2 {
            prop_assert_eq!(world.sides[at].queue_pair.state(), State::Rts);
            let written = world.posted[1 - at].iter().enumerate();
            for (place, posted) in written.filter(|(_, it)| matches!(it.kind, Kind::Write)) {
                let source = pattern((1 - at) * 100 + place, PLACE);
                let landed = world.sides[at].bytes(WRITTEN + place * PLACE, posted.length);
                prop_assert_eq!(&landed[..], &source[..posted.length]);
            }
        }
        let side = &mut world.sides[closer];
        side.queue_pair.disconnect(&mut side.context);
        world.take_events();
        world.settle();
        for at in 0..2 {
            let told = [Event::CloseSending, Event::Closed { graceful: true }];
            let told: Vec<Event> =
                told.into_iter().chain(setup.shared.then_some(Event::LastReceiveReached)).collect();
            prop_assert!(told.iter().all(|event| world.events[at].contains(event)), "{:?}", world.events[at]);
            world.check(at);
        }
    }

    /// Whatever goes wrong, each request completes once, and what is said to be done is done.
    #[test]
    fn whatever_goes_wrong_each_request_completes_once(setup in setups(), steps in steps(true), closer in 0..2_usize) {
        let mut world = World::new(&setup);
        steps.into_iter().for_each(|step| world.step(step));
        world.step(Step::Abort(closer));
        world.settle();
        for at in 0..2 {
            prop_assert_eq!(world.sides[at].queue_pair.state(), State::Err);
            prop_assert!(!world.sides[at].queue_pair.has_work());
            world.check(at);
        }
    }
}
