//! Every packet of the committed captures: each that RDMA sent has something to be said of it, and never the same twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rdmalab_explain::packet;
use rdmalab_lint::{Linter, Observer, Placed, Role};
use rdmalab_trace::{Reader, Streams};

fn captures() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in ["", "rxe", "siw"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pcaps").join(folder);
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files.extend(entries.filter(|path| path.extension().is_some_and(|extension| extension == "pcap")));
    }
    assert!(files.len() > 40, "{}", files.len());
    files
}

#[derive(Default)]
struct Last(Option<Role>);

impl Observer for Last {
    fn packet(&mut self, placed: Placed) {
        self.0 = Some(placed.role);
    }
}

/// How often each explanation was given for the packets of a capture.
fn told(path: &Path) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    let file = fs::read(path).unwrap();
    let mut reader = Reader::new(&file[..]).unwrap();
    let (mut streams, mut linter, mut last) = (Streams::new(), Linter::new(), Last::default());
    while let Ok(Some(record)) = reader.next() {
        let dissection = streams.dissect(&record);
        last.0 = None;
        linter.dissected(&record, &dissection, &mut last);
        let explanations = packet(&dissection, last.0);
        let names: BTreeSet<&str> = explanations.iter().map(|explanation| explanation.name).collect();
        assert_eq!(names.len(), explanations.len(), "{} frame {}", path.display(), record.frame);
        let is_known = dissection
            .roce()
            .is_some_and(|roce| roce.packet.opcode.is_some_and(|opcode| opcode.row().is_some()));
        assert!(
            !explanations.is_empty() || !is_known && dissection.iwarp.is_empty(),
            "{} frame {} is not explained",
            path.display(),
            record.frame
        );
        for name in names {
            *counts.entry(name).or_default() += 1;
        }
    }
    counts
}

#[test]
fn each_packet_of_rdma_in_the_captures_is_explained() {
    let mut all: BTreeMap<&str, u64> = BTreeMap::new();
    for path in captures() {
        for (name, count) in told(&path) {
            *all.entry(name).or_default() += count;
        }
    }
    for name in ["send", "write", "read-request", "read-response", "acknowledge", "nak-sequence", "rnr-nak"] {
        assert!(all.contains_key(name), "{name} is in no capture: {all:?}");
    }
    for name in ["cm-req", "cm-rep", "cm-rtu", "mpa-request", "mpa-reply", "iwarp-write", "iwarp-send"] {
        assert!(all.contains_key(name), "{name} is in no capture: {all:?}");
    }
}

/// As a careful reading has them (`crates/lint/tests/captures/reading.rs`).
#[test]
fn repetitions_are_explained_by_their_cause() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pcaps");
    let rnr = told(&folder.join("rnr.pcap"));
    assert_eq!((rnr.get("rnr-nak"), rnr.get("nak-sequence")), (Some(&91), Some(&90)), "{rnr:?}");
    assert!(rnr.get("go-back-rnr").is_some_and(|count| *count >= 91), "{rnr:?}");
    let timeouts = told(&folder.join("send_timeouts.pcap"));
    assert!(
        timeouts.contains_key("go-back-timeout") && !timeouts.contains_key("go-back-nak"),
        "{timeouts:?}"
    );
}
