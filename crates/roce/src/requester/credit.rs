//! End-to-end credits: how many messages the peer has receives for.
//!
//! Messages are numbered from 1 on (SSN). An acknowledgement says how many messages are complete (MSN) and how many
//! receives are posted beyond them; their sum is the last message that surely finds one (LSN). A message that needs
//! a receive and lies beyond it may send its first packet as a question, and goes on when that is acknowledged; one such
//! question may be open at a time. A peer whose acknowledgements carry no credits (code 31) sets no limit.
//!
//! Invariant: `probe` is never far behind `last`, so that numbers which wrap cannot bring an old question back.

use rdmalab_verbs::Operation;
use rdmalab_wire::{Msn, credits_from_code};

/// The limit, if there is one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Credit {
    /// Whether credits are listened to at all.
    honoured: bool,
    last: Option<Msn>,
    /// The last message that was started beyond the limit; the question is open while it still lies beyond.
    probe: Msn,
}

impl Credit {
    /// Where credits are honoured, there are none until the first acknowledgement.
    pub(super) fn new(honoured: bool) -> Self {
        Self { honoured, last: honoured.then(Msn::default), probe: Msn::default() }
    }

    /// Takes what an acknowledgement says; `true` if that changes the limit. A limit never goes back.
    pub(super) fn note(&mut self, msn: Msn, code: u8) -> bool {
        if !self.honoured {
            return false;
        }
        let before = self.last;
        match (before, credits_from_code(code).map(|credits| msn.add(credits))) {
            (_, None) => self.last = None,
            (Some(last), Some(told)) => self.advance(last, told),
            (None, Some(told)) => (self.last, self.probe) = (Some(told), told),
        }
        self.last != before
    }

    /// A message is complete, so that it found what it needs, whatever the peer counted.
    pub(super) fn complete(&mut self, number: Msn) {
        if let Some(last) = self.last {
            self.advance(last, number);
        }
    }

    fn advance(&mut self, last: Msn, to: Msn) {
        if to.distance(last) <= 0 {
            return;
        }
        self.last = Some(to);
        if self.probe.distance(to) < 0 {
            self.probe = to;
        }
    }

    /// Whether a message surely finds what it needs.
    pub(super) fn covers(&self, operation: &Operation, number: Msn) -> bool {
        !operation.consumes_receive() || self.last.is_none_or(|last| number.distance(last) <= 0)
    }

    /// Whether a message may start: it is covered, or no question is open.
    pub(super) fn lets_start(&self, operation: &Operation, number: Msn) -> bool {
        self.covers(operation, number) || self.last.is_none_or(|last| self.probe.distance(last) <= 0)
    }

    /// A message has started.
    pub(super) fn start(&mut self, operation: &Operation, number: Msn) {
        if !self.covers(operation, number) {
            self.probe = number;
        }
    }
}

#[cfg(test)]
mod tests;
