//! Files that Wireshark's programs make, and what they read in ours: needs them installed.

#[path = "support/build.rs"]
mod build;
#[path = "support/tshark.rs"]
mod tshark;

use std::fs::File;
use std::path::Path;

use build::{Build, Order};
use rdmalab_trace::{Format, Reader};

type Packet = (Option<i128>, Vec<u8>, Option<String>, Vec<String>);

fn read(path: &Path) -> (Format, Vec<Packet>) {
    let mut reader = Reader::new(File::open(path).unwrap()).unwrap();
    let mut packets = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        packets.push((
            record.time,
            record.data.to_vec(),
            record.interface_name.map(String::from),
            record.comments.map(|comment| comment.into_owned()).collect(),
        ));
    }
    (reader.format(), packets)
}

fn pcap(name: &str) -> String {
    format!("{}/../../pcaps/{name}.pcap", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_same_packets_read_from_every_format_that_editcap_writes() {
    if !tshark::is_there() {
        return;
    }
    let original = pcap("rping");
    let (format, expected) = read(Path::new(&original));
    assert_eq!((format, expected.len()), (Format::Pcap, 29));
    for (name, format) in [("pcap", Format::Pcap), ("nsecpcap", Format::Pcap), ("pcapng", Format::Pcapng)] {
        let path = tshark::scratch(&format!("rping.{name}"), b"");
        // Shifted by a time that microseconds cannot say, where there are nanoseconds.
        let nanoseconds = if name == "nsecpcap" { 123 } else { 0 };
        let shift = format!("0.{nanoseconds:09}");
        tshark::run("editcap", &["-F", name, "-t", &shift, &original, path.to_str().unwrap()]);
        let (found, packets) = read(&path);
        assert_eq!(found, format, "{name}");
        for (packet, expected) in packets.iter().zip(&expected) {
            assert_eq!(packet.0, expected.0.map(|time| time + nanoseconds), "{name}");
            assert_eq!(packet.1, expected.1, "{name}");
        }
        assert_eq!(packets.len(), expected.len(), "{name}");
    }
}

#[test]
fn merged_captures_with_comments_read_as_tshark_reads_them() {
    if !tshark::is_there() {
        return;
    }
    let (merged, commented) =
        (tshark::scratch("merged.pcapng", b""), tshark::scratch("commented.pcapng", b""));
    let (merged, path) = (merged.to_str().unwrap(), commented.to_str().unwrap());
    tshark::run(
        "mergecap",
        &["-I", "none", "-w", merged, &pcap("hardware"), &pcap("rping"), &pcap("udaddy")],
    );
    tshark::run("editcap", &["-a", "1:first", "-a", "39:last \u{1f600}", merged, path]);
    let seen = tshark::fields(
        &commented,
        &["frame.time_epoch", "frame.interface_id", "frame.comment", "frame.len", "infiniband.bth.psn"],
    );
    let mut reader = Reader::new(File::open(&commented).unwrap()).unwrap();
    let mut ours = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        let time = record.time.unwrap();
        let comments: Vec<_> = record.comments.collect();
        // The sequence number of a base header behind Ethernet, IPv4 and UDP.
        let psn = u32::from_be_bytes(record.data[50..54].try_into().unwrap()) & 0xff_ffff;
        ours.push(format!(
            "{}.{:09}\t{}\t{}\t{}\t{psn}",
            time / 1_000_000_000,
            time % 1_000_000_000,
            record.interface,
            comments.join(","),
            record.original_length,
        ));
    }
    assert_eq!(ours.len(), 39);
    assert_eq!(ours, seen);
}

/// The files with which the reader's tests test every variant are themselves judged.
#[test]
fn files_made_by_hand_read_the_same_in_tshark() {
    if !tshark::is_there() {
        return;
    }
    let frame = [0x5a; 60];
    for order in [Order::Big, Order::Little] {
        let bytes = |value: i64| if order == Order::Big { value.to_be_bytes() } else { value.to_le_bytes() };
        let files = [
            Build::pcap(order, false).record(1_795_953_912, 261_420, &frame).record(1_795_953_913, 1, &frame),
            Build::pcap(order, true).record(1_795_953_912, 261_420_001, &frame).record(
                0,
                999_999_999,
                &frame,
            ),
            Build::pcapng(order)
                .interface(0, &[(2, b"left"), (9, &[9])])
                .interface(0, &[(2, b"right")])
                .interface(0, &[(9, &[3]), (14, &bytes(1_000))])
                .interface(0, &[(9, &[0x80 | 20])])
                .enhanced(0, 1_795_953_912_000_000_001, &frame, &[(1, b"one"), (2, &[0, 0, 0, 0])])
                .enhanced(1, 1_795_953_912_000_001, &frame, &[])
                .enhanced(2, 1_795_953_912_001, &frame, &[])
                .enhanced(3, 5 << 20 | 1 << 19, &frame, &[(1, b"half past five")])
                .section(if order == Order::Big { Order::Little } else { Order::Big })
                .interface(0, &[])
                .enhanced(0, 7, &frame, &[]),
        ];
        for (index, file) in files.iter().enumerate() {
            let path = tshark::scratch(&format!("by_hand_{order:?}_{index}"), &file.bytes);
            let ours: Vec<_> = read(&path)
                .1
                .into_iter()
                .map(|(time, _, _, comments)| {
                    let time = time.unwrap();
                    let (seconds, rest) = (time / 1_000_000_000, time % 1_000_000_000);
                    format!("{seconds}.{rest:09}\t{}", comments.join(","))
                })
                .collect();
            assert_eq!(
                ours,
                tshark::fields(&path, &["frame.time_epoch", "frame.comment"]),
                "{order:?} {index}"
            );
        }
    }
}
