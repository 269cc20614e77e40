//! Arbitrary bytes through the parsers of `wire` for packets, and what they find written back.

use rdmalab_wire::mad::RawMad;
use rdmalab_wire::{
    Datagram, Ecn, Frame, NetworkHeader, Packet, ParseError, RawPacket, is_roce_v2, pad_count, roce_v2,
};

/// Takes the bytes as a frame, as an IP packet, as an InfiniBand packet, and as a management datagram.
pub fn run(bytes: &[u8]) {
    frame(bytes);
    network(bytes);
    packet(bytes);
    mad(bytes);
}

/// An error names a place inside the bytes, or their end.
fn check_error(error: &ParseError, bytes: &[u8]) {
    assert!(error.offset <= bytes.len(), "{error} of {} bytes", bytes.len());
    assert!(!error.to_string().is_empty());
}

fn frame(bytes: &[u8]) {
    let found = roce_v2(bytes);
    assert_eq!(found.is_some(), is_roce_v2(bytes));
    match Frame::parse(bytes) {
        Ok(frame) => {
            assert_eq!(&bytes[frame.network_offset..], frame.network);
            if let Some(behind) = found {
                assert_eq!(behind, frame.network);
            }
            network(frame.network);
        }
        Err(error) => {
            assert!(found.is_none());
            check_error(&error, bytes);
        }
    }
}

fn network(bytes: &[u8]) {
    match Datagram::parse(bytes) {
        Ok(datagram) => {
            let right = datagram.icrc_expected() == datagram.icrc_found();
            assert_eq!(datagram.verify_icrc().is_ok(), right);
            let _ = datagram.verify_checksums();
            packet(datagram.ib);
        }
        Err(error) => check_error(&error, bytes),
    }
}

fn packet(ib: &[u8]) {
    let raw = RawPacket::parse(ib);
    assert!(!raw.to_string().is_empty());
    let mut copy = vec![0; ib.len()];
    assert_eq!(raw.encode(&mut copy), Ok(ib.len()), "{raw}");
    assert_eq!(copy, ib, "{raw}");
    match Packet::parse(ib) {
        Ok(packet) => legal(ib, &packet, &raw),
        Err(error) => {
            assert!(raw.error.is_some() || raw.bth.is_some(), "{error}");
            check_error(&error, ib);
        }
    }
}

fn mad(bytes: &[u8]) {
    let raw = RawMad::parse(bytes);
    assert!(!raw.to_string().is_empty());
    assert!(raw.field_groups().count() < 64);
    let mut copy = vec![0; bytes.len()];
    assert_eq!(raw.encode(&mut copy), Ok(bytes.len()), "{raw}");
    assert_eq!(copy, bytes, "{raw}");
}

/// A legal packet comes out as it went in, but for padding that is not zero.
fn legal(ib: &[u8], packet: &Packet<'_>, raw: &RawPacket<'_>) {
    mad(packet.payload);
    assert_eq!(raw.error, None);
    assert_eq!(Some(packet.opcode()), raw.opcode);
    assert_eq!(packet.payload, raw.payload);
    assert!(!packet.to_string().is_empty());
    let length = packet.encoded_length();
    let mut out = vec![0xa5; length];
    assert_eq!(packet.encode(&mut out), Ok(length));
    let headers = length - packet.payload.len() - pad_count(packet.payload.len());
    let unpadded = headers + packet.payload.len();
    assert_eq!(out[..unpadded], ib[..unpadded], "{packet}");
    assert_eq!(length + 4, ib.len());
    assert!(packet.encode(&mut out[..length - 1]).is_err());
    sent_again(packet, length);
}

/// A datagram with the packet in it is taken apart into the same packet, with a right ICRC.
fn sent_again(packet: &Packet<'_>, length: usize) {
    let addresses = [("10.9.0.1", "10.9.0.2"), ("fd00:9::1", "fd00:9::2")];
    for (source, destination) in addresses {
        let (Ok(source), Ok(destination)) = (source.parse(), destination.parse()) else { unreachable!() };
        let Some(header) = NetworkHeader::new(source, destination, 0xc123, 0, Ecn::NotEct, 64) else {
            unreachable!("the families match")
        };
        let mut out = vec![0; header.length() + length + 4];
        assert_eq!(packet.encode(&mut out[header.length()..]), Ok(length));
        if header.finish(&mut out, 1).is_err() {
            assert!(out.len() > usize::from(u16::MAX), "{packet}");
            continue;
        }
        let datagram = Datagram::parse(&out).unwrap_or_else(|error| panic!("{packet}: {error}"));
        assert_eq!(datagram.verify_icrc(), Ok(()), "{packet}");
        assert_eq!(datagram.verify_checksums(), Ok(()), "{packet}");
        assert_eq!(Packet::parse(datagram.ib).as_ref(), Ok(packet));
        assert_eq!((datagram.source, datagram.destination), (source, destination));
    }
}
