//! Packets of RoCE that are of no operation yet.

use std::collections::BTreeMap;

use rdmalab_lint::{Operation, OperationKind, Role};
use rdmalab_trace::Roce;
use rdmalab_wire::opcode::Position;

use super::{Band, Ending, drawn};
use crate::kind::Kind;
use crate::model::Packet;

/// PSNs are counted in 24 bits.
pub(super) const PSNS: u32 = 1 << 24;

/// What a request packet is of its message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub kind: OperationKind,
    pub starts: bool,
    pub ends: bool,
    /// The capture has it for the first time.
    pub is_new: bool,
    /// The requester sent it again.
    pub is_repeated: bool,
    /// What it carries; of a READ, what it asks for.
    pub bytes: u32,
}

impl Part {
    /// `None` of what is no request.
    pub(crate) fn of(roce: &Roce<'_>, role: Role) -> Option<Part> {
        let row = roce.packet.opcode?.row()?;
        let kind = match Kind::of_roce(roce) {
            Kind::Send => OperationKind::Send,
            Kind::Write => OperationKind::Write,
            Kind::ReadRequest => OperationKind::Read,
            Kind::Atomic => match row.opcode & 0x1f {
                0x1c => OperationKind::Flush,
                0x1d => OperationKind::AtomicWrite,
                _ => OperationKind::Atomic,
            },
            _ => return None,
        };
        let asked = roce.packet.headers.reth.map_or(0, |reth| reth.length);
        let part = Part {
            kind,
            starts: matches!(row.position, Position::First | Position::Only),
            ends: row.ends_message,
            is_new: false,
            is_repeated: false,
            bytes: match kind {
                OperationKind::Read => asked,
                OperationKind::Atomic => 8,
                _ => u32::try_from(roce.payload_length).unwrap_or(u32::MAX),
            },
        };
        Some(part.placed(role))
    }

    /// The same with this place in its conversation.
    fn placed(self, role: Role) -> Part {
        Part {
            is_new: matches!(role, Role::Request | Role::Late | Role::Repetition { is_first_seen: true, .. }),
            is_repeated: matches!(role, Role::Repetition { .. }),
            ..self
        }
    }
}

/// Packets that are of no operation yet, by flow, PSN and place; of requests, what they are of their messages.
#[derive(Debug, Default)]
pub(crate) struct Open {
    pub(super) packets: BTreeMap<(u32, u32, u32), Option<Part>>,
    /// By flow, the answer that says most: its PSN, and its place.
    pub(super) answered: BTreeMap<u32, (u32, u32)>,
}

impl Open {
    /// A packet of a flow; `part` if it is a request.
    pub(crate) fn add(&mut self, flow: u32, psn: u32, place: u32, kind: Kind, part: Option<Part>) {
        self.packets.insert((flow, psn, place), part);
        if part.is_none() && matches!(kind, Kind::Acknowledge | Kind::ReadResponse | Kind::AtomicResponse) {
            let (most, at) = self.answered.entry(flow).or_insert((psn, place));
            if distance(psn, *most) >= 0 {
                (*most, *at) = (psn, place);
            }
        }
    }

    /// A packet, by flow, PSN and place, has another place in its conversation than was told.
    pub(crate) fn correct(&mut self, key: (u32, u32, u32), role: Role) {
        if let Some(Some(part)) = self.packets.get_mut(&key) {
            *part = part.placed(role);
        }
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
            let keys: Vec<(u32, u32, u32)> = self
                .packets
                .range((flow, *range.start(), 0)..=(flow, *range.end(), u32::MAX))
                .map(|(key, _)| *key)
                // Those in front are of another that had the same PSNs.
                .filter(|(_, _, place)| *place >= begun)
                .collect();
            for key in keys {
                self.packets.remove(&key);
                if let Some(packet) = packets.get_mut(key.2 as usize) {
                    packet.band = Some(number);
                }
            }
        }
        let what = (operation.kind, operation.bytes);
        let numbered = Some(((first, last), operation.repeated));
        bands.push(Band::new(flow, what, (begun, completed), Ending::Complete, numbered));
    }
}

/// How far a PSN is behind another, less than half the way round.
pub(super) fn distance(psn: u32, earlier: u32) -> i32 {
    rdmalab_wire::Psn::new(psn).distance(rdmalab_wire::Psn::new(earlier))
}
