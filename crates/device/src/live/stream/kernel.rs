//! The kernel's TCP, for devices that use the kernel's IP.
//!
//! The kernel does not know when the device stops. So whoever waits here looks for that now and then.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rdmalab_net::{Interest, Poller, begin_connect, has_ended};

use crate::live::error::DeviceError;
use crate::live::{Shared, on_link};

/// How long to wait for a connection if nothing else is said, as Linux does.
const PATIENCE: Duration = Duration::from_secs(130);
/// How often to look whether the device has stopped.
const LOOK: Duration = Duration::from_millis(100);

/// Waits until `of` is ready. Whether it is, the time not being up.
fn wait(
    shared: &Shared,
    of: &impl AsFd,
    interest: Interest,
    end: Option<Instant>,
) -> Result<bool, DeviceError> {
    let mut poller = Poller::new()?;
    loop {
        if shared.lock().stop {
            return Err(DeviceError::Stopped);
        }
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        let ready = poller.wait(of, interest, Some(left.map_or(LOOK, |left| left.min(LOOK))))?;
        // One that broke is ready, too: the next call tells how.
        let is_ready = ready.readable || ready.writable;
        if is_ready || left.is_some_and(|left| left.is_zero()) {
            return Ok(is_ready);
        }
    }
}

fn end_of(timeout: Option<Duration>) -> Option<Instant> {
    timeout.and_then(|timeout| Instant::now().checked_add(timeout))
}

pub(super) struct Listener {
    shared: Arc<Shared>,
    listener: TcpListener,
}

impl Listener {
    pub(super) fn new(shared: &Arc<Shared>, at: SocketAddr) -> Result<Self, DeviceError> {
        let listener = TcpListener::bind(at).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        let listener = listener.map_err(|source| DeviceError::tcp("listen on", at, source))?;
        Ok(Self { shared: Arc::clone(shared), listener })
    }

    pub(super) fn accept(&self, timeout: Option<Duration>) -> Result<Option<Stream>, DeviceError> {
        let end = end_of(timeout);
        loop {
            match self.listener.accept() {
                Ok((stream, peer)) => {
                    return Stream::new(&self.shared, stream)
                        .map(Some)
                        .map_err(|source| DeviceError::tcp("accept", peer, source));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // The peer has gone again, or a signal came.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted
                    ) => {}
                Err(source) => {
                    let at = self.listener.local_addr().unwrap_or(SocketAddr::from(([0; 4], 0)));
                    return Err(DeviceError::tcp("accept on", at, source));
                }
            }
            if !wait(&self.shared, &self.listener, Interest::Read, end)? {
                return Ok(None);
            }
        }
    }
}

/// A stream that does not block: what would is waited for.
pub(super) struct Stream {
    shared: Arc<Shared>,
    stream: TcpStream,
    timeout: Option<Duration>,
}

impl Stream {
    fn new(shared: &Arc<Shared>, stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { shared: Arc::clone(shared), stream, timeout: None })
    }

    /// From the device's own address, so that the peer can tell us from others on this machine.
    pub(super) fn connect(
        shared: &Arc<Shared>,
        own: SocketAddr,
        peer: SocketAddr,
        timeout: Option<Duration>,
    ) -> Result<Self, DeviceError> {
        let failed = |error| DeviceError::tcp("connect to", peer, error);
        let scope = if let SocketAddr::V6(own) = own { own.scope_id() } else { 0 };
        let stream = begin_connect(own.ip(), on_link(peer, scope)).map_err(failed)?;
        let end = end_of(Some(timeout.unwrap_or(PATIENCE)));
        if !wait(shared, &stream, Interest::Write, end)? {
            return Err(failed(io::ErrorKind::TimedOut.into()));
        }
        match stream.take_error() {
            Ok(None) => Self::new(shared, stream).map_err(failed),
            Ok(Some(error)) | Err(error) => Err(failed(error)),
        }
    }

    pub(super) fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    pub(super) fn has_ended(&self) -> bool {
        has_ended(&self.stream)
    }

    pub(super) fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        Some((self.stream.local_addr().ok()?, self.stream.peer_addr().ok()?))
    }

    pub(super) fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.until(Interest::Read, |mut stream| stream.read(out))
    }

    pub(super) fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.until(Interest::Write, |mut stream| stream.write(data))
    }

    fn until(
        &self,
        interest: Interest,
        mut act: impl FnMut(&TcpStream) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let end = end_of(self.timeout);
        loop {
            match act(&self.stream) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                outcome => return outcome,
            }
            if !wait(&self.shared, &self.stream, interest, end).map_err(io::Error::other)? {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }
}
