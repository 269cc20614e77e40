//! Which packets are of which ladder.

use std::collections::{BTreeMap, HashMap};

use crate::model::Capture;

/// The two ends of a ladder, and the packets between them by place.
pub(super) type Ladder = ((u32, u32), Vec<u32>);

impl Capture {
    /// Packets by the two ends they go between, in the order in which these first talked. What is for everybody stands with
    /// what its sender says to the one it says most to.
    pub(super) fn ladders(&self) -> Vec<Ladder> {
        let mut of_pair: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        let mut alone: Vec<(u32, u32)> = Vec::new();
        for (place, packet) in (0..).zip(&self.packets) {
            match self.ends_of(packet) {
                (Some(a), Some(b)) => of_pair.entry((a.min(b), a.max(b))).or_default().push(place),
                (Some(a), None) | (None, Some(a)) => alone.push((a, place)),
                (None, None) => {}
            }
        }
        // Of each end, with whom it talks most, and how much.
        let mut most: HashMap<u32, (usize, (u32, u32))> = HashMap::new();
        for (key, packets) in &of_pair {
            for end in [key.0, key.1] {
                let with = most.entry(end).or_insert((0, *key));
                *with = (*with).max((packets.len(), *key));
            }
        }
        for (end, place) in alone {
            let key = most.get(&end).map_or((end, end), |(_, key)| *key);
            of_pair.entry(key).or_default().push(place);
        }
        let mut ladders: Vec<Ladder> = of_pair.into_iter().collect();
        for (_, packets) in &mut ladders {
            packets.sort_unstable();
        }
        ladders.sort_by_key(|(_, packets)| packets.first().copied());
        ladders
    }
}
