//! The little that has to be known of a TCP segment before the stack sees it.

use core::net::{IpAddr, SocketAddr};

use rdmalab_wire::{Ipv4Header, Ipv6Header};
use smoltcp::socket::tcp::Socket;

use crate::receive::Sender;
use crate::send;

const TCP: u8 = 6;
const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

/// What has to be known of a segment of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outgoing {
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    pub(crate) is_syn: bool,
    pub(crate) sequence: u32,
    /// Bytes that it carries.
    pub(crate) length: u32,
}

impl Outgoing {
    /// A packet of the stack's, from the IP header on; `None` if it is no TCP segment.
    pub(crate) fn parse(packet: &[u8]) -> Option<Self> {
        let (source, destination, behind) = match packet.first()? >> 4 {
            4 => {
                let ip = Ipv4Header::decode(packet.first_chunk()?);
                (ip.protocol == TCP).then_some((IpAddr::V4(ip.source), IpAddr::V4(ip.destination), 20))?
            }
            _ => {
                let ip = Ipv6Header::decode(packet.first_chunk()?);
                (ip.next_header == TCP).then_some((IpAddr::V6(ip.source), IpAddr::V6(ip.destination), 40))?
            }
        };
        let segment = packet.get(behind..)?;
        let [s0, s1, d0, d1, q0, q1, q2, q3, _, _, _, _, offset, flags] = *segment.first_chunk()?;
        let header = usize::from(offset >> 4) * 4;
        Some(Self {
            source: SocketAddr::new(source, u16::from_be_bytes([s0, s1])),
            destination: SocketAddr::new(destination, u16::from_be_bytes([d0, d1])),
            is_syn: flags & SYN != 0,
            sequence: u32::from_be_bytes([q0, q1, q2, q3]),
            length: segment.len().checked_sub(header)? as u32,
        })
    }

    /// Whether it is of this socket's connection.
    pub(crate) fn is_of(&self, socket: &Socket<'_>) -> bool {
        same(socket.local_endpoint(), self.source) && same(socket.remote_endpoint(), self.destination)
    }
}

/// The window scale option (RFC 7323 §2.2).
fn window_shift(options: &[u8]) -> Option<u8> {
    let mut rest = options;
    loop {
        rest = match *rest {
            [1, ref behind @ ..] => behind,
            [3, 3, shift, ..] => return Some(shift),
            [0, ..] | [] | [_] => return None,
            [_, length, ..] => rest.get(usize::from(length.max(2))..)?,
        };
    }
}

#[cfg(test)]
impl Outgoing {
    pub(super) const NONE: Self =
        Self { source: NOBODY, destination: NOBODY, is_syn: false, sequence: 0, length: 0 };
}

#[cfg(test)]
impl Segment {
    pub(super) const NONE: Self = Self {
        source: NOBODY,
        destination: NOBODY,
        opens: false,
        no_window: false,
        is_syn: false,
        shift: None,
        confirmed: None,
        window: 0,
    };
}

#[cfg(test)]
const NOBODY: SocketAddr = SocketAddr::new(IpAddr::V4(core::net::Ipv4Addr::UNSPECIFIED), 0);

fn same(end: Option<smoltcp::wire::IpEndpoint>, address: SocketAddr) -> bool {
    end.is_some_and(|end| IpAddr::from(end.addr) == address.ip() && end.port == address.port())
}

/// Ends of a segment, and whether it asks for a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    /// SYN without ACK, RST or FIN.
    pub(crate) opens: bool,
    /// The window is closed.
    pub(crate) no_window: bool,
    /// SYN, with ACK or without.
    pub(crate) is_syn: bool,
    /// Of a SYN: how far later windows are shifted, if the peer does that.
    pub(crate) shift: Option<u8>,
    /// The sequence number behind what it confirms.
    pub(crate) confirmed: Option<u32>,
    /// As it stands in the segment.
    pub(crate) window: u16,
}

impl Segment {
    /// `packet` from the IP header on, its TCP header at `tcp_at`. `None` if it is too short; checksums are the stack's.
    pub(crate) fn parse(packet: &[u8], from: Sender, tcp_at: usize) -> Option<Self> {
        let (_, destination) = send::destination(packet)?;
        let segment = packet.get(tcp_at..)?;
        let [s0, s1, d0, d1, _, _, _, _, a0, a1, a2, a3, offset, flags, w0, w1, _, _] =
            *segment.first_chunk()?;
        let is_syn = flags & SYN != 0;
        let options = segment.get(20..usize::from(offset >> 4) * 4).unwrap_or_default();
        Some(Self {
            source: SocketAddr::new(from.address, u16::from_be_bytes([s0, s1])),
            destination: SocketAddr::new(destination, u16::from_be_bytes([d0, d1])),
            opens: flags & (SYN | ACK | RST | FIN) == SYN,
            no_window: [w0, w1] == [0, 0],
            is_syn,
            shift: if is_syn { window_shift(options) } else { None },
            confirmed: (flags & ACK != 0).then_some(u32::from_be_bytes([a0, a1, a2, a3])),
            window: u16::from_be_bytes([w0, w1]),
        })
    }

    /// Turns a closed window into one of 1 byte, the checksum along with it (RFC 1624).
    pub(crate) fn open_window(packet: &mut [u8], tcp_at: usize) {
        let Some([.., w0, w1, c0, c1]) = packet.get_mut(tcp_at..).and_then(<[u8]>::first_chunk_mut::<18>)
        else {
            return;
        };
        if [*w0, *w1] == [0, 0] {
            [*w0, *w1] = [0, 1];
            let sum = u32::from(!u16::from_be_bytes([*c0, *c1])) + 1;
            let folded = (sum & 0xffff) as u16 + (sum >> 16) as u16;
            [*c0, *c1] = (!folded).to_be_bytes();
        }
    }

    /// Whether it belongs to this socket's connection.
    pub(crate) fn is_for(&self, socket: &Socket<'_>) -> bool {
        same(socket.local_endpoint(), self.destination) && same(socket.remote_endpoint(), self.source)
    }
}
