//! Every packet cut off at every byte: the error names the layer that is incomplete, where it starts, what
//! it needs and what there is.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rdmalab_wire::{
    Bth, Datagram, Ecn, Frame, Header, Layer, NetworkHeader, Opcode, Packet, ParseError, Psn, Qpn, RawPacket,
    row,
};

/// A packet of this opcode with all-zero headers and `payload` bytes of payload, ICRC included.
fn ib(opcode: u8, payload: usize) -> Vec<u8> {
    let row = row(opcode).unwrap();
    let mut bytes = Bth::new(Qpn::new(1), Psn::new(2)).encode(Opcode(opcode)).to_vec();
    bytes.resize(Bth::LENGTH + row.headers.length() + payload + 4, 0);
    bytes
}

/// The layers of a packet of this opcode, each with its length, the ICRC without payload behind them.
fn layers(opcode: u8) -> Vec<(Layer, usize)> {
    let mut layers = vec![(Layer::Bth, Bth::LENGTH)];
    layers
        .extend(row(opcode).unwrap().headers.iter().map(|header: Header| (header.layer(), header.length())));
    layers.push((Layer::Icrc, 4));
    layers
}

/// The error that a packet of so many bytes must give.
fn expected(opcode: u8, length: usize) -> ParseError {
    let mut offset = 0;
    for (layer, need) in layers(opcode) {
        if length < offset + need {
            return ParseError::truncated(layer, offset, need, length - offset);
        }
        offset += need;
    }
    panic!("{length} bytes are enough for opcode {opcode:#x}");
}

#[test]
fn every_truncation_of_every_opcode_names_the_incomplete_header() {
    let mut checked = 0;
    for opcode in (0..=255).filter(|opcode| row(*opcode).is_some()) {
        let whole = ib(opcode, 0);
        for length in 0..whole.len() {
            let error = Some(expected(opcode, length));
            assert_eq!(RawPacket::parse(&whole[..length]).error, error, "opcode {opcode:#x}, {length} bytes");
            let found = Packet::parse(&whole[..length]);
            assert_eq!(found.err(), error, "opcode {opcode:#x}, {length} bytes");
            checked += 1;
        }
    }
    assert!(checked > 1500, "{checked}");
}

#[test]
fn truncation_within_the_payload_is_a_length_that_is_no_multiple_of_four() {
    let whole = ib(0x04, 8);
    for missing in [1, 2, 3, 5, 6, 7] {
        let cut = &whole[..whole.len() - missing];
        let error = ParseError::bad_value(Layer::Payload, 12, "padded length", 8 - missing as u64);
        assert_eq!(Packet::parse(cut).err(), Some(error));
        assert_eq!(RawPacket::parse(cut).error, Some(error));
    }
}

#[test]
fn pad_count_without_room_for_it_is_named() {
    let mut whole = ib(0x04, 0);
    whole[1] = 0x20;
    let error = ParseError::bad_value(Layer::Bth, 1, "pad_count", 2);
    assert_eq!(Packet::parse(&whole).err(), Some(error));
    assert_eq!(RawPacket::parse(&whole).error, Some(error));
}

#[test]
fn payload_of_a_packet_that_has_none_is_named() {
    for opcode in [0x0c, 0x11, 0x12, 0x13, 0x14, 0x1c, 0x4c, 0x51, 0x55, 0xac, 0xb1] {
        let offset = 12 + row(opcode).unwrap().headers.length();
        let error = ParseError::bad_value(Layer::Payload, offset, "length", 4);
        assert_eq!(Packet::parse(&ib(opcode, 4)).err(), Some(error));
        assert_eq!(RawPacket::parse(&ib(opcode, 4)).error, Some(error));
    }
}

fn datagram(v6: bool) -> Vec<u8> {
    let address = |last| {
        if v6 {
            IpAddr::V6(Ipv6Addr::new(0xfd00, 9, 0, 0, 0, 0, 0, last))
        } else {
            IpAddr::V4(Ipv4Addr::new(10, 9, 0, last as u8))
        }
    };
    let header = NetworkHeader::new(address(1), address(2), 0xc000, 0, Ecn::NotEct, 64).unwrap();
    let mut bytes = vec![0; header.length()];
    bytes.extend_from_slice(&ib(0x04, 8));
    header.finish(&mut bytes, 1).unwrap();
    bytes
}

#[test]
fn every_truncation_of_an_ipv4_datagram_is_told_from_its_total_length() {
    let whole = datagram(false);
    assert!(Datagram::parse(&whole).is_ok());
    for length in 0..whole.len() {
        let need = if length < 20 { 20 } else { whole.len() };
        let error = ParseError::truncated(Layer::Ipv4, 0, need, length);
        assert_eq!(Datagram::parse(&whole[..length]), Err(error));
    }
}

#[test]
fn every_truncation_of_an_ipv6_datagram_is_told_from_its_payload_length() {
    let whole = datagram(true);
    assert!(Datagram::parse(&whole).is_ok());
    for length in 1..whole.len() {
        let need = if length < 40 { 40 } else { whole.len() };
        let error = ParseError::truncated(Layer::Ipv6, 0, need, length);
        assert_eq!(Datagram::parse(&whole[..length]), Err(error));
    }
}

/// IP's length field agrees with the bytes there are, so that the inner layers see the truncation.
#[test]
fn every_ip_length_that_ends_too_early_names_the_layer_inside() {
    for (v6, ip_length) in [(false, 20), (true, 40)] {
        let whole = datagram(v6);
        for length in ip_length..whole.len() {
            let mut cut = whole[..length].to_vec();
            let stated = if v6 { length - ip_length } else { length } as u16;
            let at = if v6 { 4 } else { 2 };
            cut[at..at + 2].copy_from_slice(&stated.to_be_bytes());
            let inner = length - ip_length;
            let expected = if inner < 8 {
                ParseError::truncated(Layer::Udp, ip_length, 8, inner)
            } else {
                // UDP states more than IP has.
                let stated = (whole.len() - ip_length) as u64;
                ParseError::bad_value(Layer::Udp, ip_length + 4, "length", stated)
            };
            assert_eq!(Datagram::parse(&cut), Err(expected), "IPv6 {v6}, {length} bytes");
        }
    }
}

#[test]
fn every_udp_length_that_ends_too_early_names_the_layer_inside() {
    let whole = datagram(false);
    for length in 0..24_u16 {
        let mut cut = whole.clone();
        cut[24..26].copy_from_slice(&length.to_be_bytes());
        let inner = usize::from(length).saturating_sub(8);
        let expected = match length {
            0..8 => ParseError::bad_value(Layer::Udp, 24, "length", u64::from(length)),
            8..20 => ParseError::truncated(Layer::Bth, 28, 12, inner),
            _ => ParseError::truncated(Layer::Icrc, 40, 4, inner - 12),
        };
        assert_eq!(Datagram::parse(&cut), Err(expected), "{length} bytes");
    }
}

#[test]
fn every_truncation_of_a_tagged_frame_names_the_tag() {
    let mut whole = vec![0; 12];
    whole.extend_from_slice(&[0x88, 0xa8, 0x00, 0x01, 0x81, 0x00, 0x00, 0x02, 0x08, 0x00]);
    for length in 0..whole.len() {
        let expected = match length {
            0..14 => ParseError::truncated(Layer::Ethernet, 0, 14, length),
            14..18 => ParseError::truncated(Layer::Vlan, 14, 4, length - 14),
            _ => ParseError::truncated(Layer::Vlan, 18, 4, length - 18),
        };
        assert_eq!(Frame::parse(&whole[..length]), Err(expected));
    }
}
