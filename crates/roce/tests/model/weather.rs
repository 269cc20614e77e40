//! How the link treats packets, and what holds flows back: drawn for each scenario.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rdmalab_roce::{CongestionControl, DcqcnConfig};

use crate::pair::Fate;

/// Chances in 256.
#[derive(Clone, Copy, Debug)]
pub struct Weather {
    pub seed: u64,
    pub lost: u8,
    pub corrupt: u8,
    pub late: u8,
    pub held: u8,
    pub twice: u8,
    pub echo: u8,
    /// Arrives with a congestion mark, if its sender takes part.
    pub marked: u8,
}

impl Weather {
    /// Whether every packet arrives, once and in order.
    pub fn is_calm(&self) -> bool {
        self.keeps_order() && [self.lost, self.corrupt] == [0; 2]
    }

    /// Whether what arrives arrives once, and in order.
    pub fn keeps_order(&self) -> bool {
        let Self { seed: _, lost: _, corrupt: _, late, held, twice, echo, marked: _ } = *self;
        [late, held, twice, echo] == [0; 4]
    }
}

/// A first byte of a base header that says: congestion notification.
const NOTIFICATION: u8 = 0x81;

/// Decides the fate of packets.
///
/// [`Judge::fair`] never mistreats one packet more than twice, nor more than two requests or two answers of one side in
/// a row, so that a requester with the usual retry count always gets through. Congestion notifications are nobody's
/// request or answer.
pub struct Judge {
    weather: Weather,
    is_fair: bool,
    mistreated: BTreeMap<(usize, bool, u32), u8>,
    in_a_row: [[u8; 2]; 2],
    /// Packets of each side that did not arrive, or not in time.
    pub losses: [u64; 2],
}

const MOST: u8 = 2;

impl Judge {
    pub fn fair(weather: Weather) -> Self {
        let (mistreated, in_a_row) = (BTreeMap::new(), [[0; 2]; 2]);
        Self { weather, is_fair: true, mistreated, in_a_row, losses: [0; 2] }
    }

    pub fn merciless(weather: Weather) -> Self {
        Self { is_fair: false, ..Self::fair(weather) }
    }

    pub fn fate(&mut self, number: u64, from: usize, packet: &[u8]) -> Fate {
        let fate = self.draw(number);
        let arrives = matches!(fate, Fate::Deliver | Fate::Duplicate | Fate::Echo(_) | Fate::Marked);
        // Behind 28 bytes of IPv4 and UDP headers.
        if packet[28] == NOTIFICATION {
            return fate;
        }
        if !self.is_fair {
            self.losses[from] += u64::from(!arrives);
            return fate;
        }
        let is_answer = (0x0d..=0x12).contains(&(packet[28] & 0x1f));
        let psn = u32::from_be_bytes([0, packet[37], packet[38], packet[39]]);
        let times = self.mistreated.entry((from, is_answer, psn)).or_default();
        let in_a_row = &mut self.in_a_row[from][usize::from(is_answer)];
        if arrives || *times == MOST || *in_a_row == MOST {
            *in_a_row = 0;
            return if arrives { fate } else { Fate::Deliver };
        }
        *times += 1;
        *in_a_row += 1;
        self.losses[from] += 1;
        fate
    }

    fn draw(&self, number: u64) -> Fate {
        let Weather { seed, lost, corrupt, late, held, twice, echo, marked } = self.weather;
        let random = mix(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        // From a microsecond to a second.
        let by = 1000 << (random >> 8 & 0xf) << (random >> 12 & 0x7);
        let chances = [
            (lost, Fate::Drop),
            (corrupt, Fate::Corrupt),
            (late, Fate::Late),
            (held, Fate::Held(by)),
            (twice, Fate::Duplicate),
            (echo, Fate::Echo(by)),
        ];
        let mut left = u16::from(random as u8);
        for (chance, other) in chances {
            if left < u16::from(chance) {
                return other;
            }
            left -= u16::from(chance);
        }
        if (random >> 16) as u8 >= marked { Fate::Deliver } else { Fate::Marked }
    }
}

/// Splitmix64's finalizer.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

pub fn weather() -> impl Strategy<Value = Weather> {
    let chance = || prop_oneof![Just(0u8), 0u8..8, 8u8..40];
    let chances = (chance(), chance(), chance(), chance(), chance(), chance());
    let marks = prop_oneof![2 => Just(0u8), 1 => any::<u8>()];
    (any::<u64>(), chances, marks).prop_map(|(seed, (lost, corrupt, late, held, twice, echo), marked)| {
        Weather { seed, lost, corrupt, late, held, twice, echo, marked }
    })
}

/// What holds the flows of both sides back.
pub fn congestion() -> impl Strategy<Value = CongestionControl> {
    let rate = || prop_oneof![Just(5_000_000u64), Just(100_000_000), Just(1_250_000_000)];
    prop_oneof![
        4 => Just(CongestionControl::None),
        1 => rate().prop_map(CongestionControl::Fixed),
        3 => rate().prop_map(|rate| CongestionControl::Dcqcn(DcqcnConfig::new(rate))),
    ]
}
