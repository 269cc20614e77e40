//! The calling side of connections by address and port, as every program has it: find the way, call, and wait for what
//! comes of it.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use rdmalab_device::{ChannelEvent, CmEventKind, DisconnectCause, EventChannel, Identifier, PortSpace};

use crate::connect_error::ConnectError;

/// How long whoever has to act may take; for ever, if not given.
pub(crate) type Patience = Option<Duration>;

/// An identifier that knows the way to `peer`.
pub(crate) fn way(
    channel: &EventChannel,
    space: PortSpace,
    source: Option<IpAddr>,
    peer: SocketAddr,
) -> Result<Identifier, ConnectError> {
    let identifier = channel.identifier(space)?;
    identifier.resolve_address(source, peer)?;
    identifier.resolve_route()?;
    Ok(identifier)
}

/// Waits for the next event that tells something new: that the way is known, we know.
pub(crate) fn next_event(
    channel: &EventChannel,
    patience: Patience,
    what: &'static str,
) -> Result<ChannelEvent, ConnectError> {
    loop {
        let silence = || ConnectError::Silence { what, patience: patience.unwrap_or_default() };
        let event = channel.wait(patience)?.ok_or_else(silence)?;
        match event.kind {
            CmEventKind::AddressResolved | CmEventKind::RouteResolved | CmEventKind::TimeWaitExit => {}
            _ => return Ok(event),
        }
    }
}

/// What an event that ends a call means, if it is one.
pub(crate) fn refusal(kind: &CmEventKind, peer: SocketAddr) -> Option<ConnectError> {
    match kind {
        CmEventKind::Rejected { reason, .. } => Some(ConnectError::Rejected { peer, reason: *reason }),
        CmEventKind::ServiceRefused(status) => Some(ConnectError::NoService { peer, status: *status }),
        CmEventKind::Unreachable | CmEventKind::ConnectError(_) => Some(ConnectError::Unreachable(peer)),
        _ => None,
    }
}

/// Who ended a connection whose queue pair has just failed, if that is known within a moment.
pub(crate) fn cause_of_end(channel: &EventChannel) -> Option<DisconnectCause> {
    const MOMENT: Duration = Duration::from_millis(50);
    while let Ok(Some(event)) = channel.wait(Some(MOMENT)) {
        if let CmEventKind::Disconnected(cause) = event.kind {
            return Some(cause);
        }
    }
    None
}
