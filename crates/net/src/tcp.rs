//! The kernel's TCP, as far as the standard library does not offer it: connecting from an address of ours without
//! blocking, and asking whether the peer has gone.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, ipproto, socket_with};

/// Begins to connect from one of the kernel's addresses to `peer`, and returns at once. When the stream is
/// [writable](crate::Ready::writable), [`TcpStream::take_error`] tells how that went. The stream does not block.
///
/// # Errors
/// The kernel's, as when it has no such address or no way to the peer.
pub fn begin_connect(source: IpAddr, peer: SocketAddr) -> io::Result<TcpStream> {
    if source.is_ipv4() != peer.is_ipv4() {
        let text = format!("it is not reached from {source}: the addresses are of different families");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let family = if peer.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    let mut from = SocketAddr::new(source, 0);
    if let (SocketAddr::V6(from), SocketAddr::V6(peer)) = (&mut from, peer) {
        // Neighbours on one link.
        from.set_scope_id(peer.scope_id());
    }
    bind(&socket, &from)?;
    match connect(&socket, &peer) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(TcpStream::from(socket)),
        Err(error) => Err(error.into()),
    }
}

/// Whether the peer will say no more, or the connection broke; what it said before may still wait to be read.
pub fn has_ended(stream: &TcpStream) -> bool {
    let mut descriptors = [PollFd::new(stream, PollFlags::RDHUP)];
    // It fails for want of memory only, and then says nothing about the peer.
    let _ = poll(&mut descriptors, Some(&Timespec::default()));
    let [descriptor] = &descriptors;
    descriptor.revents().intersects(PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::{Interest, Poller};

    fn connected(stream: &TcpStream) -> Option<io::Error> {
        let limit = Some(Duration::from_secs(10));
        assert!(Poller::new().unwrap().wait(stream, Interest::Write, limit).unwrap().writable);
        stream.take_error().unwrap()
    }

    #[test]
    fn a_stream_comes_from_the_address_that_was_named_and_tells_that_the_peer_has_gone() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let source = Ipv4Addr::new(127, 77, 1, 2).into();
        let stream = begin_connect(source, listener.local_addr().unwrap()).unwrap();
        assert!(connected(&stream).is_none());
        let (mut accepted, peer) = listener.accept().unwrap();
        assert_eq!(peer.ip(), source);
        // Something that nobody reads hides nothing.
        accepted.write_all(b"bye").unwrap();
        assert!(!has_ended(&stream));
        drop(accepted);
        let begun = Instant::now();
        while !has_ended(&stream) {
            assert!(begun.elapsed() < Duration::from_secs(10));
        }
    }

    #[test]
    fn nobody_to_connect_to_is_an_error() {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let stream = begin_connect(Ipv4Addr::LOCALHOST.into(), peer);
        let error = stream.map_or_else(Some, |stream| connected(&stream)).unwrap();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        let other = begin_connect(Ipv6Addr::LOCALHOST.into(), peer).unwrap_err();
        assert!(other.to_string().contains("different families"), "{other}");
        let foreign = begin_connect(Ipv4Addr::new(192, 0, 2, 1).into(), peer).unwrap_err();
        assert_eq!(foreign.kind(), io::ErrorKind::AddrNotAvailable);
    }
}
