//! The start-up frames: RFC 5044 §7.1, RFC 6581 §9.

use rdmalab_wire::iwarp::{Enhanced, MpaFrame, MpaKind};
use rdmalab_wire::{EncodeError, Layer, ParseError};

fn frame(kind: MpaKind, flags: u8, revision: u8, private_data: &[u8]) -> Vec<u8> {
    let mut bytes = kind.key().to_vec();
    bytes.extend_from_slice(&[flags, revision]);
    bytes.extend_from_slice(&(private_data.len() as u16).to_be_bytes());
    bytes.extend_from_slice(private_data);
    bytes
}

#[test]
fn flags_are_where_the_rfcs_have_them() {
    let parse = |flags, revision| {
        let bytes = frame(MpaKind::Reply, flags, revision, &[0; 4]);
        let (frame, _) = MpaFrame::parse(&bytes).unwrap().unwrap();
        (frame.markers, frame.crc, frame.reject, frame.enhanced.is_some(), frame.reserved)
    };
    assert_eq!(parse(0x80, 1), (true, false, false, false, 0));
    assert_eq!(parse(0x40, 1), (false, true, false, false, 0));
    assert_eq!(parse(0x20, 1), (false, false, true, false, 0));
    // S is reserved before revision 2.
    assert_eq!(parse(0x1f, 1), (false, false, false, false, 0x1f));
    assert_eq!(parse(0x1f, 2), (false, false, false, true, 0x0f));
    assert_eq!(parse(0x0f, 2), (false, false, false, false, 0x0f));
}

#[test]
fn enhanced_data_is_where_rfc_6581_has_it() {
    let decode = Enhanced::decode;
    assert_eq!(decode(&[0x80, 0, 0, 0]), Enhanced { peer_to_peer: true, ..Enhanced::default() });
    assert_eq!(decode(&[0x40, 0, 0, 0]), Enhanced { rtr_empty: true, ..Enhanced::default() });
    assert_eq!(decode(&[0, 0, 0x80, 0]), Enhanced { rtr_write: true, ..Enhanced::default() });
    assert_eq!(decode(&[0, 0, 0x40, 0]), Enhanced { rtr_read: true, ..Enhanced::default() });
    let none = Enhanced { ird: Enhanced::NOT_NEGOTIATED, ord: 1, ..Enhanced::default() };
    assert_eq!(decode(&[0x3f, 0xff, 0, 1]), none);
}

#[test]
fn every_split_of_a_frame_asks_for_more_and_then_gives_it() {
    for kind in [MpaKind::Request, MpaKind::Reply] {
        let mut stream = frame(kind, 0x50, 2, b"\xa0\x05\x80\x07private");
        let whole = stream.len();
        stream.extend_from_slice(b"the first FPDU");
        for end in 0..whole {
            assert_eq!(MpaFrame::parse(&stream[..end]), Ok(None), "{end} bytes");
        }
        let enhanced =
            Enhanced { peer_to_peer: true, rtr_write: true, ird: 0x2005, ord: 7, ..Enhanced::default() };
        let expected = MpaFrame {
            revision: 2,
            enhanced: Some(enhanced),
            private_data: b"private",
            ..MpaFrame::new(kind)
        };
        for end in whole..=stream.len() {
            assert_eq!(MpaFrame::parse(&stream[..end]), Ok(Some((expected, whole))), "{end} bytes");
        }
    }
}

#[test]
fn a_wrong_key_is_refused_at_its_first_wrong_byte() {
    for kind in [MpaKind::Request, MpaKind::Reply] {
        for at in 0..16 {
            let mut stream = frame(kind, 0, 1, b"");
            stream[at] ^= 0x20;
            let found = u64::from(stream[at]);
            for end in at + 1..=stream.len() {
                let error = ParseError::bad_value(Layer::Mpa, at, "key", found);
                assert_eq!(MpaFrame::parse(&stream[..end]), Err(error), "byte {at}, {end} bytes");
            }
            assert_eq!(MpaFrame::parse(&stream[..at]), Ok(None));
        }
    }
}

/// "Req" and "Rep": the letter that tells them apart must suit what stands around it.
#[test]
fn any_other_protocol_is_refused_at_once() {
    let refused = |bytes: &[u8]| MpaFrame::parse(bytes).unwrap_err().offset;
    assert_eq!(refused(b"GET / HTTP/1.1"), 0);
    assert_eq!(refused(b"MPA ID Rex Frame"), 9);
    assert_eq!(refused(b"MPA ID Rep.Frame"), 10);
}

/// RFC 5044 §7.1: PD_Length is at most 512.
#[test]
fn private_data_has_a_limit() {
    let most = vec![7; 512];
    let bytes = frame(MpaKind::Request, 0x40, 1, &most);
    assert_eq!(bytes.len(), MpaFrame::MAX_LENGTH);
    let (parsed, length) = MpaFrame::parse(&bytes).unwrap().unwrap();
    assert_eq!((parsed.private_data, length), (&most[..], 532));
    let too_long = frame(MpaKind::Request, 0x40, 1, &[7; 513]);
    let error = ParseError::bad_value(Layer::Mpa, 18, "private data length", 513);
    assert_eq!(MpaFrame::parse(&too_long), Err(error));
    // It is known from the header alone.
    assert_eq!(MpaFrame::parse(&too_long[..20]), Err(error));

    let mut out = [0; 600];
    let frame = MpaFrame { private_data: &most, ..MpaFrame::new(MpaKind::Request) };
    assert_eq!(frame.encode(&mut out), Ok(532));
    let enhanced = MpaFrame { revision: 2, enhanced: Some(Enhanced::default()), ..frame };
    let error = EncodeError::PartTooLong { layer: Layer::Mpa, length: 516, limit: 512 };
    assert_eq!(enhanced.encode(&mut out), Err(error));
    let error = EncodeError::BufferTooSmall { need: 532, have: 531 };
    assert_eq!(frame.encode(&mut out[..531]), Err(error));
}

#[test]
fn enhanced_data_must_fit_into_the_private_data() {
    for length in 0..4 {
        let bytes = frame(MpaKind::Reply, 0x10, 2, &vec![0; length]);
        let error = ParseError::truncated(Layer::Mpa, 20, 4, length);
        assert_eq!(MpaFrame::parse(&bytes), Err(error));
    }
}

#[test]
fn frames_as_lines() {
    let request = MpaFrame::new(MpaKind::Request);
    assert_eq!(request.to_string(), "MPA REQUEST rev=1 crc len=0");
    let enhanced = Enhanced { ird: 16, ord: 8, ..Enhanced::default() };
    let peer_to_peer =
        Enhanced { peer_to_peer: true, rtr_empty: true, rtr_write: true, rtr_read: true, ..enhanced };
    let request =
        MpaFrame { crc: false, revision: 2, enhanced: Some(peer_to_peer), private_data: b"abc", ..request };
    let line = "MPA REQUEST rev=2 ird=16 ord=8 p2p rtr=empty,write,read len=3";
    assert_eq!(request.to_string(), line);
    let reply = MpaFrame {
        kind: MpaKind::Reply,
        markers: true,
        crc: true,
        reject: true,
        enhanced: Some(enhanced),
        ..request
    };
    assert_eq!(reply.to_string(), "MPA REPLY rev=2 ird=16 ord=8 markers crc reject len=3");
}
