//! Two peers and a link that a test can make bad, in virtual time.
//!
//! Several test programs have this in them, each uses a part.
#![allow(dead_code)]

pub mod application;
pub mod flow;
pub mod peer;

use std::collections::BTreeMap;

use peer::{Peer, Setup};

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
    /// Arrives, with a congestion mark if its sender takes part.
    Marked,
}

/// One-way delay of the link, in nanoseconds.
const LATENCY: u64 = 1_000;
/// How much further the virtual clock may go before a test counts as hanging.
pub const PATIENCE: u64 = 120_000_000_000;

pub struct Pair {
    pub peers: [Peer; 2],
    pub now: u64,
    /// Packets under way, by arrival time and order.
    flying: BTreeMap<(u64, u64), (usize, Vec<u8>)>,
    /// Packets sent so far, both directions.
    pub sent: u64,
}

impl Pair {
    pub fn new(setup: &Setup) -> Self {
        let mut pair = Self {
            peers: [Peer::new(1, setup), Peer::new(2, setup)],
            now: 0,
            flying: BTreeMap::new(),
            sent: 0,
        };
        pair.connect(setup);
        pair
    }

    /// Brings the queue pairs of both from RESET to RTS.
    pub fn connect(&mut self, setup: &Setup) {
        let [a, b] = &mut self.peers;
        a.connect(setup, b);
        b.connect(setup, a);
    }

    /// Runs until nothing is left to do. `judge` is asked about each packet by its number and sender.
    pub fn run(&mut self, mut judge: impl FnMut(u64, usize, &[u8]) -> Fate) {
        let until = self.now + PATIENCE;
        while self.step(until, &mut judge) {}
        assert!(self.now < until, "the pair does not come to rest");
    }

    /// Runs until a time, or until nothing is left to do.
    pub fn run_until(&mut self, until: u64, mut judge: impl FnMut(u64, usize, &[u8]) -> Fate) {
        while self.step(until, &mut judge) {}
    }

    /// Sends what can be sent, goes on to the next time at which something happens, and lets it happen. `false` if that
    /// is later than `until`, or never.
    pub fn step(&mut self, until: u64, judge: &mut impl FnMut(u64, usize, &[u8]) -> Fate) -> bool {
        for from in 0..2 {
            while self.peers[from].endpoint.has_packets() {
                self.peers[from].fill_batch(self.now);
                let packets = std::mem::take(&mut self.peers[from].packets);
                for packet in packets {
                    let fate = judge(self.sent, from, &packet);
                    self.launch(from, packet, fate);
                }
            }
        }
        let arrival = self.flying.keys().next().map(|&(time, _)| time);
        let timers = self.peers.iter().filter_map(|peer| peer.endpoint.next_timeout());
        let Some(next) = timers.chain(arrival).min() else { return false };
        self.now = self.now.max(next.min(until));
        if next > until {
            return false;
        }
        while let Some(entry) = self.flying.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            let (to, packet) = entry.remove();
            let peer = &mut self.peers[to];
            peer.endpoint.handle_packet(&mut peer.context, self.now, &packet);
        }
        for peer in &mut self.peers {
            peer.endpoint.handle_timeout(&mut peer.context, self.now);
        }
        true
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
            // The congestion field is the low end of IPv4's second byte.
            Fate::Marked if packet[1] & 3 != 0 => packet[1] |= 3,
            Fate::Deliver | Fate::Marked => {}
        }
        self.flying.insert((self.now + LATENCY, number * 4), (to, packet));
    }
}
