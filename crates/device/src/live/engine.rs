//! The thread that drives a node over its wire.

use std::sync::Arc;
use std::time::Duration;

use rdmalab_net::{MonotonicClock, Poller, use_precise_timers};

use super::error::DeviceError;
use super::sleepers::{Awaited, ring};
use super::wire::{Wire, is_passing};
use super::{Inner, Shared};
use crate::adapter::Progress;
use crate::port::Port;

/// Frames that are received before it is the sender's turn.
const TURN: usize = 64;
/// How long to wait before a device that is down is tried again.
const DOWN: Duration = Duration::from_millis(20);

/// Runs until it is told to stop or the device fails, which every handle is then told.
pub(super) fn run(shared: &Arc<Shared>, poller: Poller, mut wire: Wire) {
    let _end = End(shared);
    let outcome = drive(shared, poller, &mut wire);
    let mut inner = shared.lock();
    if outcome.is_err() {
        // Who looks for completions without ever waiting finds out as well.
        let Port { endpoint, context, .. } = inner.port();
        endpoint.end_all(context);
    }
    wire.capture.finish();
    inner.capture_fault = wire.capture.fault();
    inner.failure = outcome.err();
}

/// Tells the handles that the engine has ended, however it ended.
struct End<'a>(&'a Shared);

impl Drop for End<'_> {
    fn drop(&mut self) {
        let mut inner = self.0.lock();
        (inner.stop, inner.has_ended) = (true, true);
        inner.notices.end();
        inner.sleepers.call_all();
    }
}

fn drive(shared: &Arc<Shared>, mut poller: Poller, wire: &mut Wire) -> Result<(), DeviceError> {
    // Only makes short timers fire on time.
    let _ = use_precise_timers();
    let mut progress = Progress::Done;
    let mut bells = Vec::new();
    let mut limit = timeout(&shared.lock(), wire, progress, false);
    while let Some(patience) = limit {
        wire.device.wait(&mut poller, wire.interest(progress == Progress::Blocked), patience)?;
        let mut inner = shared.lock();
        let turn = turn(&mut inner, wire);
        inner.rule_counts = wire.rule_counts();
        inner.is_cut = wire.device.is_cut();
        if let Err(error) = &turn
            && is_passing(error)
        {
            wire.note_fault(error);
        }
        inner.link_fault = wire.fault();
        inner.capture_fault = wire.capture.fault();
        let down = match turn {
            Ok(made) => {
                progress = made;
                false
            }
            Err(error) if is_passing(&error) => {
                progress = Progress::Done;
                true
            }
            Err(error) => return Err(error),
        };
        limit = timeout(&inner, wire, progress, down);
        inner.sleepers.call(Awaited::Turn);
        if inner.node.has_host_stirred() {
            inner.sleepers.call(Awaited::Host);
        }
        inner.settle();
        // Whoever is woken wants the lock, so it is let go first.
        inner.sleepers.swap_called(&mut bells);
        drop(inner);
        ring(&mut bells);
    }
    Ok(())
}

/// How long to wait for the network; `None` if the engine is to stop.
fn timeout(inner: &Inner, wire: &Wire, progress: Progress, down: bool) -> Option<Option<Duration>> {
    if inner.stop {
        return None;
    }
    if down {
        return Some(Some(DOWN));
    }
    if progress == Progress::More {
        return Some(Some(Duration::ZERO));
    }
    let now = MonotonicClock::now();
    // A blocked link is waited for, not asked again and again for frames that it does not take.
    let timer = if progress == Progress::Blocked { None } else { inner.node.next_timeout(now) };
    let next = timer.into_iter().chain(wire.next_timeout()).min();
    Some(next.map(|next| Duration::from_nanos(next.saturating_sub(now))))
}

/// Receives, does what is due, and sends.
fn turn(inner: &mut Inner, wire: &mut Wire) -> Result<Progress, DeviceError> {
    let now = MonotonicClock::now();
    let node = &mut inner.node;
    wire.receive(now, TURN, |frame| node.handle_frame(now, frame))?;
    if let Some(streams) = wire.device.streams() {
        streams.receive(node.port()).map_err(DeviceError::streams)?;
    }
    node.handle_timeout(now);
    if let Some(streams) = wire.device.streams() {
        streams.send(node.port());
    }
    let progress = node.transmit(now, |frame| wire.send(now, frame))?;
    wire.flush()?;
    Ok(progress)
}
