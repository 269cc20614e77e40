//! What is and what is not a RoCE v2 datagram.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rdmalab_wire::{
    Bth, Datagram, Ecn, Layer, NetworkHeader, Opcode, ParseError, Psn, Qpn, UdpHeader, checksum, roce_v2,
};

const IB_LENGTH: usize = 12 + 8 + 4;

fn build(source: IpAddr, destination: IpAddr) -> Vec<u8> {
    let header = NetworkHeader::new(source, destination, 0xc123, 46, Ecn::Ect0, 64).unwrap();
    let mut bytes = vec![0; header.length() + IB_LENGTH];
    let bth = Bth::new(Qpn::new(0x11), Psn::new(1)).encode(Opcode(0x04));
    bytes[header.length()..][..12].copy_from_slice(&bth);
    header.finish(&mut bytes, 0x1234).unwrap();
    bytes
}

fn ipv4() -> Vec<u8> {
    build(Ipv4Addr::new(10, 9, 0, 1).into(), Ipv4Addr::new(10, 9, 0, 2).into())
}

fn ipv6() -> Vec<u8> {
    let address = |last| Ipv6Addr::new(0xfd00, 9, 0, 0, 0, 0, 0, last);
    build(address(1).into(), address(2).into())
}

#[track_caller]
fn refused(
    mut bytes: Vec<u8>,
    change: &[(usize, u8)],
    layer: Layer,
    offset: usize,
    field: &'static str,
    value: u64,
) {
    for (at, byte) in change {
        bytes[*at] = *byte;
    }
    assert_eq!(Datagram::parse(&bytes), Err(ParseError::bad_value(layer, offset, field, value)));
}

#[test]
fn headers_are_those_of_rxe() {
    let bytes = ipv4();
    assert_eq!(bytes[0], 0x45);
    assert_eq!(bytes[1], 46 << 2 | 2);
    assert_eq!(bytes[2..4], 52_u16.to_be_bytes());
    assert_eq!(bytes[4..8], [0x12, 0x34, 0x40, 0x00], "identification, don't fragment");
    assert_eq!(bytes[8..10], [64, 17]);
    assert_eq!(checksum::ipv4_header(&bytes[..20]), 0);
    assert_eq!(bytes[20..28], [0xc1, 0x23, 0x12, 0xb7, 0, 32, 0, 0]);
    let bytes = ipv6();
    assert_eq!(bytes[..8], [0x6b, 0xa0, 0, 0, 0, 32, 17, 64]);
    assert_eq!(bytes[40..48], [0xc1, 0x23, 0x12, 0xb7, 0, 32, 0, 0]);
}

#[test]
fn datagram_shows_what_its_headers_say() {
    for bytes in [ipv4(), ipv6()] {
        let datagram = Datagram::parse(&bytes).unwrap();
        assert_eq!((datagram.dscp, datagram.ecn, datagram.ttl), (46, Ecn::Ect0, 64));
        assert_eq!(datagram.source_port, 0xc123);
        assert_eq!(datagram.ib, &bytes[bytes.len() - IB_LENGTH..]);
        assert_eq!(datagram.verify_icrc(), Ok(()));
        assert_eq!(datagram.verify_checksums(), Ok(()));
    }
}

#[test]
fn trailing_bytes_of_the_link_are_ignored() {
    for bytes in [ipv4(), ipv6()] {
        let mut padded = bytes.clone();
        padded.extend_from_slice(&[0xee; 17]);
        assert_eq!(Datagram::parse(&padded).unwrap(), Datagram::parse(&bytes).unwrap());
    }
}

#[test]
fn what_is_not_roce_v2_in_one_piece_is_refused() {
    refused(ipv4(), &[(0, 0x55)], Layer::Ipv4, 0, "version", 5);
    refused(ipv4(), &[(0, 0x44)], Layer::Ipv4, 0, "header_length", 4);
    refused(ipv4(), &[(2, 0), (3, 19)], Layer::Ipv4, 2, "total_length", 19);
    refused(ipv4(), &[(9, 6)], Layer::Ipv4, 9, "protocol", 6);
    refused(ipv4(), &[(6, 0x20)], Layer::Ipv4, 6, "fragment", 0x2000);
    refused(ipv4(), &[(7, 1)], Layer::Ipv4, 6, "fragment", 0x4001);
    refused(ipv4(), &[(23, 0xb8)], Layer::Udp, 22, "destination_port", 4792);
    refused(ipv4(), &[(25, 7)], Layer::Udp, 24, "length", 7);
    refused(ipv4(), &[(25, 33)], Layer::Udp, 24, "length", 33);
    refused(ipv6(), &[(6, 44)], Layer::Ipv6, 6, "next_header", 44);
    refused(ipv6(), &[(43, 0xb8)], Layer::Udp, 42, "destination_port", 4792);
    assert_eq!(Datagram::parse(&[]), Err(ParseError::truncated(Layer::Ipv4, 0, 20, 0)));
}

#[test]
fn icrc_is_reported_where_it_lies() {
    for mut bytes in [ipv4(), ipv6()] {
        let end = bytes.len();
        let right = u32::from_le_bytes(*bytes.last_chunk().unwrap());
        bytes[end - 4] ^= 1;
        let error = Datagram::parse(&bytes).unwrap().verify_icrc().unwrap_err();
        assert_eq!(error, ParseError::bad_checksum(Layer::Icrc, end - 4, right, right ^ 1));
    }
}

/// The ICRC of a header with options is that of the header without them.
#[test]
fn ipv4_options_are_skipped_and_not_covered() {
    let plain = ipv4();
    let mut bytes = plain[..20].to_vec();
    bytes.extend_from_slice(&[1, 1, 1, 0]); // no operation, three times; end of options
    bytes.extend_from_slice(&plain[20..]);
    bytes[0] = 0x46;
    bytes[3] += 4;
    let parsed = Datagram::parse(&bytes).unwrap();
    assert_eq!(parsed.ib, Datagram::parse(&plain).unwrap().ib);
    let expected = rdmalab_wire::icrc_ipv4(
        bytes.first_chunk().unwrap(),
        bytes[24..].first_chunk().unwrap(),
        &parsed.ib[..parsed.ib.len() - 4],
    );
    assert_eq!(parsed.icrc_expected(), expected);
    let end = bytes.len();
    let right = expected.to_le_bytes();
    bytes[end - 4..].copy_from_slice(&right);
    assert_eq!(Datagram::parse(&bytes).unwrap().verify_icrc(), Ok(()));
    bytes[21] ^= 0xff;
    assert_eq!(Datagram::parse(&bytes).unwrap().verify_icrc(), Ok(()));
}

#[test]
fn wrong_checksums_of_ip_and_udp_are_told() {
    let mut bytes = ipv4();
    let right = u32::from(u16::from_be_bytes([bytes[10], bytes[11]]));
    bytes[11] ^= 1;
    let datagram = Datagram::parse(&bytes).unwrap();
    let error = ParseError::bad_checksum(Layer::Ipv4, 10, right, right ^ 1);
    assert_eq!(datagram.verify_checksums(), Err(error));
    assert_eq!(datagram.verify_icrc(), Ok(()), "the ICRC does not cover it");

    for (mut bytes, udp) in [(ipv4(), 20), (ipv6(), 40)] {
        let datagram = Datagram::parse(&bytes).unwrap();
        let header = UdpHeader::decode(bytes[udp..].first_chunk().unwrap());
        let sum = checksum::udp(datagram.source, datagram.destination, &header, datagram.ib);
        bytes[udp + 6..udp + 8].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(Datagram::parse(&bytes).unwrap().verify_checksums(), Ok(()));
        bytes[udp + 7] ^= 1;
        let error = Datagram::parse(&bytes).unwrap().verify_checksums().unwrap_err();
        assert_eq!((error.layer, error.offset), (Layer::Udp, udp + 6));
    }
}

#[test]
fn roce_v2_frames_are_told_from_others() {
    for (bytes, ethertype) in [(ipv4(), [0x08, 0x00]), (ipv6(), [0x86, 0xdd])] {
        let mut frame = vec![0; 12];
        frame.extend_from_slice(&ethertype);
        frame.extend_from_slice(&bytes);
        assert_eq!(roce_v2(&frame), Some(&bytes[..]));
        let port = frame.len() - IB_LENGTH - 6;
        frame[port] ^= 1;
        assert_eq!(roce_v2(&frame), None);
        assert_eq!(roce_v2(&frame[..30]), None);
    }
}

/// Whatever a template holds where a packet's own values go does not get into the packet.
#[test]
fn template_taken_from_a_finished_packet_serves_the_next_one() {
    for bytes in [ipv4(), ipv6()] {
        let template = match bytes[0] >> 4 {
            4 => NetworkHeader::V4(*bytes.first_chunk().unwrap()),
            _ => NetworkHeader::V6(*bytes.first_chunk().unwrap()),
        };
        let mut again = bytes.clone();
        again[..template.length()].fill(0xee);
        template.finish(&mut again, 0x1234).unwrap();
        assert_eq!(again, bytes);
    }
}
