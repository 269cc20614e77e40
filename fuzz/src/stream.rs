//! Arbitrary bytes as one direction of an iWARP connection: the start-up frame, FPDUs in pieces of any size, and the
//! segments in them.
//!
//! The first byte says how the stream is framed and how long the pieces are.

use rdmalab_wire::iwarp::{
    Event, FpduEncoder, FpduEnd, Framer, Framing, Marker, MpaFrame, RawSegment, Segment,
};

/// Reads the stream whole and in pieces.
pub fn run(bytes: &[u8]) {
    let Some((&control, stream)) = bytes.split_first() else { return };
    let framing = Framing { markers: control & 1 != 0, crc: control & 2 != 0 };
    let piece = usize::from(control >> 2) + 1;
    let behind = start(stream);
    for stream in [stream, &stream[behind..]] {
        let whole = fpdus(stream, framing, usize::MAX);
        assert_eq!(fpdus(stream, framing, piece), whole, "pieces of {piece} bytes");
        for ulpdu in &whole.ulpdus {
            segment(ulpdu);
            framed_again(ulpdu, framing);
        }
    }
    segment(stream);
}

/// The start-up frame, which comes out as it went in. Bytes of the stream that it takes.
fn start(stream: &[u8]) -> usize {
    match MpaFrame::parse(stream) {
        Ok(Some((frame, length))) => {
            assert!(!frame.to_string().is_empty());
            assert_eq!(length, frame.encoded_length());
            let mut out = vec![0xa5; length];
            assert_eq!(frame.encode(&mut out), Ok(length));
            assert_eq!(out, stream[..length], "{frame}");
            length
        }
        Ok(None) => {
            assert!(stream.len() < MpaFrame::MAX_LENGTH, "a frame that never ends");
            0
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            0
        }
    }
}

/// What is in a stream, however it came.
#[derive(Debug, Default, PartialEq)]
struct Found {
    markers: Vec<Marker>,
    ulpdus: Vec<Vec<u8>>,
    ends: Vec<FpduEnd>,
    is_between: bool,
}

fn fpdus(stream: &[u8], framing: Framing, piece: usize) -> Found {
    let mut found = Found::default();
    let mut framer = Framer::new(framing);
    for mut piece in stream.chunks(piece) {
        while let Some(event) = framer.next_event(&mut piece) {
            match event {
                Event::Marker(marker) => found.markers.push(marker),
                Event::Head(head) => {
                    let _ = head.header();
                    let mut ulpdu = head.header_bytes().to_vec();
                    ulpdu.reserve(head.payload_length());
                    found.ulpdus.push(ulpdu);
                }
                Event::Payload(bytes) => {
                    assert!(!bytes.is_empty());
                    found.ulpdus.last_mut().expect("a head comes first").extend_from_slice(bytes);
                }
                Event::End(end) => found.ends.push(end),
            }
        }
        assert!(piece.is_empty(), "a framer leaves nothing");
    }
    assert_eq!(framer.position(), stream.len() as u64);
    found.is_between = framer.is_between_fpdus();
    found
}

fn segment(ulpdu: &[u8]) {
    let raw = RawSegment::parse(ulpdu);
    assert!(!raw.to_string().is_empty());
    let mut copy = vec![0xa5; ulpdu.len()];
    assert_eq!(raw.encode(&mut copy), Ok(ulpdu.len()), "{raw}");
    assert_eq!(copy, ulpdu, "{raw}");
    match Segment::parse(ulpdu) {
        Ok(segment) => {
            assert_eq!(raw.error, None);
            let length = segment.encoded_length();
            let mut out = vec![0xa5; length];
            assert_eq!(segment.encode(&mut out), Ok(length), "{segment}");
            assert_eq!(Segment::parse(&out).as_ref(), Ok(&segment));
        }
        Err(error) => assert_eq!(raw.error, Some(error)),
    }
}

/// An FPDU around a ULPDU is read as that ULPDU, with a right CRC.
fn framed_again(ulpdu: &[u8], framing: Framing) {
    let mut stream = vec![0; ulpdu.len() + ulpdu.len() / 64 + 64];
    let Ok(length) = FpduEncoder::new(framing).encode(&[ulpdu], &mut stream) else {
        assert!(ulpdu.len() > rdmalab_wire::iwarp::fpdu::MAX_ULPDU);
        return;
    };
    let found = fpdus(&stream[..length], framing, usize::MAX);
    assert!(found.is_between);
    assert_eq!(found.ulpdus, [ulpdu]);
    assert!(found.markers.iter().all(Marker::is_right));
    assert!(!framing.crc || found.ends.iter().all(|end| end.crc.is_right()));
}
