//! TCP for what applications tell each other beside RDMA: the emulated host's, or the kernel's where there is none.

mod emulated;
mod kernel;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use super::error::DeviceError;

/// A TCP port that is listened on.
pub struct Listener(ListenerOf);

enum ListenerOf {
    Emulated(emulated::Listener),
    Kernel(kernel::Listener),
}

impl Listener {
    pub(super) fn new(shared: &Arc<Shared>, port: u16) -> Result<Self, DeviceError> {
        Ok(Self(match shared.kernels_address(port) {
            None => ListenerOf::Emulated(emulated::Listener::new(shared, port)?),
            Some(at) => ListenerOf::Kernel(kernel::Listener::new(shared, at)?),
        }))
    }

    /// Waits for a connection; without a timeout, for ever. `None` if the time is up.
    pub fn accept(&self, timeout: Option<Duration>) -> Result<Option<Stream>, DeviceError> {
        Ok(match &self.0 {
            ListenerOf::Emulated(listener) => {
                listener.accept(timeout)?.map(|stream| Stream(StreamOf::Emulated(stream)))
            }
            ListenerOf::Kernel(listener) => {
                listener.accept(timeout)?.map(|stream| Stream(StreamOf::Kernel(stream)))
            }
        })
    }
}

/// A TCP connection of this host. Reading and writing wait, as with the standard library's `TcpStream`. Dropping it closes
/// it once everything is sent.
pub struct Stream(StreamOf);

enum StreamOf {
    Emulated(emulated::Stream),
    Kernel(kernel::Stream),
}

impl Stream {
    pub(super) fn connect(
        shared: &Arc<Shared>,
        peer: SocketAddr,
        timeout: Option<Duration>,
    ) -> Result<Self, DeviceError> {
        Ok(Self(match shared.kernels_address(0) {
            None => StreamOf::Emulated(emulated::Stream::connect(shared, peer, timeout)?),
            Some(own) => StreamOf::Kernel(kernel::Stream::connect(shared, own, peer, timeout)?),
        }))
    }

    /// How long one read or write may wait; for ever, if not set.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        match &mut self.0 {
            StreamOf::Emulated(stream) => stream.set_timeout(timeout),
            StreamOf::Kernel(stream) => stream.set_timeout(timeout),
        }
    }

    /// Whether the peer will say no more, or the connection broke; what it said before may still wait to be read. A
    /// peer's machine that has vanished is noticed after a time without an answer.
    pub fn has_ended(&self) -> bool {
        match &self.0 {
            StreamOf::Emulated(stream) => stream.has_ended(),
            StreamOf::Kernel(stream) => stream.has_ended(),
        }
    }

    /// Our end and the peer's.
    pub fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        match &self.0 {
            StreamOf::Emulated(stream) => stream.ends(),
            StreamOf::Kernel(stream) => stream.ends(),
        }
    }
}

impl io::Read for Stream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            StreamOf::Emulated(stream) => stream.read(out),
            StreamOf::Kernel(stream) => stream.read(out),
        }
    }
}

impl io::Write for Stream {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            StreamOf::Emulated(stream) => stream.write(data),
            StreamOf::Kernel(stream) => stream.write(data),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
