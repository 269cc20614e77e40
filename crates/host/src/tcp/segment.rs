//! The little that has to be known of a TCP segment before the stack sees it.

use core::net::SocketAddr;

use smoltcp::socket::tcp::Socket;

use crate::receive::Sender;
use crate::send;

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

/// Ends of a segment, and whether it asks for a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    /// SYN without ACK, RST or FIN.
    pub(crate) opens: bool,
}

impl Segment {
    /// `packet` from the IP header on, its TCP header at `tcp_at`. `None` if it is too short; checksums are the stack's.
    pub(crate) fn parse(packet: &[u8], from: Sender, tcp_at: usize) -> Option<Self> {
        let (_, destination) = send::destination(packet)?;
        let [s0, s1, d0, d1, _, _, _, _, _, _, _, _, _, flags] = *packet.get(tcp_at..)?.first_chunk()?;
        Some(Self {
            source: SocketAddr::new(from.address, u16::from_be_bytes([s0, s1])),
            destination: SocketAddr::new(destination, u16::from_be_bytes([d0, d1])),
            opens: flags & (SYN | ACK | RST | FIN) == SYN,
        })
    }

    /// Whether it belongs to this socket's connection.
    pub(crate) fn is_for(&self, socket: &Socket<'_>) -> bool {
        let same = |end: smoltcp::wire::IpEndpoint, address: SocketAddr| {
            core::net::IpAddr::from(end.addr) == address.ip() && end.port == address.port()
        };
        socket.local_endpoint().is_some_and(|local| same(local, self.destination))
            && socket.remote_endpoint().is_some_and(|remote| same(remote, self.source))
    }
}
