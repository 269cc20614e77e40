//! The quick way to a line and the thorough one write the same.

use std::fs;

use proptest::prelude::*;
use rdmalab_trace::{DumpOptions, Line, Reader, Streams, dump};

/// The file as `dump` prints it.
fn quick(file: &[u8]) -> String {
    let mut out = Vec::new();
    let _ = dump(file, &mut out, DumpOptions::default());
    String::from_utf8(out).unwrap()
}

/// The file line by line.
fn thorough(file: &[u8]) -> String {
    let mut out = String::new();
    let (Ok(mut reader), mut streams, mut first) = (Reader::new(file), Streams::new(), None) else {
        return out;
    };
    while let Ok(Some(record)) = reader.next() {
        first = first.or(record.time);
        let dissection = streams.dissect(&record);
        out += &format!("{}\n", Line::new(&record, &dissection, first));
    }
    out
}

fn captures() -> Vec<Vec<u8>> {
    let folder = fs::read_dir(format!("{}/../../pcaps", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let paths = folder.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == "pcap"))
        .map(|path| fs::read(path).unwrap())
        .collect()
}

#[test]
fn both_write_every_packet_of_every_capture_alike() {
    for file in captures() {
        let (quick, thorough) = (quick(&file), thorough(&file));
        for (quick, thorough) in quick.lines().zip(thorough.lines()) {
            assert_eq!(quick, thorough);
        }
        assert_eq!(quick.len(), thorough.len());
    }
}

/// Gives the packets of a classic capture ICRCs that are right again, as far as there are any.
fn with_right_icrcs(file: &mut [u8]) {
    let mut at = 24;
    while let Some(length) = file.get(at + 8..at + 12) {
        let length = u32::from_le_bytes(length.try_into().unwrap()) as usize;
        let Some(frame) = file.get_mut(at + 16..at + 16 + length) else { return };
        let found = {
            let record =
                [&CLASSIC[..], &length.to_le_bytes()[..4], &length.to_le_bytes()[..4], frame].concat();
            let mut reader = Reader::new(&record[..]).unwrap();
            let record = reader.next().unwrap().unwrap();
            match rdmalab_trace::Dissection::of(&record).roce().map(|roce| roce.icrc) {
                Some(rdmalab_trace::Icrc::Wrong { expected, .. }) => Some(expected),
                _ => None,
            }
        };
        if let (Some(expected), Some(end)) = (found, frame.last_chunk_mut::<4>()) {
            *end = expected.to_be_bytes();
        }
        at += 16 + length;
    }
}

/// A file header (Ethernet, microseconds) and the time of the first packet.
const CLASSIC: [u8; 32] = [
    0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0,
];

#[test]
fn both_write_every_changed_header_byte_alike() {
    let file = fs::read(format!("{}/../../pcaps/rping.pcap", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let mut changed = file[..24].to_vec();
    let mut rest = &file[24..];
    while let Some(length) = rest.get(8..12) {
        let end = 16 + u32::from_le_bytes(length.try_into().unwrap()) as usize;
        for at in 12..(16 + 42 + 12 + 20).min(end - 4) {
            for change in [0x01, 0x02, 0x08, 0x40, 0x80, 0xff] {
                // Lengths of the record stay as they are.
                let begin = changed.len();
                changed.extend_from_slice(&rest[..end]);
                changed[begin + if at < 16 { at - 12 } else { at }] ^= change;
            }
        }
        rest = &rest[end..];
    }
    with_right_icrcs(&mut changed);
    let (quick, thorough) = (quick(&changed), thorough(&changed));
    quick.lines().zip(thorough.lines()).for_each(|(quick, thorough)| assert_eq!(quick, thorough));
    assert_eq!(quick.len(), thorough.len());
    let right = quick.lines().filter(|line| line.ends_with("icrc ok")).count();
    assert!(right > 5000, "{right}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn both_write_changed_packets_alike(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..60),
        right in any::<bool>(),
    ) {
        let captures = captures();
        let mut file = which.get(&captures).clone();
        file.truncate(20_000);
        for (at, byte) in changes {
            // Headers stand in the first hundred bytes of a packet; most of these captures' packets are short.
            let at = 24 + at.index(file.len() - 24);
            file[at] = byte;
        }
        if right {
            with_right_icrcs(&mut file);
        }
        prop_assert_eq!(quick(&file), thorough(&file));
    }
}
