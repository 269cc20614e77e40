//! The captures of rxe's deviations: each can be read to its end, and is told of where it should be.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rdmalab_trace::{DumpOptions, dump};

/// Packets whose ICRC is wrong, and packets that are malformed, where there are any. They are what these captures are about.
const ODD: [(&str, u64, u64); 4] =
    [("flush_again", 3, 0), ("flush_sent", 1, 0), ("opcodes", 0, 3), ("read_with_payload", 0, 1)];

fn captures() -> BTreeMap<String, PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pcaps/rxe");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let captures = files.filter(|path| path.extension().is_some_and(|extension| extension == "pcap"));
    captures.map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path)).collect()
}

#[test]
fn every_packet_is_roce_with_a_right_icrc_where_that_is_not_the_point() {
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
        assert_eq!(summary.roce, summary.packets, "{name}: {summary}");
        assert_eq!(summary.icrc_right, summary.roce - wrong, "{name}: {summary}");
        assert_eq!(summary.malformed.count, malformed, "{name}: {summary}");
    }
}

#[test]
fn every_capture_is_named_by_the_document_and_by_the_list_beside_it() {
    let document = include_str!("../../docs/RXE.md");
    let list = include_str!("../../pcaps/rxe/README.md");
    let captures = captures();
    for name in captures.keys() {
        assert!(document.contains(&format!("`{name}`")), "the document does not name {name}");
        assert!(list.contains(&format!("`{name}`")), "the list does not name {name}");
    }
    let rows = list.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, captures.len(), "the list has other rows than there are captures");
}
