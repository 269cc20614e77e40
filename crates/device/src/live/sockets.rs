//! A UDP socket as a link of frames: the kernel's IP header, which is lost on the way in, is put back, and what goes out
//! loses it; an Ethernet header is there for captures and rules only.
//!
//! Consecutive frames that the transport numbered as one send ([`rdmalab_roce::IpLayer::Kernel`]) leave as one; they wait
//! here until it is complete, or for [`Sockets::flush`].

use std::io::IoSlice;
use std::net::{IpAddr, SocketAddr};

use rdmalab_net::{ARRIVAL_MAX, DatagramSocket, NetError, SEGMENTS_MAX, SEND_MAX};
use rdmalab_roce::IpLayer;
use rdmalab_wire::ethernet::{ETHERTYPE_IPV4, ETHERTYPE_IPV6};
use rdmalab_wire::{EthernetHeader, Ipv4Header, Ipv6Header, NetworkHeader, ROCE_V2_PORT, UdpHeader};

use super::kernel_streams::KernelStreams;
use super::on_link;
use crate::adapter::mac_for;

/// Bytes in front of what arrives, for the headers.
const HEAD: usize = EthernetHeader::LENGTH + NetworkHeader::LENGTH_V6;
const UDP: u8 = 17;
/// What is not known of an IP header that arrived: nothing looks at it.
const TTL: u8 = 64;

pub(super) struct Sockets {
    pub(super) socket: DatagramSocket,
    /// TCP beside it, for iWARP.
    pub(super) streams: KernelStreams,
    address: IpAddr,
    scope: u32,
    /// What arrived last, behind room for headers.
    arrived: Vec<u8>,
    /// Where the next datagram begins in it, and all of them end.
    next: usize,
    end: usize,
    segment: usize,
    /// Datagrams of it that were taken.
    taken: u16,
    from: SocketAddr,
    traffic_class: u8,
    sending: Send,
}

/// Datagrams of one send.
struct Send {
    bytes: Vec<u8>,
    /// Bytes of the first; 0 if there are none.
    segment: usize,
    to: IpAddr,
    traffic_class: u8,
}

impl Sockets {
    pub(super) fn open(address: IpAddr, scope: u32) -> Result<Self, NetError> {
        let socket = DatagramSocket::bind(address, ROCE_V2_PORT, scope)?;
        let streams = KernelStreams::open(address, scope).map_err(|source| NetError::System {
            device: socket.name().to_owned(),
            action: "make an epoll descriptor for TCP",
            source,
        })?;
        Ok(Self {
            socket,
            streams,
            address,
            scope,
            arrived: vec![0; HEAD + ARRIVAL_MAX],
            next: 0,
            end: 0,
            segment: 0,
            taken: 0,
            from: SocketAddr::new(address, 0),
            traffic_class: 0,
            sending: Send {
                bytes: Vec::with_capacity(ARRIVAL_MAX),
                segment: 0,
                to: address,
                traffic_class: 0,
            },
        })
    }

    /// What the transport is to know of the IP layer. `whole`: sends leave as they are made, packet behind packet.
    pub(super) fn ip_layer(&self, whole: bool) -> IpLayer {
        IpLayer::Kernel { source_port: ROCE_V2_PORT, cuts: whole && self.socket.cuts() }
    }

    /// The next frame that arrived.
    pub(super) fn next_frame(&mut self) -> Result<Option<&[u8]>, NetError> {
        if self.next >= self.end {
            let Some(arrival) = self.socket.receive(&mut self.arrived[HEAD..])? else { return Ok(None) };
            (self.next, self.end) = (HEAD, HEAD + arrival.length);
            (self.segment, self.taken) = (arrival.segment.max(1), 0);
            (self.from, self.traffic_class) = (arrival.from, arrival.traffic_class);
        }
        let start = self.next;
        self.next = (start + self.segment).min(self.end);
        let length = self.next - start;
        // The headers go over the datagram before, which has been seen.
        let head = self.head(length);
        let (head, used) = head.as_slice();
        self.arrived[start - used..start].copy_from_slice(&head[..used]);
        self.taken = self.taken.wrapping_add(1);
        Ok(Some(&self.arrived[start - used..self.next]))
    }

    pub(super) fn has_frames(&self) -> bool {
        self.next < self.end
    }

    /// The headers of a datagram with so many bytes behind them.
    fn head(&self, length: usize) -> Head {
        let mut head = Head { bytes: [0; HEAD], length: 0 };
        let from = self.from.ip();
        let ethertype = if from.is_ipv4() { ETHERTYPE_IPV4 } else { ETHERTYPE_IPV6 };
        head.push(
            &EthernetHeader { destination: mac_for(self.address), source: mac_for(from), ethertype }.encode(),
        );
        let udp_length = (length + UdpHeader::LENGTH) as u16;
        match (from, self.address) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let class = rdmalab_wire::Ecn::from_bits(self.traffic_class);
                let ip = Ipv4Header {
                    dscp: self.traffic_class >> 2,
                    ecn: class,
                    total_length: udp_length + Ipv4Header::LENGTH as u16,
                    // What it was, if these datagrams were one send.
                    identification: self.taken,
                    reserved_flag: false,
                    dont_fragment: true,
                    more_fragments: false,
                    fragment_offset: 0,
                    ttl: TTL,
                    protocol: UDP,
                    checksum: 0,
                    source,
                    destination,
                };
                head.push(&ip.with_checksum().encode());
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                let ip = Ipv6Header {
                    dscp: self.traffic_class >> 2,
                    ecn: rdmalab_wire::Ecn::from_bits(self.traffic_class),
                    flow_label: 0,
                    payload_length: udp_length,
                    next_header: UDP,
                    hop_limit: TTL,
                    source,
                    destination,
                };
                head.push(&ip.encode());
            }
            // A socket of one family gets nothing of the other.
            _ => {}
        }
        let udp = UdpHeader {
            source_port: self.from.port(),
            destination_port: ROCE_V2_PORT,
            length: udp_length,
            checksum: 0,
        };
        head.push(&udp.encode());
        head
    }

    /// Sends a frame; `false` if there is no room now.
    pub(super) fn send(&mut self, frame: &[u8]) -> Result<bool, NetError> {
        let Some(packet) = frame.get(EthernetHeader::LENGTH..) else { return Ok(true) };
        let Some(way) = Way::of(packet) else { return Ok(true) };
        let payload = packet.get(way.head..).unwrap_or_default();
        let continues = way.continues && self.sending.takes(&way, payload.len()) && self.socket.cuts();
        if !continues && !self.flush()? {
            return Ok(false);
        }
        if self.sending.segment == 0 {
            let (segment, to, traffic_class) = (payload.len(), way.to, way.traffic_class);
            self.sending =
                Send { segment, to, traffic_class, ..std::mem::take(&mut self.sending.bytes).into() };
        }
        self.sending.bytes.extend_from_slice(payload);
        Ok(true)
    }

    /// Sends what waits; `false` if there is no room now.
    pub(super) fn flush(&mut self) -> Result<bool, NetError> {
        let Send { bytes, segment, to, traffic_class } = &mut self.sending;
        if *segment == 0 {
            return Ok(true);
        }
        let peer = on_link(SocketAddr::new(*to, ROCE_V2_PORT), self.scope);
        let taken = self.socket.send(peer, &[IoSlice::new(bytes)], *segment as u16, *traffic_class)?;
        if taken {
            bytes.clear();
            *segment = 0;
        }
        Ok(taken)
    }
}

impl Send {
    /// Whether so many bytes more can be its next datagram: a shorter one is the last.
    fn takes(&self, way: &Way, length: usize) -> bool {
        self.segment > 0
            && self.to == way.to
            && self.traffic_class == way.traffic_class
            && length <= self.segment
            && self.bytes.len().is_multiple_of(self.segment)
            && self.bytes.len() / self.segment < SEGMENTS_MAX
            && self.bytes.len() + length <= SEND_MAX
    }
}

impl From<Vec<u8>> for Send {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, segment: 0, to: IpAddr::from([0; 4]), traffic_class: 0 }
    }
}

/// Headers in front of a datagram.
struct Head {
    bytes: [u8; HEAD],
    length: usize,
}

impl Head {
    fn push(&mut self, header: &[u8]) {
        if let Some(place) = self.bytes.get_mut(self.length..self.length + header.len()) {
            place.copy_from_slice(header);
            self.length += header.len();
        }
    }

    fn as_slice(&self) -> (&[u8; HEAD], usize) {
        (&self.bytes, self.length)
    }
}

/// Where a packet goes.
struct Way {
    to: IpAddr,
    traffic_class: u8,
    /// Whether it may be part of the same send as the packet before it. Over IPv6 nothing speaks against it.
    continues: bool,
    /// Bytes of its IP and UDP headers.
    head: usize,
}

impl Way {
    fn of(packet: &[u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => {
                let ip = Ipv4Header::decode(packet.first_chunk()?);
                let traffic_class = ip.dscp << 2 | ip.ecn.bits();
                let (to, continues) = (IpAddr::V4(ip.destination), ip.identification != 0);
                Some(Self { to, traffic_class, continues, head: NetworkHeader::LENGTH_V4 })
            }
            6 => {
                let ip = Ipv6Header::decode(packet.first_chunk()?);
                let traffic_class = ip.dscp << 2 | ip.ecn.bits();
                Some(Self {
                    to: IpAddr::V6(ip.destination),
                    traffic_class,
                    continues: true,
                    head: NetworkHeader::LENGTH_V6,
                })
            }
            _ => None,
        }
    }
}

/// Dresses a packet for captures and rules: writes the Ethernet header into the room in front of it. Returns whom it is
/// for.
pub(super) fn dress(frame: &mut [u8], source: IpAddr) -> Option<IpAddr> {
    let (header, packet) = frame.split_first_chunk_mut::<{ EthernetHeader::LENGTH }>()?;
    let to = Way::of(packet)?.to;
    let ethertype = if source.is_ipv4() { ETHERTYPE_IPV4 } else { ETHERTYPE_IPV6 };
    *header = EthernetHeader { destination: mac_for(to), source: mac_for(source), ethertype }.encode();
    Some(to)
}
