//! The captures of what rxe and siw do otherwise: each can be read to its end, and is told of where it should be.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rdmalab_trace::{DumpOptions, Summary, dump};

/// The name of a capture, the packets of it whose checksum is wrong, and those that are malformed. They are what it is about.
type Odd = (&'static str, u64, u64);

/// By wrong ICRCs.
const ODD_RXE: [Odd; 4] =
    [("flush_again", 3, 0), ("flush_sent", 1, 0), ("opcodes", 0, 3), ("read_with_payload", 0, 1)];

/// By packets that complete an FPDU with a wrong CRC.
const ODD_SIW: [Odd; 6] = [
    ("crc", 5, 0),
    ("headers", 0, 12),
    ("opcodes", 0, 14),
    ("private_data", 0, 3),
    ("reads", 0, 4),
    ("terminates", 0, 7),
];

/// The captures of a peer's folder, by name.
fn captures(peer: &str) -> BTreeMap<String, PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pcaps").join(peer);
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let captures = files.filter(|path| path.extension().is_some_and(|extension| extension == "pcap"));
    captures.map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path)).collect()
}

/// Hands each capture's name, summary and number of wrong checksums to `judge`, and looks at the rest.
fn judge_each(peer: &str, odd: &[Odd], judge: impl Fn(&str, &Summary, u64)) {
    let captures = captures(peer);
    assert!(captures.len() > 10);
    for (name, _, _) in odd {
        assert!(captures.contains_key(*name), "{name}");
    }
    for (name, path) in captures {
        let odd = odd.iter().find(|(known, _, _)| *known == name);
        let (wrong, malformed) = odd.map_or((0, 0), |(_, wrong, malformed)| (*wrong, *malformed));
        let summary =
            dump(&fs::read(&path).unwrap()[..], &mut std::io::sink(), DumpOptions::default()).unwrap();
        judge(&name, &summary, wrong);
        assert_eq!(summary.malformed.count, malformed, "{name}: {summary}");
    }
}

#[test]
fn every_packet_is_roce_with_a_right_icrc_where_that_is_not_the_point() {
    judge_each("rxe", &ODD_RXE, |name, summary, wrong| {
        assert_eq!(summary.roce, summary.packets, "{name}: {summary}");
        assert_eq!(summary.icrc_right, summary.roce - wrong, "{name}: {summary}");
    });
}

#[test]
fn every_fpdu_is_sound_where_that_is_not_the_point() {
    judge_each("siw", &ODD_SIW, |name, summary, wrong| {
        assert_eq!(summary.iwarp_bytes_not_captured(), 0, "{name}: {summary}");
        assert_eq!(summary.fpdus.crc_unknown, 0, "{name}: {summary}");
        assert_eq!(summary.fpdus.crc_wrong.count, wrong, "{name}: {summary}");
    });
}

#[test]
fn every_capture_is_named_by_the_document_and_by_the_list_beside_it() {
    let peers = [
        ("rxe", include_str!("../../docs/RXE.md"), include_str!("../../pcaps/rxe/README.md")),
        ("siw", include_str!("../../docs/SIW.md"), include_str!("../../pcaps/siw/README.md")),
    ];
    for (peer, document, list) in peers {
        let captures = captures(peer);
        for name in captures.keys() {
            assert!(document.contains(&format!("`{name}`")), "{peer}: the document does not name {name}");
            assert!(list.contains(&format!("`{name}`")), "{peer}: the list does not name {name}");
        }
        let rows = list.lines().filter(|line| line.starts_with("| `")).count();
        assert_eq!(rows, captures.len(), "{peer}: the list has other rows than there are captures");
    }
}
