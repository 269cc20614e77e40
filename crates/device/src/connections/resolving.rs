//! Finding the way: which address of ours leads to a peer, and whether there is somebody to hand packets to.

use std::net::{IpAddr, SocketAddr};

use rdmalab_host::Reach;

use super::identifier::{Pending, Stage};
use super::{AddressError, Below, CmError, CmEventKind, CmId, ConnectionTable, Connections};
use crate::iwarp::Transport;

impl Connections<'_> {
    /// Looks for an address of ours that leads to the peer's (`rdma_resolve_addr`): the one given, or the first of the
    /// peer's family, link-local ones for link-local peers only; and has the
    /// link asked for the peer, or for the gateway to it. What came of it is told by an event. A program may go on without
    /// waiting for that; if there is nobody, [`CmEventKind::AddressError`] ends what it has begun.
    pub fn resolve_address(
        &mut self,
        id: CmId,
        source: Option<IpAddr>,
        peer: SocketAddr,
    ) -> Result<(), CmError> {
        let identifier = self.table.at(id, Stage::Idle)?;
        let space = identifier.space;
        let is_link_local = |address: IpAddr| matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
        let own = self.endpoint.config().addresses.iter().copied().find(|own| match source {
            Some(source) => *own == source,
            None => own.is_ipv4() == peer.is_ipv4() && is_link_local(*own) == is_link_local(peer.ip()),
        });
        let own = own.filter(|own| own.is_ipv4() == peer.is_ipv4() && !peer.ip().is_unspecified());
        let own = own.ok_or(CmError::NoAddress(peer.ip()))?;
        // TCP chooses a port when it connects.
        let port = match identifier.transport {
            Transport::Roce => Some(self.table.cm.ports().take(space, None)?),
            Transport::Iwarp => None,
        };
        let identifier = self.table.identifier(id)?;
        identifier.taken_port = port;
        identifier.local = Some(SocketAddr::new(own, port.unwrap_or_default()));
        identifier.peer = Some(peer);
        identifier.stage = Stage::AddressResolved;
        if self.inquiries.ask(id, peer.ip()) {
            identifier.pending = Some(Pending::Address);
        } else {
            self.table.tell(id, CmEventKind::AddressResolved);
        }
        Ok(())
    }

    /// Looks for the route (`rdma_resolve_route`), which on Ethernet follows from the addresses.
    pub fn resolve_route(&mut self, id: CmId) -> Result<(), CmError> {
        let identifier = self.table.at(id, Stage::AddressResolved)?;
        identifier.stage = Stage::RouteResolved;
        if identifier.pending.is_some() {
            identifier.pending = Some(Pending::AddressAndRoute);
        } else {
            self.table.tell(id, CmEventKind::RouteResolved);
        }
        Ok(())
    }
}

impl ConnectionTable {
    /// The link has said whether the peer of an identifier can be reached.
    pub(crate) fn address_answered(&mut self, now: u64, id: CmId, reach: Reach) {
        let Some(identifier) = self.identifiers.get_mut(id.0) else { return };
        let Some(pending) = identifier.pending.take() else { return };
        let error = match reach {
            Reach::Known | Reach::Asking => {
                self.tell(id, CmEventKind::AddressResolved);
                if pending == Pending::AddressAndRoute {
                    self.tell(id, CmEventKind::RouteResolved);
                }
                return;
            }
            Reach::Silent => AddressError::NoAnswer,
            Reach::NoRoute => AddressError::NoRoute,
        };
        let (below, space, port) = (identifier.below, identifier.space, identifier.taken_port.take());
        // It may look for another peer, unless it has called this one already.
        identifier.stage = if below.is_some() { Stage::Over } else { Stage::Idle };
        if let Some(port) = port {
            self.cm.ports().release(space, port);
        }
        if let Some(below) = below {
            let _ = match below {
                Below::Connection(connection) => self.cm.destroy(now, connection),
                Below::Question(question) => self.cm.cancel_resolution(question),
                Below::Stream(stream) => {
                    self.given_up.push(stream);
                    Ok(())
                }
                Below::Listener(_) | Below::StreamListener(_) => Ok(()),
            };
            self.disown(below);
        }
        self.tell(id, CmEventKind::AddressError(error));
    }
}
