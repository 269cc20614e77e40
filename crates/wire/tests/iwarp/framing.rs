//! The framer and the encoder against the naive ones, over every split of a stream.

use proptest::prelude::*;
use rdmalab_wire::EncodeError;
use rdmalab_wire::iwarp::{Event, FpduEncoder, Framer, Framing, MAX_ULPDU, fpdu_pad, max_ulpdu};

use crate::generate::segment;
use crate::naive::{self, Found, take_apart, take_apart_pieces};

pub(crate) const FRAMINGS: [Framing; 4] = [
    Framing { markers: false, crc: false },
    Framing { markers: false, crc: true },
    Framing { markers: true, crc: false },
    Framing { markers: true, crc: true },
];

/// ULPDUs of lengths at which paddings, markers and headers meet in all ways. Tagged and untagged in turn.
fn ulpdus(lengths: &[usize]) -> Vec<Vec<u8>> {
    let ulpdu = |(at, length): (usize, &usize)| {
        let mut bytes: Vec<u8> = (0..*length).map(|byte| (byte * 7 + at) as u8).collect();
        if let Some(first) = bytes.first_mut() {
            *first = if at % 2 == 0 { 0xc1 } else { 0x41 };
        }
        bytes
    };
    lengths.iter().enumerate().map(ulpdu).collect()
}

fn encode(ulpdus: &[Vec<u8>], framing: Framing) -> Vec<u8> {
    let mut encoder = FpduEncoder::new(framing);
    let mut stream = Vec::new();
    for ulpdu in ulpdus {
        let mut buffer = vec![0xee; ulpdu.len() + 1024];
        let (head, tail) = ulpdu.split_at(ulpdu.len().min(14));
        let length = encoder.encode(&[head, tail], &mut buffer).unwrap();
        stream.extend_from_slice(&buffer[..length]);
        assert!(buffer[length..].iter().all(|byte| *byte == 0xee), "nothing behind the FPDU is touched");
        assert_eq!(encoder.position(), stream.len() as u64);
    }
    stream
}

/// RFC 5044 §4.1, §4.3 and §4.4: layout, markers and what the CRC covers.
#[test]
fn encoder_and_naive_encoder_agree_on_every_length() {
    for framing in FRAMINGS {
        for length in (0..1200).chain([2000, 4096, 16_000, MAX_ULPDU]) {
            // The second FPDU starts at another distance from the next marker each time.
            let ulpdus = ulpdus(&[length, 40, 600]);
            assert_eq!(encode(&ulpdus, framing), naive::stream(&ulpdus, framing), "{framing:?} {length}");
        }
    }
}

const LENGTHS: [usize; 12] = [0, 1, 13, 14, 15, 18, 19, 454, 488, 500, 1030, 6];

#[test]
fn a_stream_cut_at_any_position_holds_the_same() {
    for framing in FRAMINGS {
        let stream = naive::stream(&ulpdus(&LENGTHS), framing);
        let whole = take_apart(&stream, framing);
        assert_eq!(whole.iter().filter(|found| matches!(found, Found::Fpdu { .. })).count(), LENGTHS.len());
        for at in 0..=stream.len() {
            let (a, b) = stream.split_at(at);
            assert_eq!(take_apart_pieces([a, b], framing), whole, "{framing:?} cut at {at}");
        }
        for size in [1, 2, 3, 5, 7, 64, 511, 512, 513] {
            assert_eq!(take_apart_pieces(stream.chunks(size), framing), whole, "{framing:?} in {size}s");
        }
    }
}

#[test]
fn a_stream_cut_twice_within_an_fpdu_holds_the_same() {
    for framing in FRAMINGS {
        // Short, and across a marker.
        let stream = naive::stream(&ulpdus(&[478, 33, 3]), framing);
        let whole = take_apart(&stream, framing);
        for first in 480..stream.len() {
            for second in first..stream.len() {
                let pieces = [&stream[..first], &stream[first..second], &stream[second..]];
                assert_eq!(take_apart_pieces(pieces, framing), whole, "{framing:?} {first} {second}");
            }
        }
    }
}

/// A stream may end at the start, behind an FPDU, or behind a marker in front of one.
#[test]
fn a_stream_may_end_between_fpdus_and_nowhere_else() {
    for framing in FRAMINGS {
        let stream = naive::stream(&ulpdus(&LENGTHS), framing);
        let mut between = vec![0];
        for found in take_apart(&stream, framing) {
            let (start, end) = match found {
                Found::Fpdu { position, length, .. } => (position as usize, position as usize + length),
                _ => continue,
            };
            // Between the end of the one before and this one there is a marker, or nothing.
            if between.last() != Some(&start) {
                between.push(start);
            }
            between.push(end);
        }
        for end in 0..=stream.len() {
            let mut framer = Framer::new(framing);
            let mut piece = &stream[..end];
            while framer.next_event(&mut piece).is_some() {}
            assert_eq!(framer.is_between_fpdus(), between.contains(&end), "{framing:?} {end}");
            if let Some(missing) = framer.missing() {
                assert!(between.contains(&(end + missing)), "{framing:?} {end}: the FPDU ends {missing} on");
                let mut rest = &stream[end..end + missing];
                let mut last = None;
                while let Some(event) = framer.next_event(&mut rest) {
                    last = Some(event);
                }
                assert!(matches!(last, Some(Event::End(_))), "{framing:?} {end}");
            }
        }
    }
}

/// What comes of an FPDU has nothing of the one before in it.
#[test]
fn an_fpdu_looks_the_same_whatever_went_before() {
    let events = |stream: &[u8], position| {
        let mut framer = Framer::at(position, FRAMINGS[1]);
        let mut piece = stream;
        let mut events = Vec::new();
        while let Some(event) = framer.next_event(&mut piece) {
            events.push(format!("{event:?}"));
        }
        events
    };
    for length in [0, 1, 2, 3, 13, 14, 17] {
        let mut stream = naive::stream(&ulpdus(&[41, length]), FRAMINGS[1]);
        let start = 2 + 41 + 1 + 4;
        // Padding that is not zero, as it may come.
        stream[2 + 41] = 0xaa;
        let all = events(&stream, 0);
        let alone = events(&stream[start..], start as u64);
        assert_eq!(all[all.len() - alone.len()..], alone, "{length}");
    }
}

/// Payload is not copied: a piece that lies in the middle of it comes back as it is.
#[test]
fn payload_is_handed_on_where_it_lies() {
    let stream = naive::stream(&ulpdus(&[2000]), FRAMINGS[1]);
    let mut framer = Framer::new(FRAMINGS[1]);
    let mut piece = &stream[..100];
    while framer.next_event(&mut piece).is_some() {}
    let middle = &stream[100..1000];
    let mut piece = middle;
    let Some(Event::Payload(bytes)) = framer.next_event(&mut piece) else { panic!("payload") };
    assert_eq!(bytes.as_ptr_range(), middle.as_ptr_range());
}

/// RFC 5044 §4.4: every bit from the first marker on counts, its own CRC field too.
#[test]
fn a_bit_changed_anywhere_is_noticed() {
    for framing in [FRAMINGS[1], FRAMINGS[3]] {
        let stream = naive::stream(&ulpdus(&[600]), framing);
        // A changed length moves the CRC; that is for the next test.
        let length_field = if framing.markers { 4..6 } else { 0..2 };
        for at in (0..stream.len()).filter(|at| !length_field.contains(at)) {
            let mut damaged = stream.clone();
            damaged[at] ^= 1 << (at % 8);
            let found = take_apart_pieces(damaged.chunks(100), framing);
            let Some(Found::Fpdu { crc, .. }) = found.last() else { panic!("an FPDU: {found:?}") };
            assert_ne!(*crc, rdmalab_wire::iwarp::CrcVerdict::Right, "byte {at}");
        }
    }
}

/// RFC 5044 §8: a length field that is wrong shows in the next marker.
#[test]
fn a_wrong_length_shows_in_a_marker() {
    let framing = FRAMINGS[2];
    let mut stream = naive::stream(&ulpdus(&[400, 400, 400]), framing);
    stream[5] ^= 0x10;
    let found = take_apart_pieces([&stream[..]], framing);
    assert_eq!(found, take_apart(&stream, framing));
    let wrong = |found: &&Found| matches!(found, Found::Marker { right: false, .. });
    assert_eq!(
        found.iter().find(wrong).map(|found| matches!(found, Found::Marker { position: 512, .. })),
        Some(true)
    );
}

#[test]
fn pointers_are_read_without_their_last_two_bits() {
    let mut stream = naive::stream(&ulpdus(&[600]), FRAMINGS[2]);
    let right = |stream: &[u8]| {
        let found = take_apart_pieces([stream], FRAMINGS[2]);
        matches!(found[1], Found::Marker { position: 512, right: true, .. })
    };
    for bits in 0..4 {
        stream[515] = stream[515] & !0b11 | bits;
        assert!(right(&stream));
    }
    stream[515] ^= 0b100;
    assert!(!right(&stream));
}

/// RFC 5044 §5.1: what fits into a TCP segment fits wherever it starts, and four bytes more do not.
#[test]
fn the_longest_ulpdu_fits_into_its_segment_wherever_it_starts() {
    for framing in FRAMINGS {
        for segment in [128, 536, 1448, 1460, 4148, 8961, 8962, 8963, 65_483] {
            let longest = max_ulpdu(segment, framing.markers);
            let mut most = 0;
            for position in (0..512).step_by(4) {
                let layout = FpduEncoder::at(position, framing).layout(longest).unwrap();
                assert!(layout.length() <= segment, "{framing:?} {segment} at {position}");
                let more = FpduEncoder::at(position, framing).layout((longest + 4).min(MAX_ULPDU)).unwrap();
                most = most.max(more.length());
            }
            assert!(most > segment || longest == MAX_ULPDU, "{framing:?} {segment}");
        }
    }
    assert_eq!(max_ulpdu(0, true), 0);
    assert_eq!(max_ulpdu(usize::MAX, false), MAX_ULPDU);
}

#[test]
fn what_cannot_be_encoded_is_said() {
    let mut encoder = FpduEncoder::new(FRAMINGS[3]);
    let too_long = vec![0; MAX_ULPDU + 1];
    let error = encoder.encode(&[&too_long[..1], &too_long[1..]], &mut []).unwrap_err();
    assert_eq!(error.to_string(), "DDP takes at most 64768 bytes, not 64769");
    for have in 0..12 {
        let error = encoder.encode(&[b"a"], &mut vec![0; have]).unwrap_err();
        assert_eq!(error, EncodeError::BufferTooSmall { need: 12, have });
        assert_eq!(encoder.position(), 0, "the stream does not go on");
    }
    assert_eq!(encoder.encode(&[b"a"], &mut [0; 12]), Ok(12));
}

#[test]
fn payload_read_into_its_runs_is_where_it_belongs() {
    for framing in FRAMINGS {
        let ulpdus = ulpdus(&[14, 1700, 77]);
        let mut encoder = FpduEncoder::new(framing);
        let mut stream = Vec::new();
        for ulpdu in &ulpdus {
            let layout = encoder.layout(ulpdu.len()).unwrap();
            let mut fpdu = vec![0xee; layout.length()];
            let header = ulpdu.len().min(14);
            layout.put(0, &ulpdu[..header], &mut fpdu);
            let mut at = header;
            for run in layout.runs(header) {
                let length = run.len();
                fpdu[run].copy_from_slice(&ulpdu[at..at + length]);
                at += length;
            }
            assert_eq!(at, ulpdu.len());
            assert_eq!(encoder.seal(&layout, &mut fpdu), Ok(fpdu.len()));
            stream.extend_from_slice(&fpdu);
        }
        assert_eq!(stream, naive::stream(&ulpdus, framing));
    }
}

#[test]
fn padding_fills_to_a_multiple_of_four() {
    for length in 0..20 {
        assert_eq!((2 + length + fpdu_pad(length)) % 4, 0);
        assert!(fpdu_pad(length) < 4);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    /// Streams of segments, some bytes damaged, cut anywhere: framer and naive framer find the same.
    #[test]
    fn framer_and_naive_framer_agree(
        ulpdus in prop::collection::vec(segment(1500), 0..6),
        framing in prop::sample::select(&FRAMINGS[..]),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        sizes in prop::collection::vec(1..2000_usize, 1..20),
    ) {
        let mut stream = naive::stream(&ulpdus, framing);
        prop_assert_eq!(&encode(&ulpdus, framing), &stream);
        for (at, byte) in damage {
            if !stream.is_empty() {
                let at = at.index(stream.len());
                stream[at] = byte;
            }
        }
        let mut pieces = Vec::new();
        let mut rest = &stream[..];
        for size in sizes.iter().cycle() {
            let (piece, behind) = rest.split_at((*size).min(rest.len()));
            pieces.push(piece);
            rest = behind;
            if rest.is_empty() {
                break;
            }
        }
        let found = take_apart_pieces(pieces, framing);
        let mut expected = take_apart(&stream, framing);
        // The framer says nothing of an FPDU whose header is not whole.
        if let (Some(Found::Cut { .. }), false) =
            (expected.last(), matches!(found.last(), Some(Found::Cut { .. })))
        {
            let Some(Found::Cut { ulpdu, .. }) = expected.pop() else { unreachable!() };
            prop_assert!(ulpdu.len() < 18);
        }
        prop_assert_eq!(found, expected);
    }
}
