//! No bytes make anything panic, and what can be taken apart can be put together again.

use proptest::prelude::*;
use rdmalab_wire::iwarp::{Framer, Header, MpaFrame, MpaKind, RawSegment, Segment, Terminate};

use crate::framing::FRAMINGS;
use crate::naive::{Found, take_apart, take_apart_pieces};

/// Everything there is to do with the bytes of a ULPDU.
fn check_segment(ulpdu: &[u8]) {
    let raw = RawSegment::parse(ulpdu);
    let line = raw.to_string();
    let mut again = vec![0; ulpdu.len()];
    assert_eq!(raw.encode(&mut again), Ok(ulpdu.len()), "{line}");
    assert_eq!(again, ulpdu, "{line}");
    let segment = Segment::parse(ulpdu);
    assert_eq!(raw.error, segment.err(), "{line}");
    if let Ok(segment) = segment {
        // Reserved bits aside it is the same, and a second time nothing changes.
        let mut again = vec![0; segment.encoded_length()];
        assert_eq!(segment.encode(&mut again), Ok(ulpdu.len()));
        assert_eq!(Segment::parse(&again).unwrap().body.opcode(), segment.body.opcode());
    }
    if let Ok(header) = Header::parse(ulpdu) {
        assert_eq!(header.encode()[..header.length()], ulpdu[..header.length()]);
        assert!(header.check().is_ok() || segment.is_err(), "{line}");
    }
    if let Ok(terminate) = Terminate::parse(ulpdu) {
        let _ = (terminate.read_request(), terminate.atomic_request());
        let mut again = vec![0; ulpdu.len()];
        assert_eq!(terminate.encode(&mut again), Ok(ulpdu.len()));
        assert_eq!(again, ulpdu);
    }
}

fn check_start_up(stream: &[u8]) {
    if let Ok(Some((frame, length))) = MpaFrame::parse(stream) {
        let mut again = vec![0; length];
        assert_eq!(frame.encode(&mut again), Ok(length), "{frame}");
        assert_eq!(again, stream[..length], "{frame}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn arbitrary_bytes_are_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        check_segment(&bytes);
        check_start_up(&bytes);
    }

    /// Random bytes seldom have the right versions and a known opcode; these always do.
    #[test]
    fn arbitrary_bytes_behind_sound_control_fields_are_no_panic(
        (tagged, last, queue) in (any::<bool>(), any::<bool>(), 0..4_u8),
        opcode in 0..12_u8,
        mut bytes in prop::collection::vec(any::<u8>(), 2..120),
    ) {
        bytes[0] = u8::from(tagged) << 7 | u8::from(last) << 6 | 1;
        bytes[1] = 0x40 | opcode;
        if let Some(place) = bytes.get_mut(6..10).filter(|_| !tagged) {
            place.copy_from_slice(&[0, 0, 0, queue]);
        }
        check_segment(&bytes);
    }

    #[test]
    fn arbitrary_bytes_behind_a_key_are_no_panic(
        reply in any::<bool>(),
        bytes in prop::collection::vec(prop_oneof![Just(0), Just(2), any::<u8>()], 0..64),
    ) {
        let kind = if reply { MpaKind::Reply } else { MpaKind::Request };
        check_start_up(&[&kind.key()[..], &bytes].concat());
    }
}

proptest! {
    // Zeros are short FPDUs, and many.
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// A stream of anything, from anywhere: the framer takes every byte and comes to the same wherever it is
    /// cut.
    #[test]
    fn an_arbitrary_stream_is_framed_the_same_in_any_pieces(
        bytes in prop::collection::vec(prop_oneof![3 => Just(0), 1 => any::<u8>()], 0..1500),
        framing in prop::sample::select(&FRAMINGS[..]),
        size in 1..600_usize,
    ) {
        let pieces = take_apart_pieces(bytes.chunks(size), framing);
        prop_assert_eq!(&pieces, &take_apart_pieces([&bytes[..]], framing));
        let naive = take_apart(&bytes, framing);
        let whole = |found: &&Found| !matches!(found, Found::Cut { .. });
        let (ours, theirs): (Vec<_>, Vec<_>) =
            (pieces.iter().filter(whole).collect(), naive.iter().filter(whole).collect());
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn a_framer_may_start_anywhere(
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
        position in prop_oneof![any::<u64>().prop_map(|position| position / 2), 0..2000_u64],
        framing in prop::sample::select(&FRAMINGS[..]),
    ) {
        let mut framer = Framer::at(position, framing);
        let start = framer.position();
        for mut piece in bytes.chunks(97) {
            while framer.next_event(&mut piece).is_some() {}
            prop_assert!(piece.is_empty());
            let _ = (framer.missing(), framer.is_between_fpdus());
        }
        prop_assert_eq!(framer.position(), start + bytes.len() as u64);
    }
}
