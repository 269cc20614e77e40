//! One packet of a conversation changed, and the rules that it breaks.

mod cm;
mod congestion;
mod further;
mod packets;
mod requester;
mod responder;

use rdmalab_craft::Payload;
use rdmalab_craft::wire::{self, TransportKind};
use rdmalab_lint::RuleId;

use super::talk::Said;

/// A conversation that no rule finds fault with, and what to change in one packet of it.
pub struct Case {
    pub rule: RuleId,
    /// Rules that the same change breaks, too.
    pub others: &'static [RuleId],
    pub clean: &'static str,
    /// What is changed, for the table.
    pub what: &'static str,
    /// Which packet, counted from 0.
    pub packet: usize,
    pub change: Change,
}

/// What happens to the packet.
pub enum Change {
    Alter(fn(&mut Said)),
    /// It is not in the capture.
    Miss,
    /// It was never sent: its sender's identifications go on without it.
    Unsent,
    /// It stands here instead.
    Move(usize),
    /// It was sent there instead.
    Sent(usize),
    /// It comes once more, so many packets later, altered.
    Again(usize, fn(&mut Said)),
}

/// Packets of the conversation that begins with "connect": REQ, REP, RTU.
const CALL: usize = 3;

const fn case(
    rule: RuleId,
    others: &'static [RuleId],
    clean: &'static str,
    what: &'static str,
    packet: usize,
    change: Change,
) -> Case {
    Case { rule, others, clean, what, packet, change }
}

fn opcode(said: &mut Said, operation: u8) {
    said.packet.opcode = TransportKind::Rc.opcode(operation);
}

fn aeth(said: &mut Said, syndrome: wire::Syndrome, msn: u32) {
    said.packet.headers.aeth = Some(wire::Aeth { syndrome, msn: wire::Msn::new(msn) });
}

fn cut_to(said: &mut Said, length: usize) {
    said.packet.payload = Payload::of(&said.payload()[..length]);
}

/// Those of rules that another case is of.
pub fn further() -> Vec<Case> {
    further::cases()
}

/// All of them.
pub fn cases() -> Vec<Case> {
    [packets::cases(), requester::cases(), responder::cases(), congestion::cases(), cm::cases()]
        .into_iter()
        .flatten()
        .collect()
}
