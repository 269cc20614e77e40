//! Carries out a scenario on a pair of sides and has the oracle judge it.
//!
//! Each side's memory has three parts. Peers reach the first; the second is where requests take data from and put it;
//! the third holds receives. An application must not touch what a request under way uses, and neither does this one.

use rdmalab_verbs::{
    Access, Attributes, CompletionStatus, Memory, Operation, PostError, ReceiveRequest, RemoteAddress,
    SendFlags, SendRequest, Sge, State,
};
use rdmalab_wire::{ImmDt, RKey};

use super::oracle::{Op, Oracle, Piece, Receive};
use super::scenario::{Aim, Judge, Key, Scenario, Step, What, Work};
use crate::pair::Pair;
use crate::side::{BASE, MEMORY, Setup};

const REMOTE: usize = 64 * 1024;
const RECEIVES: usize = 160 * 1024;
/// Bytes that stay free behind each element.
const GAP: usize = 3;
/// A key that was never given.
const DEAD_KEY: u32 = 0xdead_beef;

struct World {
    pair: Pair,
    oracle: Oracle,
    judge: Judge,
    setup: Setup,
    spare: [u32; 2],
    /// Where the next local buffer and the next receive of each side go.
    next_buffer: [[usize; 2]; 2],
    next_id: u64,
}

/// Runs a scenario to its end. Panics if anything differs from what the oracle expects.
pub fn run(scenario: &Scenario) {
    let Scenario { mtu, first_psn, reads, weather, ref steps } = *scenario;
    let setup = Setup { mtu, first_psn, reads, ..Setup::default() };
    let mut pair = Pair::new(&setup);
    let spare = pair
        .sides
        .each_mut()
        .map(|side| side.context.register(side.domain, BASE, side.memory.clone(), Access::FULL).unwrap());
    let mut world = World {
        pair,
        oracle: Oracle::new(MEMORY, weather.is_calm()),
        judge: Judge::new(weather),
        setup,
        spare,
        next_buffer: [[REMOTE, RECEIVES]; 2],
        next_id: 0,
    };
    for step in steps {
        world.step(step);
        world.poll();
    }
    world.settle();
}

impl World {
    fn step(&mut self, step: &Step) {
        match *step {
            Step::Post { side, ref work } => self.post(side, work),
            Step::Receive { side, length, ref cuts, key } => {
                self.receive(side, length, cuts, key);
            }
            Step::Run { nanoseconds } => self.run_for(nanoseconds),
            Step::Settle => self.settle(),
            Step::Replace { side, careful } => self.replace(side, careful),
            Step::Pause { side } => self.change(side, State::Rts, State::Sqd),
            Step::Resume { side } => self.change(side, State::Sqd, State::Rts),
            Step::Fail { side } => {
                self.oracle.excuse();
                self.modify(side, State::Err);
            }
            Step::Reconnect => self.reconnect(),
        }
    }

    fn post(&mut self, side: usize, work: &Work) {
        let Some(local) = self.buffer(side, 0, work.length, &work.cuts) else {
            self.settle();
            return;
        };
        if matches!(self.state(side), State::Reset | State::Init | State::Rtr) {
            return;
        }
        self.next_id += 2;
        let id = self.next_id;
        let remote = work.target..work.target + work.length;
        let writes = work.what.is_atomic() || matches!(work.what, What::Write | What::WriteImmediate);
        let is_source = !work.what.is_atomic() && work.what != What::Read;
        let mut data = Vec::new();
        if is_source {
            for piece in &local {
                let bytes: Vec<u8> = (0..piece.len()).map(|n| (n as u64 * 7 + id * 31) as u8).collect();
                self.pair.sides[side].memory.write(piece.start, &bytes).unwrap();
                self.oracle.store(side, piece.start, &bytes);
                data.extend(bytes);
            }
        }
        let mut flags = SendFlags::empty();
        flags.set(SendFlags::SIGNALED, work.signaled);
        flags.set(SendFlags::SOLICITED, work.solicited);
        flags.set(SendFlags::FENCE, work.fence || writes && self.oracle.is_read(side, &remote));
        let immediate = ImmDt((id as u32).to_be_bytes());
        let elements: Vec<Sge> = local.iter().map(|piece| self.sge(side, piece, work.key)).collect();
        let operation = self.operation(side, work, immediate);
        let request = SendRequest { id, operation, elements: &elements, flags, ..SendRequest::default() };
        let ours = &mut self.pair.sides[side];
        match ours.endpoint.post_send(&mut ours.context, ours.queue_pair, &request) {
            Ok(()) => {}
            Err(PostError::QueueFull { .. }) => return,
            Err(error) => panic!("{error} for {work:?}"),
        }
        let reaches_out = !matches!(work.what, What::Send | What::SendImmediate);
        self.oracle.post(
            side,
            Op {
                id,
                what: work.what,
                local,
                remote,
                data,
                immediate,
                signaled: work.signaled,
                solicited: work.solicited && work.what.consumes_receive(),
                poison: poison(work),
                doubts: Vec::new(),
                uses_local_spare: work.key == Key::Spare,
                uses_remote_spare: work.aim == Aim::Spare && reaches_out,
            },
        );
    }

    fn operation(&self, side: usize, work: &Work, immediate: ImmDt) -> Operation {
        let key = match work.aim {
            Aim::Main | Aim::Astray => self.pair.sides[1 - side].key,
            Aim::Spare => self.spare[1 - side],
            Aim::Dead => DEAD_KEY,
        };
        let at = match work.aim {
            Aim::Astray if work.what.is_atomic() => work.target + 4,
            Aim::Astray => MEMORY + 1 - work.length,
            _ => work.target,
        };
        let remote = RemoteAddress { address: BASE + at as u64, key: RKey::new(key) };
        match work.what {
            What::Send => Operation::Send,
            What::SendImmediate => Operation::SendWithImmediate(immediate),
            What::Write => Operation::RdmaWrite(remote),
            What::WriteImmediate => Operation::RdmaWriteWithImmediate(remote, immediate),
            What::Read => Operation::RdmaRead(remote),
            What::FetchAdd { add } => Operation::FetchAndAdd { remote, add },
            What::CompareSwap { compare, swap } => Operation::CompareAndSwap { remote, compare, swap },
        }
    }

    /// Posts a receive; `false` if there is no memory for it.
    fn receive(&mut self, side: usize, length: usize, cuts: &[usize], key: Key) -> bool {
        let Some(local) = self.buffer(side, 1, length, cuts) else { return false };
        self.next_id += 2;
        let id = self.next_id + 1;
        let elements: Vec<Sge> = local.iter().map(|piece| self.sge(side, piece, key)).collect();
        let ours = &mut self.pair.sides[side];
        let request = ReceiveRequest { id, elements: &elements };
        ours.endpoint.post_receive(&mut ours.context, ours.queue_pair, &request).unwrap();
        self.oracle.receive(side, Receive { id, local, uses_spare: key == Key::Spare, doubtful: false });
        true
    }

    /// A buffer in pieces, with free bytes between them and the last piece first, that nothing under way uses. `kind`
    /// is 0 for requests and 1 for receives.
    fn buffer(&mut self, side: usize, kind: usize, length: usize, cuts: &[usize]) -> Option<Vec<Piece>> {
        let (first, end) = [(REMOTE, RECEIVES), (RECEIVES, MEMORY)][kind];
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (length + 1)).chain([0, length]).collect();
        cuts.sort_unstable();
        let size = length + GAP * cuts.len();
        let next = &mut self.next_buffer[side][kind];
        let start = if *next + size > end { first } else { *next };
        if self.oracle.is_in_use(side, &(start..start + size)) {
            return None;
        }
        *next = start + size;
        let mut top = start + size;
        let pieces = cuts.windows(2).map(|cut| {
            top -= cut[1] - cut[0] + GAP;
            top..top + cut[1] - cut[0]
        });
        Some(pieces.collect())
    }

    fn sge(&self, side: usize, piece: &Piece, key: Key) -> Sge {
        let key = match key {
            Key::Main => self.pair.sides[side].key,
            Key::Spare => self.spare[side],
            Key::Dead => DEAD_KEY,
        };
        Sge { address: BASE + piece.start as u64, length: piece.len() as u32, key }
    }

    fn replace(&mut self, side: usize, careful: bool) {
        if careful && self.oracle.is_spare_used(side) {
            return;
        }
        self.oracle.doubt_spare(side);
        let ours = &mut self.pair.sides[side];
        ours.context.deregister(self.spare[side]).unwrap();
        self.spare[side] =
            ours.context.register(ours.domain, BASE, ours.memory.clone(), Access::FULL).unwrap();
    }

    fn state(&self, side: usize) -> State {
        let side = &self.pair.sides[side];
        side.endpoint.state(side.queue_pair).unwrap()
    }

    fn change(&mut self, side: usize, from: State, to: State) {
        if self.state(side) == from {
            self.modify(side, to);
        }
    }

    fn modify(&mut self, side: usize, state: State) {
        let side = &mut self.pair.sides[side];
        let attributes = Attributes { state: Some(state), ..Attributes::default() };
        side.endpoint.modify(&mut side.context, side.queue_pair, &attributes).unwrap();
    }

    /// The new connection's PSNs are far ahead of the old one's, as real ones choose them.
    fn reconnect(&mut self) {
        self.poll();
        self.modify(0, State::Reset);
        self.modify(1, State::Reset);
        self.oracle.reset();
        self.compare();
        self.setup.first_psn = (self.setup.first_psn + 0x1_0000) & 0xff_ffff;
        for side in 0..2 {
            let peer = &self.pair.sides[1 - side];
            let (address, queue_pair) = (peer.address, peer.queue_pair);
            self.pair.sides[side].connect(&self.setup, address, queue_pair);
        }
    }

    fn run_for(&mut self, nanoseconds: u64) {
        let until = self.pair.now + nanoseconds;
        self.pair.run_until(until, |number, from, packet| self.judge.fate(number, from, packet));
    }

    /// Takes completions and events out.
    fn poll(&mut self) {
        let completions = self.pair.sides.each_mut().map(|side| {
            while side.endpoint.poll_event().is_some() {}
            side.completions()
        });
        // A message has arrived before its sender knows.
        for is_request in [false, true] {
            for (side, completions) in completions.iter().enumerate() {
                for completion in completions.iter().filter(|one| is_request == (one.id % 2 == 0)) {
                    assert_eq!(completion.queue_pair, self.pair.sides[side].queue_pair);
                    self.oracle.complete(side, completion);
                }
            }
        }
        if !self.oracle.broken {
            for side in 0..2 {
                // What ended without anything to complete shows only here.
                assert!(self.state(side) != State::Err || self.oracle.is_excused(), "side {side} is in ERR");
            }
        }
    }

    /// Lets everything come to its end, and compares all memory.
    fn settle(&mut self) {
        loop {
            let mut missing = false;
            for side in 0..2 {
                self.change(side, State::Sqd, State::Rts);
                for length in self.oracle.missing_receives(side) {
                    missing = true;
                    if self.oracle.broken || !self.receive(side, length, &[], Key::Main) {
                        break;
                    }
                }
            }
            let judge = &mut self.judge;
            if missing && !self.oracle.broken {
                // Not all of them need have found a place.
                self.run_for(10_000_000);
                self.poll();
                continue;
            }
            self.pair.run(|number, from, packet| judge.fate(number, from, packet));
            self.poll();
            if self.oracle.broken || (0..2).all(|side| self.oracle.missing_receives(side).is_empty()) {
                break;
            }
        }
        self.oracle.rest();
        self.compare();
    }

    fn compare(&mut self) {
        for side in 0..2 {
            let found = self.pair.sides[side].bytes(0, MEMORY);
            self.oracle.compare(side, &found);
        }
    }
}

/// How a request must end because of how it was posted.
fn poison(work: &Work) -> Option<CompletionStatus> {
    // Nothing is asked of a key when there are no bytes.
    if work.length == 0 {
        return None;
    }
    if work.key == Key::Dead {
        return Some(CompletionStatus::LocalProtectionError);
    }
    match (work.what, work.aim) {
        (What::Send | What::SendImmediate, _) | (_, Aim::Main | Aim::Spare) => None,
        (what, Aim::Astray) if what.is_atomic() => Some(CompletionStatus::RemoteInvalidRequest),
        (_, Aim::Dead | Aim::Astray) => Some(CompletionStatus::RemoteAccessError),
    }
}
