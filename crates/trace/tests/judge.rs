//! Wireshark as judge of the JSON: every packet of every capture of a peer, field by field, in both directions.

#[path = "support/frames.rs"]
mod frames;
#[path = "support/judge.rs"]
#[allow(dead_code)]
mod judge;
#[path = "support/tshark.rs"]
mod tshark;

use frames::hex;
use judge::{Counted, compare};
use rdmalab_trace::{Direction, Entry, Reader, Writer};

#[test]
fn every_field_of_every_packet_is_wiresharks() {
    if !tshark::is_there() {
        return;
    }
    let directory = format!("{}/../../pcaps", env!("CARGO_MANIFEST_DIR"));
    let mut all = Counted::default();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "pcap") {
            let counted = compare(&path);
            all.packets += counted.packets;
            all.same += counted.same;
            all.known += counted.known;
        }
    }
    println!("{all}");
    assert_eq!(all.packets, 10_222);
    assert!(all.same > 100_000, "{all:?}");
}

#[test]
fn what_no_capture_of_a_peer_has_is_judged_too() {
    if !tshark::is_there() {
        return;
    }
    let path = format!("{}/../../pcaps/rping.pcap", env!("CARGO_MANIFEST_DIR"));
    let mut reader = Reader::new(std::fs::File::open(path).unwrap()).unwrap();
    let request = reader.next().unwrap().unwrap().data.to_vec();
    let ipv4 = "020000000002 020000000001 0800 45000020 00000000 4001669e 0a090001 0a090002";
    let tagged = [&request[..12], &hex("8100 6005"), &request[12..]].concat();
    let frames = [
        hex("ffffffffffff 020000000001 0806 0001 0800 0604 0001 020000000001 0a090001 000000000000 0a090002"),
        hex("020000000002 020000000001 0806 0001 0800 0604 0002 020000000001 0a090001 020000000002 0a090002"),
        hex(&format!("{ipv4} 0800 0000 1234 0007 61626364")),
        hex(&format!("{ipv4} 0000 0000 1234 0007 61626364")),
        tagged,
        request,
    ];
    let mut writer = Writer::new(Vec::new()).unwrap();
    let left = writer.interface("left").unwrap();
    let right = writer.interface("right").unwrap();
    for (index, frame) in frames.iter().enumerate() {
        let (interface, direction) =
            if index % 2 == 0 { (left, Direction::In) } else { (right, Direction::Out) };
        let entry = Entry::new(interface, index as u64 * 1_000_000_001, frame).direction(direction);
        writer.write(if index == 3 { entry.comment("answered") } else { entry }).unwrap();
    }
    let path = tshark::scratch("judged.pcapng", &writer.finish().unwrap());
    let counted = compare(&path);
    assert_eq!(counted.packets, 6);
    assert!(counted.same > 120, "{counted:?}");
}
