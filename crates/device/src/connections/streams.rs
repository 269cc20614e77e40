//! Connections over iWARP: the same identifiers and events, with a byte stream below instead of messages of connection
//! management. As rdma_cm has it over iWARP, a port is the TCP port, and private data comes without a header.

use std::net::SocketAddr;

use rdmalab_verbs::Context;
use rdmalab_wire::Qpn;
use rdmalab_wire::mad::PortSpace;

use super::identifier::{Identifier, Stage};
use super::{Below, CmError, CmEventKind, CmId, ConnectionParameters, ConnectionTable, Connections, Offer};
use crate::iwarp::{Happening, IwarpTable, Listening, StreamId, Transport};

impl Connections<'_> {
    /// Makes an identifier over a transport of its own: datagrams (port space UDP) are for RoCE only.
    pub fn create_id_over(
        &mut self,
        transport: Transport,
        channel: super::CmChannel,
        space: PortSpace,
    ) -> Result<CmId, CmError> {
        self.table.channels.get(channel.0).ok_or(CmError::UnknownChannel)?;
        if transport == Transport::Iwarp && space != PortSpace::Tcp {
            return Err(CmError::NotOverIwarp("a port space other than TCP"));
        }
        self.table.insert(Identifier { transport, ..Identifier::new(channel.0, space) })
    }

    /// Where a listener listens; `None` while the operating system, or the emulated host, has not answered. Over RoCE it
    /// always does.
    pub fn listening(&mut self, id: CmId) -> Result<Option<SocketAddr>, CmError> {
        let identifier = self.table.at(id, Stage::Listening)?;
        let Some(Below::StreamListener(listener)) = identifier.below else { return Ok(identifier.local) };
        match self.iwarp.listening(listener) {
            None | Some(Listening::Asked) => Ok(None),
            Some(Listening::At(at)) => {
                identifier.local = Some(at);
                Ok(Some(at))
            }
            Some(Listening::Failed(error)) => {
                self.iwarp.stop_listening(listener);
                self.table.disown(Below::StreamListener(listener));
                let identifier = self.table.identifier(id)?;
                (identifier.stage, identifier.local) = (Stage::Idle, None);
                Err(error)
            }
        }
    }

    /// Listens for streams. Whether that goes well is for [`listening`](Self::listening) to say.
    pub(super) fn listen_for_streams(
        &mut self,
        id: CmId,
        at: SocketAddr,
        backlog: usize,
    ) -> Result<(), CmError> {
        let listener = self.iwarp.listen(at, backlog)?;
        self.table.own(id, Below::StreamListener(listener));
        let identifier = self.table.identifier(id)?;
        (identifier.stage, identifier.local) = (Stage::Listening, Some(at));
        Ok(())
    }

    pub(super) fn connect_stream(
        &mut self,
        id: CmId,
        parameters: &ConnectionParameters<'_>,
    ) -> Result<(), CmError> {
        let identifier = self.table.at(id, Stage::RouteResolved)?;
        let (Some(local), Some(peer)) = (identifier.local, identifier.peer) else {
            return Err(CmError::WrongState(Stage::Idle.name()));
        };
        let (number, _) = identifier.queue_pair.ok_or(CmError::NoQueuePair)?;
        let reads = reads(parameters);
        let stream = self.iwarp.call((local.ip(), peer), number, reads, parameters.private_data)?;
        self.table.own(id, Below::Stream(stream));
        self.table.identifier(id)?.stage = Stage::Calling;
        Ok(())
    }

    pub(super) fn accept_stream(
        &mut self,
        id: CmId,
        stream: StreamId,
        parameters: &ConnectionParameters<'_>,
    ) -> Result<(), CmError> {
        let identifier = self.table.at(id, Stage::Called)?;
        let (number, _) = identifier.queue_pair.ok_or(CmError::NoQueuePair)?;
        let offer = identifier.offer;
        let wanted = reads(parameters);
        let agreed = Offer {
            responder_resources: wanted.responder_resources.min(offer.initiator_depth),
            initiator_depth: wanted.initiator_depth.min(offer.responder_resources),
        };
        self.iwarp.accept(self.context, stream, number, agreed, parameters.private_data)?;
        self.table.identifier(id)?.stage = Stage::Accepted;
        Ok(())
    }

    pub(super) fn reject_stream(
        &mut self,
        id: CmId,
        stream: StreamId,
        private_data: &[u8],
    ) -> Result<(), CmError> {
        self.table.at(id, Stage::Called)?;
        self.iwarp.reject(stream, private_data)?;
        self.table.disown(Below::Stream(stream));
        self.table.identifier(id)?.stage = Stage::Over;
        Ok(())
    }

    pub(super) fn disconnect_stream(&mut self, id: CmId, stream: StreamId) -> Result<(), CmError> {
        match self.table.identifier(id)?.stage {
            Stage::Connected | Stage::Accepted => self.iwarp.disconnect(self.context, stream),
            // The peer was quicker.
            Stage::Over => {}
            stage => return Err(CmError::WrongState(stage.name())),
        }
        Ok(())
    }
}

fn reads(parameters: &ConnectionParameters<'_>) -> Offer {
    let ConnectionParameters { responder_resources, initiator_depth, .. } = *parameters;
    Offer { responder_resources, initiator_depth }
}

impl ConnectionTable {
    /// Does what follows from what happened to streams.
    pub(super) fn heed_streams(&mut self, context: &mut Context, iwarp: &mut IwarpTable) {
        for stream in self.given_up.drain(..) {
            iwarp.forget(context, stream);
        }
        while let Some(happening) = iwarp.next_happening() {
            match happening {
                Happening::Called { listener, stream } => {
                    let below = (Below::StreamListener(listener), Below::Stream(stream));
                    let Some((listener, child)) = self.child(below.0, below.1, iwarp.ends(stream)) else {
                        iwarp.forget(context, stream);
                        continue;
                    };
                    let request = iwarp.request(stream).map(|(offer, data)| (offer, data.to_vec()));
                    let (offer, private_data) = request.unwrap_or_default();
                    if let Some(identifier) = self.identifiers.get_mut(child.0) {
                        identifier.offer = offer;
                    }
                    self.tell(child, CmEventKind::ConnectRequest { listener, offer, private_data });
                }
                Happening::Accepted { stream, offer, private_data } => {
                    let ends = iwarp.ends(stream);
                    let Some(identifier) = self.owner_of(stream) else {
                        iwarp.forget(context, stream);
                        continue;
                    };
                    identifier.stage = Stage::Connected;
                    identifier.local = ends.map(|(local, _)| local).or(identifier.local);
                    self.tell_owner(stream, CmEventKind::Established { offer, private_data });
                }
                Happening::Established(stream) => {
                    let Some(identifier) = self.owner_of(stream) else { continue };
                    identifier.stage = Stage::Connected;
                    let offer = identifier.offer;
                    self.tell_owner(stream, CmEventKind::Established { offer, private_data: Vec::new() });
                }
                Happening::Rejected { stream, reason, private_data } => {
                    self.over(context, iwarp, stream, Some(CmEventKind::Rejected { reason, private_data }));
                }
                Happening::Unreachable(stream) => {
                    self.over(context, iwarp, stream, Some(CmEventKind::Unreachable));
                }
                Happening::Failed(stream, failure) => {
                    self.over(context, iwarp, stream, Some(CmEventKind::ConnectError(failure)));
                }
                // The program finds out when it answers.
                Happening::Gone(stream) => self.over(context, iwarp, stream, None),
                Happening::Ended { stream, cause } => {
                    self.over(context, iwarp, stream, Some(CmEventKind::Disconnected(cause)));
                }
            }
        }
    }

    fn owner_of(&mut self, stream: StreamId) -> Option<&mut Identifier> {
        let owner = *self.owners.get(&Below::Stream(stream))?;
        self.identifiers.get_mut(owner.0)
    }

    fn tell_owner(&mut self, stream: StreamId, kind: CmEventKind) {
        if let Some(owner) = self.owners.get(&Below::Stream(stream)).copied() {
            self.tell(owner, kind);
        }
    }

    /// The connection of an identifier is over, or came to nothing.
    fn over(
        &mut self,
        context: &mut Context,
        iwarp: &mut IwarpTable,
        stream: StreamId,
        kind: Option<CmEventKind>,
    ) {
        let Some(owner) = self.disown(Below::Stream(stream)) else { return };
        let Some(identifier) = self.identifiers.get_mut(owner.0) else { return };
        identifier.stage = Stage::Over;
        let queue_pair: Option<Qpn> = identifier.queue_pair.map(|(number, _)| number);
        if let Some(number) = queue_pair {
            iwarp.give_up(context, number);
        }
        if let Some(kind) = kind {
            self.tell(owner, kind);
        }
    }
}
