//! Carries out a scenario on a pair of peers and has the oracle judge it.

mod doors;
mod posting;

use rdmalab_verbs::{Access, State};

use crate::marks;
use crate::oracle::{Oracle, Piece, Receive};
use crate::pair::Pair;
use crate::pair::peer::{Application, BASE, Service, Setup};
use crate::rooms::{MEMORY, Rooms, Use};
use crate::scenario::{Key, LONGEST, Scenario, Step};
use crate::weather::Judge;

/// A key that was never given.
const DEAD_KEY: u32 = 0xdead_beef;

struct World {
    pair: Pair,
    oracle: Oracle,
    judge: Judge,
    setup: Setup,
    spare: [u32; 2],
    rooms: Rooms,
    next_id: u64,
}

/// Runs a scenario to its end. Panics if anything differs from what the oracle expects.
pub fn run(scenario: &Scenario) {
    let Scenario { service, profile, shares_receives, mtu, first_psn, reads, weather, congestion, ref steps } =
        *scenario;
    let shares_receives = shares_receives || service == Service::Xrc;
    let setup = Setup {
        service,
        profile,
        shares_receives,
        mtu,
        first_psn,
        reads,
        memory: MEMORY,
        congestion_control: congestion,
        ..Setup::default()
    };
    let mut pair = Pair::new(&setup);
    let spare = pair
        .peers
        .each_mut()
        .map(|peer| peer.context.register(peer.domain, BASE, peer.memory.clone(), Access::FULL).unwrap());
    let mut world = World {
        pair,
        oracle: Oracle::new(MEMORY, weather.is_calm(), shares_receives),
        judge: Judge::fair(weather),
        setup,
        spare,
        rooms: Rooms::default(),
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
                // Who takes from a shared queue cannot be told for sure after a reset; so all hold anything.
                let (length, key) =
                    if self.setup.shares_receives { (LONGEST, Key::Main) } else { (length, key) };
                self.receive(side, length, cuts, key);
            }
            Step::Run { nanoseconds } => self.run_for(nanoseconds),
            Step::Settle => self.settle(),
            Step::Replace { side, careful } => self.replace(side, careful),
            Step::Open { side, door, careful } => self.open(side, door, careful),
            Step::Close { side, door, careful } => self.close(side, door, careful),
            Step::Pause { side } => {
                let peer = &mut self.pair.peers[side];
                peer.change(peer.sender, State::Rts, State::Sqd);
            }
            Step::Resume { side } => {
                self.resume(side);
            }
            Step::Fail { side } => {
                self.oracle.excuse();
                self.modify(side, State::Err);
            }
            Step::Reconnect => self.reconnect(),
        }
    }

    /// Posts a receive; `false` if there is no memory for it.
    fn receive(&mut self, side: usize, length: usize, cuts: &[usize], key: Key) -> bool {
        let Some(local) = self.buffer(side, Use::Receive, length, cuts) else { return false };
        self.next_id += 2;
        let id = self.next_id + 1;
        let elements: Vec<_> = local.iter().map(|piece| self.sge(side, piece, key)).collect();
        self.pair.peers[side].receive_elements(id, &elements).unwrap();
        let uses_spare = key == Key::Spare;
        self.oracle.receive(side, Receive { id, local, uses_spare, doubtful: false, maybe_gone: false });
        true
    }

    fn buffer(&mut self, side: usize, what_for: Use, length: usize, cuts: &[usize]) -> Option<Vec<Piece>> {
        self.rooms.take(side, what_for, length, cuts, |piece| self.oracle.is_in_use(side, piece))
    }

    fn replace(&mut self, side: usize, careful: bool) {
        if careful && self.oracle.is_spare_used(side) {
            return;
        }
        self.oracle.doubt_spare(side);
        let ours = &mut self.pair.peers[side];
        ours.context.deregister(self.spare[side]).unwrap();
        self.spare[side] =
            ours.context.register(ours.domain, BASE, ours.memory.clone(), Access::FULL).unwrap();
    }

    /// The states of the queue pair that asks and of the one that answers; but over XRC they are one.
    fn states(&self, side: usize) -> [State; 2] {
        let peer = &self.pair.peers[side];
        [peer.state(peer.sender), peer.state(peer.receiver)]
    }

    /// Back from SQD to RTS; `false` if it must wait until what was begun is done.
    fn resume(&mut self, side: usize) -> bool {
        let peer = &mut self.pair.peers[side];
        peer.change(peer.sender, State::Sqd, State::Rts)
    }

    /// Both queue pairs of a side go to RESET or ERR.
    fn modify(&mut self, side: usize, state: State) {
        let peer = &mut self.pair.peers[side];
        peer.set_state(peer.sender, state);
        peer.set_state(peer.receiver, state);
    }

    /// The new connection's PSNs are far ahead of the old one's, as real ones choose them.
    fn reconnect(&mut self) {
        self.poll();
        self.modify(0, State::Reset);
        self.modify(1, State::Reset);
        self.oracle.reset();
        self.compare();
        self.setup.first_psn = (self.setup.first_psn + 0x1_0000) & 0xff_ffff;
        self.pair.peers.iter_mut().for_each(|peer| peer.renew_doors());
        self.pair.connect(&self.setup);
    }

    fn run_for(&mut self, nanoseconds: u64) {
        let until = self.pair.now + nanoseconds;
        self.pair.run_until(until, |number, from, packet| self.judge.fate(number, from, packet));
    }

    /// Takes completions and events out.
    fn poll(&mut self) {
        let completions = self.pair.peers.each_mut().map(|peer| {
            while peer.endpoint.poll_event().is_some() {}
            peer.completions()
        });
        // A message has arrived before its sender knows.
        for is_request in [false, true] {
            for (side, completions) in completions.iter().enumerate() {
                for completion in completions.iter().filter(|one| is_request == (one.id % 2 == 0)) {
                    let peer = &self.pair.peers[side];
                    let queue_pair = if is_request { peer.sender } else { peer.receiver };
                    assert_eq!(completion.queue_pair, queue_pair);
                    self.oracle.complete(side, completion);
                }
            }
        }
        if !self.oracle.broken {
            for side in 0..2 {
                // What ended without anything to complete shows only here.
                let ended = self.states(side).contains(&State::Err);
                assert!(!ended || self.oracle.is_excused(), "side {side} is in ERR");
            }
        }
    }

    /// Lets everything come to its end, and compares all memory.
    fn settle(&mut self) {
        loop {
            let mut missing = false;
            if self.oracle.broken && self.setup.service == Service::Xrc {
                // The other direction knows nothing of it, and might wait for receives for ever.
                (0..2).for_each(|side| self.modify(side, State::Err));
                self.poll();
            }
            let mut resumed = true;
            for side in 0..2 {
                resumed &= self.resume(side);
                for length in self.oracle.missing_receives(side) {
                    missing = true;
                    let length = if self.setup.shares_receives { LONGEST } else { length };
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
            let is_served = (0..2).all(|side| self.oracle.missing_receives(side).is_empty());
            if resumed && (self.oracle.broken || is_served) {
                break;
            }
        }
        self.oracle.rest();
        self.compare();
        marks::check(&self.pair, &self.setup);
    }

    fn compare(&mut self) {
        for side in 0..2 {
            let found = self.pair.peers[side].bytes(0, MEMORY);
            self.oracle.compare(side, &found);
        }
    }
}
