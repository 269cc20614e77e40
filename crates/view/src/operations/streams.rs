//! Packets with FPDUs that are of no operation yet.

use std::collections::{BTreeMap, VecDeque};

use rdmalab_lint::{OperationKind, StreamOperation, UnitRole};
use rdmalab_trace::IwarpUnit;
use rdmalab_wire::iwarp::{Place, RawBody};

use super::{Band, Ending, drawn};
use crate::kind::Kind;
use crate::model::Packet;

/// What an FPDU is of its message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamPart {
    kind: OperationKind,
    starts: bool,
    ends: bool,
    /// What it carries; of a READ, what it asks for.
    bytes: u64,
    msn: u32,
}

impl StreamPart {
    /// `None` of what is no request.
    pub(crate) fn of(unit: &IwarpUnit) -> Option<StreamPart> {
        let kind = match Kind::of_unit(unit)? {
            Kind::Send => OperationKind::Send,
            Kind::Write => OperationKind::Write,
            Kind::ReadRequest => OperationKind::Read,
            Kind::Atomic => OperationKind::Atomic,
            _ => return None,
        };
        let IwarpUnit::Fpdu(fpdu) = unit else { return None };
        let segment = fpdu.segment();
        let header = segment.header?;
        let (msn, offset) = match header.place {
            // Where a WRITE begins its header does not say.
            Place::Tagged { .. } => (0, 0),
            Place::Untagged { msn, offset, .. } => (msn, offset),
        };
        let bytes = match segment.body {
            Some(RawBody::ReadRequest(request)) => request.length.into(),
            Some(RawBody::AtomicRequest(_) | RawBody::Immediate(_)) => 8,
            _ => segment.payload.len() as u64,
        };
        Some(StreamPart { kind, starts: offset == 0, ends: header.last, bytes, msn })
    }
}

/// An operation that nothing has completed yet.
#[derive(Debug)]
struct Begun {
    kind: OperationKind,
    bytes: u64,
    msn: u32,
    /// Its packets, by place.
    packets: Vec<u32>,
}

/// What a direction has begun.
#[derive(Debug, Default)]
struct BegunOnes {
    /// The SEND or WRITE whose last segment has not come.
    message: Option<Begun>,
    /// READs and atomics, in their order.
    asked: VecDeque<Begun>,
    /// Messages that were left for others.
    left: Vec<Begun>,
}

/// Packets with FPDUs that are of no operation yet, by flow. Messages of a direction do not mix, and answers come in the order
/// of their requests; so an operation that is complete has all that came before it.
#[derive(Debug, Default)]
pub(crate) struct OpenStreams {
    requests: BTreeMap<u32, Vec<u32>>,
    answers: BTreeMap<u32, Vec<u32>>,
    begun: BTreeMap<u32, BegunOnes>,
}

impl OpenStreams {
    /// An FPDU; `part` if it is a request.
    pub(crate) fn add(&mut self, flow: u32, role: UnitRole, packet: u32, part: Option<StreamPart>) {
        let begun = self.begun.entry(flow).or_default();
        match (role, part) {
            (UnitRole::Request, Some(part)) => begun.request(packet, part),
            (UnitRole::Answer, _) => begun.answer(packet),
            _ => {}
        }
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
        if let Some(ones) = self.begun.get_mut(&flow) {
            ones.complete(begun, operation.kind);
        }
        if operation.kind.is_answered() {
            // Behind its request others may be.
            take(self.answers.entry(flow).or_default(), begun..=completed);
            if let Some(at) = requests.iter().position(|place| *place == begun) {
                take(&mut vec![requests.remove(at)], begun..=begun);
            }
        } else {
            take(requests, begun..=completed);
        }
        let what = (operation.kind, operation.bytes);
        bands.push(Band::new(flow, what, (begun, completed), Ending::Complete, None));
    }

    /// Makes bands of what is left; `tells` says of a flow that the capture has all of it and of its answers.
    pub(crate) fn finish(self, packets: &mut [Packet], bands: &mut Vec<Band>, tells: impl Fn(u32) -> bool) {
        for (flow, ones) in self.begun {
            let ending = if tells(flow) { Ending::Never } else { Ending::Unknown };
            for begun in ones.left.into_iter().chain(ones.message).chain(ones.asked) {
                let Some((first, last)) = begun.packets.first().zip(begun.packets.last()) else { continue };
                let number = bands.len() as u32;
                for place in &begun.packets {
                    if let Some(packet) = packets.get_mut(*place as usize) {
                        packet.band = packet.band.or(Some(number));
                    }
                }
                bands.push(Band::new(flow, (begun.kind, begun.bytes), (*first, *last), ending, None));
            }
        }
    }
}

impl BegunOnes {
    fn request(&mut self, packet: u32, part: StreamPart) {
        let begun = Begun { kind: part.kind, bytes: part.bytes, msn: part.msn, packets: vec![packet] };
        if part.kind.is_answered() {
            self.asked.push_back(begun);
            return;
        }
        match self.message.as_mut().filter(|message| (message.kind, message.msn) == (part.kind, part.msn)) {
            Some(message) => {
                message.bytes += part.bytes;
                message.take(packet);
            }
            None => {
                self.left.extend(self.message.take());
                self.message = part.starts.then_some(begun);
            }
        }
        if part.ends {
            self.message = None;
        }
    }

    /// Answers come in the order of what they answer.
    fn answer(&mut self, packet: u32) {
        if let Some(asked) = self.asked.front_mut() {
            asked.take(packet);
        }
    }

    fn complete(&mut self, begun: u32, kind: OperationKind) {
        let is_it = |asked: &Begun| asked.kind == kind && asked.packets.first() == Some(&begun);
        if let Some(at) = self.asked.iter().position(is_it) {
            self.asked.remove(at);
        }
    }
}

impl Begun {
    fn take(&mut self, packet: u32) {
        if self.packets.last() != Some(&packet) {
            self.packets.push(packet);
        }
    }
}
