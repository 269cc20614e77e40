//! What the kernel left undone on a frame, and doing it: checksums to be written, and superframes, which one stack
//! made in place of many frames for hardware to cut (TCP segmentation, UDP segmentation).
//!
//! It works on the frame where it lies: the frames that a superframe is cut into are made one at a time, each by
//! writing headers in front of its part of the payload, over the end of the part before. Decides nothing about
//! frames that are whole.

use std::ops::Range;

use super::checksum;
use super::system::OFFLOAD_HEADER;

/// Bits and values of the virtio header (virtio specification, "Network Device", "Device Operation").
const NEEDS_CHECKSUM: u8 = 1;
const WHOLE: u8 = 0;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
const UDP: u8 = 5;
/// Set beside the kind: congestion is marked in TCP's header.
const WITH_ECN: u8 = 0x80;

const TCP_PROTOCOL: u8 = 6;
const UDP_PROTOCOL: u8 = 17;
const UDP_HEADER: usize = 8;
const IPV6_HEADER: usize = 40;

/// Headers of a superframe, Ethernet to TCP with all options: 14 + 2 * 4 + 60 + 60 bytes.
const HEADERS_MAX: usize = 192;
/// Frames of one superframe. Stacks do not cut smaller than some hundred bytes; who says one byte wants to see us work.
const FRAMES_MAX: usize = 2048;

const FIN_AND_PUSH: u8 = 0x09;
const CONGESTION_WINDOW_REDUCED: u8 = 0x80;

/// The virtio header of a frame, decoded. Its numbers are in the machine's own byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Offload {
    /// Where summing begins and how far behind that the checksum goes, if it is not written yet. There stands
    /// already the sum of the pseudo header.
    pub(super) checksum: Option<(usize, usize)>,
    /// The kind of superframe (zero: none) and the bytes of payload in each frame.
    pub(super) cut: (u8, u16),
}

impl Offload {
    pub(super) fn decode(header: &[u8; OFFLOAD_HEADER]) -> Self {
        let [flags, kind, _, _, s0, s1, c0, c1, o0, o1] = *header;
        let start = u16::from_ne_bytes([c0, c1]);
        let checksum = (start.into(), u16::from_ne_bytes([o0, o1]).into());
        Self {
            checksum: (flags & NEEDS_CHECKSUM != 0).then_some(checksum),
            cut: (kind & !WITH_ECN, u16::from_ne_bytes([s0, s1])),
        }
    }

    /// The header for a superframe of UDP datagrams.
    pub(super) fn of_datagrams(headers: usize, payload: usize) -> [u8; OFFLOAD_HEADER] {
        let short = |number: usize| (number as u16).to_ne_bytes();
        let ([h0, h1], [s0, s1]) = (short(headers), short(payload));
        let ([c0, c1], [o0, o1]) = (short(headers - UDP_HEADER), short(6));
        [NEEDS_CHECKSUM, UDP, h0, h1, s0, s1, c0, c1, o0, o1]
    }

    /// Moves what is said about places in the frame by `bytes`.
    pub(super) fn shifted(self, bytes: usize) -> Self {
        Self { checksum: self.checksum.map(|(start, offset)| (start + bytes, offset)), ..self }
    }

    pub(super) fn is_superframe(&self) -> bool {
        self.cut.0 != WHOLE
    }
}

/// Writes the checksum of a frame that is no superframe; `None` if it would be outside of the frame.
pub(super) fn write_checksum(frame: &mut [u8], (start, offset): (usize, usize)) -> Option<()> {
    let covered = frame.get_mut(start..)?;
    let sum = checksum::sum(covered);
    let field = covered.get_mut(offset..)?.first_chunk_mut()?;
    *field = checksum::complete(sum).to_be_bytes();
    Some(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    Udp,
    Tcp,
}

/// A superframe while it is cut.
#[derive(Debug)]
pub(super) struct Cut {
    /// The headers of the superframe, which each frame begins with.
    headers: [u8; HEADERS_MAX],
    /// Bytes of them.
    length: usize,
    /// Where the IP header begins and where the transport's.
    network: usize,
    transport: usize,
    kind: Transport,
    /// Payload of each frame but the last, which may have less.
    size: usize,
    /// Where the next frame's payload begins and where the last one's ends.
    next: usize,
    end: usize,
}

impl Cut {
    /// `None` if it is a kind that cannot be cut, or its headers contradict what is said about it.
    pub(super) fn new(frame: &[u8], offload: &Offload) -> Option<Self> {
        let (kind, size) = (offload.cut.0, usize::from(offload.cut.1));
        let (transport, _) = offload.checksum?;
        let kind = match kind {
            TCP_V4 | TCP_V6 => Transport::Tcp,
            UDP => Transport::Udp,
            _ => return None,
        };
        let network = network(frame)?;
        let protocol = match *frame.get(network)? >> 4 {
            4 if network + header_length(*frame.get(network)?) == transport => *frame.get(network + 9)?,
            // Extension headers may stand in between, the sums are none of theirs.
            6 if network + IPV6_HEADER == transport => *frame.get(network + 6)?,
            6 if network + IPV6_HEADER < transport => kind.protocol(),
            _ => return None,
        };
        let length = match kind {
            Transport::Udp => transport + UDP_HEADER,
            Transport::Tcp => transport + usize::from(*frame.get(transport + 12)? >> 4) * 4,
        };
        let payload = frame.len().checked_sub(length).filter(|payload| *payload > 0)?;
        if protocol != kind.protocol()
            || length > HEADERS_MAX
            || (kind == Transport::Tcp && length < transport + 20)
            || size == 0
            || payload.div_ceil(size) > FRAMES_MAX
        {
            return None;
        }
        let mut headers = [0; HEADERS_MAX];
        headers[..length].copy_from_slice(&frame[..length]);
        Some(Self { headers, length, network, transport, kind, size, next: length, end: frame.len() })
    }

    /// Makes the next frame, whole, and says where it is in `superframe`; `None` after the last.
    pub(super) fn next(&mut self, superframe: &mut [u8]) -> Option<Range<usize>> {
        if self.next >= self.end {
            return None;
        }
        let done = self.next - self.length;
        let end = self.end.min(self.next + self.size);
        let place = self.next - self.length..end;
        let last = end == self.end;
        self.next = end;
        let frame = superframe.get_mut(place.clone())?;
        frame.get_mut(..self.length)?.copy_from_slice(&self.headers[..self.length]);
        self.write_network(frame, done / self.size)?;
        self.write_transport(frame, done, last)?;
        Some(place)
    }

    fn write_network(&self, frame: &mut [u8], number: usize) -> Option<()> {
        let packet = frame.get_mut(self.network..)?;
        let length = packet.len();
        if packet[0] >> 4 == 4 {
            let header = packet.get_mut(..self.transport - self.network)?;
            put(header, 2, length as u16)?;
            let identification = u16::from_be_bytes([header[4], header[5]]).wrapping_add(number as u16);
            put(header, 4, identification)?;
            put(header, 10, 0)?;
            let sum = checksum::complete(checksum::sum(header));
            put(header, 10, sum)
        } else {
            put(packet, 4, (length - IPV6_HEADER) as u16)
        }
    }

    fn write_transport(&self, frame: &mut [u8], done: usize, last: bool) -> Option<()> {
        let (headers, datagram) = frame.split_at_mut_checked(self.transport)?;
        let network = headers.get(self.network..)?;
        let addresses = if network.first()? >> 4 == 4 { 12..20 } else { 8..40 };
        // The pseudo header: addresses, protocol, length (RFC 9293 §3.1, RFC 8200 §8.1).
        let pseudo =
            checksum::sum(network.get(addresses)?) + u64::from(self.kind.protocol()) + datagram.len() as u64;
        match self.kind {
            Transport::Udp => put(datagram, 4, datagram.len() as u16)?,
            Transport::Tcp => {
                let first: &mut [u8; 20] = datagram.first_chunk_mut()?;
                let sequence = u32::from_be_bytes([first[4], first[5], first[6], first[7]]);
                let sequence = sequence.wrapping_add(done as u32);
                [first[4], first[5], first[6], first[7]] = sequence.to_be_bytes();
                if !last {
                    first[13] &= !FIN_AND_PUSH;
                }
                if done != 0 {
                    first[13] &= !CONGESTION_WINDOW_REDUCED;
                }
            }
        }
        put(datagram, self.kind.checksum_at(), 0)?;
        let sum = checksum::complete(pseudo + checksum::sum(datagram));
        put(datagram, self.kind.checksum_at(), sum)
    }
}

impl Transport {
    fn protocol(self) -> u8 {
        match self {
            Self::Udp => UDP_PROTOCOL,
            Self::Tcp => TCP_PROTOCOL,
        }
    }

    fn checksum_at(self) -> usize {
        match self {
            Self::Udp => 6,
            Self::Tcp => 16,
        }
    }
}

/// Bytes of the IPv4 header that begins with this byte.
fn header_length(first: u8) -> usize {
    usize::from(first & 0x0f) * 4
}

/// Where the IP header begins: behind the Ethernet header and at most two VLAN tags.
fn network(frame: &[u8]) -> Option<usize> {
    [14, 18, 22].into_iter().find(|at| !is_tag(frame, at - 2))
}

fn is_tag(frame: &[u8], at: usize) -> bool {
    matches!(frame.get(at..at + 2), Some([0x81, 0x00] | [0x88, 0xa8]))
}

/// Writes a number in network order.
pub(super) fn put(bytes: &mut [u8], at: usize, number: u16) -> Option<()> {
    *bytes.get_mut(at..)?.first_chunk_mut()? = number.to_be_bytes();
    Some(())
}

#[cfg(test)]
mod tests;
