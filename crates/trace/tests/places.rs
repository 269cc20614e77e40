//! Fields with their places in the frame: that those of RoCE have one, and that bytes there are what fields say.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rdmalab_trace::{Reader, Reading, Streams, Value, fields};

fn captures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pcaps");
    let found = ["", "rxe", "siw"].iter().flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap());
    let paths = found.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "pcap")).collect()
}

/// What stands in no frame: the file's own, and what is worked out.
const NOWHERE: [&str; 9] = [
    "frame.number",
    "frame.time_epoch",
    "frame.time_relative",
    "frame.len",
    "frame.cap_len",
    "rdmalab.opcode_name",
    "rdmalab.malformed",
    "rdmalab.cut",
    // Of no bytes.
    "rdmalab.payload_length",
];

#[test]
fn every_field_of_roce_in_every_capture_has_a_place_but_those_that_stand_nowhere() {
    let mut without = BTreeSet::new();
    let mut with = 0_u64;
    for path in captures() {
        let mut reader = Reader::new(std::fs::File::open(path).unwrap()).unwrap();
        while let Some(record) = reader.next().unwrap() {
            let dissection = Streams::new().dissect(&record);
            if dissection.roce().is_none() {
                continue;
            }
            fields(&record, &dissection, None, &mut |field| match field.place {
                Some(place) => {
                    with += 1;
                    assert!(place.bit + place.bits <= record.data.len() * 8, "{field:?}");
                }
                None if field.value == Value::Number(0) && field.name == "rdmalab.payload_length" => {}
                None => {
                    without.insert(field.name);
                }
            });
        }
    }
    assert!(with > 100_000, "{with}");
    let unexpected: Vec<_> = without.iter().filter(|name| !NOWHERE.contains(name)).collect();
    assert!(unexpected.is_empty(), "{unexpected:?}");
}

#[test]
fn fpdus_that_stand_whole_in_a_segment_have_places_too() {
    let (mut placed, mut all) = (0, 0);
    for name in ["siw_write_bw.pcap", "siw_rping.pcap"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pcaps").join(name);
        let mut reader = Reader::new(std::fs::File::open(path).unwrap()).unwrap();
        let mut streams = Streams::new();
        while let Some(record) = reader.next().unwrap() {
            let dissection = streams.dissect(&record);
            fields(&record, &dissection, None, &mut |field| {
                if field.name == "iwarp_rdma.opcode" {
                    all += 1;
                    placed += u32::from(field.place.is_some_and(|place| place.reading == Reading::Times(1)));
                }
            });
        }
    }
    assert!(all > 20 && placed * 10 >= all * 8, "{placed} of {all}");
}
