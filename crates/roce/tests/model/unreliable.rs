//! Random work over unreliable services, UC and UD: what arrives is whole and right, and senders never wait.

mod oracle;
pub mod scenario;

use rdmalab_roce::Profile;
use rdmalab_verbs::{
    Completion, CompletionStatus, Memory, Operation, PostError, RemoteAddress, SendFlags, Sge, State, Target,
};
use rdmalab_wire::{ImmDt, QKey, RKey};

use crate::marks;
use crate::oracle::Piece;
use crate::pair::Pair;
use crate::pair::peer::{Application, BASE, INLINE, Service, Setup};
use crate::rooms::{MEMORY, REQUESTS, Rooms, Use};
use crate::weather::Judge;
use oracle::{Data, Fortune, Message, Oracle, Receive};
use scenario::{LONGEST, Scenario, Step, What, Work};

/// What ends a request or receive whose memory cannot be reached.
const PROTECTION: CompletionStatus = CompletionStatus::LocalProtectionError;
/// A key that was never given.
const DEAD_KEY: u32 = 0xdead_beef;
/// A queue key that nobody has.
const WRONG_QUEUE_KEY: QKey = QKey::new(0x2222_2222);
/// Bytes in front of a datagram in a receive.
const HEADER_AREA: usize = 40;

struct World {
    pair: Pair,
    oracle: Oracle,
    judge: Judge,
    setup: Setup,
    rooms: Rooms,
    /// Where the next WRITE of each side goes: none goes where another may still arrive.
    next_target: [usize; 2],
    next_id: u64,
}

/// Runs a scenario to its end. Panics if anything differs from what the oracle expects.
pub fn run(scenario: &Scenario) {
    let Scenario { service, shares_receives, mtu, first_psn, weather, congestion, ref steps } = *scenario;
    let setup = Setup {
        service,
        profile: Profile::SPEC,
        congestion_control: congestion,
        shares_receives,
        mtu,
        first_psn,
        memory: MEMORY,
        ..Setup::default()
    };
    let pair = Pair::new(&setup);
    let numbers = pair.peers.each_ref().map(|peer| peer.sender);
    let mut world = World {
        pair,
        oracle: Oracle::new(&setup, numbers, &weather),
        judge: Judge::merciless(weather),
        setup,
        rooms: Rooms::default(),
        next_target: [0; 2],
        next_id: 0,
    };
    for step in steps {
        world.step(step);
        world.poll();
    }
    world.settle();
    world.end();
}

impl World {
    fn step(&mut self, step: &Step) {
        match *step {
            Step::Post { side, ref work } => self.post(side, work),
            Step::Receive { side, length, ref cuts, has_key } => {
                // Who takes from a shared queue cannot be told for sure after a reset; so all hold anything.
                let plain = self.setup.shares_receives;
                let (length, has_key) = if plain { (LONGEST, true) } else { (length, has_key) };
                self.receive(side, length, cuts, has_key);
            }
            Step::Run { nanoseconds } => {
                let until = self.pair.now + nanoseconds;
                self.pair.run_until(until, |number, from, packet| self.judge.fate(number, from, packet));
            }
            Step::Settle => self.settle(),
            Step::Pause { side } => {
                let peer = &mut self.pair.peers[side];
                peer.change(peer.sender, State::Rts, State::Sqd);
            }
            Step::Resume { side } => {
                self.resume(side);
            }
            Step::Fail { side } => {
                self.oracle.fail(side);
                let peer = &mut self.pair.peers[side];
                peer.set_state(peer.sender, State::Err);
            }
            Step::Reconnect => self.reconnect(),
        }
    }

    fn state(&self, side: usize) -> State {
        let peer = &self.pair.peers[side];
        peer.state(peer.sender)
    }

    /// From SQD or SQE back to RTS; `false` if it must wait until what was begun is done.
    fn resume(&mut self, side: usize) -> bool {
        if self.state(side) == State::Sqe {
            self.oracle.resume(side);
        }
        let peer = &mut self.pair.peers[side];
        peer.change(peer.sender, State::Sqd, State::Rts) && peer.change(peer.sender, State::Sqe, State::Rts)
    }

    /// The new connection's PSNs are far ahead of the old one's. Packets under way stay under way.
    fn reconnect(&mut self) {
        self.poll();
        for peer in &mut self.pair.peers {
            peer.set_state(peer.sender, State::Reset);
        }
        self.oracle.reset();
        self.setup.first_psn = (self.setup.first_psn + 0x1_0000) & 0xff_ffff;
        self.pair.connect(&self.setup);
    }

    fn sge(&self, side: usize, piece: &Piece, has_key: bool) -> Sge {
        let key = if has_key { self.pair.peers[side].key } else { DEAD_KEY };
        Sge { address: BASE + piece.start as u64, length: piece.len() as u32, key }
    }

    fn buffer(&mut self, side: usize, what_for: Use, length: usize, cuts: &[usize]) -> Option<Vec<Piece>> {
        self.rooms.take(side, what_for, length, cuts, |piece| self.oracle.is_in_use(side, piece))
    }

    /// Posts a receive, unless there is no memory for it.
    fn receive(&mut self, side: usize, length: usize, cuts: &[usize], has_key: bool) {
        let Some(local) = self.buffer(side, Use::Receive, length, cuts) else { return };
        self.next_id += 2;
        let id = self.next_id + 1;
        let elements: Vec<_> = local.iter().map(|piece| self.sge(side, piece, has_key)).collect();
        self.pair.peers[side].receive_elements(id, &elements).unwrap();
        self.oracle.receive(side, Receive { id, local, has_key, maybe_gone: false });
    }

    fn post(&mut self, side: usize, work: &Work) {
        let is_datagram = self.setup.service == Service::Ud;
        let most = if is_datagram { self.setup.mtu.bytes() } else { LONGEST };
        let length = work.length.min(most);
        let inline = work.inline && length <= INLINE;
        let what = work.what.over(self.setup.service);
        let Some(local) = self.buffer(side, Use::Request, length, &work.cuts) else {
            self.settle();
            return;
        };
        let target = self.next_target[side];
        if what.is_write() && target + length > REQUESTS {
            self.settle();
            return;
        }
        self.next_id += 2;
        let id = self.next_id;
        let mut data = Vec::new();
        for piece in &local {
            let bytes: Vec<u8> = (0..piece.len()).map(|n| (n as u64 * 7 + id * 31) as u8).collect();
            self.store(side, piece.start, &bytes);
            data.extend(bytes);
        }
        let mut flags = SendFlags::empty();
        flags.set(SendFlags::SIGNALED, work.signaled);
        flags.set(SendFlags::SOLICITED, work.solicited);
        let has_key = inline || work.has_key || length == 0;
        let immediate = ImmDt((id as u32).to_be_bytes());
        // No key is asked for where no byte is written.
        let astray = work.astray && (is_datagram || what.is_write() && length > 0);
        let elements: Vec<Sge> = local.iter().map(|piece| self.sge(side, piece, work.has_key)).collect();
        let elements = if inline { &[][..] } else { &elements };
        let theirs = &self.pair.peers[1 - side];
        let key = RKey::new(if astray { DEAD_KEY } else { theirs.key });
        let remote = RemoteAddress { address: BASE + target as u64, key };
        let operation = match what {
            What::Send => Operation::Send,
            What::SendImmediate => Operation::SendWithImmediate(immediate),
            What::Write => Operation::RdmaWrite(remote),
            What::WriteImmediate => Operation::RdmaWriteWithImmediate(remote, immediate),
        };
        let peer = &mut self.pair.peers[side];
        let to = match peer.target {
            Target::Datagram { path, queue_pair, .. } if astray => {
                Target::Datagram { path, queue_pair, queue_key: WRONG_QUEUE_KEY }
            }
            target => target,
        };
        match peer.post_to(to, id, operation, elements, inline.then_some(&data[..]), flags) {
            Ok(()) => {}
            Err(PostError::QueueFull { .. }) => return,
            Err(error) => panic!("{error} for {work:?}"),
        }
        if inline {
            // They were copied.
            for piece in &local {
                let other: Vec<u8> = (0..piece.len()).map(|n| !(n as u64 * 7 + id * 31) as u8).collect();
                self.store(side, piece.start, &other);
            }
        }
        if what.is_write() {
            self.next_target[side] += length;
        }
        let poison = (!has_key).then_some(PROTECTION);
        let (signaled, solicited) = (work.signaled, work.solicited && what.consumes_receive());
        let fortune = Fortune::Open;
        let data = Data(data);
        let message = Message {
            id,
            what,
            local,
            target,
            data,
            immediate,
            signaled,
            solicited,
            poison,
            astray,
            fortune,
        };
        self.oracle.post(side, message);
    }

    fn store(&mut self, side: usize, at: usize, bytes: &[u8]) {
        self.pair.peers[side].memory.write(at, bytes).unwrap();
        self.oracle.store(side, at, bytes);
    }

    /// Takes completions and events out.
    fn poll(&mut self) {
        let completions = self.pair.peers.each_mut().map(|peer| {
            while peer.endpoint.poll_event().is_some() {}
            peer.completions()
        });
        // A receive that cannot be reached is our own fault.
        for (side, completions) in completions.iter().enumerate() {
            let is_own_fault = |one: &Completion| one.id % 2 == 1 && one.status == PROTECTION;
            if completions.iter().any(is_own_fault) {
                self.oracle.fail(side);
            }
        }
        // A message has gone before it arrives.
        for is_request in [true, false] {
            for (side, completions) in completions.iter().enumerate() {
                for completion in completions.iter().filter(|one| is_request == (one.id % 2 == 0)) {
                    assert_eq!(completion.queue_pair, self.pair.peers[side].sender);
                    if is_request {
                        self.oracle.complete_request(side, completion);
                    } else {
                        let peer = &self.pair.peers[side];
                        self.oracle.complete_receive(side, completion, |at, length| peer.bytes(at, length));
                    }
                }
            }
        }
        for side in 0..2 {
            self.oracle.check_state(side, self.state(side));
        }
    }

    /// Lets everything come to its end, and compares all memory.
    fn settle(&mut self) {
        loop {
            let resumed = [0, 1].map(|side| self.resume(side)) == [true; 2];
            let judge = &mut self.judge;
            self.pair.run(|number, from, packet| judge.fate(number, from, packet));
            self.poll();
            if resumed {
                break;
            }
        }
        for side in 0..2 {
            let found = self.pair.peers[side].bytes(0, MEMORY);
            self.oracle.rest(side, &found, self.judge.losses[1 - side]);
        }
        self.next_target = [0; 2];
        marks::check(&self.pair, &self.setup);
    }

    /// All receives that no message has used are still there.
    fn end(&mut self) {
        for side in 0..2 {
            self.oracle.fail(side);
            let peer = &mut self.pair.peers[side];
            peer.set_state(peer.sender, State::Err);
        }
        self.poll();
        if !self.setup.shares_receives {
            (0..2).for_each(|side| self.oracle.check_no_receives(side));
        }
    }
}
