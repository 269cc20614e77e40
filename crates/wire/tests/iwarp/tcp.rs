//! As much of TCP as the captures need: the bytes of each direction, in order and once. Whole captures only.

use std::collections::BTreeMap;
use std::net::SocketAddrV4;

use rdmalab_wire::{Frame, Ipv4Header};

/// One direction of a connection: from, to, and what was said.
pub(crate) struct Direction {
    pub(crate) from: SocketAddrV4,
    pub(crate) to: SocketAddrV4,
    pub(crate) stream: Vec<u8>,
}

/// The directions in the order of their first segments; both sides of each connection in the capture are
/// there.
pub(crate) fn directions(frames: &[Vec<u8>]) -> Vec<Direction> {
    let mut found: Vec<((SocketAddrV4, SocketAddrV4), Segments)> = Vec::new();
    for frame in frames {
        let frame = Frame::parse(frame).unwrap();
        if frame.ethertype != 0x0800 {
            continue;
        }
        let (header, _) = frame.network.split_first_chunk::<20>().unwrap();
        let ip = Ipv4Header::decode(header);
        if ip.protocol != 6 {
            continue;
        }
        let tcp = &frame.network[20..usize::from(ip.total_length)];
        let port = |at: usize| u16::from_be_bytes([tcp[at], tcp[at + 1]]);
        let ends = (SocketAddrV4::new(ip.source, port(0)), SocketAddrV4::new(ip.destination, port(2)));
        let sequence = u32::from_be_bytes(tcp[4..8].try_into().unwrap());
        let syn = tcp[13] & 0x02 != 0;
        let payload = &tcp[usize::from(tcp[12] >> 4) * 4..];
        let at = found.iter().position(|(known, _)| *known == ends).unwrap_or_else(|| {
            assert!(syn, "the capture has the connection's start");
            found.push((ends, Segments { first: sequence.wrapping_add(1), parts: BTreeMap::new() }));
            found.len() - 1
        });
        let segments = &mut found[at].1;
        if !payload.is_empty() {
            let offset = sequence.wrapping_sub(segments.first);
            let known = segments.parts.entry(offset).or_default();
            if known.len() < payload.len() {
                *known = payload.to_vec();
            }
        }
    }
    found
        .into_iter()
        .map(|((from, to), segments)| Direction { from, to, stream: segments.in_order() })
        .collect()
}

struct Segments {
    first: u32,
    /// By offset in the stream; they may overlap.
    parts: BTreeMap<u32, Vec<u8>>,
}

impl Segments {
    fn in_order(self) -> Vec<u8> {
        let mut stream = Vec::new();
        for (offset, part) in self.parts {
            let offset = offset as usize;
            assert!(offset <= stream.len(), "nothing is missing at {offset}");
            if let Some(new) = part.get(stream.len() - offset..) {
                stream.extend_from_slice(new);
            }
        }
        stream
    }
}
