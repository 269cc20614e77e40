//! The end of a connection that was made: DREQ and DREP, from either side or from both at once. Alternate paths, which are
//! refused, are here as well.

use rdmalab_wire::mad::{ApStatus, Apr, CmMessage, Drep, Dreq, Lap, RejMessage, RejReason};

use super::Cm;
use super::rejecting::Refusal;
use crate::connection::State;
use crate::error::CommandError;
use crate::event::{DisconnectCause, EstablishedBy, Event};
use crate::ids::ConnectionId;
use crate::request::field;
use crate::route::Route;

impl Cm {
    /// Ends a connection that is made; `private_data` are 220 bytes at most. What follows is
    /// [`Disconnected`](Event::Disconnected), whether the peer answers or not, and then
    /// [`TimeWaitExit`](Event::TimeWaitExit). On a connection that the peer has just ended, or this side already, nothing
    /// happens.
    ///
    /// # Errors
    ///
    /// [`UnknownConnection`](CommandError::UnknownConnection), [`WrongState`](CommandError::WrongState),
    /// [`PrivateDataTooLong`](CommandError::PrivateDataTooLong).
    pub fn disconnect(
        &mut self,
        now: u64,
        id: ConnectionId,
        private_data: &[u8],
    ) -> Result<(), CommandError> {
        let private_data = field(private_data)?;
        match self.owned(id)?.state {
            State::Established => self.send_dreq(now, id.0, DisconnectCause::Ours, private_data),
            State::ReleaseSent(_) | State::TimeWait => {}
            other => return Err(CommandError::WrongState(other.name())),
        }
        Ok(())
    }

    pub(super) fn send_dreq(&mut self, now: u64, id: u32, cause: DisconnectCause, private_data: [u8; 220]) {
        let transaction_id = self.own_transaction(id);
        let Some(connection) = self.connections.find_mut(id) else { return };
        let Some(peer) = connection.peer else { return };
        connection.state = State::ReleaseSent(cause);
        let dreq = Dreq {
            local_communication_id: id,
            remote_communication_id: peer.communication_id,
            remote_qpn: peer.qpn,
            reserved: 0,
            private_data,
        };
        self.send_expecting(now, id, transaction_id, CmMessage::Dreq(dreq));
    }

    pub(super) fn handle_dreq(&mut self, now: u64, route: Route, transaction_id: u64, dreq: &Dreq) {
        let id = dreq.remote_communication_id;
        let found = self.connections.find(id).filter(|connection| {
            connection.peer.is_some() && connection.is_addressed(&route, dreq.local_communication_id)
        });
        let Some(connection) = found.filter(|connection| connection.state != State::RequestReceived) else {
            // What is not connected is released: the peer's message was late, or we have lost our memory.
            self.counters.releases_unknown += 1;
            self.send_drep(route, transaction_id, dreq);
            return;
        };
        if connection.local_qpn != dreq.remote_qpn {
            self.counters.mismatched += 1;
            let refusal = Refusal::new(RejReason::INVALID_COMMUNICATION_INSTANCE);
            let ids = (id, dreq.local_communication_id);
            self.transmit_rej(route, transaction_id, ids, RejMessage::Other, &refusal);
            return;
        }
        let state = connection.state;
        self.send_drep(route, transaction_id, dreq);
        let cause = match state {
            State::ReleaseSent(DisconnectCause::Ours) => DisconnectCause::Both,
            State::ReleaseSent(cause) => cause,
            State::TimeWait | State::Rejected => {
                self.counters.repeated_answers += 1;
                return;
            }
            _ => DisconnectCause::Peer,
        };
        if state == State::ReplySent {
            self.established(id, EstablishedBy::Release);
        }
        self.disconnected(now, id, cause, &dreq.private_data);
    }

    fn send_drep(&mut self, route: Route, transaction_id: u64, dreq: &Dreq) {
        let drep = Drep {
            local_communication_id: dreq.remote_communication_id,
            remote_communication_id: dreq.local_communication_id,
            private_data: [0; 224],
        };
        self.transmit_message(route, transaction_id, CmMessage::Drep(drep));
    }

    pub(super) fn handle_drep(&mut self, now: u64, route: Route, drep: &Drep) {
        let id = drep.remote_communication_id;
        let found = self.connections.find(id);
        let Some(connection) =
            found.filter(|connection| connection.is_addressed(&route, drep.local_communication_id))
        else {
            self.counters.unknown += 1;
            return;
        };
        match connection.state {
            State::ReleaseSent(cause) => self.disconnected(now, id, cause, &drep.private_data),
            _ => self.counters.unexpected += 1,
        }
    }

    /// A connection that was made has ended.
    pub(super) fn disconnected(&mut self, now: u64, id: u32, cause: DisconnectCause, private_data: &[u8]) {
        let event = Event::Disconnected { id: ConnectionId(id), cause, private_data: private_data.into() };
        self.tell(id, event);
        self.enter_time_wait(now, id);
    }

    /// An alternate path is never taken: there is no path migration on RoCE.
    pub(super) fn handle_lap(&mut self, route: Route, transaction_id: u64, lap: &Lap) {
        self.counters.alternate_paths += 1;
        let known = self.connections.find(lap.remote_communication_id).is_some_and(|connection| {
            connection.state == State::Established
                && connection.is_addressed(&route, lap.local_communication_id)
        });
        let status = if known { ApStatus::NOT_SUPPORTED } else { ApStatus::INVALID_COMMUNICATION_ID };
        let apr = Apr {
            local_communication_id: lap.remote_communication_id,
            remote_communication_id: lap.local_communication_id,
            status,
            ..Apr::decode(&[0; 232])
        };
        self.transmit_message(route, transaction_id, CmMessage::Apr(apr));
    }
}
