//! How the connections of a wish come about: on the one side calls, on the other answers to them.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use rdmalab_device::{
    ChannelEvent, CmEventKind, CmId, ConnectionParameters, Identifier, PortSpace, RejReason,
};

use super::{Made, Manager, Place, Wish};
use crate::calling::{next_event, refusal, way};
use crate::connect_error::ConnectError;
use crate::perf::error::PerfError;

/// Calls that are under way at once: more than a real server's backlog would only be repeated.
const CALLS: usize = 128;
/// A peer that refused for a reason that passes is called again when it has said nothing for so long,
const PAUSE: Duration = Duration::from_millis(100);
/// and no more after so long.
const AGAIN: Duration = Duration::from_secs(60);

impl Manager {
    /// Makes connections, in the order of their calls.
    pub(in crate::perf) fn connect(&self, wish: &Wish<'_>) -> Result<Vec<Made>, PerfError> {
        match &self.place {
            Place::Caller { server, source } => self.call(*server, *source, wish),
            Place::Called { connections, datagrams } => match (wish.space, datagrams) {
                (PortSpace::Udp, Some(datagrams)) => self.answer(datagrams.id(), wish),
                _ => self.answer(connections.id(), wish),
            },
        }
    }

    /// Calls, for all at once. Who is refused for a reason that passes calls again.
    fn call(
        &self,
        server: SocketAddr,
        source: Option<IpAddr>,
        wish: &Wish<'_>,
    ) -> Result<Vec<Made>, PerfError> {
        let open = |place: usize| -> Result<Made, PerfError> {
            let identifier = way(&self.channel, wish.space, source, server)?;
            let queue_pair = identifier.queue_pair(wish.domain, wish.options)?;
            (wish.prepare)(place, &queue_pair)?;
            identifier.connect(&parameters(wish))?;
            Ok(Made { identifier, queue_pair, service: None })
        };
        let end = Instant::now() + AGAIN;
        let is_known = self.client.replace(Some(server.ip())).is_some();
        let mut made: Vec<Made> = Vec::with_capacity(wish.count);
        let (mut standing, mut refused) = (0, Vec::new());
        while standing < wish.count {
            while made.len() < wish.count && made.len() - standing < CALLS {
                made.push(open(made.len())?);
            }
            let patience = if refused.is_empty() { self.patience } else { Some(PAUSE) };
            let event =
                match next_event(&self.channel, patience, &self.stop, &self.herald, "an answer to a call") {
                    Err(ConnectError::Silence { .. }) if refused.is_empty() => {
                        return Err(ConnectError::Unreachable(server).into());
                    }
                    Err(ConnectError::Silence { .. }) => {
                        for place in refused.drain(..) {
                            made[place] = open(place)?;
                        }
                        continue;
                    }
                    event => event?,
                };
            self.note(event.id, &event.kind);
            if !self.over.borrow().is_empty() {
                return Err(PerfError::Gone);
            }
            let Some(place) = place_of(&made, event.id) else { continue };
            match &event.kind {
                CmEventKind::Established { .. } => standing += 1,
                CmEventKind::ServiceResolved { queue_pair, .. } => {
                    made[place].service = Some(*queue_pair);
                    (wish.found)(&made[place])?;
                    standing += 1;
                }
                kind if passes(kind, is_known) && Instant::now() < end => refused.push(place),
                kind => still_hopeful(kind, server)?,
            }
        }
        Ok(made)
    }

    /// Answers the calls of one client, as many as there are to be. Others are refused.
    fn answer(&self, listener: CmId, wish: &Wish<'_>) -> Result<Vec<Made>, PerfError> {
        let mut made: Vec<Made> = Vec::with_capacity(wish.count);
        let mut standing = 0;
        while standing < wish.count {
            let ChannelEvent { id, called, kind } =
                next_event(&self.channel, self.patience, &self.stop, &self.herald, "a client's call")?;
            self.note(id, &kind);
            if !self.over.borrow().is_empty() {
                return Err(PerfError::Gone);
            }
            if let Some(called) = called {
                let is_ours =
                    matches!(kind, CmEventKind::ConnectRequest { listener: of, .. } if of == listener);
                if is_ours && made.len() < wish.count && self.is_the_client(&called) {
                    made.push(accept(made.len(), called, wish)?);
                    // Who asks for a datagram service says nothing more.
                    standing += usize::from(wish.space == PortSpace::Udp);
                }
                // By being forgotten, others are refused.
                continue;
            }
            let Some(place) = place_of(&made, id) else { continue };
            match &kind {
                CmEventKind::Established { .. } => standing += 1,
                kind => still_hopeful(kind, peer_of(&made[place].identifier))?,
            }
        }
        Ok(made)
    }

    fn is_the_client(&self, called: &Identifier) -> bool {
        let mut client = self.client.borrow_mut();
        let peer = peer_of(called).ip();
        *client.get_or_insert(peer) == peer
    }
}

fn accept(place: usize, called: Identifier, wish: &Wish<'_>) -> Result<Made, PerfError> {
    let queue_pair = called.queue_pair(wish.domain, wish.options)?;
    (wish.prepare)(place, &queue_pair)?;
    called.accept(&parameters(wish))?;
    Ok(Made { identifier: called, queue_pair, service: None })
}

fn parameters(wish: &Wish<'_>) -> ConnectionParameters<'static> {
    ConnectionParameters {
        responder_resources: wish.reads,
        initiator_depth: wish.reads,
        ..ConnectionParameters::default()
    }
}

/// Whether a refusal is for a reason that passes: the peer takes us for a caller whom it knows from before, since our
/// numbers are the same; or it does not listen yet. A real server stops listening when the conversation stands, and begins
/// again a moment after it has said that the test's connections are to be made.
fn passes(kind: &CmEventKind, is_known: bool) -> bool {
    match kind {
        CmEventKind::Rejected { reason, .. } => {
            *reason == RejReason::STALE_CONNECTION || is_known && *reason == RejReason::INVALID_SERVICE_ID
        }
        // Seen of datagram services that are asked for too early: status 1.
        CmEventKind::ServiceRefused(_) => is_known,
        _ => false,
    }
}

fn place_of(made: &[Made], id: CmId) -> Option<usize> {
    made.iter().position(|made| made.identifier.id() == id)
}

fn peer_of(identifier: &Identifier) -> SocketAddr {
    let peer = identifier.ends().ok().and_then(|(_, peer)| peer);
    peer.unwrap_or(SocketAddr::from(([0; 4], 0)))
}

/// Fails if an event is the end of a call.
fn still_hopeful(kind: &CmEventKind, peer: SocketAddr) -> Result<(), ConnectError> {
    refusal(kind, peer).map_or(Ok(()), Err)
}
