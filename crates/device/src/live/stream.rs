//! TCP of the emulated host, for what applications tell each other beside RDMA.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rdmalab_host::{CloseReason, Host, ListenerId, Read, StreamError, StreamId, StreamState};

use super::Shared;
use super::error::DeviceError;

/// A TCP port that is listened on.
pub struct Listener {
    shared: Arc<Shared>,
    id: ListenerId,
}

impl Listener {
    pub(super) fn new(shared: &Arc<Shared>, port: u16) -> Result<Self, DeviceError> {
        let id = shared.with(|adapter| adapter.host.listen(port))?;
        Ok(Self { shared: Arc::clone(shared), id })
    }

    /// Waits for a connection; without a timeout, for ever. `None` if the time is up.
    pub fn accept(&self, timeout: Option<Duration>) -> Result<Option<Stream>, DeviceError> {
        let accepted = self.shared.wait(timeout, |adapter| adapter.host.accept(self.id))?;
        Ok(accepted.map(|id| Stream { shared: Arc::clone(&self.shared), id, timeout: None }))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.shared.with(|adapter| adapter.host.close_listener(self.id));
    }
}

/// A TCP connection of the emulated host. Reading and writing wait, as with the standard library's `TcpStream`.
/// Dropping it closes it once everything is sent.
pub struct Stream {
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
            .with(|adapter| adapter.host.connect(peer))
            .map_err(|reason| DeviceError::Connect { peer, reason })?;
        let stream = Self { shared: Arc::clone(shared), id, timeout: None };
        let settled = shared.wait(timeout, |adapter| match adapter.host.stream_state(id) {
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

    /// How long one read or write may wait; for ever, if not set.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    /// Our end and the peer's.
    pub fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        self.shared.lock().adapter.host.stream_ends(self.id)
    }

    /// Waits until an action on the host has an outcome.
    fn until<T>(&self, mut act: impl FnMut(&mut Host) -> Option<Result<T, StreamError>>) -> io::Result<T> {
        let outcome =
            self.shared.wait(self.timeout, |adapter| act(&mut adapter.host)).map_err(io::Error::other)?;
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

impl io::Read for Stream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
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
}

impl io::Write for Stream {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if data.is_empty() {
            return Ok(0);
        }
        let id = self.id;
        self.until(|host| match host.write(id, data) {
            Ok(0) => None,
            outcome => Some(outcome),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let _ = self.shared.with(|adapter| adapter.host.close(self.id));
    }
}
