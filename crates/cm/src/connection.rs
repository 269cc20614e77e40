//! One connection: where in its life it is, and what a repetition is answered with.

use alloc::boxed::Box;
use core::net::IpAddr;

use rdmalab_wire::mad::{Mad, Req};
use rdmalab_wire::{Psn, Qpn};

use crate::event::DisconnectCause;
use crate::ids::ListenerId;
use crate::route::Route;

/// A datagram as it goes out.
pub(crate) type Message = [u8; Mad::LENGTH];

/// Which adapter a message comes from: its GUID alone would let one host speak for another.
pub(crate) type Adapter = (u64, IpAddr);

/// Where in its life a connection is.
///
/// ```text
/// active    RequestSent ── REP ─▶ ReplyReceived ── confirm ─┐
/// passive   RequestReceived ── accept ─▶ ReplySent ── RTU ──┴─▶ Established ── disconnect ─▶ ReleaseSent ── DREP ─▶ TimeWait
///                                                                    └──────────────── DREQ ────────────────────────▶ TimeWait
/// ```
///
/// `Rejected` is what a rejection of ours leaves behind, so that it can be repeated; the owner knows nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    RequestSent,
    ReplyReceived,
    RequestReceived,
    ReplySent,
    Established,
    /// What the owner will be told when the DREP comes.
    ReleaseSent(DisconnectCause),
    TimeWait,
    Rejected,
}

impl State {
    pub const fn name(self) -> &'static str {
        match self {
            State::RequestSent => "waiting for the reply",
            State::ReplyReceived => "waiting to be confirmed",
            State::RequestReceived => "waiting for a decision",
            State::ReplySent => "waiting for the caller to be ready",
            State::Established => "established",
            State::ReleaseSent(_) => "being ended",
            State::TimeWait => "in time-wait",
            State::Rejected => "rejected",
        }
    }
}

/// The other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Peer {
    pub ca_guid: u64,
    pub communication_id: u32,
    pub qpn: Qpn,
}

/// What tells a request repeated from another with the same communication ID: a caller that was started again may begin
/// with the same IDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    qpn: Qpn,
    starting_psn: Psn,
}

impl Fingerprint {
    pub const fn new(req: &Req) -> Self {
        Fingerprint { qpn: req.local_qpn, starting_psn: req.starting_psn }
    }
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub state: State,
    pub route: Route,
    /// Whom the request is for, on the passive side.
    pub listener: Option<ListenerId>,
    /// Unknown on the active side until the REP comes.
    pub peer: Option<Peer>,
    /// Of the request, on the passive side.
    pub fingerprint: Option<Fingerprint>,
    /// Unknown on the passive side until the request is accepted.
    pub local_qpn: Qpn,
    pub is_xrc: bool,
    /// Whether the request has an alternate path, which is not taken.
    pub refuses_alternate_path: bool,
    /// Of the exchange that the REQ began.
    pub transaction_id: u64,
    /// How long to wait for an answer of the peer's, in nanoseconds.
    pub wait: u64,
    /// How long time-wait takes, in nanoseconds.
    pub time_wait: u64,
    /// How often a message is sent again.
    pub max_retries: u8,
    /// How often the present one still is.
    pub retries_left: u8,
    /// How often the peer may still ask for more time.
    pub extensions_left: u8,
    /// The last message; repeated when the timer runs out or the peer repeats its own.
    pub last: Option<Box<Message>>,
    /// Copy of the timer's; only `Timers` writes it.
    pub deadline: Option<u64>,
    /// Whether the owner has no interest any more.
    pub abandoned: bool,
}

impl Connection {
    pub fn remote_id(&self) -> u32 {
        self.peer.map_or(0, |peer| peer.communication_id)
    }

    pub fn adapter(&self) -> Option<Adapter> {
        Some((self.peer?.ca_guid, self.route.peer))
    }

    /// Whether the message can be about this connection: from its peer, with the peer's ID as far as it is known.
    pub fn is_addressed(&self, route: &Route, remote_id: u32) -> bool {
        self.route == *route && self.peer.is_none_or(|peer| peer.communication_id == remote_id)
    }

    pub const fn is_active_side(&self) -> bool {
        self.fingerprint.is_none()
    }
}
