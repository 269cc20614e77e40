//! Operations of RoCE that nothing completed: what is left when the capture ends, put together by PSNs.
//!
//! Only what begins in the capture is an operation here: of one whose first packet is missing, nobody knows what it was.

use std::collections::BTreeMap;

use rdmalab_lint::OperationKind;

use super::packets::{Open, PSNS, Part, distance};
use super::{Band, Ending};
use crate::model::Packet;

/// An operation as far as it is known.
#[derive(Debug)]
struct Unfinished {
    kind: OperationKind,
    first_psn: u32,
    /// PSNs of it that are known of.
    span: i64,
    /// Its last request packet is there.
    has_end: bool,
    bytes: u64,
    repeated: u64,
    /// Its packets, by place.
    packets: Vec<u32>,
}

impl Open {
    /// Makes bands of what is left; `path_mtu` of a flow, as far as it is known; `tells` says of one that the capture would
    /// have what completes its operations.
    pub(crate) fn finish(
        self,
        packets: &mut [Packet],
        bands: &mut Vec<Band>,
        path_mtu: impl Fn(u32) -> Option<u32>,
        tells: impl Fn(u32) -> bool,
    ) {
        let mut of_flow: Vec<(u32, u32, Option<Part>)> = Vec::new();
        let mut rest = self.packets.into_iter().peekable();
        while let Some(((flow, psn, place), part)) = rest.next() {
            of_flow.push((place, psn, part));
            if rest.peek().is_some_and(|((next, _, _), _)| *next == flow) {
                continue;
            }
            of_flow.sort_unstable_by_key(|(place, _, _)| *place);
            for operation in put_together(&of_flow, path_mtu(flow)) {
                let number = bands.len() as u32;
                let Some(band) = operation.band(flow, tells(flow), self.answered.get(&flow)) else {
                    continue;
                };
                for place in &operation.packets {
                    if let Some(packet) = packets.get_mut(*place as usize) {
                        packet.band = Some(number);
                    }
                }
                bands.push(band);
            }
            of_flow.clear();
        }
    }
}

/// Packets in the order of the capture, as operations. PSNs are counted on from the first, so that they do not go round.
fn put_together(packets: &[(u32, u32, Option<Part>)], path_mtu: Option<u32>) -> Vec<Unfinished> {
    let mut done = Vec::new();
    let mut open: BTreeMap<i64, Unfinished> = BTreeMap::new();
    let mut before: Option<(u32, i64)> = None;
    for (place, psn, part) in packets {
        let at = before.map_or(0, |(last, at)| at + i64::from(distance(*psn, last)));
        before = Some((*psn, at));
        if let Some(part) = part.filter(|part| part.starts && part.is_new) {
            // A conversation that begins anew may have the same PSNs.
            done.extend(open.insert(at, Unfinished::begin(*place, *psn, part, path_mtu)));
            continue;
        }
        let is_last = open.range(at + 1..).next().is_none();
        let Some((first, operation)) = open.range_mut(..=at).next_back() else { continue };
        let is_inside = at - *first < operation.span;
        let is_of_it = match part {
            Some(part) if is_inside => {
                operation.repeated += u64::from(part.is_repeated);
                true
            }
            Some(part) => operation.goes_on(at - *first, *part),
            // Without the path MTU nobody knows how many packets a READ is answered with.
            None => is_inside || (is_last && operation.kind == OperationKind::Read && path_mtu.is_none()),
        };
        if is_of_it {
            operation.packets.push(*place);
        }
    }
    done.extend(open.into_values());
    done.sort_by_key(|operation| operation.packets.first().copied());
    done
}

impl Unfinished {
    fn begin(place: u32, psn: u32, part: Part, path_mtu: Option<u32>) -> Unfinished {
        let answers = match (part.kind, path_mtu) {
            (OperationKind::Read, Some(size)) => part.bytes.div_ceil(size.max(1)),
            _ => 1,
        };
        Unfinished {
            kind: part.kind,
            first_psn: psn,
            span: answers.max(1).into(),
            has_end: part.ends,
            bytes: part.bytes.into(),
            repeated: part.is_repeated.into(),
            packets: vec![place],
        }
    }

    /// Whether a packet so many PSNs behind the first belongs to it, though others between them may be missing.
    fn goes_on(&mut self, offset: i64, part: Part) -> bool {
        if self.has_end || part.starts || part.kind != self.kind {
            return false;
        }
        self.span = offset + 1;
        self.has_end = part.ends;
        self.bytes += u64::from(part.bytes);
        self.repeated += u64::from(part.is_repeated);
        true
    }

    fn band(&self, flow: u32, tells: bool, answered: Option<&(u32, u32)>) -> Option<Band> {
        let (first, last) = self.packets.first().zip(self.packets.last())?;
        let last_psn = (i64::from(self.first_psn) + self.span - 1).rem_euclid(PSNS.into()) as u32;
        let is_acknowledged = answered.is_some_and(|(psn, at)| at > first && distance(*psn, last_psn) >= 0);
        let ending = if tells && !is_acknowledged { Ending::Never } else { Ending::Unknown };
        let numbered = Some(((self.first_psn, last_psn), self.repeated));
        Some(Band::new(flow, (self.kind, self.bytes), (*first, *last), ending, numbered))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEND: Part = Part {
        kind: OperationKind::Send,
        starts: false,
        ends: false,
        is_new: true,
        is_repeated: false,
        bytes: 256,
    };
    const FIRST: Part = Part { starts: true, ..SEND };
    const LAST: Part = Part { ends: true, bytes: 10, ..SEND };
    const AGAIN: Part = Part { is_new: false, is_repeated: true, ..SEND };
    const READ: Part = Part { kind: OperationKind::Read, starts: true, ends: true, bytes: 600, ..SEND };

    /// First PSN, PSNs, bytes, repetitions, packets.
    type Told = (u32, i64, u64, u64, Vec<u32>);

    fn told(packets: &[(u32, Option<Part>)], path_mtu: Option<u32>) -> Vec<Told> {
        let placed: Vec<_> = (0..).zip(packets).map(|(place, (psn, part))| (place, *psn, *part)).collect();
        let made = put_together(&placed, path_mtu).into_iter();
        made.map(|made| (made.first_psn, made.span, made.bytes, made.repeated, made.packets)).collect()
    }

    #[test]
    fn messages_are_put_together_where_psns_go_round_and_where_packets_are_missing() {
        let packets =
            [(PSNS - 1, Some(FIRST)), (0, Some(SEND)), (3, Some(LAST)), (0, Some(AGAIN)), (4, None)];
        assert_eq!(told(&packets, None), [(PSNS - 1, 5, 522, 1, vec![0, 1, 2, 3])]);
    }

    #[test]
    fn a_message_whose_first_packet_is_missing_is_none() {
        assert_eq!(told(&[(5, Some(SEND)), (6, Some(LAST)), (6, None)], None), []);
        // Nor is what was asked for again, when the first time was complete.
        let again = Part { starts: true, ..AGAIN };
        assert_eq!(told(&[(5, Some(again))], None), []);
    }

    #[test]
    fn answers_belong_to_the_read_that_takes_their_psns() {
        let packets = [(5, Some(READ)), (8, Some(FIRST)), (6, None), (7, None), (8, None)];
        assert_eq!(told(&packets, Some(256)), [(5, 3, 600, 0, vec![0, 2, 3]), (8, 1, 256, 0, vec![1, 4])],);
        let packets = [(5, Some(READ)), (6, None), (7, None)];
        assert_eq!(told(&packets, None), [(5, 1, 600, 0, vec![0, 1, 2])], "as many as there are");
    }

    #[test]
    fn a_conversation_that_begins_anew_may_have_the_same_psns() {
        let only = Part { ends: true, ..FIRST };
        let packets = [(5, Some(only)), (5, Some(only)), (5, None)];
        assert_eq!(told(&packets, None), [(5, 1, 256, 0, vec![0]), (5, 1, 256, 0, vec![1, 2])]);
    }
}
