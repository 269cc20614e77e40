//! Streams with markers, whose start-up the capture lacks, or has in another order: what stands where is not known, and nobody is blamed.

use rdmalab_lint::{Severity, lint};
use rdmalab_trace::{Entry, Reader, Writer};

use super::stream::{capture, marked};

type Packets = Vec<(u64, Vec<u8>)>;

fn packets() -> Packets {
    let file = capture(&marked(), 1460);
    let mut reader = Reader::new(&file[..]).unwrap();
    let mut packets = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        packets.push((record.time.unwrap() as u64, record.data.to_vec()));
    }
    packets
}

fn finds_no_violation(packets: &[(u64, Vec<u8>)], what: &str) {
    let mut file = Writer::new(Vec::new()).unwrap();
    let interface = file.interface("eth0").unwrap();
    for (time, data) in packets {
        file.write(Entry::new(interface, *time, data)).unwrap();
    }
    let report = lint(&file.finish().unwrap()[..], &mut ()).unwrap();
    assert_eq!(report.count(Severity::Violation), 0, "{what}:\n{report}");
}

#[test]
fn markers_of_streams_that_begin_in_the_middle_are_no_wrong_crc() {
    let all = packets();
    finds_no_violation(&all, "all of it");
    for at in 0..all.len() {
        let mut rest = all.clone();
        rest.remove(at);
        finds_no_violation(&rest, &format!("without {}", at + 1));
        finds_no_violation(&all[at..], &format!("from {}", at + 1));
    }
    // The last byte of an IPv4 source address.
    for host in [1, 2] {
        let one: Packets = all.iter().filter(|(_, data)| data[29] == host).cloned().collect();
        finds_no_violation(&one, &format!("what {host} sent"));
    }
}

#[test]
fn markers_behind_a_start_up_that_comes_late_are_no_wrong_crc() {
    let all = packets();
    for from in 0..all.len() {
        for to in from + 1..all.len().min(from + 5) {
            let mut moved = all.clone();
            let packet = moved.remove(from);
            moved.insert(to, packet);
            finds_no_violation(&moved, &format!("{} behind {}", from + 1, to + 1));
        }
    }
}
