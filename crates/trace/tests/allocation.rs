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

#[test]
fn a_dump_holds_the_same_memory_whatever_the_size_of_the_capture() {
    let file = &captures()[0];
    let long = [&file[..], &file[24..], &file[24..], &file[24..]].concat();
    let most = |file: &[u8]| {
        let counted = allocation_counter::measure(|| {
            dump(file, &mut std::io::sink(), DumpOptions::default()).unwrap();
        });
        (counted.count_total, counted.bytes_max)
    };
    assert_eq!(most(file), most(&long));
}
