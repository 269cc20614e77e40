//! What becomes of a packet this host is to send.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rdmalab_wire::ethernet::{ETHERTYPE_IPV4, ETHERTYPE_IPV6};

/// What [`Host::send_roce`](crate::Host::send_roce) did with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The Ethernet header is filled in: transmit the buffer.
    Ready,
    /// Copied: the neighbour is being asked for, and the packet comes out of
    /// [`Host::poll_frame`](crate::Host::poll_frame) once it has answered. Do not transmit the buffer.
    Held,
    /// The destination is this very host: hand the packet back to the transport.
    Ours,
    /// Not sent and not kept. To a transport this is a lost packet.
    Dropped(SendError),
}

/// Whether a destination can be reached, as far as its next hop goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Packets go out at once: the next hop is known, or none is needed.
    Known,
    /// The next hop is being asked for.
    Asking,
    /// The next hop does not answer, or there are too many others to be asked for.
    Silent,
    /// No prefix and no gateway leads there.
    NoRoute,
}

/// Why a packet was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The next hop did not answer [`Question`](Sent::Held)s lately.
    Unreachable,
    /// No prefix and no gateway leads to the destination.
    NoRoute,
    /// Too many packets wait for neighbours.
    QueueFull,
    /// Longer than the link's MTU.
    TooLong,
    /// No IP header behind the headroom.
    NoPacket,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreachable => "the neighbour does not answer",
            Self::NoRoute => "no route to the destination",
            Self::QueueFull => "too many packets wait for neighbours",
            Self::TooLong => "longer than the link's MTU",
            Self::NoPacket => "not an IP packet",
        })
    }
}

impl core::error::Error for SendError {}

/// Where an IP packet goes: the ethertype that announces it, and its destination.
pub(crate) fn destination(packet: &[u8]) -> Option<(u16, IpAddr)> {
    match packet.first()? >> 4 {
        4 => {
            let octets: [u8; 4] = *packet.get(16..)?.first_chunk()?;
            Some((ETHERTYPE_IPV4, Ipv4Addr::from_octets(octets).into()))
        }
        6 => {
            let octets: [u8; 16] = *packet.get(24..)?.first_chunk()?;
            Some((ETHERTYPE_IPV6, Ipv6Addr::from_octets(octets).into()))
        }
        _ => None,
    }
}
