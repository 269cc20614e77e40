//! The kernel's TCP, for devices that use the kernel's IP.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use rdmalab_net::{Interest, Poller};

use crate::live::error::DeviceError;

/// How long to wait for a connection if nothing else is said, as Linux does.
const PATIENCE: Duration = Duration::from_secs(130);

pub(super) struct Listener {
    listener: TcpListener,
}

impl Listener {
    pub(super) fn new(at: SocketAddr) -> Result<Self, DeviceError> {
        let listener = TcpListener::bind(at).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        Ok(Self { listener: listener.map_err(|source| DeviceError::tcp("listen on", at, source))? })
    }

    pub(super) fn accept(&self, timeout: Option<Duration>) -> Result<Option<Stream>, DeviceError> {
        let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut poller = Poller::new()?;
        loop {
            match self.listener.accept() {
                Ok((stream, peer)) => {
                    stream
                        .set_nonblocking(false)
                        .map_err(|source| DeviceError::tcp("accept", peer, source))?;
                    return Ok(Some(Stream { stream }));
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
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
            poller.wait(&self.listener, Interest::Read, left)?;
        }
    }
}

pub(super) struct Stream {
    stream: TcpStream,
}

impl Stream {
    /// The kernel chooses our address, which for a peer on the same machine may be another than the device's.
    pub(super) fn connect(peer: SocketAddr, timeout: Option<Duration>) -> Result<Self, DeviceError> {
        let stream = TcpStream::connect_timeout(&peer, timeout.unwrap_or(PATIENCE))
            .map_err(|source| DeviceError::tcp("connect to", peer, source))?;
        Ok(Self { stream })
    }

    pub(super) fn set_timeout(&mut self, timeout: Option<Duration>) {
        let timeout = timeout.map(|timeout| timeout.max(Duration::from_millis(1)));
        // They only fail for a timeout of zero.
        let _ = self.stream.set_read_timeout(timeout);
        let _ = self.stream.set_write_timeout(timeout);
    }

    pub(super) fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        Some((self.stream.local_addr().ok()?, self.stream.peer_addr().ok()?))
    }

    pub(super) fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.stream.read(out).map_err(timed_out)
    }

    pub(super) fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.stream.write(data).map_err(timed_out)
    }
}

/// Linux says "would block" where time is up.
fn timed_out(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock { io::ErrorKind::TimedOut.into() } else { error }
}
