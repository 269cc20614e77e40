//! Two sides and a link that a test can make bad, in virtual time.

use std::collections::BTreeMap;

use crate::side::{Setup, Side};

/// What happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Deliver,
    Drop,
    Duplicate,
    /// Arrives behind the packet that follows it.
    Late,
    /// One bit changes on the way.
    Corrupt,
    /// Arrives so many nanoseconds later than it should.
    Held(u64),
    /// Arrives, and once more so many nanoseconds later.
    Echo(u64),
}

/// One-way delay of the link, in nanoseconds.
const LATENCY: u64 = 1_000;
/// How much further the virtual clock may go before a test counts as hanging.
const PATIENCE: u64 = 120_000_000_000;

pub struct Pair {
    pub sides: [Side; 2],
    pub now: u64,
    /// Packets under way, by arrival time and order.
    flying: BTreeMap<(u64, u64), (usize, Vec<u8>)>,
    /// Packets sent so far, both directions.
    pub sent: u64,
}

impl Pair {
    pub fn new(setup: &Setup) -> Self {
        let mut sides = [Side::new(1, setup), Side::new(2, setup)];
        let peers = [(sides[1].address, sides[1].queue_pair), (sides[0].address, sides[0].queue_pair)];
        for (side, (address, queue_pair)) in sides.iter_mut().zip(peers) {
            side.connect(setup, address, queue_pair);
        }
        Self { sides, now: 0, flying: BTreeMap::new(), sent: 0 }
    }

    /// Runs until nothing is left to do. `judge` is asked about each packet by its number and sender.
    pub fn run(&mut self, judge: impl FnMut(u64, usize, &[u8]) -> Fate) {
        let until = self.now + PATIENCE;
        self.run_until(until, judge);
        assert!(self.now < until, "the pair does not come to rest");
    }

    /// Runs until a time, or until nothing is left to do.
    pub fn run_until(&mut self, until: u64, mut judge: impl FnMut(u64, usize, &[u8]) -> Fate) {
        loop {
            for from in 0..2 {
                for packet in self.sides[from].drain(self.now) {
                    let fate = judge(self.sent, from, &packet);
                    self.launch(from, packet, fate);
                }
            }
            let arrival = self.flying.keys().next().map(|&(time, _)| time);
            let timers = self.sides.iter().filter_map(|side| side.endpoint.next_timeout());
            let Some(next) = timers.chain(arrival).min() else { return };
            self.now = self.now.max(next.min(until));
            if next > until {
                return;
            }
            while let Some(entry) = self.flying.first_entry() {
                if entry.key().0 > self.now {
                    break;
                }
                let (to, packet) = entry.remove();
                let side = &mut self.sides[to];
                side.endpoint.handle_packet(&mut side.context, self.now, &packet);
            }
            for side in &mut self.sides {
                side.endpoint.handle_timeout(&mut side.context, self.now);
            }
        }
    }

    fn launch(&mut self, from: usize, mut packet: Vec<u8>, fate: Fate) {
        let number = self.sent;
        self.sent += 1;
        let to = 1 - from;
        match fate {
            Fate::Drop => return,
            Fate::Duplicate => {
                self.flying.insert((self.now + LATENCY, number * 4 + 1), (to, packet.clone()));
            }
            Fate::Corrupt => {
                let last = packet.len() - 5;
                packet[last] ^= 0x10;
            }
            Fate::Late => {
                // Behind the next packet of this burst, or a little later if it is alone.
                self.flying.insert((self.now + LATENCY + 1, (number + 1) * 4 + 2), (to, packet));
                return;
            }
            Fate::Held(by) => {
                self.flying.insert((self.now + LATENCY + by, number * 4 + 3), (to, packet));
                return;
            }
            Fate::Echo(by) => {
                self.flying.insert((self.now + LATENCY + by, number * 4 + 3), (to, packet.clone()));
            }
            Fate::Deliver => {}
        }
        self.flying.insert((self.now + LATENCY, number * 4), (to, packet));
    }
}
