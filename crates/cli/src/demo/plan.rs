//! What is done, where the bytes come from and go to, and what the memory of both sides must be at the end.
//!
//! A asks, B serves. Each side has one region, filled with random bytes of the seed before anything happens. Every message
//! has a slot of its own on both sides with a few bytes of distance to the next, so that whatever lands in a wrong place,
//! lands twice, or lands beside, shows: at the end the whole region is compared, not just the slots.

use rdmalab_sim::Seed;
use rdmalab_verbs::CompletionKind;

/// Bytes between one slot and the next.
const DISTANCE: u64 = 8;
/// Bytes of a value of an atomic.
pub const VALUE: u32 = 8;
/// What the counter of the FETCH_ADDs is at first.
const FIRST_COUNT: u64 = 0x100;
/// What each FETCH_ADD adds.
pub const ADD: u64 = 0x10;

/// The operations, in the order of the demonstration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Send,
    Write,
    Read,
    FetchAdd,
    CompareSwap,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Send, Self::Write, Self::Read, Self::FetchAdd, Self::CompareSwap];

    /// The name, as the opcodes have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Send => "SEND",
            Self::Write => "WRITE",
            Self::Read => "READ",
            Self::FetchAdd => "FETCH_ADD",
            Self::CompareSwap => "CMP_SWAP",
        }
    }

    /// What it does, for somebody who sees it for the first time.
    pub fn story(self) -> &'static str {
        match self {
            Self::Send => "A's message lands in a buffer that B posted for it, and both programs are told.",
            Self::Write => "A writes into B's memory, by address and key. B's program is not told.",
            Self::Read => "A reads B's memory: one packet asks, the answer comes in several.",
            Self::FetchAdd => "A adds to a number in B's memory, and gets what it was before.",
            Self::CompareSwap => "A replaces a number in B's memory if it is the one A expects.",
        }
    }

    /// What its completion at A says it was.
    pub fn completion(self) -> CompletionKind {
        match self {
            Self::Send => CompletionKind::Send,
            Self::Write => CompletionKind::RdmaWrite,
            Self::Read => CompletionKind::RdmaRead,
            Self::FetchAdd => CompletionKind::FetchAndAdd,
            Self::CompareSwap => CompletionKind::CompareAndSwap,
        }
    }

    /// Whether it carries a value instead of a message.
    pub fn is_atomic(self) -> bool {
        matches!(self, Self::FetchAdd | Self::CompareSwap)
    }
}

/// How much of each operation is done, and with which bytes.
pub struct Plan {
    /// Messages of each kind.
    pub messages: u32,
    /// Bytes of a message.
    pub size: u32,
    /// A's region before anything happens.
    pub a: Vec<u8>,
    /// B's region before anything happens.
    pub b: Vec<u8>,
}

impl Plan {
    /// Most bytes of a message: what READs ask for is all on the link at once.
    pub const MOST_SIZE: u32 = 1 << 20;
    /// Most bytes of all messages of one kind.
    pub const MOST_BYTES: u64 = 16 << 20;
    /// Most messages of one kind.
    pub const MOST_MESSAGES: u32 = 100_000;

    /// A plan whose contents come from `seed`. The limits above are the caller's to check.
    pub fn new(seed: Seed, messages: u32, size: u32) -> Self {
        let mut plan = Self { messages, size, a: Vec::new(), b: Vec::new() };
        let length = plan.length();
        let filled = |branch| {
            let mut bytes = vec![0; length];
            seed.branch(branch).random().fill(&mut bytes);
            bytes
        };
        (plan.a, plan.b) = (filled(0), filled(1));
        plan.set_b(Kind::FetchAdd, FIRST_COUNT);
        plan.set_b(Kind::CompareSwap, Self::swapped(0));
        plan
    }

    /// Bytes of a kind's messages, or of one message.
    pub fn bytes(&self, kind: Kind) -> u32 {
        if kind.is_atomic() { VALUE } else { self.size }
    }

    /// Where message `index` of a kind lies in A's region: the source, or what the answer fills.
    pub fn at_a(&self, kind: Kind, index: u32) -> u64 {
        self.slot(kind, index)
    }

    /// Where message `index` of a kind lies in B's region. All atomics of a kind go to one number.
    pub fn at_b(&self, kind: Kind, index: u32) -> u64 {
        self.slot(kind, if kind.is_atomic() { 0 } else { index })
    }

    /// What the cell of the CMP_SWAPs is after the first `index` of them, and what the next one expects.
    pub fn swapped(index: u32) -> u64 {
        u64::from(index) + 1
    }

    /// What atomic `index` of a kind must find.
    pub fn found(kind: Kind, index: u32) -> u64 {
        match kind {
            Kind::FetchAdd => FIRST_COUNT.wrapping_add(u64::from(index).wrapping_mul(ADD)),
            _ => Self::swapped(index),
        }
    }

    /// Whether message `index` of a kind has arrived: `a` and `b` are the regions as they are now.
    pub fn is_right(&self, kind: Kind, index: u32, a: &[u8], b: &[u8]) -> bool {
        let at_a = self.range(self.at_a(kind, index), kind);
        let at_b = self.range(self.at_b(kind, index), kind);
        match kind {
            Kind::Send | Kind::Write => b.get(at_b) == self.a.get(at_a),
            Kind::Read => a.get(at_a) == self.b.get(at_b),
            Kind::FetchAdd | Kind::CompareSwap => {
                a.get(at_a) == Some(&Self::found(kind, index).to_ne_bytes()[..])
            }
        }
    }

    /// Both regions as they must be when everything is done.
    pub fn expected(&self) -> (Vec<u8>, Vec<u8>) {
        let (mut a, mut b) = (self.a.clone(), self.b.clone());
        for kind in Kind::ALL {
            for index in 0..self.messages {
                let at_a = self.range(self.at_a(kind, index), kind);
                let at_b = self.range(self.at_b(kind, index), kind);
                match kind {
                    Kind::Send | Kind::Write => copy(&mut b, at_b, &self.a, at_a),
                    Kind::Read => copy(&mut a, at_a, &self.b, at_b),
                    Kind::FetchAdd | Kind::CompareSwap => {
                        copy(&mut a, at_a, &Self::found(kind, index).to_ne_bytes(), 0..VALUE as usize);
                        copy(&mut b, at_b, &Self::found(kind, index + 1).to_ne_bytes(), 0..VALUE as usize);
                    }
                }
            }
        }
        (a, b)
    }

    /// Bytes of each region.
    fn length(&self) -> usize {
        self.slot(Kind::CompareSwap, self.messages) as usize
    }

    /// Distance from one slot of a kind to the next. Slots begin at multiples of eight, as atomics need it.
    fn stride(&self, kind: Kind) -> u64 {
        u64::from(self.bytes(kind)).next_multiple_of(8) + DISTANCE
    }

    fn slot(&self, kind: Kind, index: u32) -> u64 {
        // Even without messages there is a number for the atomics.
        let places = u64::from(self.messages) + 1;
        let before: u64 =
            Kind::ALL.iter().filter(|other| **other < kind).map(|other| self.stride(*other)).sum();
        before * places + self.stride(kind) * u64::from(index)
    }

    fn range(&self, start: u64, kind: Kind) -> std::ops::Range<usize> {
        start as usize..start as usize + self.bytes(kind) as usize
    }

    fn set_b(&mut self, kind: Kind, value: u64) {
        let at = self.range(self.at_b(kind, 0), kind);
        copy(&mut self.b, at, &value.to_ne_bytes(), 0..VALUE as usize);
    }
}

fn copy(to: &mut [u8], at: std::ops::Range<usize>, from: &[u8], range: std::ops::Range<usize>) {
    if let (Some(to), Some(from)) = (to.get_mut(at), from.get(range)) {
        to.copy_from_slice(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_lie_apart_and_inside_whatever_the_size() {
        for (messages, size) in [(0, 0), (1, 0), (1, 1), (3, 7), (2, 8), (5, 2500)] {
            let plan = Plan::new(Seed::new(1), messages, size);
            let mut slots: Vec<(u64, u64)> = Kind::ALL
                .iter()
                .flat_map(|&kind| (0..messages).map(move |index| (kind, index)))
                .map(|(kind, index)| (plan.at_a(kind, index), u64::from(plan.bytes(kind))))
                .collect();
            slots.sort_unstable();
            assert!(slots.windows(2).all(|pair| pair[0].0 + pair[0].1 < pair[1].0), "{slots:?}");
            assert!(slots.iter().all(|(at, bytes)| (at + bytes) as usize <= plan.a.len()));
            assert!(slots.iter().all(|(at, _)| at % 8 == 0));
        }
    }

    #[test]
    fn nothing_is_right_before_it_is_done_and_everything_afterwards() {
        let plan = Plan::new(Seed::new(1), 2, 100);
        let (a, b) = plan.expected();
        for kind in Kind::ALL {
            for index in 0..2 {
                assert!(!plan.is_right(kind, index, &plan.a, &plan.b), "{kind:?} {index}");
                assert!(plan.is_right(kind, index, &a, &b), "{kind:?} {index}");
            }
        }
    }

    #[test]
    fn atomics_find_what_the_one_before_left() {
        let plan = Plan::new(Seed::new(1), 3, 0);
        let (_, b) = plan.expected();
        let at = plan.at_b(Kind::FetchAdd, 2) as usize;
        assert_eq!(b[at..at + 8], (FIRST_COUNT + 3 * ADD).to_ne_bytes());
        let at = plan.at_b(Kind::CompareSwap, 2) as usize;
        assert_eq!(b[at..at + 8], 4u64.to_ne_bytes());
    }
}
