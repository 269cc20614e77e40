//! Finding FPDUs in the middle of a stream.

use proptest::prelude::*;
use rdmalab_wire::iwarp::{Framing, MpaFrame, Probe, probe, resynchronize};

use crate::generate::segment;
use crate::naive::{self, Found, take_apart};
use crate::pcap;
use crate::tcp::directions;

fn boundaries(stream: &[u8]) -> Vec<usize> {
    take_apart(stream, Framing::default())
        .into_iter()
        .filter_map(|found| match found {
            Found::Fpdu { position, .. } => Some(position as usize),
            _ => None,
        })
        .collect()
}

/// siw's streams without CRCs, taken up at every position: found is the next boundary, never a place that is
/// none, as long as three FPDUs follow.
#[test]
fn streams_without_crcs_are_taken_up_anywhere() {
    for name in ["siw_rping.pcap", "siw_rstream.pcap", "siw_read_bw.pcap"] {
        for direction in directions(&pcap::frames(name)) {
            let (_, length) = MpaFrame::parse(&direction.stream).unwrap().unwrap();
            let stream = &direction.stream[length..];
            let boundaries = boundaries(stream);
            for from in (0..stream.len()).step_by(31) {
                let next: Vec<_> = boundaries.iter().filter(|at| **at >= from).collect();
                match resynchronize(&stream[from..]) {
                    Some(found) => assert_eq!(from + found, *next[0], "{name} from {from}"),
                    None => assert!(next.len() < 3, "{name} from {from}"),
                }
            }
        }
    }
}

#[test]
fn one_right_crc_is_enough() {
    let framing = Framing { markers: false, crc: true };
    let ulpdu = [vec![0xc1, 0x40], vec![0; 412]].concat();
    let stream = naive::stream(&[ulpdu.clone(), ulpdu], framing);
    for from in 0..=stream.len() / 2 {
        let expected = if from == 0 { 0 } else { stream.len() / 2 - from };
        assert_eq!(resynchronize(&stream[from..]), Some(expected));
    }
    assert_eq!(resynchronize(&stream[stream.len() / 2 + 1..]), None);
    assert_eq!(probe(&stream, 0, false), Probe::Proven { length: stream.len() / 2 });
    let mut damaged = stream.clone();
    damaged[100] ^= 1;
    assert_eq!(probe(&damaged, 0, false), Probe::No);
}

/// A receiver ignores reserved bits, but no sender there is sets them.
#[test]
fn reserved_bits_tell_against_a_boundary() {
    for (at, bits) in [(0, 0x3c), (1, 0x30)] {
        for bit in (0..8).map(|bit| 1 << bit).filter(|bit| bits & bit != 0) {
            let mut ulpdu = [vec![0xc1, 0x40], vec![0; 100]].concat();
            ulpdu[at] |= bit;
            let stream = naive::stream(&[ulpdu], Framing { markers: false, crc: true });
            assert_eq!(probe(&stream, 0, false), Probe::No, "byte {at}, bit {bit:#x}");
        }
    }
}

#[test]
fn a_probe_says_how_many_bytes_it_needs() {
    for markers in [false, true] {
        let ulpdu = [vec![0xc1, 0x40], vec![1; 812]].concat();
        let stream = naive::stream(&[ulpdu], Framing { markers, crc: true });
        let mut end = 0;
        let mut asked = Vec::new();
        loop {
            match probe(&stream[..end], 0, markers) {
                Probe::NeedMore { need } => {
                    assert!(need > end);
                    asked.push(need);
                    end = need;
                }
                verdict => {
                    assert_eq!(verdict, Probe::Proven { length: stream.len() });
                    break;
                }
            }
        }
        assert_eq!(asked, [if markers { 8 } else { 4 }, stream.len()]);
    }
}

/// With markers the position matters; if it is not known, the 128 there are can be tried.
#[test]
fn markers_tell_the_position() {
    let framing = Framing { markers: true, crc: true };
    let ulpdu = |length| [vec![0xc1, 0x40], vec![1; length]].concat();
    let stream = naive::stream(&[ulpdu(300), ulpdu(1400)], framing);
    let Found::Fpdu { length: first, .. } = take_apart(&stream, framing)[1].clone() else {
        panic!("an FPDU")
    };
    let first = 4 + first;
    let fits: Vec<u64> = (0..512)
        .step_by(4)
        .filter(|position| matches!(probe(&stream[first..], *position, true), Probe::Proven { .. }))
        .collect();
    assert_eq!(fits, [first as u64]);
}

proptest! {
    /// Random bytes have no boundary in them; whatever they have, looking for it comes to an end.
    #[test]
    fn random_bytes_have_no_boundary(bytes in prop::collection::vec(any::<u8>(), 0..4096)) {
        prop_assert_eq!(resynchronize(&bytes), None);
    }

    #[test]
    fn any_bytes_may_be_probed(
        bytes in prop::collection::vec(prop_oneof![Just(0x41), Just(0x40), Just(0), any::<u8>()], 0..600),
        position in any::<u64>(),
        markers in any::<bool>(),
    ) {
        let _ = probe(&bytes, position, markers);
        let _ = resynchronize(&bytes);
    }

    #[test]
    fn segments_of_all_kinds_are_found(
        ulpdus in prop::collection::vec(segment(300), 1..4),
        markers in any::<bool>(),
    ) {
        let reserved_is_zero = |ulpdu: &Vec<u8>| ulpdu[0] & 0x3c == 0 && ulpdu[1] & 0x30 == 0;
        prop_assert!(ulpdus.iter().all(reserved_is_zero));
        let stream = naive::stream(&ulpdus, Framing { markers, crc: true });
        let proven = matches!(probe(&stream, 0, markers), Probe::Proven { .. });
        prop_assert!(proven);
    }
}

/// One that looks like an FPDU without a CRC, or two: payload can be like that. Three are believed.
#[test]
fn payload_that_looks_like_an_fpdu_is_not_believed() {
    let write = |payload: &[u8]| {
        let header = [0xc1, 0x40, 0, 0, 0x12, 0x34, 0, 0, 0, 0, 0, 0, 0, 0];
        [&header[..], payload].concat()
    };
    let inner = naive::stream(&[write(b"one"), write(b"two")], Framing::default());
    let outer = write(&[&inner[..], &[0xff; 40]].concat());
    let stream = naive::stream(&[outer, write(b"a"), write(b"b"), write(b"c")], Framing::default());
    let next = boundaries(&stream)[1];
    for from in 1..=next {
        assert_eq!(resynchronize(&stream[from..]), Some(next - from), "from {from}");
    }
    let inner = naive::stream(&[write(b"one"), write(b"two"), write(b"three")], Framing::default());
    assert_eq!(resynchronize(&[&[0xff; 9][..], &inner].concat()), Some(9));
}

/// Bytes that look like headers wherever one looks: the work has a limit, and behind it nothing is found.
#[test]
fn bytes_made_to_be_looked_at_long_are_not() {
    let ulpdu = [vec![0xc1, 0x40], vec![0; 412]].concat();
    let real = naive::stream(&[ulpdu], Framing { markers: false, crc: true });
    // A length, and a tagged header of a WRITE: each second place could be an FPDU of 0xc140 bytes.
    let behind = |places: usize| [&[0xc1, 0x40].repeat(places)[..], &[0xff; 32], &real].concat();
    assert_eq!(resynchronize(&behind(100)), Some(232));
    assert_eq!(resynchronize(&behind(300_000)), None);
}
