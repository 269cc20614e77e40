//! What is done, where the bytes come from and go to, and what the memory of both sides must be at the end.
//!
//! A asks, B serves. Each side has one region, filled with random bytes of the seed before anything happens. Every message
//! has a slot of its own on both sides with a few bytes of distance to the next, so that whatever lands in a wrong place,
//! lands twice, or lands beside, shows: at the end the whole region is compared, not just the slots.
//!
//! Where messages may be lost, nobody knows beforehand which receive a message will land in. Then receives have slots of
//! their own, behind all others, in the order in which they are posted.

use std::ops::Range;

use rdmalab_sim::Seed;

use super::fate::Mischief;
use super::kind::{Kind, VALUE};
use super::transport::Transport;

/// Bytes between one slot and the next.
const DISTANCE: u64 = 8;
/// What the counter of the FETCH_ADDs is at first.
const FIRST_COUNT: u64 = 0x100;
/// What each FETCH_ADD adds.
pub const ADD: u64 = 0x10;

/// How much of each operation is done, and with which bytes.
pub struct Plan {
    /// The transport service.
    pub transport: Transport,
    /// The operations, in the order of the demonstration. None is there twice.
    pub kinds: Vec<Kind>,
    /// Messages of each kind.
    pub messages: u32,
    /// Bytes of a message.
    pub size: u32,
    /// What may happen to messages that are not sent again, beside losses.
    pub mischief: Mischief,
    /// How much later than A its messages B posts its receives, in nanoseconds.
    pub receives_late: u64,
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

    /// A plan whose contents come from `seed`, for packets that may meet with `mischief`. The limits above are the caller's to
    /// check.
    pub fn new(
        seed: Seed,
        transport: Transport,
        kinds: &[Kind],
        (messages, size): (u32, u32),
        mischief: Mischief,
    ) -> Self {
        let mut plan = Self {
            transport,
            kinds: kinds.to_vec(),
            messages,
            size,
            mischief,
            receives_late: 0,
            a: Vec::new(),
            b: Vec::new(),
        };
        let filled = |branch, length| {
            let mut bytes = vec![0; length];
            seed.branch(branch).random().fill(&mut bytes);
            bytes
        };
        plan.a = filled(0, plan.length());
        plan.b = filled(1, plan.length() + plan.receives_length());
        plan.set_b(Kind::FetchAdd, FIRST_COUNT);
        plan.set_b(Kind::CmpSwap, Self::swapped(0));
        plan
    }

    /// Messages of a kind: behind one that ends the connection there is none.
    pub fn count(&self, kind: Kind) -> u32 {
        if kind.ends_connection() { self.messages.min(1) } else { self.messages }
    }

    /// Bytes of a kind's messages, or of one message.
    pub fn bytes(&self, kind: Kind) -> u32 {
        if kind.is_value() { VALUE } else { self.size }
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

    /// What A sends as message `index` of a kind.
    pub fn message(&self, kind: Kind, index: u32) -> &[u8] {
        self.a.get(self.range(self.at_a(kind, index), kind)).unwrap_or_default()
    }

    /// Where receive `number` of all of B's lies in its region, if messages may be lost; a datagram's header comes first.
    pub fn receive(&self, number: u32) -> u64 {
        self.length() as u64 + self.receive_stride() * u64::from(number)
    }

    /// Bytes of such a receive.
    pub fn receive_bytes(&self) -> u32 {
        self.transport.header_area() + self.size
    }

    /// Such receives that B posts in all.
    pub fn receives(&self) -> u32 {
        let kinds = self.kinds.iter().filter(|kind| kind.takes_receive()).count() as u32;
        if self.transport.is_reliable() { 0 } else { kinds * self.messages + self.mischief.twice }
    }

    /// Whether message `index` of a kind is where it belongs, if none is ever lost: `a` and `b` are the regions as they
    /// are now.
    pub fn is_right(&self, kind: Kind, index: u32, a: &[u8], b: &[u8]) -> bool {
        let at_a = self.range(self.at_a(kind, index), kind);
        let at_b = self.range(self.at_b(kind, index), kind);
        match kind {
            Kind::Read => a.get(at_a) == self.b.get(at_b),
            Kind::WrongStag => a.get(at_a.clone()) == self.a.get(at_a),
            Kind::FetchAdd | Kind::CmpSwap => {
                a.get(at_a) == Some(&Self::found(kind, index).to_ne_bytes()[..])
            }
            _ => b.get(at_b) == self.a.get(at_a),
        }
    }

    /// Both regions as they must be when everything is done and nothing was lost for good.
    pub fn expected(&self) -> (Vec<u8>, Vec<u8>) {
        let (mut a, mut b) = (self.a.clone(), self.b.clone());
        for &kind in &self.kinds {
            for index in 0..self.messages {
                let at_a = self.range(self.at_a(kind, index), kind);
                let at_b = self.range(self.at_b(kind, index), kind);
                match kind {
                    Kind::Read => copy(&mut a, at_a, &self.b, at_b),
                    // Nothing goes either way.
                    Kind::WrongStag => {}
                    Kind::FetchAdd | Kind::CmpSwap => {
                        copy(&mut a, at_a, &Self::found(kind, index).to_ne_bytes(), 0..VALUE as usize);
                        copy(&mut b, at_b, &Self::found(kind, index + 1).to_ne_bytes(), 0..VALUE as usize);
                    }
                    _ => copy(&mut b, at_b, &self.a, at_a),
                }
            }
        }
        (a, b)
    }

    /// Bytes of A's region, and of B's without the receives that have slots of their own.
    fn length(&self) -> usize {
        self.kinds.last().map_or(0, |last| self.slot(*last, self.messages)) as usize
    }

    fn receives_length(&self) -> usize {
        (self.receive_stride() * u64::from(self.receives())) as usize
    }

    fn receive_stride(&self) -> u64 {
        u64::from(self.receive_bytes()).next_multiple_of(8) + DISTANCE
    }

    /// Distance from one slot of a kind to the next. Slots begin at multiples of eight, as atomics need it.
    fn stride(&self, kind: Kind) -> u64 {
        u64::from(self.bytes(kind)).next_multiple_of(8) + DISTANCE
    }

    fn slot(&self, kind: Kind, index: u32) -> u64 {
        // Even without messages there is a number for the atomics.
        let places = u64::from(self.messages) + 1;
        let before: u64 =
            self.kinds.iter().take_while(|other| **other != kind).map(|other| self.stride(*other)).sum();
        before * places + self.stride(kind) * u64::from(index)
    }

    fn range(&self, start: u64, kind: Kind) -> Range<usize> {
        start as usize..start as usize + self.bytes(kind) as usize
    }

    fn set_b(&mut self, kind: Kind, value: u64) {
        if self.kinds.contains(&kind) {
            let at = self.range(self.at_b(kind, 0), kind);
            copy(&mut self.b, at, &value.to_ne_bytes(), 0..VALUE as usize);
        }
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

    fn plan(messages: u32, size: u32) -> Plan {
        let all = [Transport::Rc.usual(), &[Kind::SendInv, Kind::Flush, Kind::AtomicWrite]].concat();
        Plan::new(Seed::new(1), Transport::Rc, &all, (messages, size), Mischief::default())
    }

    #[test]
    fn receives_that_messages_may_miss_lie_apart_behind_all_slots() {
        let kinds = Transport::Ud.usual();
        let plan = Plan::new(Seed::new(1), Transport::Ud, kinds, (3, 10), Mischief::default());
        assert_eq!(plan.receives(), 9);
        let last_slot = kinds.iter().map(|&kind| plan.at_b(kind, 2) + 10).max().unwrap();
        assert!(plan.receive(0) > last_slot);
        for number in 0..9 {
            assert!(plan.receive(number) + 50 < plan.receive(number + 1));
        }
        assert_eq!(plan.receive(9) as usize, plan.b.len());
    }

    #[test]
    fn slots_lie_apart_and_inside_whatever_the_size() {
        for (messages, size) in [(0, 0), (1, 0), (1, 1), (3, 7), (2, 8), (5, 2500)] {
            let plan = plan(messages, size);
            let mut slots: Vec<(u64, u64)> = plan
                .kinds
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
        let plan = plan(2, 100);
        let (a, b) = plan.expected();
        for &kind in &plan.kinds {
            for index in 0..2 {
                assert!(!plan.is_right(kind, index, &plan.a, &plan.b), "{kind:?} {index}");
                assert!(plan.is_right(kind, index, &a, &b), "{kind:?} {index}");
            }
        }
    }

    #[test]
    fn atomics_find_what_the_one_before_left() {
        let plan = plan(3, 0);
        let (_, b) = plan.expected();
        let at = plan.at_b(Kind::FetchAdd, 2) as usize;
        assert_eq!(b[at..at + 8], (FIRST_COUNT + 3 * ADD).to_ne_bytes());
        let at = plan.at_b(Kind::CmpSwap, 2) as usize;
        assert_eq!(b[at..at + 8], 4u64.to_ne_bytes());
    }
}
