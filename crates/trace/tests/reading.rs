//! Reading: every variant of both formats, and every way in which a file can be broken.

#[path = "support/build.rs"]
mod build;

use std::io::{self, Read};

use build::{Build, Order};
use proptest::prelude::*;
use rdmalab_trace::{Direction, Format, LONGEST_PACKET, LinkType, ReadError, ReadFault, Reader};

const BOTH: [Order; 2] = [Order::Big, Order::Little];

/// What a test looks at of a record.
#[derive(Debug, PartialEq, Eq, Clone)]
struct Seen {
    offset: u64,
    time: Option<i128>,
    interface: (u32, Option<String>),
    direction: Option<Direction>,
    original_length: u32,
    data: Vec<u8>,
    comments: Vec<String>,
}

fn read(input: impl Read) -> (Vec<Seen>, Option<ReadError>) {
    let mut seen = Vec::new();
    let mut reader = match Reader::new(input) {
        Ok(reader) => reader,
        Err(error) => return (seen, Some(error)),
    };
    loop {
        match reader.next() {
            Ok(Some(record)) => {
                assert_eq!(record.frame, seen.len() as u64 + 1);
                seen.push(Seen {
                    offset: record.offset,
                    time: record.time,
                    interface: (record.interface, record.interface_name.map(String::from)),
                    direction: record.direction,
                    original_length: record.original_length,
                    data: record.data.to_vec(),
                    comments: record.comments.map(|comment| comment.into_owned()).collect(),
                });
            }
            Ok(None) => return (seen, None),
            Err(error) => {
                assert!(reader.next().unwrap().is_none(), "nothing comes after an error");
                return (seen, Some(error));
            }
        }
    }
}

fn read_whole(file: &Build) -> Vec<Seen> {
    let (seen, error) = read(&file.bytes[..]);
    if let Some(error) = error {
        panic!("{error}");
    }
    seen
}

/// A stream that hands out one byte at a time, and is interrupted now and then.
struct Drip<'a>(&'a [u8], u8);

impl Read for Drip<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.1 = self.1.wrapping_add(1);
        if self.1.is_multiple_of(7) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let length = out.len().min(1);
        self.0.read(&mut out[..length])
    }
}

#[test]
fn classic_files_of_both_orders_and_resolutions_read_alike() {
    for order in BOTH {
        for (nanoseconds, fraction) in [(false, 261_420), (true, 261_420_000)] {
            let file = Build::pcap(order, nanoseconds).record(1_795_953_912, fraction, b"first").record(
                u32::MAX,
                0,
                b"",
            );
            let seen = read_whole(&file);
            assert_eq!(seen.len(), 2);
            assert_eq!(seen[0].time, Some(1_795_953_912_261_420_000));
            assert_eq!((seen[0].offset, &seen[0].data[..]), (24, &b"first"[..]));
            assert_eq!((seen[1].offset, seen[1].time), (45, Some(4_294_967_295_000_000_000)));
            let mut reader = Reader::new(&file.bytes[..]).unwrap();
            assert_eq!(reader.format(), Format::Pcap);
            let record = reader.next().unwrap().unwrap();
            assert_eq!((record.link_type, record.finer_than_microseconds), (LinkType::ETHERNET, nanoseconds));
        }
    }
}

#[test]
fn sections_may_differ_in_byte_order_and_each_counts_its_interfaces_from_zero() {
    let file = Build::pcapng(Order::Little)
        .interface(0, &[(2, b"left"), (9, &[9])])
        .interface(0, &[(2, b"right")])
        .enhanced(0, 5_000_000_001, b"a", &[])
        .enhanced(1, 5_000_000, b"bcdef", &[(1, b"lost here"), (2, &[2, 0, 0, 0]), (1, b"sent again")])
        .block(0x0bad, b"unknown!")
        .section(Order::Big)
        .interface(0, &[(9, &[3]), (14, &2i64.to_be_bytes())])
        .enhanced(0, 7, b"g", &[(2, &[0, 0, 0, 1])]);
    let seen = read_whole(&file);
    assert_eq!(seen.len(), 3);
    assert_eq!(seen[0].time, Some(5_000_000_001));
    assert_eq!(seen[0].interface, (0, Some("left".into())));
    assert_eq!(seen[1].time, Some(5_000_000_000));
    assert_eq!(seen[1].interface, (1, Some("right".into())));
    assert_eq!(seen[1].direction, Some(Direction::Out));
    assert_eq!(seen[1].comments, ["lost here", "sent again"]);
    assert_eq!(seen[2].time, Some(2_007_000_000));
    assert_eq!(seen[2].interface, (0, None));
    assert_eq!(seen[2].direction, Some(Direction::In));
    // The offset is where the packet's block begins: its type.
    let at = seen[2].offset as usize;
    assert_eq!(file.bytes[at..at + 4], [0, 0, 0, 6]);
}

#[test]
fn simple_packets_have_no_time_and_are_as_long_as_their_interface_keeps() {
    for order in BOTH {
        let file = Build::pcapng(order)
            .interface(4, &[])
            .simple(3, b"abc")
            .simple(9, b"defg")
            .section(order)
            .interface(0, &[])
            .simple(6, b"hijklm");
        let seen = read_whole(&file);
        assert_eq!(seen.iter().map(|s| &s.data[..]).collect::<Vec<_>>(), [&b"abc"[..], b"defg", b"hijklm"]);
        assert_eq!(seen.iter().map(|s| s.original_length).collect::<Vec<_>>(), [3, 9, 6]);
        assert!(seen.iter().all(|s| s.time.is_none()));
    }
}

#[test]
fn obsolete_packet_blocks_are_read() {
    let mut body = Build { order: Order::Little, bytes: Vec::new() };
    body.u16(0).u16(3).u32(0).u32(42).u32(2).u32(60).padded(b"xy");
    let seen = read_whole(&Build::pcapng(Order::Little).interface(0, &[]).block(2, &body.bytes));
    assert_eq!((seen[0].time, seen[0].original_length), (Some(42_000), 60));
    assert_eq!(seen[0].data, b"xy");
}

#[test]
fn streams_that_give_a_byte_at_a_time_read_the_same() {
    for file in [classic(), next_generation()] {
        assert_eq!(read(&file[..]).0, read(Drip(&file, 0)).0);
    }
}

#[test]
fn packets_far_larger_than_the_window_are_read() {
    let large = vec![7; LONGEST_PACKET as usize];
    let file = Build::pcap(Order::Big, false).record(0, 0, &large).record(1, 0, b"x").record(2, 0, &large);
    let seen = read_whole(&file);
    assert!(seen[0].data == large && seen[1].data == b"x" && seen[2].data == large);
}

fn classic() -> Vec<u8> {
    Build::pcap(Order::Little, false)
        .record(1, 2, &[1; 60])
        .record(3, 4, &[2; 61])
        .record(5, 6, &[3; 62])
        .bytes
}

fn next_generation() -> Vec<u8> {
    Build::pcapng(Order::Big)
        .interface(0, &[(2, b"eth0"), (9, &[9])])
        .enhanced(0, 1, &[1; 60], &[(1, b"comment")])
        .enhanced(0, 2, &[2; 61], &[])
        .block(5, &[0; 40])
        .simple(62, &[3; 62])
        .bytes
}

#[test]
fn a_file_cut_anywhere_gives_the_whole_packets_before_the_cut_then_says_where() {
    for file in [classic(), next_generation()] {
        let (whole, None) = read(&file[..]) else { panic!("the whole file is fine") };
        for length in 0..file.len() {
            let (seen, error) = read(&file[..length]);
            assert_eq!(seen[..], whole[..seen.len()], "cut at {length}");
            let Some(error) = error else {
                // Cut between two blocks: nothing is missing that one could know of.
                assert!(seen.len() < whole.len());
                continue;
            };
            assert_eq!(error.packets_before, seen.len() as u64);
            match error.fault {
                ReadFault::Empty => assert_eq!(length, 0),
                ReadFault::Cut { need, have, .. } => {
                    assert_eq!(error.offset + have, length as u64, "cut at {length}: {error}");
                    assert!(need > have);
                }
                _ => panic!("cut at {length}: {error}"),
            }
        }
    }
}

fn fault_of(file: &[u8]) -> (u64, u64, String) {
    let (_, error) = read(file);
    let error = error.expect("the file is damaged");
    (error.offset, error.packets_before, error.to_string())
}

#[test]
fn a_packet_longer_than_any_is_refused_not_waited_for() {
    let mut file = classic();
    file[24 + 76 + 8..][..4].copy_from_slice(&0x7fff_ffffu32.to_le_bytes());
    let text = "after packet 1, at file offset 100: damaged: the packet is 2147483647 bytes long, at most are read 1048576";
    assert_eq!(fault_of(&file), (100, 1, text.into()));
}

#[test]
fn lengths_of_a_block_that_lie_are_told_apart() {
    let sound = Build::pcapng(Order::Little).interface(0, &[]).enhanced(0, 0, b"1234", &[(1, b"hello")]);
    let at = read_whole(&sound)[0].offset as usize;
    let with = |offset: usize, value: u32| {
        let mut file = sound.bytes.clone();
        file[at + offset..][..4].copy_from_slice(&value.to_le_bytes());
        let (offset, packets, text) = fault_of(&file);
        assert_eq!((offset, packets), (at as u64, 0));
        text.split_once(": ").unwrap().1.to_string()
    };
    assert_eq!(with(4, 8), "damaged: the block is 8 bytes long, at least are 12");
    assert_eq!(with(4, 50), "damaged: the block is 50 bytes long, where block lengths are multiples of 4");
    assert_eq!(with(4, 48), "damaged: the block is 48 bytes long at its front, 0 at its end");
    assert_eq!(with(4, 56), "the file is cut: the block takes 56 bytes, 52 are there");
    assert_eq!(with(4, 0x1000_0000), "damaged: the block is 268435456 bytes long, at most are read 16777216");
    assert_eq!(with(8, 1), "damaged: packet of interface 1, but 1 are described so far");
    assert_eq!(
        with(20, 21),
        "damaged: the packet is 21 bytes long, but the bytes left for it in its block are 20"
    );
    assert_eq!(
        with(32, 0x0100_0001),
        "damaged: an option of the block is 256 bytes long, but the bytes left for it are 12"
    );
}

#[test]
fn what_is_no_capture_is_named() {
    let text = |bytes: &[u8]| fault_of(bytes).2;
    assert_eq!(text(b""), "at file offset 0: the capture is empty, not even a file header");
    assert_eq!(
        text(b"\x7fELF\x02"),
        "at file offset 0: neither pcap nor pcapng: it begins with the bytes 7f 45 4c 46"
    );
    assert!(text(b"\x1f\x8b\x08\x00").contains("gzip -dc FILE | rdmalab dump -"));
    assert!(text(&classic()[..20]).contains("the file header takes 24 bytes, 20 are there"));
    let mut version = classic();
    version[4] = 3;
    assert!(text(&version).contains("format version 3.4 is not known"));
    let mut order = next_generation();
    order[8] = 0x1b;
    assert!(text(&order).contains("byte-order mark is 1b 2b 3c 4d"));
}

#[test]
fn failure_of_the_stream_comes_after_the_packets_before_it() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("disk on fire"))
        }
    }
    let file = classic();
    let (seen, error) = read((&file[..120]).chain(Failing));
    assert_eq!(seen.len(), 1);
    assert_eq!(
        error.unwrap().to_string(),
        "after packet 1, at file offset 100: reading failed: disk on fire"
    );
}

#[test]
fn interfaces_do_not_pile_up_without_limit() {
    let mut file = Build::pcapng(Order::Little);
    for _ in 0..=rdmalab_trace::MOST_INTERFACES {
        file = file.interface(0, &[]);
    }
    assert!(fault_of(&file.bytes).2.ends_with("more than 65536 interfaces in one section"));
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(start in 0..5usize, bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let (classic, next) = (classic(), next_generation());
        let prefix: &[u8] = [&classic[..24], &classic[..], &next[..28], &next[..72], &[]][start];
        read(&[prefix, &bytes].concat()[..]);
    }

    #[test]
    fn a_changed_byte_never_panics_nor_loses_the_packets_before_it(
        classic_file: bool, at: prop::sample::Index, value: u8,
    ) {
        let mut file = if classic_file { classic() } else { next_generation() };
        let whole = read(&file[..]).0;
        let at = at.index(file.len());
        file[at] = value;
        let seen = read(&file[..]).0;
        for (index, one) in whole.iter().enumerate() {
            if whole.get(index + 1).map_or(file.len() as u64, |next| next.offset) <= at as u64 {
                // An interface's description before a packet changes it too.
                prop_assert!(seen.get(index) == Some(one) || !classic_file && at < 72);
            }
        }
    }
}
