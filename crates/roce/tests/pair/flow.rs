//! A flow: what two applications ask of their queue pairs, in an order that the verbs promise, and what must come of it.
//!
//! Each request and receive gets memory of its own on both sides, unless a script aims it elsewhere. What must come of
//! a script is found by doing its acts one after the other on plain bytes ([`Script::expected`]); no packet is thought of.

mod expected;

use rdmalab_verbs::{
    Access, Completion, FastRegistration, Memory, Operation, Placement, Selectivity, SendFlags, WindowBinding,
};
use rdmalab_wire::ImmDt;

use super::peer::{Application, BASE, Door, Peer, Setup};
use super::{Fate, PATIENCE, Pair};

/// What an application asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    Receive,
    Send,
    SendImmediate,
    /// With the invalidation of a key of the other's.
    SendInvalidate(Door),
    Write,
    WriteImmediate,
    Read,
    FetchAdd(u64),
    /// Compare, swap.
    CompareSwap(u64, u64),
    Flush,
    AtomicWrite([u8; 8]),
    /// Binds or registers a door of our own to all of our memory, for the n-th time, as its number says.
    Open(Door),
    /// Invalidates a key of our own.
    Close(Door),
}

impl Job {
    pub fn needs_receive(self) -> bool {
        matches!(self, Self::Send | Self::SendImmediate | Self::SendInvalidate(_) | Self::WriteImmediate)
    }

    fn is_word(self) -> bool {
        matches!(self, Self::FetchAdd(_) | Self::CompareSwap(..) | Self::AtomicWrite(_))
    }
}

/// When something is asked for: not before the application has seen so many completions, nor before a time.
#[derive(Clone, Copy, Debug, Default)]
struct When {
    completions: usize,
    time: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Act {
    side: usize,
    when: When,
    job: Job,
    /// In our own memory.
    pub local: usize,
    length: usize,
    /// In the other's memory.
    pub remote: usize,
    /// The key by which the other's memory is reached.
    pub through: Door,
    pub fenced: bool,
}

/// What two applications do. Requests have even numbers, receives odd ones, in the order of the script.
#[derive(Clone, Debug, Default)]
pub struct Script {
    acts: Vec<Act>,
    when: [When; 2],
    /// Bytes given to acts so far, of each side.
    used: [usize; 2],
}

/// What a flow leaves behind. Completions of requests and of receives come each in order; how the two kinds mingle may
/// depend on what the link does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub memory: [Vec<u8>; 2],
    pub sent: [Vec<Completion>; 2],
    pub received: [Vec<Completion>; 2],
}

impl Script {
    fn take(&mut self, side: usize, length: usize) -> usize {
        let at = self.used[side];
        self.used[side] += length.next_multiple_of(8) + 8;
        at
    }

    fn add(&mut self, side: usize, job: Job, length: usize) -> &mut Act {
        let local = self.take(side, length);
        let reaches = !matches!(
            job,
            Job::Receive
                | Job::Send
                | Job::SendImmediate
                | Job::SendInvalidate(_)
                | Job::Open(_)
                | Job::Close(_)
        );
        let remote = if reaches { self.take(1 - side, length) } else { 0 };
        let (when, through, fenced) = (self.when[side], Door::Region, false);
        self.acts.push(Act { side, when, job, local, length, remote, through, fenced });
        self.acts.last_mut().expect("pushed just now")
    }

    /// `side` posts a request.
    pub fn ask(&mut self, side: usize, job: Job, length: usize) -> &mut Act {
        let length = match job {
            job if job.is_word() => 8,
            Job::Open(_) | Job::Close(_) => 0,
            _ => length,
        };
        self.add(side, job, length)
    }

    /// `side` posts a request, and the other a receive for it, a little larger, before.
    pub fn tell(&mut self, side: usize, job: Job, length: usize) -> &mut Act {
        assert!(job.needs_receive());
        self.add(1 - side, Job::Receive, length + 3);
        self.ask(side, job, length)
    }

    /// `side` posts a request for which the script has a receive elsewhere.
    pub fn tell_later(&mut self, side: usize, job: Job, length: usize) -> &mut Act {
        assert!(job.needs_receive());
        self.ask(side, job, length)
    }

    /// `side` posts a receive.
    pub fn receive(&mut self, side: usize, length: usize) {
        self.add(side, Job::Receive, length);
    }

    /// What `side` does from here on, it does when it has seen so many completions in all.
    pub fn after(&mut self, side: usize, completions: usize) {
        self.when[side].completions = completions;
    }

    /// What `side` does from here on, it does at this time at the earliest.
    pub fn not_before(&mut self, side: usize, time: u64) {
        self.when[side].time = time;
    }

    /// Bytes of memory that each side needs.
    pub fn memory(&self) -> usize {
        self.used[0].max(self.used[1]).max(8)
    }

    /// Plays it over a link on which `judge` decides about each packet by its number. Also says how many packets there
    /// were.
    pub fn play(&self, setup: &Setup, mut judge: impl FnMut(u64) -> Fate) -> (Outcome, u64) {
        let mut pair = Pair::new(&Setup { memory: self.memory(), ..*setup });
        for (side, peer) in pair.peers.iter().enumerate() {
            let bytes: Vec<u8> = (0..self.memory()).map(|at| fill_byte(side, at)).collect();
            peer.memory.write(0, &bytes).unwrap();
        }
        let mut judge = |number, _, _: &[u8]| judge(number);
        let mut next = [0; 2];
        let mut seen: [Vec<Completion>; 2] = Default::default();
        loop {
            let mut alarm = PATIENCE;
            for side in 0..2 {
                while let Some(act) = self.acts.get(next[side]) {
                    if act.side == side {
                        if seen[side].len() < act.when.completions {
                            break;
                        }
                        if pair.now < act.when.time {
                            alarm = alarm.min(act.when.time);
                            break;
                        }
                        self.post(&mut pair.peers, next[side]);
                    }
                    next[side] += 1;
                }
            }
            let goes_on = pair.step(alarm, &mut judge);
            for (seen, peer) in seen.iter_mut().zip(&mut pair.peers) {
                seen.extend(peer.completions());
            }
            if !goes_on {
                if alarm == PATIENCE {
                    break;
                }
                pair.now = pair.now.max(alarm);
            }
        }
        assert!(pair.now < PATIENCE, "the pair does not come to rest: {seen:?}");
        assert!(next.iter().all(|&next| next == self.acts.len()), "{seen:?}");
        let of_kind = |parity| {
            seen.each_ref().map(|all| {
                let ours = all.iter().filter(|one| one.id % 2 == parity);
                // The queue pair's number differs between services.
                ours.map(|one| Completion { queue_pair: Default::default(), ..*one }).collect()
            })
        };
        let outcome = Outcome {
            memory: pair.peers.each_ref().map(|peer| peer.bytes(0, self.memory())),
            sent: of_kind(0),
            received: of_kind(1),
        };
        (outcome, pair.sent)
    }

    fn id(&self, place: usize) -> u64 {
        place as u64 * 2 + u64::from(self.acts[place].job == Job::Receive)
    }

    fn immediate(&self, place: usize) -> ImmDt {
        ImmDt([1, 2, 3, place as u8])
    }

    fn post(&self, peers: &mut [Peer; 2], place: usize) {
        let act = &self.acts[place];
        let id = self.id(place);
        if act.job == Job::Receive {
            peers[act.side].receive(id, act.local, act.length).unwrap();
            return;
        }
        let operation = self.operation(peers, place);
        let ours = &mut peers[act.side];
        let element = [ours.sge(act.local, act.length)];
        let elements = if operation.is_without_elements() { &[][..] } else { &element };
        let fence = if act.fenced { SendFlags::FENCE } else { SendFlags::empty() };
        ours.post_elements(id, operation, elements, SendFlags::SIGNALED | fence).unwrap();
    }

    fn operation(&self, peers: &[Peer; 2], place: usize) -> Operation {
        let act = &self.acts[place];
        let (ours, theirs) = (&peers[act.side], &peers[1 - act.side]);
        let remote = theirs.remote(act.through, act.remote);
        let immediate = self.immediate(place);
        match act.job {
            Job::Receive => unreachable!("posted elsewhere"),
            Job::Send => Operation::Send,
            Job::SendImmediate => Operation::SendWithImmediate(immediate),
            Job::SendInvalidate(door) => Operation::SendWithInvalidate(theirs.key_of(door)),
            Job::Write => Operation::RdmaWrite(remote),
            Job::WriteImmediate => Operation::RdmaWriteWithImmediate(remote, immediate),
            Job::Read => Operation::RdmaRead(remote),
            Job::FetchAdd(add) => Operation::FetchAndAdd { remote, add },
            Job::CompareSwap(compare, swap) => Operation::CompareAndSwap { remote, compare, swap },
            Job::Flush => Operation::Flush {
                remote,
                length: act.length as u32,
                placement: Placement::GLOBAL,
                selectivity: Selectivity::Range,
            },
            Job::AtomicWrite(value) => Operation::AtomicWrite { remote, value },
            Job::Open(door) => {
                let before = match door {
                    Door::Region => unreachable!("always open"),
                    Door::WindowOne(number) => Door::WindowOne(number - 1),
                    Door::WindowTwo(number) => Door::WindowTwo(number - 1),
                    Door::Fast(number) => Door::Fast(number - 1),
                };
                open(ours, before, door, self.memory())
            }
            Job::Close(door) => Operation::LocalInvalidate(ours.key_of(door)),
        }
    }
}

/// What a side's memory holds at first.
pub fn fill_byte(side: usize, at: usize) -> u8 {
    (at as u8).wrapping_mul(31).wrapping_add(1 + 77 * side as u8)
}

/// Binds or registers a door that is known by a key, under another, to so many bytes from the start of a peer's memory.
pub fn open(ours: &Peer, before: Door, door: Door, length: usize) -> Operation {
    let (before, key) = (ours.key_of(before), ours.key_of(door));
    let length = length as u64;
    if let Door::Fast(_) = door {
        let access = Access::REMOTE | Access::LOCAL_WRITE;
        return Operation::FastRegister(FastRegistration {
            region: before,
            key,
            offset: 0,
            length,
            address: BASE,
            access,
        });
    }
    Operation::BindWindow(WindowBinding {
        window: before,
        key,
        region: ours.key,
        address: BASE,
        length,
        access: Access::REMOTE,
    })
}
