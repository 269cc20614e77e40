//! No, in both directions: REJ out, REJ in, and MADs of a version that is not spoken here.
//!
//! A rejection is remembered for a while, so that it can be repeated when it was lost: the owner decides once about each
//! request, however often that comes.

use alloc::boxed::Box;

use rdmalab_wire::mad::{
    CmMad, CmMessage, DATA_LENGTH, MadClass, MadHeader, MadMethod, Rej, RejMessage, RejReason, private_data,
};

use super::Cm;
use crate::connection::State;
use crate::error::CommandError;
use crate::event::{DisconnectCause, Event, Rejection};
use crate::ids::ConnectionId;
use crate::request::{RejectRequest, field};
use crate::route::Route;
use crate::timers::Owner;

/// Why we refuse, where it is not the owner who does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refusal {
    reason: RejReason,
    information: [u8; 16],
    information_length: u8,
}

impl Refusal {
    pub const fn new(reason: RejReason) -> Self {
        Refusal { reason, information: [0; 16], information_length: 0 }
    }

    /// With the first of these bytes that fit: a GID, a GUID, a code.
    pub fn with_information(reason: RejReason, information: &[u8]) -> Self {
        let mut refusal = Refusal::new(reason);
        for (to, from) in refusal.information.iter_mut().zip(information) {
            *to = *from;
            refusal.information_length += 1;
        }
        refusal
    }

    fn rej(&self, message: RejMessage) -> Rej {
        let mut additional_information = [0; 72];
        additional_information[..16].copy_from_slice(&self.information);
        Rej {
            message,
            information_length: self.information_length,
            reason: self.reason,
            additional_information,
            ..Rej::default()
        }
    }
}

impl Cm {
    /// Refuses: a call that waits for a decision, a reply that waits to be confirmed, or an acceptance that the caller has
    /// not yet answered. The connection is over, and no event follows.
    ///
    /// # Errors
    ///
    /// [`UnknownConnection`](CommandError::UnknownConnection), [`WrongState`](CommandError::WrongState),
    /// [`PrivateDataTooLong`](CommandError::PrivateDataTooLong), [`InformationTooLong`](CommandError::InformationTooLong).
    pub fn reject(
        &mut self,
        now: u64,
        id: ConnectionId,
        request: &RejectRequest<'_>,
    ) -> Result<(), CommandError> {
        let message = match self.owned(id)?.state {
            State::RequestReceived => RejMessage::Req,
            State::ReplyReceived => RejMessage::Rep,
            State::ReplySent => RejMessage::Other,
            other => return Err(CommandError::WrongState(other.name())),
        };
        let given = request.additional_information.len();
        let Some(additional_information) = private_data(request.additional_information) else {
            return Err(CommandError::InformationTooLong { given });
        };
        let rej = Rej {
            message,
            information_length: given as u8,
            reason: request.reason,
            additional_information,
            private_data: field(request.private_data)?,
            ..Rej::default()
        };
        self.send_rejection(now, id.0, rej);
        Ok(())
    }

    /// Refuses in the place of the owner.
    pub(super) fn refuse(&mut self, now: u64, id: u32, message: RejMessage, refusal: &Refusal) {
        self.send_rejection(now, id, refusal.rej(message));
    }

    /// Sends a rejection and keeps it for repetition. The oldest that is kept makes room.
    fn send_rejection(&mut self, now: u64, id: u32, rej: Rej) {
        self.stop_waiting(id);
        self.connections.release_queue_pairs(id);
        let Some(connection) = self.connections.find_mut(id) else { return };
        connection.state = State::Rejected;
        let at = now.saturating_add(self.config.memory(connection.wait, connection.max_retries));
        self.timers.arm(Owner::Connection(id), &mut connection.deadline, at);
        let transaction_id = connection.transaction_id;
        let remote_communication_id = connection.remote_id();
        let rej = Rej { local_communication_id: id, remote_communication_id, ..rej };
        self.send_once(id, transaction_id, CmMessage::Rej(rej));
        if let Some(oldest) = self.connections.push_rejected(id, self.config.limits.rejections) {
            self.drop_connection(oldest);
        }
    }

    /// Sends a rejection for which nothing is kept. The IDs are ours and the peer's, as the peer knows them.
    pub(super) fn transmit_rej(
        &mut self,
        route: Route,
        transaction_id: u64,
        (local_communication_id, remote_communication_id): (u32, u32),
        message: RejMessage,
        refusal: &Refusal,
    ) {
        let rej = Rej { local_communication_id, remote_communication_id, ..refusal.rej(message) };
        self.transmit_message(route, transaction_id, CmMessage::Rej(rej));
    }

    /// Tells the peer that it has not answered in time. Our GUID helps it to find what it knows of us where it has not told
    /// us its ID.
    pub(super) fn transmit_timeout_rej(&mut self, id: u32) {
        let Some(connection) = self.connections.find(id) else { return };
        let (route, transaction_id) = (connection.route, connection.transaction_id);
        let ids = (id, connection.remote_id());
        let refusal = Refusal::with_information(RejReason::TIMEOUT, &self.config.ca_guid.to_be_bytes());
        self.transmit_rej(route, transaction_id, ids, RejMessage::Other, &refusal);
    }

    pub(super) fn handle_rej(&mut self, now: u64, route: Route, rej: &Rej) {
        let Some(id) = self.rejected_connection(&route, rej) else {
            self.counters.unknown += 1;
            return;
        };
        let Some(connection) = self.connections.find(id) else { return };
        match connection.state {
            State::RequestSent => {
                // Who hears that its queue pair is connected already must not use it before old packets are gone.
                let time_wait = rej.reason == RejReason::STALE_CONNECTION;
                self.tell_rejected(id, rej, time_wait);
                if time_wait { self.enter_time_wait(now, id) } else { self.drop_connection(id) }
            }
            State::RequestReceived => {
                self.tell_rejected(id, rej, false);
                self.drop_connection(id);
            }
            State::ReplyReceived | State::ReplySent => {
                self.tell_rejected(id, rej, true);
                self.enter_time_wait(now, id);
            }
            State::Established if rej.local_communication_id == connection.remote_id() => {
                self.disconnected(now, id, DisconnectCause::Rejected(rej.reason), &rej.private_data);
            }
            State::ReleaseSent(cause) => self.disconnected(now, id, cause, &rej.private_data),
            State::Established | State::TimeWait | State::Rejected => self.counters.unexpected += 1,
        }
    }

    /// Whose rejection it is. A caller that gives up knows no ID of ours, and says its GUID instead.
    fn rejected_connection(&self, route: &Route, rej: &Rej) -> Option<u32> {
        let id = match rej.remote_communication_id {
            0 if rej.reason == RejReason::TIMEOUT && rej.information_length >= 8 => {
                let guid = u64::from_be_bytes(*rej.additional_information.first_chunk()?);
                self.connections.request((guid, route.peer), rej.local_communication_id)?
            }
            id => id,
        };
        let connection = self.connections.find(id)?;
        let is_peer = rej.local_communication_id == 0 && connection.route == *route;
        (is_peer || connection.is_addressed(route, rej.local_communication_id)).then_some(id)
    }

    fn tell_rejected(&mut self, id: u32, rej: &Rej, time_wait: bool) {
        let length = usize::from(rej.information_length).min(rej.additional_information.len());
        let rejection = Rejection {
            reason: rej.reason,
            message: rej.message,
            additional_information: rej.additional_information[..length].to_vec(),
            private_data: rej.private_data.to_vec(),
            time_wait,
        };
        self.tell(id, Event::Rejected { id: ConnectionId(id), rejection: Box::new(rejection) });
    }

    /// A MAD that is no message of the class version spoken here. A caller of another version is told the one that is.
    pub(super) fn handle_other(&mut self, route: Route, header: &MadHeader, data: &[u8; DATA_LENGTH]) {
        let is_other_version = header.class == MadClass::COMMUNICATION
            && header.method == MadMethod::SEND
            && header.base_version == CmMad::BASE_VERSION
            && header.class_version != CmMad::CLASS_VERSION;
        match CmMessage::decode(header.attribute_id, data) {
            Some(CmMessage::Req(req)) if is_other_version => {
                self.counters.wrong_class_version += 1;
                let reason = RejReason::INVALID_CLASS_VERSION;
                let refusal = Refusal::with_information(reason, &[CmMad::CLASS_VERSION]);
                let ids = (0, req.local_communication_id);
                self.transmit_rej(route, header.transaction_id, ids, RejMessage::Req, &refusal);
            }
            _ => self.counters.not_communication_management += 1,
        }
    }
}
