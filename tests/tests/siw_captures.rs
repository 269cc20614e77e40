//! The captures of siw's deviations: each can be read to its end, and is told of where it should be.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rdmalab_trace::{DumpOptions, dump};

/// Packets that complete an FPDU with a wrong CRC, and packets that are malformed, where there are any. They are what these
/// captures are about.
const ODD: [(&str, u64, u64); 6] = [
    ("crc", 5, 0),
    ("headers", 0, 12),
    ("opcodes", 0, 14),
    ("private_data", 0, 3),
    ("reads", 0, 4),
    ("terminates", 0, 7),
];

fn captures() -> BTreeMap<String, PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pcaps/siw");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let captures = files.filter(|path| path.extension().is_some_and(|extension| extension == "pcap"));
    captures.map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path)).collect()
}

#[test]
fn every_fpdu_is_sound_where_that_is_not_the_point() {
    let captures = captures();
    assert!(captures.len() > 10);
    for (name, _, _) in ODD {
        assert!(captures.contains_key(name), "{name}");
    }
    for (name, path) in captures {
        let odd = ODD.into_iter().find(|(known, _, _)| *known == name);
        let (wrong, malformed) = odd.map_or((0, 0), |(_, wrong, malformed)| (wrong, malformed));
        let summary =
            dump(&fs::read(&path).unwrap()[..], &mut std::io::sink(), DumpOptions::default()).unwrap();
        assert_eq!(summary.iwarp_bytes_missing, 0, "{name}: {summary}");
        assert_eq!(summary.fpdus.crc_unknown, 0, "{name}: {summary}");
        assert_eq!(summary.fpdus.crc_wrong.count, wrong, "{name}: {summary}");
        assert_eq!(summary.malformed.count, malformed, "{name}: {summary}");
    }
}

#[test]
fn every_capture_is_named_by_the_document_and_by_the_list_beside_it() {
    let document = include_str!("../../docs/SIW.md");
    let list = include_str!("../../pcaps/siw/README.md");
    let captures = captures();
    for name in captures.keys() {
        assert!(document.contains(&format!("`{name}`")), "the document does not name {name}");
        assert!(list.contains(&format!("`{name}`")), "the list does not name {name}");
    }
    let rows = list.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, captures.len(), "the list has other rows than there are captures");
}
