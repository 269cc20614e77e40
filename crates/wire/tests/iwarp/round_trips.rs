//! Whatever is encoded decodes to the same again, every field of it.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use rdmalab_wire::iwarp::{
    AtomicRequest, AtomicResponse, Enhanced, Header, MpaFrame, RawBody, RawSegment, ReadRequest, Segment,
    Terminate,
};

use crate::generate::{
    atomic_request, atomic_response, body, enhanced, header, mpa_frame, read_request, takes_payload,
    terminate,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn headers(header in header()) {
        let bytes = header.encode();
        let parsed = Header::parse(&bytes[..header.length()]);
        prop_assert_eq!(parsed, Ok(header));
        prop_assert_eq!(Header::length_from(bytes[0]), header.length());
        prop_assert!(bytes[header.length()..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn bodies(
        read in read_request(),
        atomic in atomic_request(),
        response in atomic_response(),
        data in enhanced(),
    ) {
        prop_assert_eq!(ReadRequest::decode(&read.encode()), read);
        prop_assert_eq!(AtomicRequest::decode(&atomic.encode()), atomic);
        prop_assert_eq!(AtomicResponse::decode(&response.encode()), response);
        prop_assert_eq!(Enhanced::decode(&data.encode()), data);
    }

    #[test]
    fn start_up_frames(frame in mpa_frame(b"private data"), behind in 0..3_usize) {
        let mut bytes = vec![0; frame.encoded_length() + behind];
        let length = frame.encode(&mut bytes).unwrap();
        prop_assert_eq!(length, frame.encoded_length());
        // A revision below 2 with the bit that later means enhanced data is still one without.
        prop_assert_eq!(MpaFrame::parse(&bytes), Ok(Some((frame, length))));
    }

    #[test]
    fn terminates(terminate in terminate(b"something of RDMAP's")) {
        let mut bytes = vec![0; terminate.encoded_length()];
        prop_assert_eq!(terminate.encode(&mut bytes), Ok(bytes.len()));
        prop_assert_eq!(Terminate::parse(&bytes), Ok(terminate));
    }

    #[test]
    fn segments(body in body(), payload in prop::collection::vec(any::<u8>(), 0..50), last in any::<bool>()) {
        let several = takes_payload(&body);
        let payload = if several { &payload[..] } else { &[] };
        let segment = Segment { body, payload, last: last || !several };
        let mut bytes = vec![0; segment.encoded_length()];
        prop_assert_eq!(segment.encode(&mut bytes), Ok(bytes.len()));
        prop_assert_eq!(Segment::parse(&bytes), Ok(segment));
        prop_assert_eq!(Header::parse(&bytes), Ok(segment.header()));

        let raw = RawSegment::parse(&bytes);
        prop_assert_eq!(raw.error, None);
        prop_assert_eq!(raw.header, Some(segment.header()));
        prop_assert_eq!(raw.payload, payload);
        prop_assert_eq!(raw.body.is_none(), several);
        prop_assert_eq!(raw.to_string(), segment.to_string());
    }

    /// What a Terminate says of a Read Request or an Atomic Request comes back typed.
    #[test]
    fn terminated_requests(read in read_request(), atomic in atomic_request()) {
        use rdmalab_wire::iwarp::{Opcode, Place, TerminateError, queue};
        let place = Place::Untagged { upper: 0, queue: queue::REQUEST, msn: 9, offset: 0 };
        let error = TerminateError::RDMAP_ACCESS;
        let (read_bytes, atomic_bytes) = (read.encode(), atomic.encode());
        let header = Header::new(Opcode::READ_REQUEST, true, place);
        let about_read = Terminate::about(error, 46, header, Some(&read_bytes));
        prop_assert_eq!((about_read.read_request(), about_read.atomic_request()), (Some(read), None));
        let header = Header::new(Opcode::ATOMIC_REQUEST, true, place);
        let about_atomic = Terminate::about(error, 70, header, Some(&atomic_bytes));
        prop_assert_eq!((about_atomic.read_request(), about_atomic.atomic_request()), (None, Some(atomic)));
    }
}

/// Every bit of a segment's header and body, the reserved ones too, is visible and comes out again.
#[test]
fn no_bit_is_lost() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..64 {
        let body = body().new_tree(&mut runner).unwrap().current();
        let segment = Segment { body, payload: &[], last: true };
        let mut bytes = vec![0; segment.encoded_length()];
        segment.encode(&mut bytes).unwrap();
        let original = RawSegment::parse(&bytes);
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let raw = RawSegment::parse(&flipped);
            assert_ne!(raw, original, "bit {bit} of {segment}");
            let mut again = vec![0; flipped.len()];
            assert_eq!(raw.encode(&mut again), Ok(flipped.len()));
            assert_eq!(again, flipped, "bit {bit} of {segment}");
        }
    }
}

/// Reserved bits are ignored on receipt (RFC 5040 §4.1, RFC 5041 §4.1).
#[test]
fn reserved_bits_do_no_harm() {
    let mut bytes = [0; 18 + 52];
    bytes[0] = 0x41 | 0x3c;
    bytes[1] = 0x4a | 0x30;
    bytes[2..6].fill(0xff);
    bytes[9] = 1;
    bytes[18..22].copy_from_slice(&0xffff_fff0_u32.to_be_bytes());
    let raw = RawSegment::parse(&bytes);
    assert_eq!(raw.error, None);
    let header = raw.header.unwrap();
    assert_eq!((header.ddp_reserved, header.rdmap_reserved), (0x0f, 0x03));
    let Some(RawBody::AtomicRequest(request)) = raw.body else { panic!("an Atomic Request") };
    assert_eq!(request.reserved, 0x0fff_ffff);
    assert!(Segment::parse(&bytes).is_ok());
}
