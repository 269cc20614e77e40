//! A device that runs: one thread drives a port over a back end, and handles reach it from any thread.
//!
//! The port stands behind one lock. The engine thread takes it for the time of one batch of frames, a call of a handle
//! for as long as it takes to queue a request or take a completion; nobody holds it while waiting for the network.
//!
//! Handles may be dropped in any order, also behind the device. Dropping one ends what it stands for, unless something
//! that is left needs it: that stays until the device goes. To free everything early, drop queue pairs first, then
//! windows, then regions, shared receive queues and address handles, then completion queues, XRC domains and protection
//! domains.

mod address_handle;
mod cable;
mod capture;
mod completion_channel;
mod completion_queue;
mod connection;
mod device;
mod endpoint;
mod engine;
mod error;
mod fast_region;
mod frame_device;
mod kernel_streams;
mod memory_region;
mod memory_window;
mod node;
mod notices;
mod protection_domain;
mod queue_pair;
mod shared_receive_queue;
mod sleepers;
mod sockets;
mod stream;
mod wire;
mod xrc_domain;

use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rdmalab_host::Host;
use rdmalab_net::{Signal, Waker};
use rdmalab_sim::Counts;
use rdmalab_wire::RKey;

use crate::port::Port;
use crate::recorder::RecordError;
use node::Node;
use notices::Notices;
use sleepers::{Awaited, Sleepers};

pub use address_handle::AddressHandle;
pub use completion_channel::CompletionChannel;
pub use completion_queue::CompletionQueue;
pub use connection::{ChannelEvent, EventChannel, Identifier};
pub use device::{Device, DeviceConfig, Stopper};
pub use endpoint::{Call, CallListener, Connection};
pub use error::DeviceError;
pub use fast_region::FastRegion;
pub use memory_region::MemoryRegion;
pub use memory_window::MemoryWindow;
pub use protection_domain::ProtectionDomain;
pub use queue_pair::{Meter, QueuePair, QueuePairOptions, RefusedRequest};
pub use shared_receive_queue::{SharedReceiveQueue, SharedReceiveQueueOptions};
pub use stream::{Listener, Stream};
pub use xrc_domain::XrcDomain;

/// What the engine thread and the handles share.
struct Shared {
    state: Mutex<Inner>,
    waker: Waker,
    /// Readable while asynchronous events wait.
    asynchronous: Arc<Signal>,
}

struct Inner {
    node: Node,
    notices: Notices,
    sleepers: Sleepers,
    /// Why the engine stopped by itself.
    failure: Option<DeviceError>,
    stop: bool,
    /// The engine has stopped, and the capture is whole.
    has_ended: bool,
    /// Why the link takes nothing at present.
    link_fault: Option<DeviceError>,
    /// Why the capture has ended early.
    capture_fault: Option<Arc<RecordError>>,
    /// Nobody is at the other end of the link any more.
    is_cut: bool,
    /// What the rules on the link did to frames that we sent.
    rule_counts: Counts,
}

impl Inner {
    fn port(&mut self) -> &mut Port {
        self.node.port()
    }

    /// Tells what has come about, before the lock is let go.
    fn settle(&mut self) {
        let port = self.node.port();
        self.notices.settle(port, &mut self.sleepers);
        self.sleepers.settle(port);
    }
}

/// The state, for as long as it is locked. Whoever waits for a descriptor, or sleeps, is told when it is let go.
struct Locked<'a>(MutexGuard<'a, Inner>);

impl Deref for Locked<'_> {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut Inner {
        &mut self.0
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.0.settle();
        self.0.sleepers.ring();
    }
}

/// An address that means something on its link only, with the link's scope.
fn on_link(mut at: SocketAddr, scope: u32) -> SocketAddr {
    if let SocketAddr::V6(v6) = &mut at
        && v6.ip().is_unicast_link_local()
    {
        v6.set_scope_id(scope);
    }
    at
}

/// Objects of different devices are numbered alike and must not be mixed up.
fn same_device(one: &Arc<Shared>, other: &Arc<Shared>) -> Result<(), DeviceError> {
    if Arc::ptr_eq(one, other) { Ok(()) } else { Err(DeviceError::OtherDevice) }
}

impl Shared {
    /// The present key of a window or fast region that is there, by any key that it had.
    fn present_key(&self, key: RKey) -> RKey {
        self.lock().port().context.present_key(key).unwrap_or(key)
    }

    /// The state, for a short time.
    fn lock(&self) -> Locked<'_> {
        Locked(self.bare_lock())
    }

    fn bare_lock(&self) -> MutexGuard<'_, Inner> {
        // No code of ours panics while it holds the lock in a way that leaves it half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the port and lets the engine send what follows from it.
    fn with<T>(&self, act: impl FnOnce(&mut Port) -> T) -> T {
        let done = act(self.lock().port());
        self.waker.wake();
        done
    }

    /// Does something with the emulated host and lets the engine send what follows from it.
    fn with_host<T, E>(&self, act: impl FnOnce(&mut Host) -> Result<T, E>) -> Result<T, DeviceError>
    where
        DeviceError: From<E>,
    {
        let mut inner = self.lock();
        let done = act(inner.node.host().ok_or(DeviceError::NoHost)?)?;
        drop(inner);
        self.waker.wake();
        Ok(done)
    }

    /// As [`with_host`](Self::with_host), for what has no outcome.
    fn tell_host(&self, act: impl FnOnce(&mut Host)) {
        if let Some(host) = self.lock().node.host() {
            act(host);
        }
        self.waker.wake();
    }

    /// The address with this port, and its scope, where it is the kernel's and there is no emulated host.
    fn kernels_address(&self, port: u16) -> Option<SocketAddr> {
        match &self.lock().node {
            Node::Host(_) => None,
            Node::Port(_, address, scope) => Some(on_link(SocketAddr::new(*address, port), *scope)),
        }
    }

    /// As [`wait`](Self::wait), for the emulated host.
    fn wait_for_host<T>(
        &self,
        timeout: Option<Duration>,
        mut ready: impl FnMut(&mut Host) -> Option<T>,
    ) -> Result<Option<T>, DeviceError> {
        self.wait_for_inner(Awaited::Host, timeout, |inner| inner.node.host().and_then(&mut ready))
    }

    /// Waits until `ready` gives something, the device fails, or the time is up (`Ok(None)`). It is asked at once, and again
    /// when what is awaited has come about.
    fn wait<T>(
        &self,
        awaited: Awaited,
        timeout: Option<Duration>,
        mut ready: impl FnMut(&mut Port) -> Option<T>,
    ) -> Result<Option<T>, DeviceError> {
        self.wait_for_inner(awaited, timeout, |inner| ready(inner.port()))
    }

    /// Why the capture has ended early, if it has.
    fn capture_fault(&self) -> Option<DeviceError> {
        self.lock().capture_fault.clone().map(DeviceError::Record)
    }

    /// Why the link takes nothing at present, if that is so.
    fn link_fault(&self) -> Option<DeviceError> {
        self.lock().link_fault.clone()
    }

    /// Waits until the engine has stopped.
    fn wait_for_end(&self, patience: Duration) -> bool {
        let end = Instant::now().checked_add(patience);
        let mut inner = self.bare_lock();
        while !inner.has_ended {
            match self.sleep(inner, Awaited::Turn, end) {
                Ok(woken) => inner = woken,
                Err(late) => return late.has_ended,
            }
        }
        true
    }

    /// Sleeps until what is awaited may have come about, or something woke us in vain; without the lock, which is held
    /// again afterwards. An error once the time is up.
    fn sleep<'a>(
        &'a self,
        mut inner: MutexGuard<'a, Inner>,
        awaited: Awaited,
        end: Option<Instant>,
    ) -> Result<MutexGuard<'a, Inner>, MutexGuard<'a, Inner>> {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(inner);
        }
        let Inner { sleepers, node, .. } = &mut *inner;
        let bed = sleepers.lie_down(awaited, node.port());
        let mut inner = match left {
            None => bed.bell.wait(inner).unwrap_or_else(PoisonError::into_inner),
            Some(left) => bed.bell.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0,
        };
        inner.sleepers.get_up(&bed);
        Ok(inner)
    }

    /// As [`wait`](Self::wait), for anything.
    fn wait_for_inner<T>(
        &self,
        awaited: Awaited,
        timeout: Option<Duration>,
        mut ready: impl FnMut(&mut Inner) -> Option<T>,
    ) -> Result<Option<T>, DeviceError> {
        let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut inner = self.bare_lock();
        loop {
            let found = ready(&mut inner);
            inner.settle();
            inner.sleepers.ring();
            if let Some(found) = found {
                return Ok(Some(found));
            }
            if let Some(failure) = &inner.failure {
                return Err(failure.clone());
            }
            if inner.stop {
                return Err(DeviceError::Stopped);
            }
            match self.sleep(inner, awaited, end) {
                Ok(woken) => inner = woken,
                Err(_) => return Ok(None),
            }
        }
    }
}
