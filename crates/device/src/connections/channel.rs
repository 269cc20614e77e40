//! A channel: events of identifiers, in the order in which they happened.
//!
//! Those of an identifier that is gone are not looked for, which would cost as much as there are events: they stay where
//! they are, are passed over when their turn comes, and are thrown away together when they are many.
//!
//! Bounds: at most half of the events, or a few, are of identifiers that are gone; and none is left when an identifier's
//! number is given again, which takes more departures than [`DEPARTURES_MAX`].

use std::collections::VecDeque;

use super::{CmEvent, CmEventKind, CmId};

/// Events of identifiers that are gone, which may always be left.
const GONE_MAX: usize = 64;
/// Identifiers that may go before what is left of them is thrown away. A number is given again after 4096.
const DEPARTURES_MAX: u32 = 1024;

#[derive(Default)]
pub(super) struct Channel {
    events: VecDeque<CmEvent>,
    /// Events of identifiers that are gone.
    gone: usize,
    /// Identifiers that went and left events.
    departures: u32,
}

impl Channel {
    pub(super) fn push(&mut self, event: CmEvent) {
        self.events.push_back(event);
    }

    #[cfg(feature = "net")]
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Takes the oldest event out of an identifier that is there.
    pub(super) fn next(&mut self, is_there: impl Fn(CmId) -> bool) -> Option<CmEvent> {
        loop {
            let event = self.events.pop_front()?;
            if is_there(event.id) {
                return Some(event);
            }
            self.gone = self.gone.saturating_sub(1);
        }
    }

    /// An identifier is gone of which so many events are here.
    pub(super) fn depart(&mut self, events: u32, is_there: impl Fn(CmId) -> bool) {
        if events == 0 {
            return;
        }
        self.gone += events as usize;
        self.departures += 1;
        if self.gone > GONE_MAX.max(self.events.len() / 2) || self.departures >= DEPARTURES_MAX {
            self.events.retain(|event| is_there(event.id));
            (self.gone, self.departures) = (0, 0);
        }
    }

    /// Those that called a listener, of which nobody has been told.
    pub(super) fn callers_of(&self, listener: CmId) -> Vec<CmId> {
        let calls = |event: &&CmEvent| matches!(event.kind, CmEventKind::ConnectRequest { listener: by, .. } if by == listener);
        self.events.iter().filter(calls).map(|event| event.id).collect()
    }

    /// Takes the events of one identifier out.
    pub(super) fn take_of(&mut self, id: CmId) -> Self {
        let (taken, left) = self.events.drain(..).partition(|event| event.id == id);
        self.events = left;
        Self { events: taken, ..Self::default() }
    }

    /// Adds those of another channel.
    pub(super) fn append(&mut self, other: Self) {
        self.events.extend(other.events);
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.events.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: u32) -> CmEvent {
        CmEvent { id: CmId(id), kind: CmEventKind::Unreachable }
    }

    #[test]
    fn events_of_identifiers_that_are_gone_are_passed_over() {
        let mut channel = Channel::default();
        for id in [1, 2, 1, 3] {
            channel.push(event(id));
        }
        let is_there = |id| id != CmId(1);
        channel.depart(2, is_there);
        let left: Vec<_> = std::iter::from_fn(|| channel.next(is_there)).map(|event| event.id.0).collect();
        assert_eq!(left, [2, 3]);
    }

    #[test]
    fn identifiers_that_come_and_go_leave_few_events_behind_and_cost_little() {
        let mut channel = Channel::default();
        let stays = |id: CmId| id.0 < 1000;
        for id in 0..1000 {
            channel.push(event(id));
        }
        for id in 1000..1_000_000 {
            channel.push(event(id));
            channel.depart(1, stays);
            assert!(channel.len() <= 2 * (1000 + GONE_MAX), "{}", channel.len());
        }
        let left: Vec<_> = std::iter::from_fn(|| channel.next(stays)).map(|event| event.id.0).collect();
        assert_eq!(left, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn nothing_is_left_of_a_number_that_may_be_given_again() {
        let mut channel = Channel::default();
        for id in 0..10_000 {
            channel.push(event(id));
        }
        for id in 0..DEPARTURES_MAX {
            channel.depart(1, |other| other.0 > id);
        }
        assert_eq!(channel.len(), 10_000 - DEPARTURES_MAX as usize);
    }
}
