//! A peer that says anything, with right CRCs: segments that are nearly right, and bytes that are nothing, between work that is
//! posted. Longer: `PROPTEST_CASES=100000 cargo test -p rdmalab-iwarp --test hostile`.
//!
//! Rule: rdmap-hostile-peer: Whatever a peer says, it reaches no memory but what it was given, each request and receive
//! completes once, and at most one Terminate message goes out (RFC 5040 §5.4, §8).

#[path = "stream/script.rs"]
#[allow(dead_code)]
mod script;
#[path = "stream/side.rs"]
#[allow(dead_code)]
mod side;

use std::sync::Arc;

use proptest::prelude::*;
use rdmalab_iwarp::{End, ReadyToReceive, Role};
use rdmalab_verbs::{Access, HeapMemory, Memory, Operation, SendFlags, State};
use rdmalab_wire::ImmDt;
use rdmalab_wire::iwarp::{Header, Opcode, Place, Stag};
use script::*;
use side::{BASE, Setup};

#[derive(Clone, Debug)]
enum Step {
    Segment(Guess),
    /// With this bit of it wrong.
    Damaged(Guess, usize),
    Bytes(Vec<u8>),
    Post(u8, usize, bool),
    Receive(usize),
    Write(usize),
    End(bool),
    Disconnect,
}

/// A segment that may be right: numbers and places are counted from what would be.
#[derive(Clone, Debug)]
struct Guess {
    opcode: u8,
    /// Takes the place that the opcode asks for.
    fits: bool,
    tagged: bool,
    queue: u32,
    msn: i32,
    offset: i32,
    key: u8,
    last: bool,
    version: u8,
    length: usize,
    body: [u8; 52],
}

fn near() -> impl Strategy<Value = i32> {
    prop_oneof![8 => Just(0), 1 => -2..3_i32, 1 => any::<i32>()]
}

fn mostly(value: bool) -> impl Strategy<Value = bool> {
    prop::bool::weighted(if value { 0.95 } else { 0.05 })
}

fn guesses() -> impl Strategy<Value = Guess> {
    let length = prop_oneof![Just(0), 1..64_usize, Just(8), Just(12), Just(28), Just(52), 64..2000_usize];
    let what = (prop_oneof![20 => 0..12_u8, 1 => 12..16_u8], mostly(true), any::<bool>(), 0..5_u32);
    let at = (near(), near(), prop_oneof![10 => Just(0_u8), 1 => 1..3_u8]);
    let rest = (prop::bool::weighted(0.8), prop_oneof![30 => Just(1_u8), 1 => 0..4_u8], length);
    (what, at, rest, any::<[u8; 32]>()).prop_map(
        |((opcode, fits, tagged, queue), (msn, offset, key), (last, version, length), noise)| {
            let mut body = [0; 52];
            body[..32].copy_from_slice(&noise);
            Guess { opcode, fits, tagged, queue, msn, offset, key, last, version, length, body }
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(
        prop_oneof![
            20 => guesses().prop_map(Step::Segment),
            1 => (guesses(), 0..400_usize).prop_map(|(guess, bit)| Step::Damaged(guess, bit)),
            1 => prop::collection::vec(any::<u8>(), 0..100).prop_map(Step::Bytes),
            10 => (0..7_u8, 0..3000_usize, any::<bool>()).prop_map(|(kind, length, fence)| {
                Step::Post(kind, length, fence)
            }),
            5 => (0..3000_usize).prop_map(Step::Receive),
            10 => (1..5_usize).prop_map(Step::Write),
            1 => any::<bool>().prop_map(Step::End),
            1 => Just(Step::Disconnect),
        ],
        1..60,
    )
}

fn setups() -> impl Strategy<Value = Setup> {
    let ready = prop_oneof![
        Just(None),
        Just(Some(ReadyToReceive::Empty)),
        Just(Some(ReadyToReceive::Write)),
        Just(Some(ReadyToReceive::Read))
    ];
    (any::<[bool; 6]>(), 0..4_u16, 0..4_u16, ready).prop_map(
        |([crc, markers, shared, responds, rfc7306, swapped], ird, ord, ready)| Setup {
            role: if responds { Role::Responder } else { Role::Initiator },
            crc,
            markers,
            shared,
            rfc7306,
            swapped,
            ird,
            ord,
            ready,
            segment_size: 600,
            ..Setup::default()
        },
    )
}

/// One side, and what would be right to say next.
struct World {
    t: Script,
    /// Next numbers of the queues, and where the message of queue 0 stands.
    msn: [u32; 4],
    placed: u32,
    /// A key that gives a peer nothing.
    secret: u32,
    receives: usize,
    piece: usize,
}

impl World {
    fn header(&mut self, guess: &Guess) -> Incoming {
        let opcode = Opcode::new(guess.opcode);
        let stag = match guess.key {
            0 => self.t.side.key,
            1 => self.secret,
            _ => 0x1234,
        };
        let queue = match guess.opcode {
            _ if !guess.fits => guess.queue,
            1 | 10 => 1,
            7 => 2,
            11 => 3,
            _ => 0,
        };
        let tagged = if guess.fits { matches!(guess.opcode, 0 | 2) } else { guess.tagged };
        let place = if tagged {
            Place::Tagged { stag: Stag::new(stag), offset: BASE.wrapping_add(guess.offset as i64 as u64) }
        } else {
            let next = self.msn.get(queue as usize).copied().unwrap_or(1);
            let begun = if queue == 0 { self.placed } else { 0 };
            Place::Untagged {
                upper: stag,
                queue,
                msn: next.wrapping_add(guess.msn as u32),
                offset: begun.wrapping_add(guess.offset as u32),
            }
        };
        let length = match guess.opcode {
            _ if !guess.fits => guess.length,
            1 => 28,
            8 | 9 => 8,
            10 => 52,
            11 => 12,
            _ => guess.length,
        };
        let mut payload: Vec<u8> = guess.body.iter().copied().cycle().take(length).collect();
        // What READs and atomics name must be right now and then.
        let (at, to) = if guess.opcode == 1 { (16, 20) } else { (8, 12) };
        if guess.fits && matches!(guess.opcode, 1 | 10) {
            payload[..8].fill(0);
            payload[at..at + 4].copy_from_slice(&stag.to_be_bytes());
            payload[to..to + 8].copy_from_slice(&(BASE + 8 * u64::from(guess.body[0])).to_be_bytes());
            if guess.opcode == 1 {
                payload[12..16].copy_from_slice(&u32::from(guess.body[1]).to_be_bytes());
            } else {
                payload[3] = guess.body[2] & 2;
            }
        }
        let mut header = Header::new(opcode, guess.last || !matches!(guess.opcode, 0 | 2..=6), place);
        header.ddp_version = guess.version;
        // What comes next if this was right.
        if let Place::Untagged { queue, .. } = place
            && let Some(next) = self.msn.get_mut(queue as usize)
        {
            *next = next.wrapping_add(u32::from(header.last));
            if queue == 0 {
                self.placed = if header.last { 0 } else { self.placed.wrapping_add(length as u32) };
            }
        }
        Incoming { header, payload }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Segment(guess) => {
                let segment = self.header(&guess);
                let fpdu = self.t.encode(&segment);
                fpdu.chunks(self.piece).for_each(|piece| self.t.deliver_bytes(piece));
            }
            Step::Damaged(guess, bit) => {
                let segment = self.header(&guess);
                let mut fpdu = self.t.encode(&segment);
                let bit = bit % (fpdu.len() * 8);
                fpdu[bit / 8] ^= 1 << (bit % 8);
                self.t.deliver_bytes(&fpdu);
            }
            Step::Bytes(bytes) => self.t.deliver_bytes(&bytes),
            Step::Post(kind, length, fence) => {
                let (work, length) = match kind {
                    0 => (Operation::Send, length),
                    1 => (Operation::RdmaWrite(peer()), length),
                    2 | 3 => (Operation::RdmaRead(peer()), length),
                    4 => (Operation::FetchAndAdd { remote: peer(), add: 1 }, 8),
                    5 => (Operation::RdmaWriteWithImmediate(peer(), ImmDt([1; 4])), length),
                    _ => (Operation::LocalInvalidate(rdmalab_wire::RKey::new(7)), 0),
                };
                let flags = if fence { SendFlags::FENCE } else { SendFlags::empty() };
                // Refused in some states, and without READs.
                let _ = self.t.try_post(operation(work, length).with(flags));
            }
            Step::Receive(length) if self.receives < 20 => {
                self.t.side.receive(1000 + self.receives as u64, 1 << 15, length);
                self.receives += 1;
            }
            Step::Receive(_) => {}
            Step::Write(fpdus) => (0..fpdus).for_each(|_| _ = self.t.poll_ulpdu()),
            Step::End(graceful) => self.t.end(if graceful { End::Graceful } else { End::Abortive }),
            Step::Disconnect => self.t.disconnect(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_a_peer_says_reaches_what_it_was_not_given(
        setup in setups(),
        steps in steps(),
        piece in prop_oneof![Just(1_usize), Just(100_000), 1..64_usize],
    ) {
        let mut t = Script::with(setup);
        let hidden = Arc::new(HeapMemory::new(1 << 16));
        let shared = Arc::clone(&hidden) as Arc<dyn Memory>;
        let secret = t.side.context.register(t.side.domain, BASE, shared, Access::LOCAL_WRITE).unwrap();
        let mut world = World { t, msn: [1; 4], placed: 0, secret, receives: 0, piece };
        steps.into_iter().for_each(|step| world.step(step));

        let mut t = world.t;
        let mut terminates = 0;
        for _ in 0..1000 {
            let Some(ulpdu) = t.poll_ulpdu() else { break };
            terminates += usize::from(ulpdu.get(1).is_some_and(|control| control & 0xf == 7));
        }
        prop_assert!(terminates <= 1);
        t.abort();
        prop_assert!(!t.side.queue_pair.has_work());
        prop_assert_eq!(t.poll_ulpdu(), None);
        prop_assert_eq!(t.side.queue_pair.state(), State::Err);
        let events = std::iter::from_fn(|| t.side.queue_pair.poll_event()).count();
        prop_assert!(events <= 6);

        let mut ids: Vec<u64> = t.side.take_completions().iter().map(|it| it.id).collect();
        let posted = t.posted;
        let left = t.side.shared.map_or(0, |queue| t.side.context.shared_receive_queue(queue).unwrap().len());
        prop_assert_eq!(ids.len(), posted as usize + world.receives - left, "each completes once");
        let sends: Vec<u64> = ids.iter().copied().filter(|id| *id < 1000).collect();
        prop_assert!(sends.is_sorted(), "in the order of posting");
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), posted as usize + world.receives - left);

        let mut bytes = vec![1; 1 << 16];
        hidden.read(0, &mut bytes).unwrap();
        prop_assert!(bytes.iter().all(|byte| *byte == 0), "the peer wrote what it was not given");
    }
}
