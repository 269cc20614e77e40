//! Writing: our reader reads it back, Wireshark reads it too, and the same input gives the same bytes.

#[path = "support/tshark.rs"]
mod tshark;

use std::io::{self, Write};

use proptest::prelude::*;
use rdmalab_trace::{Direction, Entry, LONGEST_PACKET, LinkType, Reader, WriteError, Writer};

const FRAME: &[u8] = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x88\xb5 some bytes";

fn two_interfaces() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let left = writer.interface("left").unwrap();
    writer.write(Entry::new(left, 0, FRAME).direction(Direction::Out)).unwrap();
    let right = writer.interface("right \u{2192}").unwrap();
    writer
        .write(Entry::new(right, 1_000_000_007, FRAME).direction(Direction::In).comment("lost by rule 3"))
        .unwrap();
    writer.write(Entry::new(left, 5_000_000_000_000_000_001, &FRAME[..15]).original_length(900)).unwrap();
    assert_eq!(writer.packets(), 3);
    writer.finish().unwrap()
}

#[test]
fn what_is_written_reads_back() {
    let file = two_interfaces();
    let mut reader = Reader::new(&file[..]).unwrap();
    let record = reader.next().unwrap().unwrap();
    assert_eq!((record.frame, record.time, record.data), (1, Some(0), FRAME));
    assert_eq!((record.interface_name, record.direction), (Some("left"), Some(Direction::Out)));
    assert!(record.finer_than_microseconds && record.comments.count() == 0);
    let record = reader.next().unwrap().unwrap();
    assert_eq!((record.time, record.interface_name), (Some(1_000_000_007), Some("right \u{2192}")));
    assert_eq!(record.direction, Some(Direction::In));
    assert_eq!(record.comments.collect::<Vec<_>>(), ["lost by rule 3"]);
    let record = reader.next().unwrap().unwrap();
    assert_eq!(record.time, Some(5_000_000_000_000_000_001));
    assert!(record.is_cut());
    assert_eq!((record.data, record.original_length), (&FRAME[..15], 900));
    assert!(reader.next().unwrap().is_none());
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let file = two_interfaces();
    assert_eq!(file, two_interfaces());
    // Known down to the byte: a change of these is a change of every seeded capture.
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.interface("a").unwrap();
    let expected = [
        &b"\x0a\x0d\x0d\x0a\x2c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"[..],
        &b"\x04\0\x07\0rdmalab\0\0\0\0\0\x2c\0\0\0"[..],
        &b"\x01\0\0\0\x28\0\0\0\x01\0\0\0\0\0\0\0\x02\0\x01\0a\0\0\0\x09\0\x01\0\x09\0\0\0\0\0\0\0\x28\0\0\0"
            [..],
    ]
    .concat();
    assert_eq!(writer.finish().unwrap(), expected);
}

#[test]
fn wireshark_reads_times_names_directions_and_comments() {
    if !tshark::is_there() {
        return;
    }
    let path = tshark::scratch("written.pcapng", &two_interfaces());
    let seen = tshark::fields(
        &path,
        &[
            "frame.time_epoch",
            "frame.interface_name",
            "frame.packet_flags_direction",
            "frame.comment",
            "frame.len",
            "frame.cap_len",
        ],
    );
    assert_eq!(
        seen,
        [
            "0.000000000\tleft\t0x00000002\t\t25\t25",
            "1.000000007\tright \u{2192}\t0x00000001\tlost by rule 3\t25\t25",
            "5000000000.000000001\tleft\t\t\t900\t15",
        ]
    );
    let out = tshark::run("capinfos", &["-M", path.to_str().unwrap()]);
    assert!(out.contains("nanoseconds (9)") && out.contains("rdmalab"), "{out}");
}

#[test]
fn what_does_not_fit_is_refused_and_leaves_the_file_whole() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let mut other = Writer::new(Vec::new()).unwrap();
    let foreign = other.interface("elsewhere").unwrap();
    let text = |error: WriteError| error.to_string();
    assert_eq!(
        text(writer.write(Entry::new(foreign, 0, FRAME)).unwrap_err()),
        "interface 0 is not of this capture"
    );
    let interface = writer.interface_of("ib", LinkType::INFINIBAND).unwrap();
    let long = "x".repeat(65_536);
    assert_eq!(
        text(writer.interface(&long).unwrap_err()),
        "the interface name of 65536 bytes, 65535 at most can be written"
    );
    let entry = Entry::new(interface, 0, FRAME);
    assert_eq!(
        text(writer.write(entry.comment(&long)).unwrap_err()),
        "the comment of 65536 bytes, 65535 at most can be written"
    );
    let large = vec![0; LONGEST_PACKET as usize + 1];
    assert!(writer.write(Entry::new(interface, 0, &large)).is_err());
    writer.write(entry.comment(&long[1..])).unwrap();
    writer.write(Entry::new(interface, 0, &large[1..])).unwrap();
    let file = writer.finish().unwrap();
    let mut reader = Reader::new(&file[..]).unwrap();
    assert_eq!(reader.next().unwrap().unwrap().link_type, LinkType::INFINIBAND);
    assert_eq!(reader.next().unwrap().unwrap().data.len(), LONGEST_PACKET as usize);
    assert!(reader.next().unwrap().is_none());
}

#[test]
fn a_full_disk_is_told_with_the_packet_that_found_it() {
    #[derive(Debug)]
    struct Disk(usize);
    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let Some(left) = self.0.checked_sub(bytes.len()) else {
                return Err(io::ErrorKind::StorageFull.into());
            };
            self.0 = left;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    assert_eq!(
        Writer::new(Disk(10)).unwrap_err().to_string(),
        "writing the capture's beginning failed: no storage space"
    );
    let mut writer = Writer::new(Disk(160)).unwrap();
    let interface = writer.interface("a").unwrap();
    writer.write(Entry::new(interface, 0, FRAME)).unwrap();
    let error = writer.write(Entry::new(interface, 0, FRAME)).unwrap_err();
    assert_eq!(error.to_string(), "writing packet 2 failed: no storage space");
}

proptest! {
    #[test]
    fn any_packets_read_back_as_written(
        entries in proptest::collection::vec(
            (any::<u64>(), proptest::collection::vec(any::<u8>(), 0..80), ".{0,20}", 0..3u8),
            0..8,
        )
    ) {
        let mut writer = Writer::new(Vec::new()).unwrap();
        let interface = writer.interface("any").unwrap();
        let direction = |of| [None, Some(Direction::In), Some(Direction::Out)][usize::from(of)];
        for (time, data, comment, way) in &entries {
            let entry = Entry::new(interface, *time, data).comment(comment);
            writer.write(direction(*way).map_or(entry, |way| entry.direction(way))).unwrap();
        }
        let file = writer.finish().unwrap();
        let mut reader = Reader::new(&file[..]).unwrap();
        for (time, data, comment, way) in &entries {
            let record = reader.next().unwrap().unwrap();
            prop_assert_eq!(record.time, Some(i128::from(*time)));
            prop_assert_eq!(record.data, &data[..]);
            prop_assert_eq!(record.direction, direction(*way));
            let comments: Vec<_> = record.comments.collect();
            let expected: Vec<_> = [comment.as_str()].into_iter().filter(|c| !c.is_empty()).collect();
            prop_assert_eq!(comments, expected);
        }
        prop_assert!(reader.next().unwrap().is_none());
    }
}
