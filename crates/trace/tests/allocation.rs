//! Reading, taking apart and printing a packet costs no allocation, so memory cannot grow with a capture. What TCP
//! connections cost is counted.

#[path = "support/crafted.rs"]
#[allow(dead_code)]
mod crafted;

use std::io::Write;

use crafted::{Side, opening, said};
use rdmalab_trace::{Dissection, DumpOptions, Entry, Line, MOST_BYTES, Reader, Streams, Writer, dump};

/// Packets of several kinds, with and without comments, many times over.
fn captures() -> Vec<Vec<u8>> {
    ["write_bw_loss", "rc_pingpong_v6", "siw_write_loss", "rnr"]
        .map(|name| std::fs::read(format!("{}/../../pcaps/{name}.pcap", env!("CARGO_MANIFEST_DIR"))).unwrap())
        .to_vec()
}

#[test]
fn a_packet_costs_no_allocation() {
    for file in captures() {
        let mut reader = Reader::new(&file[..]).unwrap();
        let mut line = Vec::with_capacity(1024);
        let mut packets = 0;
        let counted = allocation_counter::measure(|| {
            while let Some(record) = reader.next().unwrap() {
                let dissection = Dissection::of(&record);
                line.clear();
                write!(line, "{}", Line::new(&record, &dissection, record.time)).unwrap();
                packets += 1;
            }
        });
        assert_eq!(counted.count_total, 0, "{counted:?}");
        assert!(packets > 0 && !line.is_empty());
    }
}

/// Number of allocations and most bytes held, of a dump of a capture and of four times the same.
fn once_and_four_times(file: &[u8]) -> [(u64, u64); 2] {
    let long = [file, &file[24..], &file[24..], &file[24..]].concat();
    [file, &long].map(|file| {
        let counted = allocation_counter::measure(|| {
            dump(file, &mut std::io::sink(), DumpOptions::default()).unwrap();
        });
        (counted.count_total, counted.bytes_max)
    })
}

#[test]
fn a_dump_holds_the_same_memory_whatever_the_size_of_the_capture() {
    // Without TCP, whose connections are followed.
    let file = std::fs::read(format!("{}/../../pcaps/write_bw_cm.pcap", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let [once, four_times] = once_and_four_times(&file);
    assert_eq!(once, four_times);
    for file in captures() {
        let [(_, once), (_, four_times)] = once_and_four_times(&file);
        assert_eq!(once, four_times);
    }
}

/// Length of Ethernet's, IP's and TCP's headers.
const HEADERS: usize = 14 + 20 + 20;

/// Bytes that streams say they hold behind these packets, of which the capture has no more than so many bytes, and
/// those that are allocated.
fn said_and_allocated(packets: impl Iterator<Item = Vec<u8>>, kept: usize) -> (usize, usize) {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let interface = writer.interface("eth0").unwrap();
    for packet in packets {
        let data = &packet[..kept.min(packet.len())];
        writer.write(Entry::new(interface, 0, data).original_length(packet.len() as u32)).unwrap();
    }
    let file = writer.finish().unwrap();
    let mut reader = Reader::new(&file[..]).unwrap();
    let mut streams = Streams::new();
    let counted = allocation_counter::measure(|| {
        while let Some(record) = reader.next().unwrap() {
            streams.dissect(&record);
        }
    });
    assert!(streams.held_bytes() <= MOST_BYTES);
    (streams.held_bytes(), usize::try_from(counted.bytes_current).unwrap())
}

#[test]
fn followed_connections_cost_no_more_than_they_say() {
    let early = |port, index: usize, length: usize| {
        said(Side::Initiator, port, 1 + 2 * index * length, &[0; 1400][..length])
    };
    // One connection that holds segments of which the capture has the headers only, then such of a byte.
    for (kept, length) in [(HEADERS, 1400), (1500, 1)] {
        let packets = opening(4000).into_iter().chain((0..4000).map(|index| early(4000, index, length)));
        let (said, allocated) = said_and_allocated(packets, kept);
        assert!(said >= allocated && allocated > 4000 * 40, "{said} {allocated}");
    }
    // Many connections, of which nothing is held but that they are; then a segment of each.
    for count in [0, 1] {
        let packets = (0..5000).flat_map(|port| {
            opening(port).into_iter().chain((0..count).map(move |index| early(port, index, 100)))
        });
        let (said, allocated) = said_and_allocated(packets, 1500);
        assert!(said >= allocated && allocated > 5000 * 40, "{said} {allocated}");
    }
}

#[test]
fn segments_cut_to_their_headers_reach_the_limit_too_and_it_is_told() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let interface = writer.interface("eth0").unwrap();
    for port in 0..140 {
        for packet in opening(port) {
            writer.write(Entry::new(interface, 0, &packet)).unwrap();
        }
        for index in 0..4000 {
            let packet = said(Side::Initiator, port, 1 + 2 * index, b"x");
            writer.write(Entry::new(interface, 0, &packet[..HEADERS]).original_length(55)).unwrap();
        }
    }
    let file = writer.finish().unwrap();
    let mut summary = None;
    let counted = allocation_counter::measure(|| {
        summary = Some(dump(&file[..], &mut std::io::sink(), DumpOptions::default()).unwrap());
    });
    let summary = summary.unwrap();
    assert!((1..20).contains(&summary.streams_forgotten), "{summary}");
    assert!(summary.to_string().contains("TCP connections forgotten"), "{summary}");
    assert!(counted.bytes_max < MOST_BYTES as u64 + (1 << 20), "{counted:?}");
}
