//! TCP of the emulated host.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rdmalab_host::{CloseReason, Host, ListenerId, Read, StreamError, StreamId, StreamState};

use crate::live::Shared;
use crate::live::error::DeviceError;

pub(super) struct Listener {
    shared: Arc<Shared>,
    id: ListenerId,
}

impl Listener {
    pub(super) fn new(shared: &Arc<Shared>, port: u16) -> Result<Self, DeviceError> {
        let id = shared.with_host(|host| host.listen(port))?;
        Ok(Self { shared: Arc::clone(shared), id })
    }

    pub(super) fn accept(&self, timeout: Option<Duration>) -> Result<Option<Stream>, DeviceError> {
        let accepted = self.shared.wait_for_host(timeout, |host| host.accept(self.id))?;
        Ok(accepted.map(|id| Stream { shared: Arc::clone(&self.shared), id, timeout: None }))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.shared.tell_host(|host| host.close_listener(self.id));
    }
}

pub(super) struct Stream {
    shared: Arc<Shared>,
    id: StreamId,
    timeout: Option<Duration>,
}

impl Stream {
    pub(super) fn connect(
        shared: &Arc<Shared>,
        peer: SocketAddr,
        timeout: Option<Duration>,
    ) -> Result<Self, DeviceError> {
        let id = shared
            .with_host(|host| host.connect(peer).map_err(|reason| DeviceError::Connect { peer, reason }))?;
        let stream = Self { shared: Arc::clone(shared), id, timeout: None };
        let settled = shared.wait_for_host(timeout, |host| match host.stream_state(id) {
            Some(StreamState::Connecting) => None,
            state => Some(state),
        })?;
        match settled {
            Some(Some(StreamState::Closed(reason))) => Err(DeviceError::NotConnected { peer, reason }),
            Some(Some(_)) => Ok(stream),
            Some(None) => Err(DeviceError::NotConnected { peer, reason: CloseReason::Reset }),
            None => {
                let seconds = timeout.map_or(0, |timeout| timeout.as_secs());
                Err(DeviceError::TimedOut { what: "a connection", seconds })
            }
        }
    }

    pub(super) fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    pub(super) fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        self.shared.lock().node.host()?.stream_ends(self.id)
    }

    pub(super) fn has_ended(&self) -> bool {
        let mut inner = self.shared.lock();
        let state = inner.node.host().and_then(|host| host.stream_state(self.id));
        matches!(state, None | Some(StreamState::PeerFinished | StreamState::Closed(_)))
    }

    /// Waits until an action on the host has an outcome.
    fn until<T>(&self, mut act: impl FnMut(&mut Host) -> Option<Result<T, StreamError>>) -> io::Result<T> {
        let outcome = self.shared.wait_for_host(self.timeout, |host| act(host)).map_err(io::Error::other)?;
        // What was read makes room in the window, what was written must go out.
        self.shared.waker.wake();
        match outcome {
            Some(Ok(done)) => Ok(done),
            Some(Err(error)) => Err(io::Error::new(kind(error), error)),
            None => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

fn kind(error: StreamError) -> io::ErrorKind {
    match error {
        StreamError::Closed(CloseReason::Refused) => io::ErrorKind::ConnectionRefused,
        StreamError::Closed(CloseReason::TimedOut) => io::ErrorKind::TimedOut,
        StreamError::Closed(CloseReason::Reset) => io::ErrorKind::ConnectionReset,
        _ => io::ErrorKind::NotConnected,
    }
}

impl Stream {
    pub(super) fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        let id = self.id;
        self.until(|host| match host.read(id, out) {
            Ok(Read::Nothing) => None,
            Ok(Read::Bytes(count)) => Some(Ok(count)),
            Ok(Read::End) => Some(Ok(0)),
            Err(error) => Some(Err(error)),
        })
    }

    pub(super) fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if data.is_empty() {
            return Ok(0);
        }
        let id = self.id;
        self.until(|host| match host.write(id, data) {
            Ok(0) => None,
            outcome => Some(outcome),
        })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.shared.tell_host(|host| {
            let _ = host.close(self.id);
        });
    }
}
