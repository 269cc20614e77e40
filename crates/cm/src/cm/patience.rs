//! More time: MRA out, MRA in, on both sides.

use rdmalab_wire::mad::{CmMessage, Mra, MraMessage, response_timeout_nanoseconds};

use super::Cm;
use crate::connection::State;
use crate::error::CommandError;
use crate::ids::ConnectionId;
use crate::request::field;
use crate::route::Route;
use crate::timers::Owner;

impl Cm {
    /// Asks the peer for more time: before a call is accepted, or before a reply is confirmed. `service_timeout` is a code of
    /// five bits for 4.096 µs times two to that power; `private_data` are 222 bytes at most.
    ///
    /// # Errors
    ///
    /// [`UnknownConnection`](CommandError::UnknownConnection), [`WrongState`](CommandError::WrongState),
    /// [`PrivateDataTooLong`](CommandError::PrivateDataTooLong).
    pub fn mra(
        &mut self,
        id: ConnectionId,
        service_timeout: u8,
        private_data: &[u8],
    ) -> Result<(), CommandError> {
        let connection = self.owned(id)?;
        let message = match connection.state {
            State::RequestReceived => MraMessage::Req,
            State::ReplyReceived => MraMessage::Rep,
            other => return Err(CommandError::WrongState(other.name())),
        };
        let mra = Mra {
            local_communication_id: id.0,
            remote_communication_id: connection.remote_id(),
            message,
            service_timeout,
            private_data: field(private_data)?,
            ..Mra::decode(&[0; 232])
        };
        let transaction_id = connection.transaction_id;
        self.send_once(id.0, transaction_id, CmMessage::Mra(mra));
        Ok(())
    }

    /// The peer asks for more time: on both sides.
    pub(super) fn handle_mra(&mut self, now: u64, route: Route, mra: &Mra) {
        let id = mra.remote_communication_id;
        let Some(connection) = self.connections.find_mut(id) else {
            self.counters.unknown += 1;
            return;
        };
        if !connection.is_addressed(&route, mra.local_communication_id) {
            self.counters.mismatched += 1;
            return;
        }
        let expected = match connection.state {
            State::RequestSent => mra.message == MraMessage::Req,
            State::ReplySent => mra.message == MraMessage::Rep,
            _ => false,
        };
        if !expected || connection.extensions_left == 0 {
            self.counters.unexpected += 1;
            return;
        }
        connection.extensions_left -= 1;
        let asked = response_timeout_nanoseconds(mra.service_timeout.min(self.config.longest_wait));
        let at = now.saturating_add(asked.max(connection.wait));
        self.timers.arm(Owner::Connection(id), &mut connection.deadline, at);
    }
}
