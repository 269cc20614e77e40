//! Every truncation says what is cut off, where it begins, how much it needs and how much there is. Those of
//! the start-up frame ask for more instead, see `start_up`; those of an FPDU do too, see `framing`.

use rdmalab_wire::iwarp::{
    AtomicRequest, AtomicResponse, Body, Header, Opcode, Place, ReadRequest, Segment, SendKind, Stag, Tagged,
    Terminate, TerminateError,
};
use rdmalab_wire::{EncodeError, Layer, ParseError};

fn encode(body: Body<'_>) -> Vec<u8> {
    let segment = Segment { body, payload: &[], last: true };
    let mut bytes = vec![0; segment.encoded_length()];
    for have in 0..bytes.len() {
        let error = EncodeError::BufferTooSmall { need: bytes.len(), have };
        assert_eq!(segment.encode(&mut bytes[..have]), Err(error));
    }
    segment.encode(&mut bytes).unwrap();
    bytes
}

/// `layers`: layer, offset and bytes it needs, one behind the other.
#[track_caller]
fn check(body: Body<'_>, layers: &[(Layer, usize, usize)]) {
    let whole = encode(body);
    let mut length = 0;
    for &(layer, offset, need) in layers {
        while length < offset + need {
            let needed = if length == 0 { 14 } else { need };
            let error = ParseError::truncated(layer, offset, needed, length - offset);
            assert_eq!(Segment::parse(&whole[..length]), Err(error), "{length} bytes");
            length += 1;
        }
    }
    assert_eq!(length, whole.len());
    assert!(Segment::parse(&whole).is_ok());
}

#[test]
fn every_truncation_names_layer_and_length() {
    let place = Tagged { stag: Stag::new(1), offset: 2 };
    check(Body::Write(place), &[(Layer::Ddp, 0, 14)]);
    check(Body::ReadResponse(place), &[(Layer::Ddp, 0, 14)]);
    check(Body::Send { kind: SendKind::Plain, msn: 1, offset: 0 }, &[(Layer::Ddp, 0, 18)]);
    let request = ReadRequest::default();
    check(Body::ReadRequest { msn: 1, request }, &[(Layer::Ddp, 0, 18), (Layer::ReadRequest, 18, 28)]);
    let request = AtomicRequest::default();
    check(Body::AtomicRequest { msn: 1, request }, &[(Layer::Ddp, 0, 18), (Layer::AtomicRequest, 18, 52)]);
    let response = AtomicResponse::default();
    check(Body::AtomicResponse { msn: 1, response }, &[(Layer::Ddp, 0, 18), (Layer::AtomicResponse, 18, 12)]);
    let immediate = Body::Immediate { solicited: true, msn: 1, data: [7; 8] };
    check(immediate, &[(Layer::Ddp, 0, 18), (Layer::ImmediateData, 18, 8)]);
    let terminate = Terminate::new(TerminateError::MPA_CRC);
    check(Body::Terminate { msn: 1, terminate }, &[(Layer::Ddp, 0, 18), (Layer::Terminate, 18, 4)]);
}

#[test]
fn every_truncation_of_an_included_header_names_it() {
    for (place, need) in [
        (Place::Tagged { stag: Stag::new(1), offset: 0 }, 14),
        (Place::Untagged { upper: 0, queue: 0, msn: 1, offset: 0 }, 18),
    ] {
        let header = Header::new(Opcode::WRITE, true, place);
        let terminate = Terminate::about(TerminateError::DDP_BOUNDS, 100, header, None);
        let whole = encode(Body::Terminate { msn: 1, terminate });
        for length in 22..whole.len() {
            let error = match length {
                22..24 => ParseError::truncated(Layer::Terminate, 22, 2, length - 22),
                // Of which kind the header is, its first byte says.
                24 => ParseError::truncated(Layer::Ddp, 24, 14, 0),
                _ => ParseError::truncated(Layer::Ddp, 24, need, length - 24),
            };
            assert_eq!(Segment::parse(&whole[..length]), Err(error), "{length} bytes");
        }
        assert!(Segment::parse(&whole).is_ok());
    }
}

#[test]
fn a_body_that_is_all_there_is_takes_no_payload() {
    let body = Body::ReadRequest { msn: 1, request: ReadRequest::default() };
    let segment = Segment { body, payload: b"x", last: true };
    let error = EncodeError::PartTooLong { layer: Layer::Rdmap, length: 1, limit: 0 };
    assert_eq!(segment.encode(&mut [0; 100]), Err(error));
}
