//! Putting messages out: once, again, or with a timer until they are answered.

use alloc::boxed::Box;

use rdmalab_wire::mad::{CmMad, CmMessage};

use super::Cm;
use crate::connection::{Message, State};
use crate::route::{Outgoing, Route};
use crate::timers::Owner;

impl Cm {
    pub(super) fn transmit(&mut self, route: Route, bytes: Message) {
        if self.transmits.len() >= self.config.limits.transmits {
            self.counters.transmits_full += 1;
            return;
        }
        self.counters.sent += 1;
        self.transmits.push_back(Outgoing { route, bytes });
    }

    pub(super) fn transmit_message(&mut self, route: Route, transaction_id: u64, message: CmMessage) {
        self.transmit(route, CmMad::new(transaction_id, message).encode());
    }

    /// Sends the last message of a connection, again or for the first time.
    pub(super) fn send_last(&mut self, id: u32) {
        let Some(connection) = self.connections.find(id) else { return };
        let route = connection.route;
        if let Some(bytes) = connection.last.as_deref().copied() {
            self.transmit(route, bytes);
        }
    }

    /// Answers a message that the peer has repeated with what it was answered before, if it was. A rejection is then kept as
    /// long again: the peer has not heard it yet.
    pub(super) fn repeat_last(&mut self, now: u64, id: u32) {
        let Some(connection) = self.connections.find_mut(id) else { return };
        if connection.last.is_none() {
            return;
        }
        if connection.state == State::Rejected {
            let at = now.saturating_add(self.config.memory(connection.wait, connection.max_retries));
            self.timers.arm(Owner::Connection(id), &mut connection.deadline, at);
        }
        self.counters.repeated_answers += 1;
        self.send_last(id);
    }

    /// Sends a message that the peer must answer, and sets the timer for it.
    pub(super) fn send_expecting(&mut self, now: u64, id: u32, transaction_id: u64, message: CmMessage) {
        let Some(connection) = self.connections.find_mut(id) else { return };
        connection.retries_left = connection.max_retries;
        connection.extensions_left = connection.max_retries;
        let at = now.saturating_add(connection.wait);
        self.timers.arm(Owner::Connection(id), &mut connection.deadline, at);
        self.send_once(id, transaction_id, message);
    }

    /// Sends a message and keeps it for repetition.
    pub(super) fn send_once(&mut self, id: u32, transaction_id: u64, message: CmMessage) {
        if let Some(connection) = self.connections.find_mut(id) {
            connection.last = Some(Box::new(CmMad::new(transaction_id, message).encode()));
            self.send_last(id);
        }
    }
}
