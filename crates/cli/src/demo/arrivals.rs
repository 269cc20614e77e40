//! What B is told: judges each completion of a receive, and finds out which message it was.
//!
//! Where nothing is lost for good, message and receive come in the same order. Elsewhere immediate data says which message
//! it was; without it, the bytes do: messages do not overtake each other, so it is the next one with these bytes.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};

use rdmalab_sim::End;
use rdmalab_verbs::{Completion, CompletionKind, CompletionStatus};
use rdmalab_wire::{ImmDt, Ipv4Header};

use super::exchange::{Act, Course};
use super::kind::Kind;
use super::ladder::{Mark, count};
use super::pair::Pair;
use super::plan::Plan;
use super::witness::Witness;
use crate::outcome::Result;

/// Messages shorter than this may be alike.
const TELLING: u32 = 8;

/// A message that B was told of. Receives complete in the order in which they were posted, so the first arrival had the
/// first receive.
pub struct Arrival {
    /// What it was.
    pub kind: Kind,
    /// Which of its kind.
    pub index: u32,
    /// The header area in front of a datagram.
    pub area: Vec<u8>,
}

impl Act {
    /// A receive of B completed.
    pub(super) fn received<W: Write>(
        &mut self,
        pair: &mut Pair,
        plan: &Plan,
        completion: Completion,
        witness: &mut Witness<W>,
        course: &mut Course,
    ) -> Result<()> {
        let number = course.arrivals.len() as u32;
        let (kind, is_reliable) = (self.kind, plan.transport.is_reliable());
        let side = pair.side(End::B);
        let area_bytes = plan.transport.header_area();
        let at = plan.receive(number);
        let area = side.bytes_at(at, area_bytes);
        let first = self.next;
        let index = match completion.immediate {
            _ if is_reliable => Some(first),
            Some(ImmDt(bytes)) => Some(u32::from_be_bytes(bytes)),
            None => self.recognised(plan, &side.bytes_at(at + u64::from(area_bytes), plan.size)),
        };
        let expected = Completion {
            id: u64::from(number),
            status: CompletionStatus::Success,
            kind: match kind {
                Kind::WriteImm => CompletionKind::ReceiveRdmaWithImmediate,
                _ => CompletionKind::Receive,
            },
            length: area_bytes + plan.size,
            immediate: kind.has_immediate().then(|| ImmDt(index.unwrap_or_default().to_be_bytes())),
            invalidated: self.key.filter(|_| kind == Kind::SendInv),
            queue_pair: side.queue_pair,
            source: (area_bytes > 0).then_some(pair.side(End::A).queue_pair),
            has_grh: area_bytes > 0,
            ..Completion::default()
        };
        let possible = if plan.mischief.disorders { 0..plan.messages } else { first..plan.messages };
        let is_possible = index.is_some_and(|index| possible.contains(&index));
        let fits = kind.takes_receive()
            && completion == expected
            && is_possible
            && (area.is_empty() || is_from(&area, pair.side(End::A).address, side.address));
        if !fits {
            course.complain(format!("completion {} of B's receives: {completion:?}", number + 1));
        }
        if self.key.is_some_and(|key| pair.is_valid(key)) {
            course.complain(format!("the key that message {} took away still works", number + 1));
        }
        let index = index.unwrap_or(first);
        let text = self.words(plan, &completion, index);
        self.next = self.next.max(index.saturating_add(1));
        self.came.insert(index);
        course.arrivals.push(Arrival { kind, index, area });
        witness.mark(pair.now(), End::B, Mark::Done, &text)
    }

    /// The message that has these bytes: the next one, unless packets may come late or twice; else one that has not come yet, or
    /// any.
    fn recognised(&self, plan: &Plan, found: &[u8]) -> Option<u32> {
        let is_it = |index: &u32| plan.message(self.kind, *index) == found;
        let earlier = 0..if plan.mischief.disorders { self.next } else { 0 };
        let missing = earlier.clone().filter(|index| !self.came.contains(index));
        (self.next..plan.messages).chain(missing).chain(earlier).find(is_it)
    }

    fn words(&self, plan: &Plan, completion: &Completion, index: u32) -> String {
        let mut text = match plan.transport.header_area() {
            0 => {
                format!("B receives message #{}: {}", index + 1, count(completion.length, "byte"))
            }
            area => {
                let bytes = completion.length.saturating_sub(area);
                let source = completion.source.unwrap_or_default();
                format!(
                    "B receives message #{}: header and {}, from {source}",
                    index + 1,
                    count(bytes, "byte")
                )
            }
        };
        if let Some(key) = completion.invalidated {
            text += &format!("; key {key} has ended");
        }
        if self.came.contains(&index) {
            text += " (again)";
        } else if index < self.next {
            text += " (late)";
        }
        let missed = index.saturating_sub(self.next);
        if missed > 0 && (plan.size >= TELLING || self.kind.has_immediate()) {
            let ever = if plan.mischief.disorders { "has not come yet" } else { "never came" };
            text += &format!(" ({} before it {ever})", count(missed, "message"));
        }
        text
    }
}

/// Whether the header area in front of a datagram says that it went from one address to another: an IPv4 header lies in
/// its last 20 bytes.
fn is_from(area: &[u8], from: IpAddr, to: IpAddr) -> bool {
    let Some(bytes) = area.last_chunk::<{ Ipv4Header::LENGTH }>() else { return false };
    let header = Ipv4Header::decode(bytes);
    let address = |address: Ipv4Addr| IpAddr::V4(address);
    address(header.source) == from && address(header.destination) == to
}
