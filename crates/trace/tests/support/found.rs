//! What is found of iWARP in a capture.

use rdmalab_trace::{DumpOptions, LinkType, Summary, dump};
use serde_json::Value;

/// What is found: the packet's number and an object for each thing.
pub(crate) type Found = Vec<(u64, Value)>;

pub(crate) fn found_in(file: &[u8]) -> (Found, Summary) {
    let mut out = Vec::new();
    let summary = dump(file, &mut out, DumpOptions { json: true, ..DumpOptions::default() }).unwrap();
    let mut found = Vec::new();
    for line in String::from_utf8(out).unwrap().lines() {
        let packet: Value = serde_json::from_str(line).unwrap();
        for unit in packet["rdmalab.iwarp"].as_array().into_iter().flatten() {
            found.push((packet["frame.number"].as_u64().unwrap(), unit.clone()));
        }
    }
    (found, summary)
}

pub(crate) fn found(packets: &[Vec<u8>]) -> (Found, Summary) {
    found_in(&super::frames::capture(LinkType::ETHERNET, packets.iter().map(Vec::as_slice)))
}

pub(crate) fn pcap(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../../pcaps/{name}.pcap", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

pub(crate) fn packets(name: &str) -> Vec<Vec<u8>> {
    let file = pcap(name);
    let mut reader = rdmalab_trace::Reader::new(&file[..]).unwrap();
    let mut packets = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        packets.push(record.data.to_vec());
    }
    packets
}

pub(crate) fn names(found: &Found) -> Vec<&str> {
    found.iter().filter_map(|(_, unit)| unit["rdmalab.opcode_name"].as_str()).collect()
}

pub(crate) fn crcs(found: &Found) -> Vec<&str> {
    found.iter().filter_map(|(_, unit)| unit["rdmalab.iwarp_mpa.crc"].as_str()).collect()
}
