//! Listeners, and callers until somebody has answered them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rdmalab_iwarp::{Asked, Responder};
use rdmalab_verbs::LimitReached;
use rdmalab_wire::mad::RejReason;

use super::{
    Command, Happening, IwarpTable, ListenerId, MAX_LISTENERS, REQUEST_PATIENCE, Stage, Stream, StreamId,
};
use crate::connections::{CallFailure, CmError};

/// A place where callers come in.
pub(super) struct Listener {
    at: SocketAddr,
    /// Callers that may wait at once.
    backlog: usize,
    /// Callers that nobody has answered.
    waiting: usize,
    progress: Listening,
}

/// How far a listener has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Listening {
    /// The carrier has not said yet.
    Asked,
    /// It listens there.
    At(SocketAddr),
    /// It does not, and why.
    Failed(CmError),
}

impl IwarpTable {
    /// Listens on an address and a port. An unspecified address stands for all of its family.
    pub(crate) fn listen(&mut self, at: SocketAddr, backlog: usize) -> Result<ListenerId, CmError> {
        if at.port() != 0 && self.bound.contains_key(&at) {
            return Err(CmError::PortTaken(at));
        }
        if self.listeners.len() >= MAX_LISTENERS {
            return Err(CmError::Limit(LimitReached { what: "iWARP listeners", limit: MAX_LISTENERS }));
        }
        let id = ListenerId(self.next_listener);
        self.next_listener = self.next_listener.wrapping_add(1);
        let listener = Listener { at, backlog: backlog.max(1), waiting: 0, progress: Listening::Asked };
        self.listeners.insert(id, listener);
        if at.port() != 0 {
            self.bound.insert(at, id);
        }
        self.commands.push_back(Command::Listen { listener: id, at });
        Ok(id)
    }

    /// Stops listening. Callers that nobody has answered are turned away.
    pub(crate) fn stop_listening(&mut self, id: ListenerId) {
        let Some(listener) = self.listeners.remove(&id) else { return };
        if self.bound.get(&listener.at) == Some(&id) {
            self.bound.remove(&listener.at);
        }
        self.commands.push_back(Command::StopListening(id));
    }

    /// How far a listener has come.
    pub(crate) fn listening(&self, id: ListenerId) -> Option<Listening> {
        self.listeners.get(&id).map(|listener| listener.progress.clone())
    }

    /// The carrier listens; `at` has the port, if any was asked for.
    pub(crate) fn listens(&mut self, id: ListenerId, at: Result<SocketAddr, CmError>) {
        let Some(listener) = self.listeners.get_mut(&id) else { return };
        match at {
            Ok(found) => {
                // An unspecified address stays what it was, whatever the carrier made of it.
                listener.at.set_port(found.port());
                listener.progress = Listening::At(listener.at);
                self.bound.insert(listener.at, id);
            }
            Err(error) => {
                listener.progress = Listening::Failed(error);
                if self.bound.get(&listener.at) == Some(&id) {
                    self.bound.remove(&listener.at);
                }
            }
        }
    }

    /// The listener that somebody called who connected to this end.
    pub(crate) fn listener_at(&self, local: SocketAddr) -> Option<ListenerId> {
        let any: IpAddr =
            if local.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let all = SocketAddr::new(any, local.port());
        self.bound.get(&local).or_else(|| self.bound.get(&all)).copied()
    }

    /// Whether a listener takes another caller now.
    pub(crate) fn has_room(&self, id: ListenerId) -> bool {
        self.listeners.get(&id).is_some_and(|listener| listener.waiting < listener.backlog)
    }

    /// Whether one of the listeners of a TCP port does.
    pub(crate) fn has_room_at(&self, port: u16) -> bool {
        self.bound.iter().any(|(at, listener)| at.port() == port && self.has_room(*listener))
    }

    /// Somebody has connected to one of our listeners. `None`: the stream is to be reset.
    pub(crate) fn accepted(&mut self, local: SocketAddr, peer: SocketAddr) -> Option<StreamId> {
        let listener = self.listener_at(local).filter(|listener| self.has_room(*listener));
        let profile = &self.settings.profile;
        let stage = Stage::Asking(Box::new(Responder::new(profile)));
        let mut stream = Stream::new(stage, local, peer);
        stream.listener = listener;
        let id = listener.and_then(|_| self.insert(stream));
        match (id, listener.and_then(|listener| self.listeners.get_mut(&listener))) {
            (Some(id), Some(listener)) => {
                listener.waiting += 1;
                self.give_time(id, Some(REQUEST_PATIENCE));
            }
            _ => self.counters.refused_callers += 1,
        }
        id
    }

    /// The carrier could not keep somebody who has connected.
    pub(crate) fn turn_away(&mut self, id: StreamId) {
        self.remove(id);
        self.counters.refused_callers += 1;
    }

    /// How long the segments of a stream are, and whether each is to begin with an FPDU.
    pub(crate) fn set_segments(&mut self, id: StreamId, segment_size: usize, is_aligned: bool) {
        if let Some(stream) = self.streams.get_mut(id.0) {
            (stream.segment_size, stream.is_aligned) = (segment_size, is_aligned);
        }
    }

    /// Bytes of a caller's request. An error: the start-up came to nothing.
    pub(super) fn asked(&mut self, id: StreamId, bytes: &[u8]) -> Result<(), CallFailure> {
        let Some(stream) = self.streams.get_mut(id.0) else { return Ok(()) };
        let (Stage::Asking(responder) | Stage::Called(responder)) = &mut stream.stage else { return Ok(()) };
        match responder.handle_bytes(bytes).map_err(CallFailure::StartUp)? {
            None => {}
            Some(Asked::Requested) => {
                let listener = stream.listener.ok_or(CallFailure::Ours(RejReason::INVALID_SERVICE_ID))?;
                if let Stage::Asking(responder) = std::mem::replace(&mut stream.stage, Stage::Parting) {
                    stream.stage = Stage::Called(responder);
                }
                self.give_time(id, None);
                self.happenings.push_back(Happening::Called { listener, stream: id });
            }
            Some(Asked::Refused(_)) => {
                let reply = responder.reply().to_vec();
                self.counters.failed_start_ups += 1;
                self.say_and_part(id, &reply);
            }
        }
        Ok(())
    }

    /// A stream is not in its listener's backlog any more.
    pub(super) fn leave_backlog(&mut self, stream: &Stream) {
        if matches!(stream.stage, Stage::Asking(_) | Stage::Called(_)) {
            self.answered(stream.listener);
        }
    }

    /// One caller fewer waits.
    pub(super) fn answered(&mut self, listener: Option<ListenerId>) {
        if let Some(listener) = listener.and_then(|listener| self.listeners.get_mut(&listener)) {
            listener.waiting = listener.waiting.saturating_sub(1);
        }
    }
}
