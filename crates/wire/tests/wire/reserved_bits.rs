//! Reserved bits: a receiver ignores them, a dump shows them, encoding brings them back.

use rdmalab_wire::{
    Aeth, Bth, Deth, Feth, Ipv4Header, Opcode, Packet, Psn, Qpn, RawPacket, Rdeth, Syndrome, Transport,
    Xrceth,
};

#[test]
fn every_reserved_bit_of_the_base_header_stays_visible_and_changes_nothing_else() {
    let plain = Bth::new(Qpn::new(0x12_3456), Psn::new(0x65_4321));
    let mut packet = plain.encode(Opcode(0x04)).to_vec();
    packet.extend_from_slice(&[0; 4]);
    for (at, bits) in [(4, 0..6), (8, 0..7)] {
        for bit in bits {
            let mut bytes = packet.clone();
            bytes[at] ^= 1 << bit;
            let (reserved_6, reserved_7) = if at == 4 { (1 << bit, 0) } else { (0, 1 << bit) };
            let found = Packet::parse(&bytes).unwrap();
            assert_eq!(found.bth, Bth { reserved_6, reserved_7, ..plain });
            assert_eq!(RawPacket::parse(&bytes).bth, Some(found.bth));
            let mut again = [0; 12];
            found.encode(&mut again).unwrap();
            assert_eq!(again, bytes[..12]);
        }
    }
}

#[test]
fn every_reserved_bit_of_the_datagram_header_stays_visible() {
    for bit in 0..8 {
        let bytes = Deth { reserved: 1 << bit, ..Deth::default() }.encode();
        assert_eq!(bytes, [0, 0, 0, 0, 1 << bit, 0, 0, 0]);
        assert_eq!(Deth::decode(&bytes).reserved, 1 << bit);
        let mut packet = Bth::default().encode(Opcode(0x64)).to_vec();
        packet.extend_from_slice(&bytes);
        packet.extend_from_slice(&[0; 4]);
        let found = Packet::parse(&packet).unwrap();
        assert_eq!(found.transport, Transport::Ud(Deth { reserved: 1 << bit, ..Deth::default() }));
    }
}

#[test]
fn every_reserved_bit_of_the_other_headers_stays_visible() {
    for bit in 0..8 {
        assert_eq!(Rdeth::decode(&[1 << bit, 0, 0, 0]), Rdeth { reserved: 1 << bit, ee_context: 0 });
        let xrceth = Xrceth { reserved: 1 << bit, shared_receive_queue: 0 };
        assert_eq!(Xrceth::decode(&[1 << bit, 0, 0, 0]), xrceth);
    }
    for bit in 0..26 {
        let bytes = (1_u32 << (bit + 6)).to_be_bytes();
        assert_eq!(Feth::decode(&bytes), Feth { reserved: 1 << bit, selectivity: 0, placement: 0 });
    }
    let aeth = Aeth::decode(&[0x9f, 0, 0, 1]);
    assert_eq!(aeth.syndrome, Syndrome::Reserved(0x9f));
    let mut ip = [0; 20];
    ip[6] = 0x80;
    assert!(Ipv4Header::decode(&ip).reserved_flag);
}

#[test]
fn every_reserved_bit_of_a_packet_of_every_transport_survives_parsing_and_encoding() {
    let mut flipped = 0;
    // Opcode, and the reserved bits of its headers behind the base header: offset of the byte, mask.
    for (opcode, reserved) in [
        (0x1c, &[(12, 0xff), (13, 0xff), (14, 0xff), (15, 0xc0)][..]), // FETH
        (0x44, &[(12, 0xff), (20, 0xff)]),                             // RDETH, DETH
        (0x51, &[(12, 0xff)]),                                         // RDETH
        (0x64, &[(16, 0xff)]),                                         // DETH
        (0x81, &[(12, 0xff), (27, 0xff)]),                             // a CNP's sixteen bytes
        (0xa4, &[(12, 0xff)]),                                         // XRCETH
    ] {
        let row = Opcode(opcode).row().unwrap();
        let payload = if opcode == 0x81 { 16 } else { 0 };
        let mut plain = Bth::default().encode(Opcode(opcode)).to_vec();
        plain.resize(12 + row.headers.length() + payload + 4, 0);
        for (at, mask) in reserved {
            for bit in (0..8).filter(|bit| mask & 1 << bit != 0) {
                let mut bytes = plain.clone();
                bytes[*at] ^= 1 << bit;
                let packet = Packet::parse(&bytes).unwrap();
                assert_ne!(packet, Packet::parse(&plain).unwrap(), "{packet}: byte {at} bit {bit}");
                assert_ne!(RawPacket::parse(&bytes), RawPacket::parse(&plain));
                let mut again = vec![0; packet.encoded_length()];
                packet.encode(&mut again).unwrap();
                assert_eq!(again, bytes[..again.len()], "{packet}: byte {at} bit {bit}");
                flipped += 1;
            }
        }
    }
    assert_eq!(flipped, 26 + 8 * 7);
}

#[test]
fn padding_that_is_not_zero_is_accepted_and_shown() {
    let mut packet = Bth { pad_count: 3, ..Bth::default() }.encode(Opcode(0x04)).to_vec();
    packet.extend_from_slice(&[b'x', 1, 2, 3, 0, 0, 0, 0]);
    assert_eq!(Packet::parse(&packet).unwrap().payload, b"x");
    assert_eq!(RawPacket::parse(&packet).pad, [1, 2, 3]);
}

#[test]
fn header_version_other_than_zero_is_refused_but_shown() {
    let mut packet = Bth { header_version: 5, ..Bth::default() }.encode(Opcode(0x04)).to_vec();
    packet.extend_from_slice(&[0; 4]);
    let error = Packet::parse(&packet).unwrap_err();
    assert_eq!(error.to_string(), "BTH at byte 1: header_version has the bad value 0x5");
    assert_eq!(RawPacket::parse(&packet).bth.unwrap().header_version, 5);
    assert_eq!(RawPacket::parse(&packet).error, Some(error));
}
