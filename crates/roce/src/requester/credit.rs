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

/// What the peer lets us send.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Credit {
    limit: Limit,
    /// The last message that was started beyond the limit; the question is open while it still lies beyond.
    probe: Msn,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Limit {
    /// Credits are not listened to.
    #[default]
    Ignored,
    /// The peer sets none.
    None,
    /// The last message that surely finds what it needs.
    Last(Msn),
}

impl Credit {
    /// Where credits are honoured, there are none until the first acknowledgement.
    pub(super) fn new(honoured: bool) -> Self {
        let limit = if honoured { Limit::Last(Msn::default()) } else { Limit::Ignored };
        Self { limit, probe: Msn::default() }
    }

    /// Takes what an acknowledgement says; `true` if that changes the limit. A limit never goes back.
    pub(super) fn note(&mut self, msn: Msn, code: u8) -> bool {
        let before = self.limit;
        match (before, credits_from_code(code).map(|credits| msn.add(credits))) {
            (Limit::Ignored, _) => {}
            (_, None) => self.limit = Limit::None,
            (Limit::Last(last), Some(told)) => self.advance(last, told),
            (Limit::None, Some(told)) => (self.limit, self.probe) = (Limit::Last(told), told),
        }
        self.limit != before
    }

    /// A message is complete, so that it found what it needs, whatever the peer counted.
    pub(super) fn complete(&mut self, number: Msn) {
        if let Limit::Last(last) = self.limit {
            self.advance(last, number);
        }
    }

    fn advance(&mut self, last: Msn, to: Msn) {
        if to.distance(last) <= 0 {
            return;
        }
        self.limit = Limit::Last(to);
        if self.probe.distance(to) < 0 {
            self.probe = to;
        }
    }

    /// Whether a message surely finds what it needs.
    pub(super) fn covers(&self, operation: &Operation, number: Msn) -> bool {
        !operation.consumes_receive() || self.last().is_none_or(|last| number.distance(last) <= 0)
    }

    /// Whether a message may start: it is covered, or no question is open.
    pub(super) fn lets_start(&self, operation: &Operation, number: Msn) -> bool {
        self.covers(operation, number) || self.last().is_none_or(|last| self.probe.distance(last) <= 0)
    }

    fn last(&self) -> Option<Msn> {
        match self.limit {
            Limit::Ignored | Limit::None => None,
            Limit::Last(last) => Some(last),
        }
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
