//! Reading, taking apart and printing a packet costs no allocation, so memory cannot grow with a capture.

use std::io::Write;

use rdmalab_trace::{Dissection, DumpOptions, Line, Reader, dump};

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
