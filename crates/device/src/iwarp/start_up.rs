//! Connections until they stand: calling, accepting, rejecting.

use std::net::{IpAddr, SocketAddr};

use rdmalab_iwarp::{Initiator, Negotiated, PrivateDataTooLong, Reply};
use rdmalab_verbs::{Context, LimitReached, State};
use rdmalab_wire::Qpn;
use rdmalab_wire::mad::RejReason;

use super::{CALL_PATIENCE, Command, Happening, IwarpTable, Loss, MAX_STREAMS, Stage, Stream, StreamId};
use crate::connections::{CallFailure, CmError, Offer};

impl From<PrivateDataTooLong> for CmError {
    fn from(error: PrivateDataTooLong) -> Self {
        match error {
            PrivateDataTooLong::ForFrame { length, limit } => Self::PrivateData { length, limit },
            PrivateDataTooLong::ForSiw { length, limit, room } => {
                Self::PrivateDataForSiw { length, limit, room }
            }
        }
    }
}

impl IwarpTable {
    /// Calls a peer for a queue pair that is in INIT.
    pub(crate) fn call(
        &mut self,
        (source, peer): (IpAddr, SocketAddr),
        queue_pair: Qpn,
        reads: Offer,
        private_data: &[u8],
    ) -> Result<StreamId, CmError> {
        self.check_free(queue_pair)?;
        let terms = self.settings.terms(reads.responder_resources, reads.initiator_depth);
        let initiator = Initiator::new(&self.settings.profile, &terms, private_data)?;
        let mut stream =
            Stream::new(Stage::Connecting(Box::new(initiator)), SocketAddr::new(source, 0), peer);
        stream.queue_pair = Some(queue_pair);
        let full = LimitReached { what: "iWARP streams", limit: MAX_STREAMS };
        let id = self.insert(stream).ok_or(CmError::Limit(full))?;
        if let Some(held) = self.held(queue_pair) {
            held.stream = Some(id);
        }
        self.give_time(id, Some(CALL_PATIENCE));
        self.commands.push_back(Command::Connect { stream: id, source, peer });
        Ok(id)
    }

    /// A queue pair that has no connection, and never had one.
    fn check_free(&mut self, number: Qpn) -> Result<(), CmError> {
        let held = self.held(number).ok_or(CmError::NoQueuePair)?;
        if held.stream.is_some() || held.queue_pair.state() != State::Init {
            return Err(CmError::WrongState("one whose queue pair had a connection"));
        }
        Ok(())
    }

    /// TCP stands: our request goes out.
    pub(crate) fn connected(
        &mut self,
        id: StreamId,
        local: SocketAddr,
        segment_size: usize,
        is_aligned: bool,
    ) {
        let Some(stream) = self.streams.get_mut(id.0) else { return };
        (stream.local, stream.segment_size, stream.is_aligned) = (local, segment_size, is_aligned);
        match std::mem::replace(&mut stream.stage, Stage::Parting) {
            Stage::Connecting(initiator) => {
                stream.output.push(&mut self.buffers, initiator.request());
                stream.stage = Stage::Initiating(initiator);
            }
            other => stream.stage = other,
        }
        self.make_ready(id);
    }

    /// Bytes behind our request. What is left belongs to the stream. An error: the start-up came to nothing.
    pub(super) fn replied<'b>(
        &mut self,
        context: &mut Context,
        id: StreamId,
        mut bytes: &'b [u8],
    ) -> Result<&'b [u8], CallFailure> {
        let Some(stream) = self.streams.get_mut(id.0) else { return Ok(&[]) };
        let Stage::Initiating(initiator) = &mut stream.stage else { return Ok(bytes) };
        let reply = initiator.handle_bytes(&mut bytes).map_err(CallFailure::StartUp)?;
        let not_ours = |_| CallFailure::Ours(RejReason::CONSUMER_REJECT);
        let private_data = initiator.private_data().to_vec();
        match reply {
            None => Ok(&[]),
            Some(Reply::Accepted(negotiated)) => {
                self.fall_silent(id, self.settings.pause);
                self.establish(context, id, &negotiated).map_err(not_ours)?;
                self.give_time(id, None);
                let offer = Offer {
                    responder_resources: small(negotiated.ord),
                    initiator_depth: small(negotiated.ird),
                };
                self.happenings.push_back(Happening::Accepted { stream: id, offer, private_data });
                Ok(bytes)
            }
            Some(Reply::Unacceptable(negotiated, error)) => {
                // The peer takes the connection for one that stands, and is told why it does not.
                self.establish(context, id, &negotiated).map_err(not_ours)?;
                self.give_time(id, None);
                self.happenings.push_back(Happening::Failed(id, CallFailure::Terms(error)));
                self.counters.failed_start_ups += 1;
                self.terminate(context, id, error);
                Ok(&[])
            }
            Some(Reply::Rejected) => {
                self.commands.push_back(Command::Close(id));
                self.remove(id);
                let reason = RejReason::CONSUMER_REJECT;
                self.happenings.push_back(Happening::Rejected { stream: id, reason, private_data });
                Ok(&[])
            }
        }
    }

    /// Hands a stream over to its queue pair.
    fn establish(
        &mut self,
        context: &mut Context,
        id: StreamId,
        negotiated: &Negotiated,
    ) -> Result<(), CmError> {
        let Some(stream) = self.streams.get_mut(id.0) else { return Err(CmError::UnknownId) };
        let number = stream.queue_pair.ok_or(CmError::NoQueuePair)?;
        let settings = self.settings.stream(stream.segment_size);
        stream.stage = Stage::Established;
        let held = self.held(number).ok_or(CmError::NoQueuePair)?;
        held.queue_pair.establish(context, negotiated, &settings)?;
        self.make_ready(id);
        Ok(())
    }

    /// What a caller says: its request's private data, and what it offers.
    pub(crate) fn request(&self, id: StreamId) -> Option<(Offer, &[u8])> {
        let Stage::Called(responder) = &self.streams.get(id.0)?.stage else { return None };
        let request = responder.request()?;
        let most = |reads: Option<u16>| reads.map_or(u8::MAX, small);
        let offer = Offer { responder_resources: most(request.ird), initiator_depth: most(request.ord) };
        Some((offer, request.private_data))
    }

    /// Accepts a caller for a queue pair that is in INIT.
    pub(crate) fn accept(
        &mut self,
        context: &mut Context,
        id: StreamId,
        queue_pair: Qpn,
        reads: Offer,
        private_data: &[u8],
    ) -> Result<(), CmError> {
        self.check_free(queue_pair)?;
        let terms = self.settings.terms(reads.responder_resources, reads.initiator_depth);
        let over = CmError::WrongState("over");
        let stream = self.streams.get_mut(id.0).ok_or(over)?;
        let Stage::Called(responder) = &mut stream.stage else { return Err(over) };
        let negotiated = responder.accept(&terms, private_data)?.ok_or(over)?;
        stream.output.push(&mut self.buffers, responder.reply());
        stream.queue_pair = Some(queue_pair);
        (stream.tells_established, stream.awaits_peer) = (true, negotiated.ready_to_receive.is_some());
        // Who waits for a ready-to-receive message needs no pause.
        stream.pauses_behind_reply =
            !self.settings.profile.waits_for_initiator && negotiated.ready_to_receive.is_none();
        let listener = stream.listener;
        self.answered(listener);
        if let Some(held) = self.held(queue_pair) {
            held.stream = Some(id);
        }
        self.establish(context, id, &negotiated)
    }

    /// Rejects a caller with a word.
    pub(crate) fn reject(&mut self, id: StreamId, private_data: &[u8]) -> Result<(), CmError> {
        let over = CmError::WrongState("over");
        let stream = self.streams.get_mut(id.0).ok_or(over)?;
        let Stage::Called(responder) = &mut stream.stage else { return Err(over) };
        responder.reject(private_data)?;
        let reply = responder.reply().to_vec();
        self.say_and_part(id, &reply);
        Ok(())
    }

    /// The last words of a stream that belongs to nobody.
    pub(super) fn say_and_part(&mut self, id: StreamId, words: &[u8]) {
        let Some(stream) = self.streams.get_mut(id.0) else { return };
        stream.output.push(&mut self.buffers, words);
        self.orphan(id);
    }

    /// TCP did not come about, or was lost.
    pub(crate) fn failed(&mut self, context: &mut Context, id: StreamId, loss: Loss) {
        let Some(stream) = self.streams.get(id.0) else { return };
        if matches!(stream.stage, Stage::Established) {
            self.handle_end(context, id, rdmalab_iwarp::End::Abortive);
            return;
        }
        self.fail_start_up(id, loss);
    }

    /// A start-up came to nothing, and the carrier has let go of the stream already.
    pub(super) fn fail_start_up(&mut self, id: StreamId, loss: Loss) {
        let ended = match loss {
            Loss::Refused => {
                let reason = RejReason::INVALID_SERVICE_ID;
                Happening::Rejected { stream: id, reason, private_data: Vec::new() }
            }
            Loss::TimedOut => Happening::Unreachable(id),
            Loss::NoRoom => Happening::Failed(id, CallFailure::NoRoom),
            Loss::Broken => Happening::Failed(id, CallFailure::Closed),
        };
        self.end_start_up(id, ended);
    }

    /// A start-up came to nothing, which our application is told so if it called.
    pub(super) fn end_start_up(&mut self, id: StreamId, ended: Happening) {
        let Some(stream) = self.remove(id) else { return };
        match stream.stage {
            Stage::Connecting(_) | Stage::Initiating(_) => {
                self.counters.failed_start_ups += 1;
                self.happenings.push_back(ended);
            }
            Stage::Asking(_) => self.counters.failed_start_ups += 1,
            Stage::Called(_) => self.happenings.push_back(Happening::Gone(id)),
            Stage::Established | Stage::Parting => {}
        }
    }
}

/// A number of READs, as applications count them.
fn small(reads: u16) -> u8 {
    u8::try_from(reads).unwrap_or(u8::MAX)
}
