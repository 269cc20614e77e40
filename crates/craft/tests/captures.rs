//! Captures of real peers, described and crafted again.

use std::fs;
use std::path::{Path, PathBuf};

use rdmalab_craft::trace::{LinkType, Reader};
use rdmalab_craft::{Capture, Limits, Spec, craft, describe};

/// Time, link type, bytes, and the length on the wire.
type Packet = (Option<i128>, LinkType, Vec<u8>, u32);

fn packets(capture: &[u8]) -> Vec<Packet> {
    let mut reader = Reader::new(capture).unwrap();
    let mut packets = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        packets.push((record.time, record.link_type, record.data.to_vec(), record.original_length));
    }
    packets
}

fn captures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pcaps");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "pcap")).collect();
    files.sort();
    assert!(files.len() > 20);
    files
}

#[test]
fn every_capture_is_crafted_again_byte_for_byte_from_its_description() {
    for path in captures() {
        let capture = fs::read(&path).unwrap();
        let mut text = Vec::new();
        let described = describe(&capture[..], &mut text).unwrap();
        assert_eq!(described.raw_infiniband, 0, "{path:?}: {described}");
        let text = String::from_utf8(text).unwrap();
        let spec = Spec::parse(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        for classic in [false, true] {
            let file = if classic {
                let mut file = Capture::pcap(Vec::new());
                craft(&spec, Limits::default(), &mut |frame| file.write(frame)).unwrap();
                file.finish().unwrap()
            } else {
                let mut file = Capture::pcapng(Vec::new()).unwrap();
                craft(&spec, Limits::default(), &mut |frame| file.write(frame)).unwrap();
                file.finish().unwrap()
            };
            assert!(packets(&file) == packets(&capture), "{path:?}");
        }
    }
}
