//! End-to-end credits: how many messages the peer has receives for.
//!
//! Messages are numbered from 1 on (SSN). An acknowledgement says how many messages are complete (MSN) and how many
//! receives are posted beyond them; their sum is the last message that surely finds one (LSN). A message that needs
//! a receive and lies beyond it may send its first packet as a question, and goes on when that is acknowledged. A peer
//! whose acknowledgements carry no credits (code 31) sets no limit.

use rdmalab_verbs::Operation;
use rdmalab_wire::{Msn, credits_from_code};

/// The limit, if there is one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Credit {
    /// Whether credits are listened to at all.
    honoured: bool,
    last: Option<Msn>,
}

impl Credit {
    /// Where credits are honoured, there are none until the first acknowledgement.
    pub(super) fn new(honoured: bool) -> Self {
        Self { honoured, last: honoured.then(Msn::default) }
    }

    /// Takes what an acknowledgement says. A limit never goes back.
    pub(super) fn note(&mut self, msn: Msn, code: u8) {
        if !self.honoured {
            return;
        }
        let told = credits_from_code(code).map(|credits| msn.add(credits));
        self.last = match (self.last, told) {
            (Some(before), Some(told)) if told.distance(before) < 0 => Some(before),
            (_, told) => told,
        };
    }

    /// Whether a message surely finds what it needs.
    pub(super) fn covers(&self, operation: &Operation, number: Msn) -> bool {
        !needs_receive(operation) || self.last.is_none_or(|last| number.distance(last) <= 0)
    }

    /// Whether a message may start: it is covered, or the first that is not.
    pub(super) fn lets_start(&self, operation: &Operation, number: Msn) -> bool {
        !needs_receive(operation) || self.last.is_none_or(|last| number.distance(last) <= 1)
    }
}

fn needs_receive(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Send
            | Operation::SendWithImmediate(_)
            | Operation::SendWithInvalidate(_)
            | Operation::RdmaWriteWithImmediate(..)
    )
}
