//! Every way to carry an InfiniBand packet. Here stands what the tests have in common.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rdmalab_wire::{Body, Bth, Carried, Carrier, Frame, Gid, Grh, Packet, ParseError, Transport};

mod broken;
mod samples;
mod sound;

fn in_frame(bytes: &[u8]) -> Carried<'_> {
    Carried::in_frame(&Frame::parse(bytes).unwrap()).unwrap().unwrap()
}

fn in_link_packet(bytes: &[u8]) -> Carried<'_> {
    Carried::in_link_packet(bytes).unwrap().unwrap()
}

/// One of each kind, with a typical packet behind, whole and right.
fn one_of_each() -> Vec<(Carrier, Vec<u8>)> {
    let v6 = |last| IpAddr::V6(Ipv6Addr::new(0xfd00, 9, 0, 0, 0, 0, 0, last));
    let v4 = |last| IpAddr::V4(Ipv4Addr::new(10, 9, 0, last));
    let gid = |last| Gid::from(v6(last));
    let carriers = [
        Carrier::roce_v2(v4(1), v4(2), 0xc000).unwrap(),
        Carrier::roce_v2(v6(1), v6(2), 0xc000).unwrap(),
        Carrier::roce_v1(gid(1), gid(2)),
        Carrier::native(4, 1),
        Carrier::native(4, 1).with_grh(Grh::new(gid(1), gid(2))),
    ];
    let packet =
        Packet { bth: Bth::default(), transport: Transport::Rc, body: Body::SendOnly, payload: b"hello" };
    carriers.map(|carrier| (carrier, build(carrier, &packet))).to_vec()
}

/// The packet behind its carrier with right lengths and checksums.
fn build(carrier: Carrier, packet: &Packet<'_>) -> Vec<u8> {
    let carrier = carrier.with_lengths(packet.encoded_length() + 4).unwrap();
    let mut bytes = vec![0xaa; carrier.header_length() + packet.encoded_length() + carrier.trailer_length()];
    packet.encode(&mut bytes[carrier.header_length()..]).unwrap();
    carrier.finish(&mut bytes).unwrap();
    bytes
}

fn ethernet(ethertype: u16, network: &[u8]) -> Vec<u8> {
    [&[0; 12][..], &ethertype.to_be_bytes(), network].concat()
}

/// A packet behind its carrier, found where such packets are: alone, or in an Ethernet frame.
struct Place {
    carrier: Carrier,
    bytes: Vec<u8>,
    /// Bytes in front of the carrier's headers.
    front: usize,
}

impl Place {
    fn new(carrier: Carrier, packet: &[u8]) -> Self {
        let frame = match carrier {
            Carrier::RoceV2Ipv4(..) => ethernet(0x0800, packet),
            Carrier::RoceV2Ipv6(..) => ethernet(0x86dd, packet),
            Carrier::RoceV1(_) => ethernet(0x8915, packet),
            Carrier::Native(..) => return Place { carrier, bytes: packet.to_vec(), front: 0 },
        };
        Place { carrier, bytes: frame, front: 14 }
    }

    fn find(&self) -> Option<Result<Carried<'_>, ParseError>> {
        match self.carrier {
            Carrier::Native(..) => Carried::in_link_packet(&self.bytes),
            _ => Carried::in_frame(&Frame::parse(&self.bytes).unwrap()),
        }
    }

    #[track_caller]
    fn found(&self) -> Carried<'_> {
        self.find().unwrap().unwrap()
    }
}
