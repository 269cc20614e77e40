//! What capturing programs do to captures: they begin late, end early, miss packets, have them twice or in another order, and keep
//! only the first bytes of each.

use rdmalab_sim::Random;

use crate::sound::Packet;

/// What becomes of a capture.
#[derive(Clone, Copy, Debug)]
pub enum Lie {
    /// It has only so many packets, from this one on.
    Part(usize, usize),
    /// One in so many is missing.
    Missed(u64),
    /// Only one in so many is there.
    Kept(u64),
    /// So many in a row are missing.
    Gap(u64),
    /// Each is up to so many places further behind, with the time at which it was sent.
    Reordered(u64),
    /// The same, but times were taken when they were written: only few places, or nothing would be known of any order.
    Swapped,
    /// One in so many is there twice, up to so many places behind.
    Doubled(u64, u64),
    /// Two places of capture, one of which has each packet so many nanoseconds later.
    TwoTaps(u64),
    /// Two places of capture, one for each direction: what is not sent to the same place as the first packet comes so many nanoseconds
    /// later.
    Skewed(u64),
    /// Only so many bytes of each packet.
    Snapped(usize),
    /// Only so many bytes of one in so many packets.
    Cut(u64, usize),
    /// Only what is sent to the same place as the first packet.
    OneWay,
}

impl Lie {
    /// Whether packets are in another order by it. Of two such lies, one on top of the other, nothing is left to go by.
    pub fn is_about_order(self) -> bool {
        matches!(self, Lie::Reordered(_) | Lie::Swapped | Lie::Doubled(..) | Lie::TwoTaps(_) | Lie::Skewed(_))
    }
}

/// Any of them.
pub fn any(random: &mut Random) -> Lie {
    match random.below(15) {
        13 => Lie::Skewed(300 + random.below(19_000)),
        0 | 1 => Lie::Missed(2 + random.below(40)),
        2 => Lie::Kept(2 + random.below(40)),
        3 | 4 => Lie::Gap(1 + random.below(60)),
        5..=7 => Lie::Reordered(2 + random.below(80)),
        8 => Lie::Swapped,
        9 => Lie::Doubled(1 + random.below(30), random.below(20)),
        10 => Lie::TwoTaps([0, 300, 700, 5_000, 30_000][random.below(5) as usize]),
        11 => Lie::Snapped(14 + random.below(120) as usize),
        12 => Lie::Cut(1 + random.below(60), 14 + random.below(120) as usize),
        _ => Lie::OneWay,
    }
}

/// The capture with the lie.
pub fn told(packets: &mut Vec<Packet>, lie: Lie, random: &mut Random) {
    match lie {
        Lie::Part(from, count) => {
            packets.drain(..from.min(packets.len()));
            packets.truncate(count);
        }
        Lie::Missed(every) => packets.retain(|_| random.below(every) != 0),
        Lie::Kept(every) => packets.retain(|_| random.below(every) == 0),
        Lie::Gap(count) => {
            let from = random.below(packets.len() as u64) as usize;
            packets.drain(from..(from + count as usize).min(packets.len()));
        }
        Lie::Reordered(places) => reorder(packets, |index| index + random.below(places)),
        Lie::Swapped => {
            let times: Vec<u64> = packets.iter().map(|packet| packet.time).collect();
            let mut at = 0;
            while at + 1 < packets.len() {
                // No program keeps a packet until the next one comes much later.
                if times[at + 1].saturating_sub(times[at]) < 1_000_000 && random.below(8) == 0 {
                    packets.swap(at, at + 1);
                    at += 1;
                }
                at += 1;
            }
            packets.iter_mut().zip(times).for_each(|(packet, time)| packet.time = time);
        }
        Lie::Doubled(every, places) => {
            let mut placed = Vec::new();
            for (index, packet) in packets.drain(..).enumerate() {
                if random.below(every) == 0 {
                    placed.push((index as u64 + random.below(places + 1), packet.clone()));
                }
                placed.push((index as u64, packet));
            }
            placed.sort_by_key(|(place, _)| *place);
            packets.extend(placed.into_iter().map(|(_, packet)| packet));
        }
        Lie::TwoTaps(later) => {
            let mut second = packets.clone();
            second.iter_mut().for_each(|packet| packet.time += later);
            packets.extend(second);
            packets.sort_by_key(|packet| packet.time);
        }
        Lie::Skewed(later) => {
            let first = packets.first().and_then(to);
            packets.iter_mut().filter(|packet| to(packet) != first).for_each(|packet| packet.time += later);
            packets.sort_by_key(|packet| packet.time);
        }
        Lie::Snapped(length) => packets.iter_mut().for_each(|packet| packet.data.truncate(length)),
        Lie::Cut(every, length) => {
            for packet in packets {
                if random.below(every) == 0 {
                    packet.data.truncate(length);
                }
            }
        }
        Lie::OneWay => {
            let first = packets.first().and_then(to);
            packets.retain(|packet| to(packet) == first);
        }
    }
}

/// Whom a packet goes to, by the link's address.
fn to(packet: &Packet) -> Option<[u8; 6]> {
    packet.data.first_chunk().copied()
}

fn reorder(packets: &mut Vec<Packet>, mut place: impl FnMut(u64) -> u64) {
    let mut placed: Vec<(u64, Packet)> =
        packets.drain(..).enumerate().map(|(index, packet)| (place(index as u64), packet)).collect();
    placed.sort_by_key(|(place, _)| *place);
    packets.extend(placed.into_iter().map(|(_, packet)| packet));
}
