//! Operations as bands beside the ladder: which packets are of each, and where it stands beside others.

use std::collections::BTreeMap;

use rdmalab_lint::{Operation, OperationKind, StreamOperation, UnitRole};

use crate::model::Packet;

/// Bands that stand beside each other at one end; further ones share the last place.
pub(crate) const MOST_BESIDE: usize = 12;
/// PSNs are counted in 24 bits.
const PSNS: u32 = 1 << 24;

/// An operation from its first packet to what completed it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Band {
    /// Its flow, by place.
    pub flow: u32,
    pub kind: OperationKind,
    pub bytes: u64,
    /// PSNs; of iWARP, the message's number in its queue.
    pub psns: (u32, u32),
    /// The packets that it begins with and ends with, by place.
    pub packets: (u32, u32),
    /// Packets of it that were sent again.
    pub repeated: u64,
    /// Which of the bands beside each other it is.
    pub beside: u8,
}

/// Packets that are of no operation yet, by flow and PSN.
#[derive(Debug, Default)]
pub(crate) struct Open {
    packets: BTreeMap<(u32, u32), Vec<u32>>,
}

impl Open {
    pub(crate) fn add(&mut self, flow: u32, psn: u32, packet: u32) {
        self.packets.entry((flow, psn)).or_default().push(packet);
    }

    /// A complete operation: takes its packets.
    pub(crate) fn complete(
        &mut self,
        packets: &mut [Packet],
        bands: &mut Vec<Band>,
        flow: u32,
        operation: &Operation,
    ) {
        let (first, last) = (operation.first_psn.value(), operation.last_psn.value());
        let Some((begun, completed)) = drawn(packets, operation.begun.0, operation.completed.0) else {
            return;
        };
        let number = bands.len() as u32;
        // PSNs go round.
        let whole =
            if first <= last { [Some(first..=last), None] } else { [Some(first..=PSNS - 1), Some(0..=last)] };
        for range in whole.into_iter().flatten() {
            let keys: Vec<(u32, u32)> = self
                .packets
                .range((flow, *range.start())..=(flow, *range.end()))
                .map(|(key, _)| *key)
                .collect();
            for key in keys {
                for place in self.packets.remove(&key).unwrap_or_default() {
                    if place >= begun
                        && let Some(packet) = packets.get_mut(place as usize)
                    {
                        packet.band = Some(number);
                    }
                }
            }
        }
        bands.push(Band {
            flow,
            kind: operation.kind,
            bytes: operation.bytes,
            psns: (first, last),
            packets: (begun, completed),
            repeated: operation.repeated,
            beside: 0,
        });
    }
}

/// The places of the first and last packet drawn between two frames; `None` if there is none.
fn drawn(packets: &[Packet], begun: u64, completed: u64) -> Option<(u32, u32)> {
    let first = packets.partition_point(|packet| packet.frame < begun);
    let behind = packets.partition_point(|packet| packet.frame <= completed);
    (first < behind).then(|| (first as u32, behind as u32 - 1))
}

/// Packets with FPDUs that are of no operation yet, by flow. Messages of a direction do not mix, and answers come in the order
/// of their requests; so an operation that is complete has all that came before it.
#[derive(Debug, Default)]
pub(crate) struct OpenStreams {
    requests: BTreeMap<u32, Vec<u32>>,
    answers: BTreeMap<u32, Vec<u32>>,
}

impl OpenStreams {
    pub(crate) fn add(&mut self, flow: u32, role: UnitRole, packet: u32) {
        let of_flow = match role {
            UnitRole::Ready | UnitRole::Request => self.requests.entry(flow).or_default(),
            UnitRole::Answer => self.answers.entry(flow).or_default(),
            UnitRole::StartUp | UnitRole::Unasked | UnitRole::Terminate | UnitRole::Broken => return,
        };
        if of_flow.last() != Some(&packet) {
            of_flow.push(packet);
        }
    }

    /// A complete operation: takes its packets.
    pub(crate) fn complete(
        &mut self,
        packets: &mut [Packet],
        bands: &mut Vec<Band>,
        flow: u32,
        operation: &StreamOperation,
    ) {
        let Some((begun, completed)) = drawn(packets, operation.begun.0, operation.completed.0) else {
            return;
        };
        let number = bands.len() as u32;
        let mut take = |places: &mut Vec<u32>, range: std::ops::RangeInclusive<u32>| {
            places.retain(|place| {
                if let Some(packet) = packets.get_mut(*place as usize).filter(|_| range.contains(place)) {
                    packet.band = packet.band.or(Some(number));
                }
                // Of those in front nothing will be heard any more.
                place > range.end()
            });
        };
        let requests = self.requests.entry(flow).or_default();
        if operation.kind.is_answered() {
            // Behind its request others may be.
            take(self.answers.entry(flow).or_default(), begun..=completed);
            if let Some(at) = requests.iter().position(|place| *place == begun) {
                take(&mut vec![requests.remove(at)], begun..=begun);
            }
        } else {
            take(requests, begun..=completed);
        }
        let msn = operation.msn.unwrap_or_default();
        bands.push(Band {
            flow,
            kind: operation.kind,
            bytes: operation.bytes,
            psns: (msn, msn),
            packets: (begun, completed),
            repeated: 0,
            beside: 0,
        });
    }
}

/// Gives each band its place beside the others at the same end; `end_of` is the end of a flow.
pub(crate) fn place_beside(bands: &mut [Band], end_of: impl Fn(u32) -> Option<u32>) {
    let mut order: Vec<usize> = (0..bands.len()).collect();
    order.sort_by_key(|place| bands.get(*place).map(|band| band.packets));
    // Where the last band of each place ends.
    let mut until: BTreeMap<Option<u32>, [Option<u32>; MOST_BESIDE]> = BTreeMap::new();
    for place in order {
        let Some(band) = bands.get_mut(place) else { continue };
        let places = until.entry(end_of(band.flow)).or_default();
        let free = places.iter().position(|end| end.is_none_or(|end| end < band.packets.0));
        let beside = free.unwrap_or(MOST_BESIDE - 1);
        if let Some(end) = places.get_mut(beside) {
            *end = (*end).max(Some(band.packets.1));
        }
        band.beside = beside as u8;
    }
}
