//! One identifier: how far it has come, and what it has.

use std::net::SocketAddr;

use rdmalab_cm::ConnectionCall;
use rdmalab_verbs::{LimitReached, QueuePairType};
use rdmalab_wire::mad::PortSpace;
use rdmalab_wire::{Psn, Qpn};

use super::attributes::Agreement;
use super::{Below, CmError, CmId, ConnectionTable, MAX_IDENTIFIERS, Offer};
use crate::iwarp::Transport;

/// How far an identifier has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Idle,
    Listening,
    AddressResolved,
    RouteResolved,
    /// It calls, or asks.
    Calling,
    /// It is called.
    Called,
    /// It has accepted a call, and waits for the caller to be ready.
    Accepted,
    Connected,
    /// Its connection, call or question is over.
    Over,
}

impl Stage {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Idle => "new",
            Self::Listening => "listening",
            Self::AddressResolved => "without a route",
            Self::RouteResolved => "not connected",
            Self::Calling => "calling",
            Self::Called => "called",
            Self::Accepted => "accepted by us, and not yet confirmed by the caller",
            Self::Connected => "connected",
            Self::Over => "over",
        }
    }
}

/// Events of an identifier that wait until the link has said whether its peer can be reached. The program may go on
/// meanwhile: what it sends waits, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pending {
    /// That the address is resolved.
    Address,
    /// That, and the route behind it.
    AddressAndRoute,
}

pub(super) struct Identifier {
    pub(super) channel: u32,
    /// Events of it that wait in the channel.
    pub(super) waiting: u32,
    pub(super) space: PortSpace,
    pub(super) transport: Transport,
    pub(super) stage: Stage,
    pub(super) local: Option<SocketAddr>,
    pub(super) peer: Option<SocketAddr>,
    /// A port that is ours as long as the identifier lives.
    pub(super) taken_port: Option<u16>,
    /// What it is not told before its peer's neighbour is found.
    pub(super) pending: Option<Pending>,
    pub(super) queue_pair: Option<(Qpn, QueuePairType)>,
    pub(super) below: Option<Below>,
    /// The call that it is to answer.
    pub(super) call: Option<Box<ConnectionCall>>,
    /// What the caller offers.
    pub(super) offer: Offer,
    /// What the connection comes to, as far as it is known.
    pub(super) agreement: Option<Agreement>,
    /// The PSN that our queue pair expects first.
    pub(super) receive_psn: Psn,
}

impl Identifier {
    pub(super) fn new(channel: u32, space: PortSpace) -> Self {
        Self {
            channel,
            waiting: 0,
            space,
            transport: Transport::Roce,
            stage: Stage::Idle,
            local: None,
            peer: None,
            taken_port: None,
            pending: None,
            queue_pair: None,
            below: None,
            call: None,
            offer: Offer::default(),
            agreement: None,
            receive_psn: Psn::default(),
        }
    }

    /// Whether a kind of queue pair goes with its port space.
    pub(super) fn takes(&self, kind: QueuePairType) -> bool {
        (self.space == PortSpace::Udp) == (kind == QueuePairType::Ud)
    }
}

impl ConnectionTable {
    pub(super) fn insert(&mut self, identifier: Identifier) -> Result<CmId, CmError> {
        let full = LimitReached { what: "identifiers", limit: MAX_IDENTIFIERS };
        self.identifiers.insert(identifier).map(CmId).map_err(|_| CmError::Limit(full))
    }

    /// Gives an identifier what it has below.
    pub(super) fn own(&mut self, id: CmId, below: Below) {
        self.owners.insert(below, id);
        if let Some(identifier) = self.identifiers.get_mut(id.0) {
            identifier.below = Some(below);
        }
    }

    /// What an identifier had below is over.
    pub(super) fn disown(&mut self, below: Below) -> Option<CmId> {
        let id = self.owners.remove(&below)?;
        if let Some(identifier) = self.identifiers.get_mut(id.0) {
            identifier.below = None;
        }
        Some(id)
    }
}
