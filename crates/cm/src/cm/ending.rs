//! The ends of connections that no message brings: nobody answers, nobody has an interest any more, time-wait is over.

use alloc::boxed::Box;

use rdmalab_wire::mad::{RejMessage, RejReason};

use super::Cm;
use super::rejecting::Refusal;
use crate::connection::State;
use crate::error::CommandError;
use crate::event::{DisconnectCause, Event, Missing, Rejection};
use crate::ids::ConnectionId;
use crate::timers::Owner;

impl Cm {
    /// Ends any interest in a connection, in whatever state it is: a call is taken back, a request refused, a connection
    /// that is made is ended as by [`disconnect`](Self::disconnect). No event follows, and the ID is forgotten to the owner.
    ///
    /// # Errors
    ///
    /// [`UnknownConnection`](CommandError::UnknownConnection).
    pub fn destroy(&mut self, now: u64, id: ConnectionId) -> Result<(), CommandError> {
        let state = self.owned(id)?.state;
        let refusal = Refusal::new(RejReason::CONSUMER_REJECT);
        match state {
            State::RequestSent => {
                self.transmit_timeout_rej(id.0);
                self.drop_connection(id.0);
            }
            State::RequestReceived => self.refuse(now, id.0, RejMessage::Req, &refusal),
            State::ReplyReceived => self.refuse(now, id.0, RejMessage::Rep, &refusal),
            State::ReplySent => self.refuse(now, id.0, RejMessage::Other, &refusal),
            State::Established => self.send_dreq(now, id.0, DisconnectCause::Ours, [0; 220]),
            State::ReleaseSent(_) | State::TimeWait | State::Rejected => {}
        }
        if let Some(connection) = self.connections.find_mut(id.0) {
            connection.abandoned = true;
        }
        Ok(())
    }

    /// The peer has not answered, however often it was asked.
    pub(super) fn give_up(&mut self, now: u64, id: u32) {
        let Some(connection) = self.connections.find(id) else { return };
        let name = ConnectionId(id);
        match connection.state {
            State::RequestSent => {
                self.tell(id, Event::Unreachable { id: name, missing: Missing::Reply });
                self.transmit_timeout_rej(id);
                self.drop_connection(id);
            }
            State::ReplySent => {
                self.tell(id, Event::Unreachable { id: name, missing: Missing::ReadyToUse });
                self.transmit_timeout_rej(id);
                self.enter_time_wait(now, id);
            }
            State::ReleaseSent(DisconnectCause::Ours) => {
                self.disconnected(now, id, DisconnectCause::NoAnswer, &[]);
            }
            State::ReleaseSent(cause) => self.disconnected(now, id, cause, &[]),
            _ => {}
        }
    }

    /// Whether a connection ends without more ado when its peer makes another with the same IDs or the same queue pair.
    pub(super) fn gives_way(&mut self, now: u64, id: u32) -> bool {
        match self.connections.find(id).map(|old| old.state) {
            // Nobody has decided about the call, and the caller calls anew.
            Some(State::RequestReceived) => self.withdraw(id),
            // The peer has let go, and its answer to our DREQ was lost.
            Some(State::ReleaseSent(cause)) => self.disconnected(now, id, cause, &[]),
            Some(State::Rejected) => self.drop_connection(id),
            Some(State::TimeWait) | None => {}
            Some(_) => return false,
        }
        true
    }

    /// A call that waits for a decision is no more.
    fn withdraw(&mut self, id: u32) {
        self.tell_stale(id, false);
        self.drop_connection(id);
    }

    fn tell_stale(&mut self, id: u32, time_wait: bool) {
        let rejection = Rejection {
            reason: RejReason::STALE_CONNECTION,
            message: RejMessage::Other,
            additional_information: [].into(),
            private_data: [].into(),
            time_wait,
        };
        self.tell(id, Event::Rejected { id: ConnectionId(id), rejection: Box::new(rejection) });
    }

    /// Ends a connection whose peer has made, or makes, another with the same queue pair. The peer may have forgotten it or
    /// not: it is asked to release it all the same.
    pub(super) fn end_stale(&mut self, now: u64, id: u32) {
        let Some(connection) = self.connections.find(id) else { return };
        match connection.state {
            State::ReplyReceived | State::ReplySent => {
                self.tell_stale(id, true);
                self.enter_time_wait(now, id);
            }
            State::Established => self.send_dreq(now, id, DisconnectCause::Stale, [0; 220]),
            _ => {}
        }
    }

    /// From now on the connection only answers repetitions, until nothing of it can be under way.
    pub(super) fn enter_time_wait(&mut self, now: u64, id: u32) {
        self.connections.release_queue_pairs(id);
        let Some(connection) = self.connections.find_mut(id) else { return };
        connection.state = State::TimeWait;
        connection.last = None;
        let at = now.saturating_add(connection.time_wait);
        self.timers.arm(Owner::Connection(id), &mut connection.deadline, at);
    }

    /// Time-wait is over.
    pub(super) fn forget(&mut self, id: u32) {
        let Some(connection) = self.connections.find(id) else { return };
        let qpn = connection.local_qpn;
        self.tell(id, Event::TimeWaitExit { id: ConnectionId(id), qpn });
        self.drop_connection(id);
    }

    /// Takes the connection out of everything.
    pub(super) fn drop_connection(&mut self, id: u32) {
        self.stop_waiting(id);
        if let Some(mut connection) = self.connections.remove(id) {
            self.timers.disarm(Owner::Connection(id), &mut connection.deadline);
        }
    }

    /// A request that is decided leaves its listener's backlog.
    pub(super) fn stop_waiting(&mut self, id: u32) {
        let Some(connection) = self.connections.find(id) else { return };
        if let (State::RequestReceived, Some(listener)) = (connection.state, connection.listener) {
            self.listeners.end_waiting(listener);
        }
    }
}
