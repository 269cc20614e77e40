//! The calling side of connections by address and port, as every program has it: find the way, call, and wait for what
//! comes of it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rdmalab_device::{
    ChannelEvent, CmEventKind, DeviceError, DisconnectCause, EventChannel, Identifier, PortSpace,
};

use crate::connect_error::ConnectError;
use crate::herald::{Herald, Vigil};

/// How long whoever has to act may take; for ever, if not given.
pub(crate) type Patience = Option<Duration>;

/// A flag that is set when the program is to end.
pub type Stop = Arc<AtomicBool>;

/// How often a flag is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How long what is under way may still take once the program is to end.
const GRACE: Duration = Duration::from_secs(1);

/// Waits for something that `wait` gives within the time that it is told; not much longer, once the program is to end.
pub(crate) fn patiently<T>(
    patience: Patience,
    stop: &AtomicBool,
    herald: &Herald,
    what: &'static str,
    mut wait: impl FnMut(Duration) -> Result<Option<T>, DeviceError>,
) -> Result<T, ConnectError> {
    let (begun, vigil) = (Instant::now(), Vigil::new(herald));
    let mut asked: Option<Instant> = None;
    loop {
        let left = patience.map_or(LOOK, |patience| patience.saturating_sub(begun.elapsed()).min(LOOK));
        if let Some(found) = wait(left)? {
            return Ok(found);
        }
        vigil.lasts(begun.elapsed(), what);
        if stop.load(Ordering::Relaxed) && asked.get_or_insert_with(Instant::now).elapsed() >= GRACE {
            return Err(ConnectError::Interrupted);
        }
        if let Some(patience) = patience.filter(|&patience| begun.elapsed() >= patience) {
            return Err(ConnectError::Silence { what, patience });
        }
    }
}

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
    stop: &AtomicBool,
    herald: &Herald,
    what: &'static str,
) -> Result<ChannelEvent, ConnectError> {
    loop {
        let event = patiently(patience, stop, herald, what, |patience| channel.wait(Some(patience)))?;
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
        CmEventKind::Unreachable => Some(ConnectError::Unreachable(peer)),
        CmEventKind::ConnectError(failure) => Some(ConnectError::Call { peer, failure: *failure }),
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
