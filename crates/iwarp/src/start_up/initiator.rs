//! The side that asks.

use alloc::vec;
use alloc::vec::Vec;

use rdmalab_wire::iwarp::{Enhanced, MpaFrame, MpaKind, TerminateError};

use super::buffer::FrameBuffer;
use super::fault::{PrivateDataTooLong, StartUpFault};
use super::terms::{ReadySet, Terms, at_most};
use crate::negotiated::{Negotiated, ReadyToReceive, Role};
use crate::profile::Profile;

/// A start-up that we began.
#[derive(Debug)]
pub struct Initiator {
    terms: Terms,
    oldest_revision: u8,
    sends_markers: bool,
    request: Vec<u8>,
    reply: FrameBuffer,
}

/// What the peer answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The stream stands. What comes behind the reply belongs to it.
    Accepted(Negotiated),
    /// The peer accepted on terms that we cannot take: the stream stands, and is to be ended at once by a Terminate message with
    /// this error (RFC 6581 §7).
    Unacceptable(Negotiated, TerminateError),
    /// The peer does not want the connection. The TCP connection is to be closed.
    Rejected,
}

impl Initiator {
    /// Makes the request. `private_data` is for the peer's application.
    pub fn new(profile: &Profile, terms: &Terms, private_data: &[u8]) -> Result<Self, PrivateDataTooLong> {
        let enhanced = terms.is_enhanced().then(|| Enhanced {
            peer_to_peer: !terms.ready_to_receive.is_empty(),
            rtr_empty: terms.ready_to_receive.contains(ReadySet::EMPTY),
            rtr_write: terms.ready_to_receive.contains(ReadySet::WRITE),
            rtr_read: terms.ready_to_receive.contains(ReadySet::READ),
            ird: terms.ird,
            ord: terms.ord,
        });
        let frame = MpaFrame {
            markers: terms.markers,
            crc: terms.crc,
            revision: terms.revision,
            enhanced,
            private_data,
            ..MpaFrame::new(MpaKind::Request)
        };
        let request = encode(profile, &frame)?;
        let reply = FrameBuffer::new(MpaKind::Reply);
        let (oldest_revision, sends_markers) = (*profile.revisions.start(), profile.sends_markers);
        Ok(Self { terms: *terms, oldest_revision, sends_markers, request, reply })
    }

    /// The request, which is the first thing in the stream. Nothing else may be sent before the reply is here.
    pub fn request(&self) -> &[u8] {
        &self.request
    }

    /// Takes bytes of the reply, none behind it. `None` while it is not whole; not to be called any more after that.
    pub fn handle_bytes(&mut self, bytes: &mut &[u8]) -> Result<Option<Reply>, StartUpFault> {
        if !self.reply.take(bytes)? {
            return Ok(None);
        }
        let Some(frame) = self.reply.frame() else { return Ok(None) };
        self.judge(&frame).map(Some)
    }

    /// The stream ended, or was reset. That is a fault unless the reply was here.
    pub fn handle_end(&self) -> Result<(), StartUpFault> {
        if self.reply.is_cut_off() { Err(self.reply.truncated()) } else { Ok(()) }
    }

    /// The private data of the reply, once it is whole.
    pub fn private_data(&self) -> &[u8] {
        self.reply.frame().map_or(&[], |frame| frame.private_data)
    }

    fn judge(&self, frame: &MpaFrame<'_>) -> Result<Reply, StartUpFault> {
        let terms = &self.terms;
        if frame.reject {
            return Ok(Reply::Rejected);
        }
        if !(self.oldest_revision..=terms.revision).contains(&frame.revision) {
            return Err(StartUpFault::Revision { found: frame.revision, newest: terms.revision });
        }
        if frame.markers && !self.sends_markers {
            return Err(StartUpFault::Markers);
        }
        let mut negotiated = Negotiated {
            role: Role::Initiator,
            revision: frame.revision,
            // Either side's wish does for both (RFC 5044 §7.1.1).
            crc: terms.crc || frame.crc,
            send_markers: frame.markers,
            receive_markers: terms.markers,
            ird: terms.ird,
            ord: terms.ord,
            ready_to_receive: None,
        };
        let wants_ready = terms.is_enhanced() && !terms.ready_to_receive.is_empty();
        let Some(enhanced) = &frame.enhanced else {
            return if wants_ready {
                Err(StartUpFault::NotEnhanced)
            } else {
                Ok(Reply::Accepted(negotiated))
            };
        };
        negotiated.ord = at_most(terms.ord, enhanced.ird);
        if wants_ready {
            if !enhanced.peer_to_peer {
                return Err(StartUpFault::NotEnhanced);
            }
            match self.agreed(enhanced) {
                Some(kind) => negotiated.ready_to_receive = Some(kind),
                None => return Ok(Reply::Unacceptable(negotiated, TerminateError::MPA_NO_MATCHING_RTR)),
            }
        }
        if enhanced.ord != Enhanced::NOT_NEGOTIATED && enhanced.ord > terms.ird {
            return Ok(Reply::Unacceptable(negotiated, TerminateError::MPA_INSUFFICIENT_IRD));
        }
        Ok(Reply::Accepted(negotiated))
    }

    /// The one kind that the reply picked, if we offered it.
    fn agreed(&self, enhanced: &Enhanced) -> Option<ReadyToReceive> {
        ReadySet::in_frame(enhanced)
            .only()
            .filter(|kind| self.terms.ready_to_receive.contains(ReadySet::of(*kind)))
    }
}

/// The bytes of a frame, if its private data is not longer than the profile sends.
pub(super) fn encode(profile: &Profile, frame: &MpaFrame<'_>) -> Result<Vec<u8>, PrivateDataTooLong> {
    let length = frame.private_data.len();
    let taken = frame.encoded_length() - MpaFrame::HEADER_LENGTH - length;
    let room = MpaFrame::MAX_PRIVATE_DATA - taken;
    let limit = profile.max_sent_private_data.saturating_sub(taken).min(room);
    let too_long = PrivateDataTooLong::ForFrame { length, limit: room };
    if length > room {
        return Err(too_long);
    }
    if length > limit {
        return Err(PrivateDataTooLong::ForSiw { length, limit, room });
    }
    let mut bytes = vec![0; frame.encoded_length()];
    frame.encode(&mut bytes).map_err(|_| too_long)?;
    Ok(bytes)
}
