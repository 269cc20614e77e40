//! Encoding and decoding undo each other, header by header and packet by packet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use rdmalab_wire::{
    Aeth, AtomicAckEth, AtomicEth, Body, Bth, Datagram, Deth, Ecn, EncodeError, EthernetHeader, Feth, Grh,
    Ieth, ImmDt, Ipv4Header, Ipv6Header, Lrh, NetworkHeader, Opcode, Packet, RawPacket, Rdeth, Reth,
    Transport, UdpHeader, VlanTag, Xrceth,
};

use crate::generate;

/// Any bytes are a header, and the header is those bytes: no bit is lost, none is made up.
macro_rules! header_is_its_bytes {
    ($($test:ident: $header:ident $length:literal,)*) => {
        proptest! {
            $(
                #[test]
                fn $test(bytes in any::<[u8; $length]>()) {
                    prop_assert_eq!($header::LENGTH, $length);
                    prop_assert_eq!($header::decode(&bytes).encode(), bytes);
                }
            )*
        }
    };
}

header_is_its_bytes! {
    ethernet_header_is_its_bytes: EthernetHeader 14,
    udp_header_is_its_bytes: UdpHeader 8,
    rdeth_is_its_bytes: Rdeth 4,
    xrceth_is_its_bytes: Xrceth 4,
    deth_is_its_bytes: Deth 8,
    feth_is_its_bytes: Feth 4,
    reth_is_its_bytes: Reth 16,
    aeth_is_its_bytes: Aeth 4,
    atomic_ack_eth_is_its_bytes: AtomicAckEth 8,
    imm_dt_is_its_bytes: ImmDt 4,
    ieth_is_its_bytes: Ieth 4,
    lrh_is_its_bytes: Lrh 8,
}

proptest! {
    #[test]
    fn bth_is_its_bytes(bytes in any::<[u8; 12]>()) {
        let (opcode, bth) = Bth::decode(&bytes);
        prop_assert_eq!(bth.encode(opcode), bytes);
    }

    #[test]
    fn atomic_eth_is_its_bytes(bytes in prop::collection::vec(any::<u8>(), 28)) {
        let bytes = *bytes.first_chunk().unwrap();
        prop_assert_eq!(AtomicEth::decode(&bytes).encode(), bytes);
    }

    #[test]
    fn grh_is_its_bytes(bytes in prop::collection::vec(any::<u8>(), 40)) {
        let bytes = *bytes.first_chunk().unwrap();
        prop_assert_eq!(Grh::decode(&bytes).encode(), bytes);
    }

    #[test]
    fn vlan_tag_is_its_bytes(bytes in any::<[u8; 4]>()) {
        let (tag, ethertype) = VlanTag::decode(&bytes);
        prop_assert_eq!(tag.encode(ethertype), bytes);
    }

    #[test]
    fn ipv4_header_is_its_bytes(mut bytes in any::<[u8; 20]>()) {
        bytes[0] = 0x45;
        prop_assert_eq!(Ipv4Header::decode(&bytes).encode(), bytes);
    }

    #[test]
    fn ipv6_header_is_its_bytes(bytes in prop::collection::vec(any::<u8>(), 40)) {
        let mut bytes: [u8; 40] = *bytes.first_chunk().unwrap();
        bytes[0] = 0x60 | bytes[0] & 0x0f;
        prop_assert_eq!(Ipv6Header::decode(&bytes).encode(), bytes);
    }

    #[test]
    fn ipv4_header_with_checksum_sums_to_zero(bytes in any::<[u8; 20]>()) {
        let header = Ipv4Header::decode(&bytes).with_checksum();
        prop_assert_eq!(rdmalab_wire::checksum::ipv4_header(&header.encode()), 0);
    }

    #[test]
    fn packet_survives_the_wire(
        bth in generate::bth(),
        (transport, body) in generate::operation(),
        payload in prop::collection::vec(any::<u8>(), 0..70),
        v6 in any::<bool>(),
        (source_port, identification, ttl) in any::<(u16, u16, u8)>(),
        (dscp, ecn) in (0..64u8, 0..4u8),
    ) {
        let row = transport.kind().opcode(body.operation()).row().unwrap();
        let payload = generate::fitting(row.payload, payload);
        let packet = Packet { bth, transport, body, payload: &payload };
        let (source, destination): (IpAddr, IpAddr) = if v6 {
            (Ipv6Addr::new(0xfd00, 9, 0, 0, 0, 0, 0, 1).into(), Ipv6Addr::LOCALHOST.into())
        } else {
            (Ipv4Addr::new(10, 9, 0, 1).into(), Ipv4Addr::new(10, 9, 0, 2).into())
        };
        let ecn = Ecn::from_bits(ecn);
        let header = NetworkHeader::new(source, destination, source_port, dscp, ecn, ttl).unwrap();

        let mut bytes = vec![0xaa; header.length() + packet.encoded_length() + 4];
        packet.encode(&mut bytes[header.length()..]).unwrap();
        header.finish(&mut bytes, identification).unwrap();

        let datagram = Datagram::parse(&bytes).unwrap();
        prop_assert_eq!(datagram.verify_icrc(), Ok(()));
        prop_assert_eq!(datagram.verify_checksums(), Ok(()));
        prop_assert_eq!((datagram.source, datagram.destination), (source, destination));
        prop_assert_eq!((datagram.source_port, datagram.dscp), (source_port, dscp));
        prop_assert_eq!((datagram.ecn, datagram.ttl), (ecn, ttl));

        let found = Packet::parse(datagram.ib).unwrap();
        let pad_count = (4 - payload.len() as u8 % 4) % 4;
        prop_assert_eq!(found, Packet { bth: Bth { pad_count, ..bth }, ..packet });
        prop_assert_eq!(found.to_string(), packet.to_string());
        let raw = RawPacket::parse(datagram.ib);
        prop_assert_eq!(raw.error, None);
        prop_assert_eq!(raw.headers.set(), row.headers);
        prop_assert_eq!(raw.to_string(), packet.to_string());
        prop_assert!(raw.pad.iter().all(|byte| *byte == 0), "padding is sent as zero");
    }
}

#[test]
fn operation_the_transport_does_not_have_is_refused() {
    let body = Body::ReadRequest(Reth::default());
    let packet = Packet { bth: Bth::default(), transport: Transport::Uc, body, payload: &[] };
    assert_eq!(packet.opcode(), Opcode(0x2c));
    assert_eq!(packet.encode(&mut [0; 64]), Err(EncodeError::NoSuchOpcode(Opcode(0x2c))));
}

#[test]
fn payload_the_operation_does_not_have_is_refused() {
    let body = Body::ReadRequest(Reth::default());
    let packet = Packet { bth: Bth::default(), transport: Transport::Rc, body, payload: &[1] };
    let refused = EncodeError::PayloadLength { opcode: Opcode(0x0c), length: 1 };
    assert_eq!(packet.encode(&mut [0; 64]), Err(refused));
}

#[test]
fn payload_of_another_length_than_the_operation_always_has_is_refused() {
    let atomic_write = Body::AtomicWrite(Reth::default());
    for (transport, body, right) in
        [(Transport::Rc, atomic_write, 8), (Transport::Cnp, Body::CongestionNotification, 16)]
    {
        for length in 0..=20 {
            let packet = Packet { bth: Bth::default(), transport, body, payload: &[0; 20][..length] };
            let opcode = packet.opcode();
            let refused = Err(EncodeError::PayloadLength { opcode, length });
            let encoded = packet.encode(&mut [0; 64]);
            assert_eq!(encoded, if length == right { Ok(packet.encoded_length()) } else { refused });
        }
    }
}

#[test]
fn congestion_notification_goes_with_its_own_transport_only() {
    let none = Opcode(0xff);
    assert_eq!(none.row(), None);
    for (transport, body) in [
        (Transport::Rc, Body::CongestionNotification),
        (Transport::Xrc(None), Body::CongestionNotification),
        (Transport::Cnp, Body::SendMiddle),
        (Transport::Cnp, Body::SendOnly),
    ] {
        let packet = Packet { bth: Bth::default(), transport, body, payload: &[0; 16] };
        assert_eq!(packet.opcode(), none);
        assert_eq!(packet.encode(&mut [0; 64]), Err(EncodeError::NoSuchOpcode(none)));
    }
}

#[test]
fn request_without_its_transport_headers_and_response_with_them_are_refused() {
    let acknowledge = Body::Acknowledge(Aeth::decode(&[0; 4]));
    for (transport, body, opcode) in [
        (Transport::Rd(Rdeth::default(), None), Body::SendOnly, 0x44),
        (Transport::Rd(Rdeth::default(), Some(Deth::default())), acknowledge, 0x51),
        (Transport::Xrc(None), Body::SendOnly, 0xa4),
        (Transport::Xrc(Some(Xrceth::default())), acknowledge, 0xb1),
    ] {
        let packet = Packet { bth: Bth::default(), transport, body, payload: &[] };
        assert_eq!(packet.opcode(), Opcode(opcode));
        let refused = EncodeError::TransportHeaders(Opcode(opcode));
        assert_eq!(packet.encode(&mut [0; 64]), Err(refused));
    }
}

#[test]
fn buffer_too_small_by_one_byte_is_refused_with_both_sizes() {
    let body = Body::WriteOnlyImm(Reth::default(), ImmDt([1; 4]));
    let packet = Packet { bth: Bth::default(), transport: Transport::Rc, body, payload: b"hello" };
    assert_eq!(packet.encoded_length(), 12 + 16 + 4 + 8);
    assert_eq!(packet.encode(&mut [0; 40]), Ok(40));
    assert_eq!(packet.encode(&mut [0; 39]), Err(EncodeError::BufferTooSmall { need: 40, have: 39 }));
    let headers = rdmalab_wire::encode_headers(&packet.bth, &packet.transport, &body, 5, &mut [0; 31]);
    assert_eq!(headers, Err(EncodeError::BufferTooSmall { need: 32, have: 31 }));
}

#[test]
fn datagram_too_short_or_too_long_is_refused() {
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let header = NetworkHeader::new(address, address, 0xc000, 0, Ecn::NotEct, 64).unwrap();
    let refused = EncodeError::TooShort { need: 44, have: 43 };
    assert_eq!(header.finish(&mut [0; 43], 0), Err(refused));
    assert_eq!(header.finish(&mut [0; 44], 0), Ok(()));
    assert_eq!(header.finish(&mut vec![0; 65_535], 0), Ok(()));
    assert_eq!(header.finish(&mut vec![0; 65_536], 0), Err(EncodeError::TooLong { length: 65_536 }));
}

#[test]
fn addresses_of_two_families_make_no_flow() {
    let (v4, v6) = (IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST));
    assert_eq!(NetworkHeader::new(v4, v6, 1, 0, Ecn::NotEct, 64), None);
    assert_eq!(NetworkHeader::new(v6, v4, 1, 0, Ecn::NotEct, 64), None);
}
