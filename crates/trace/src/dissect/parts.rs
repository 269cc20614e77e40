//! What others need of TCP segments and of pieces of IP packets.

use std::net::IpAddr;

use etherparse::{TcpOptionElement, TcpSlice};

use super::{Content, Dissection, Network};

/// A piece of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The protocol of the whole.
    pub protocol: u8,
    /// Where the piece belongs in it, in bytes.
    pub offset: usize,
    /// What all its pieces have in common, besides the addresses.
    pub identification: u32,
    /// Of the first piece of a UDP datagram: the port that it goes to.
    pub udp_port: Option<u16>,
}

/// A TCP segment, without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpSegment {
    /// Who sends it: address and port.
    pub source: (IpAddr, u16),
    /// To whom.
    pub destination: (IpAddr, u16),
    /// Sequence number of the first byte of data, or of the SYN in front of it.
    pub sequence: u32,
    /// The sequence number that the sender waits for, where the flag says that there is one.
    pub acknowledgment: Option<u32>,
    /// The sender has bytes behind some that it misses, and says so (RFC 2018).
    pub misses_some: bool,
    /// The connection is opened.
    pub syn: bool,
    /// Nothing comes behind this.
    pub fin: bool,
    /// The connection is gone.
    pub rst: bool,
    /// Bytes of data on the wire, whatever the capture kept of them.
    pub length: usize,
}

impl Dissection<'_> {
    /// The piece of an IP packet, if it is one.
    pub fn fragment(&self) -> Option<&Fragment> {
        match &self.content {
            Content::Fragment { fragment, .. } => Some(fragment),
            _ => None,
        }
    }

    /// The TCP segment, if it is one.
    pub fn tcp(&self) -> Option<TcpSegment> {
        let Content::Tcp { tcp, length, .. } = &self.content else { return None };
        let (source, destination) = match self.network.as_ref()? {
            Network::V4 { header, .. } => (IpAddr::V4(header.source), IpAddr::V4(header.destination)),
            Network::V6(header) => (IpAddr::V6(header.source), IpAddr::V6(header.destination)),
        };
        Some(TcpSegment {
            source: (source, tcp.source_port()),
            destination: (destination, tcp.destination_port()),
            sequence: tcp.sequence_number(),
            acknowledgment: tcp.ack().then(|| tcp.acknowledgment_number()),
            misses_some: tcp.ack() && misses_some(tcp),
            syn: tcp.syn(),
            fin: tcp.fin(),
            rst: tcp.rst(),
            length: *length,
        })
    }
}

/// Whether a block of a selective acknowledgement lies behind the acknowledged bytes. One that does not tells of bytes that
/// came twice (RFC 2883).
fn misses_some(tcp: &TcpSlice<'_>) -> bool {
    let acknowledged = tcp.acknowledgment_number();
    tcp.options_iterator().flatten().any(|option| match option {
        TcpOptionElement::SelectiveAcknowledgement((begin, _), _) => {
            begin.wrapping_sub(acknowledged).cast_signed() > 0
        }
        _ => false,
    })
}
