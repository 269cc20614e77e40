//! Every RoCE packet of every capture of real peers: decoded, its ICRC verified, encoded again to the very
//! same bytes, the way every layer of the crate offers.

use std::net::IpAddr;

use rdmalab_wire::ethernet::ETHERTYPE_IPV6;
use rdmalab_wire::{
    Carried, Datagram, EthernetHeader, Frame, Ipv4Header, Ipv6Header, NetworkHeader, Packet, RawPacket,
    TransportKind, UdpHeader, encode_headers, icrc_ipv4, icrc_ipv6, is_roce_v2,
};

use crate::pcap;

/// Name, frames, RoCE packets.
const CAPTURES: [(&str, usize, usize); 25] = [
    ("atomic_cs", 49, 10),
    ("atomic_fa", 52, 10),
    ("hardware", 2, 2),
    ("rc_pingpong", 38, 24),
    ("rc_pingpong_v6", 41, 24),
    ("read_bw", 59, 20),
    ("read_bw_loss", 2838, 2796),
    ("rnr", 2025, 1996),
    ("rping", 29, 29),
    ("rping_v6", 34, 29),
    ("rstream", 53, 49),
    ("send_bw", 45, 15),
    ("send_timeouts", 162, 133),
    ("siw_read_bw", 102, 0),
    ("siw_rping", 28, 0),
    ("siw_rstream", 71, 0),
    ("siw_write_bw", 78, 0),
    ("siw_write_loss", 339, 0),
    ("uc_pingpong", 50, 30),
    ("ud_pingpong", 17, 6),
    ("udaddy", 8, 8),
    ("write_bw", 62, 20),
    ("write_bw_cm", 84, 84),
    ("write_bw_loss", 2368, 2329),
    ("write_drop_after", 1588, 1545),
];

/// The whole packet from its decoded IP and UDP headers and the encoded InfiniBand packet.
fn rebuild(frame: &Frame<'_>, ib: &[u8]) -> Vec<u8> {
    let mut packet = frame.ethernet.encode().to_vec();
    if frame.ethertype == ETHERTYPE_IPV6 {
        let ip = Ipv6Header::decode(frame.network.first_chunk().unwrap()).encode();
        let udp = UdpHeader::decode(frame.network[40..].first_chunk().unwrap()).encode();
        packet.extend_from_slice(&ip);
        packet.extend_from_slice(&udp);
        packet.extend_from_slice(ib);
        packet.extend_from_slice(&icrc_ipv6(&ip, &udp, ib).to_le_bytes());
    } else {
        let ip = Ipv4Header::decode(frame.network.first_chunk().unwrap()).with_checksum().encode();
        let udp = UdpHeader::decode(frame.network[20..].first_chunk().unwrap()).encode();
        packet.extend_from_slice(&ip);
        packet.extend_from_slice(&udp);
        packet.extend_from_slice(ib);
        packet.extend_from_slice(&icrc_ipv4(&ip, &udp, ib).to_le_bytes());
    }
    packet
}

/// The same packet from a flow's headers, as an engine makes it: packet headers first, payload behind.
fn build_as_an_engine_does(datagram: &Datagram<'_>, identification: u16, packet: &Packet<'_>) -> Vec<u8> {
    let header = NetworkHeader::new(
        datagram.source,
        datagram.destination,
        datagram.source_port,
        datagram.dscp,
        datagram.ecn,
        datagram.ttl,
    )
    .unwrap();
    let mut bytes = vec![0; header.length() + packet.encoded_length() + 4];
    let ib = &mut bytes[header.length()..];
    let length =
        encode_headers(&packet.bth, &packet.transport, &packet.body, packet.payload.len(), ib).unwrap();
    ib[length..][..packet.payload.len()].copy_from_slice(packet.payload);
    header.finish(&mut bytes, identification).unwrap();
    bytes
}

#[test]
fn every_roce_packet_of_every_capture_decodes_and_encodes_to_the_same_bytes() {
    let mut total = 0;
    for (name, frames_expected, roce_expected) in CAPTURES {
        let frames = pcap::frames(&format!("{name}.pcap"));
        assert_eq!(frames.len(), frames_expected, "{name}: frames");
        let mut roce = 0;
        for (number, bytes) in frames.iter().enumerate() {
            let place = format!("{name} frame {}", number + 1);
            assert_eq!(EthernetHeader::decode(bytes.first_chunk().unwrap()).encode(), bytes[..14]);
            if is_roce_v2(bytes) {
                roce += 1;
                check(bytes, &place);
                check_carried(bytes, &place);
            } else {
                assert_eq!(Carried::in_frame(&Frame::parse(bytes).unwrap()), None, "{place}");
            }
        }
        assert_eq!(roce, roce_expected, "{name}: RoCE packets");
        total += roce;
    }
    assert_eq!(total, 9159);
}

fn check(bytes: &[u8], place: &str) {
    let frame = Frame::parse(bytes).unwrap();
    let datagram = Datagram::parse(frame.network).unwrap_or_else(|error| panic!("{place}: {error}"));
    datagram.verify_icrc().unwrap_or_else(|error| panic!("{place}: {error}"));
    datagram.verify_checksums().unwrap_or_else(|error| panic!("{place}: {error}"));

    let raw = RawPacket::parse(datagram.ib);
    assert_eq!(raw.error, None, "{place}");
    let mut again = vec![0xaa; datagram.ib.len()];
    assert_eq!(raw.encode(&mut again), Ok(again.len()), "{place}");
    assert_eq!(again, datagram.ib, "{place}");

    let packet = Packet::parse(datagram.ib).unwrap_or_else(|error| panic!("{place}: {error}"));
    assert_eq!(Some(packet.opcode()), raw.opcode, "{place}");
    assert_eq!((packet.payload, packet.to_string()), (raw.payload, raw.to_string()), "{place}");
    let mut ib = vec![0xaa; packet.encoded_length()];
    assert_eq!(packet.encode(&mut ib), Ok(ib.len()), "{place}");
    assert_eq!(rebuild(&frame, &ib), bytes, "{place}");

    let identification = match datagram.source {
        IpAddr::V4(_) => Ipv4Header::decode(frame.network.first_chunk().unwrap()).identification,
        IpAddr::V6(_) => 0,
    };
    // rxe's packets have no UDP checksum, the hardware's have one.
    if packet.opcode().row().unwrap().transport != TransportKind::Uc || !place.starts_with("hardware") {
        let built = build_as_an_engine_does(&datagram, identification, &packet);
        assert_eq!(built, frame.network, "{place}");
    }
}

/// The same as a dump looks at it, and built again from the carrier that was found.
fn check_carried(bytes: &[u8], place: &str) {
    let frame = Frame::parse(bytes).unwrap();
    let datagram = Datagram::parse(frame.network).unwrap();
    let carried = Carried::in_frame(&frame).unwrap().unwrap();
    assert_eq!((carried.ib, carried.error, carried.is_cut()), (datagram.ib, None, false), "{place}");
    assert_eq!(carried.offset, bytes.len() - carried.ib.len(), "{place}");
    assert_eq!(carried.verify_icrc(), Ok(()), "{place}");
    assert_eq!(carried.verify_checksums(), Ok(()), "{place}");
    assert_eq!(carried.verify_vcrc(), None, "{place}");
    assert_eq!(carried.carrier.dscp_and_ecn(), Some((datagram.dscp, datagram.ecn)), "{place}");
    assert_eq!(carried.carrier.with_lengths(carried.ib.len()), Ok(carried.carrier), "{place}");
    let mut again = vec![0xaa; frame.network.len()];
    let ib = carried.carrier.header_length()..again.len() - carried.carrier.trailer_length();
    again[ib].copy_from_slice(&carried.ib[..carried.ib.len() - 4]);
    carried.carrier.finish(&mut again).unwrap();
    assert_eq!(again, frame.network, "{place}");
}

#[test]
fn one_flipped_bit_anywhere_the_icrc_covers_is_noticed() {
    let frames = pcap::frames("rping.pcap");
    let network = Frame::parse(&frames[9]).unwrap().network;
    // Without the IP header's version, lengths, fragment field and protocol, and the UDP length and
    // destination port, whose changes are refused before; without what is masked.
    let unseen = |at: usize| matches!(at, 0..=3 | 6..=11 | 22..=27 | 32);
    for at in (0..network.len()).filter(|at| !unseen(*at)) {
        for bit in 0..8 {
            let mut damaged = network.to_vec();
            damaged[at] ^= 1 << bit;
            assert!(Datagram::parse(&damaged).unwrap().verify_icrc().is_err(), "byte {at} bit {bit}");
        }
    }
    for masked in [1, 8, 10, 11, 26, 27, 32] {
        let mut changed = network.to_vec();
        changed[masked] ^= 0xff;
        assert_eq!(Datagram::parse(&changed).unwrap().verify_icrc(), Ok(()), "byte {masked}");
    }
}
