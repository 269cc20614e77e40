//! A TCP stream for iWARP: segments in order, nothing lost, everything acknowledged by what goes back.
//!
//! It owns both sides' sequence numbers and the places of the FPDUs in each direction, and keeps no data. TCP's
//! own rules (windows, retransmission) are not its business: it makes what a capture of a healthy stream shows.

use core::net::IpAddr;

use rdmalab_wire::checksum::Sum;
use rdmalab_wire::ethernet::{ETHERTYPE_IPV4, ETHERTYPE_IPV6};
use rdmalab_wire::iwarp::{FpduEncoder, Framing};
use rdmalab_wire::{Carrier, EncodeError};

use crate::flow::{Host, Way};
use crate::packet::Ethernet;

/// IP's number of TCP.
const TCP: u8 = 6;
/// Length of a TCP header without options.
const TCP_HEADER: usize = 20;
/// The first byte of both sides' data.
const FIRST: u32 = 1_000;

const SYN: u8 = 0x02;
const PUSH: u8 = 0x08;
const ACK: u8 = 0x10;
const FIN: u8 = 0x01;

/// A TCP connection with FPDUs in it.
#[derive(Clone, Debug)]
pub struct Stream {
    forth: Side,
    back: Side,
    /// Most bytes of data in a segment.
    segment: usize,
    segment_bytes: Vec<u8>,
    fpdu: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Side {
    ethernet: Ethernet,
    source: IpAddr,
    destination: IpAddr,
    ports: [u16; 2],
    sequence: u32,
    encoder: FpduEncoder,
}

/// What is handed each frame that a stream makes, with the way it goes.
pub type EachFrame<'e, E> = &'e mut dyn FnMut(Way, &[u8]) -> Result<(), E>;

impl Stream {
    /// A connection from one host to a port of another, with so many bytes of data in a segment at most. `None` if
    /// their addresses are of two families.
    pub fn new(one: &Host, other: &Host, ports: [u16; 2], segment: usize) -> Option<Self> {
        // Whatever else it says, this says that the families agree.
        Carrier::roce_v2(one.ip, other.ip, 0)?;
        let framing = Framing { markers: false, crc: true };
        let side = |from: &Host, to: &Host, ports| Side {
            ethernet: Ethernet { source: from.mac, destination: to.mac, ..Ethernet::default() },
            source: from.ip,
            destination: to.ip,
            ports,
            sequence: FIRST,
            encoder: FpduEncoder::new(framing),
        };
        let [source, destination] = ports;
        Some(Stream {
            forth: side(one, other, ports),
            back: side(other, one, [destination, source]),
            segment: segment.clamp(1, 60_000),
            segment_bytes: Vec::new(),
            fpdu: Vec::new(),
        })
    }

    /// How FPDUs are framed that go this way, from the next on, which is the first.
    pub fn frame_as(&mut self, way: Way, framing: Framing) {
        self.side_mut(way).encoder = FpduEncoder::new(framing);
    }

    /// Hands out the three segments that open it.
    ///
    /// # Errors
    ///
    /// Those of `each`.
    pub fn open<E>(&mut self, each: EachFrame<'_, E>) -> Result<(), E> {
        for (way, flags) in [(Way::Forth, SYN), (Way::Back, SYN | ACK), (Way::Forth, ACK)] {
            // A SYN stands in front of the first byte.
            let before = flags & SYN != 0;
            let acknowledged = if flags & ACK == 0 { 0 } else { self.side(way.turned()).sequence };
            let sequence = self.side(way).sequence.wrapping_sub(before.into());
            self.put(way, flags, sequence, acknowledged, &[], each)?;
        }
        Ok(())
    }

    /// Hands out the segments of these bytes.
    ///
    /// # Errors
    ///
    /// Those of `each`.
    pub fn send<E>(&mut self, way: Way, bytes: &[u8], each: EachFrame<'_, E>) -> Result<(), E> {
        for piece in bytes.chunks(self.segment) {
            let sequence = self.side(way).sequence;
            let acknowledged = self.side(way.turned()).sequence;
            self.put(way, PUSH | ACK, sequence, acknowledged, piece, each)?;
            self.side_mut(way).sequence = sequence.wrapping_add(piece.len() as u32);
        }
        Ok(())
    }

    /// Hands out the segments of an FPDU with this ULPDU, the CRC wrong if it is to be.
    ///
    /// # Errors
    ///
    /// A ULPDU that is too long, in the inner result; those of `each`.
    pub fn send_fpdu<E>(
        &mut self,
        way: Way,
        ulpdu: &[u8],
        wrong_crc: bool,
        each: EachFrame<'_, E>,
    ) -> Result<Result<(), EncodeError>, E> {
        let mut fpdu = core::mem::take(&mut self.fpdu);
        let encoder = &mut self.side_mut(way).encoder;
        let encoded = encoder.layout(ulpdu.len()).and_then(|layout| {
            fpdu.clear();
            fpdu.resize(layout.length(), 0);
            encoder.encode(&[ulpdu], &mut fpdu)
        });
        if let (true, Some(crc)) = (wrong_crc, fpdu.last_chunk_mut::<4>()) {
            *crc = crc.map(|byte| !byte);
        }
        let result = match encoded {
            Ok(_) => self.send(way, &fpdu, each).map(Ok),
            Err(error) => Ok(Err(error)),
        };
        self.fpdu = fpdu;
        result
    }

    /// Hands out the segments that close it, from the first host on.
    ///
    /// # Errors
    ///
    /// Those of `each`.
    pub fn close<E>(&mut self, each: EachFrame<'_, E>) -> Result<(), E> {
        for (way, flags) in [(Way::Forth, FIN | ACK), (Way::Back, FIN | ACK), (Way::Forth, ACK)] {
            let sequence = self.side(way).sequence;
            let acknowledged = self.side(way.turned()).sequence;
            self.put(way, flags, sequence, acknowledged, &[], each)?;
            self.side_mut(way).sequence = sequence.wrapping_add((flags & FIN).into());
        }
        Ok(())
    }

    fn side(&self, way: Way) -> &Side {
        match way {
            Way::Forth => &self.forth,
            Way::Back => &self.back,
        }
    }

    fn side_mut(&mut self, way: Way) -> &mut Side {
        match way {
            Way::Forth => &mut self.forth,
            Way::Back => &mut self.back,
        }
    }

    fn put<E>(
        &mut self,
        way: Way,
        flags: u8,
        sequence: u32,
        acknowledged: u32,
        data: &[u8],
        each: EachFrame<'_, E>,
    ) -> Result<(), E> {
        let mut out = core::mem::take(&mut self.segment_bytes);
        out.clear();
        self.side(way).write(flags, sequence, acknowledged, data, &mut out);
        let result = each(way, &out);
        self.segment_bytes = out;
        result
    }
}

impl Side {
    fn write(&self, flags: u8, sequence: u32, acknowledged: u32, data: &[u8], out: &mut Vec<u8>) {
        let length = TCP_HEADER + data.len();
        // The carrier's IP header is TCP's, too, but for the protocol.
        match Carrier::roce_v2(self.source, self.destination, 0) {
            Some(Carrier::RoceV2Ipv4(mut ip, _)) => {
                self.ethernet.put(ETHERTYPE_IPV4, out);
                ip.protocol = TCP;
                ip.total_length = (20 + length) as u16;
                out.extend_from_slice(&ip.with_checksum().encode());
            }
            Some(Carrier::RoceV2Ipv6(mut ip, _)) => {
                self.ethernet.put(ETHERTYPE_IPV6, out);
                ip.next_header = TCP;
                ip.payload_length = length as u16;
                out.extend_from_slice(&ip.encode());
            }
            _ => {}
        }
        let [s0, s1] = self.ports[0].to_be_bytes();
        let [d0, d1] = self.ports[1].to_be_bytes();
        let mut header = [0; TCP_HEADER];
        header[..4].copy_from_slice(&[s0, s1, d0, d1]);
        header[4..8].copy_from_slice(&sequence.to_be_bytes());
        header[8..12].copy_from_slice(&acknowledged.to_be_bytes());
        header[12..16].copy_from_slice(&[(TCP_HEADER as u8 / 4) << 4, flags, 0xff, 0xff]);
        let pseudo =
            [self.source, self.destination].into_iter().fold(Sum::new(), |sum, address| match address {
                IpAddr::V4(address) => sum.bytes(&address.octets()),
                IpAddr::V6(address) => sum.bytes(&address.octets()),
            });
        let sum = pseudo.number(TCP.into()).number(length as u32).bytes(&header).bytes(data).finish();
        header[16..18].copy_from_slice(&sum.to_be_bytes());
        out.extend_from_slice(&header);
        out.extend_from_slice(data);
    }
}
