//! `rdmalab dump`.

use std::fs;

use crate::program::{capture, headed, rdmalab, scratch, text, with_input};

/// Where the first packet's record begins in a classic capture, and where its bytes do.
const FIRST_RECORD: usize = 24;
const RECORD_HEADER: usize = 16;

#[test]
fn the_packets_of_rping_are_printed_each_icrc_right() {
    let run = rdmalab(&["dump", text(&capture("rping.pcap"))]).exits(0);
    let lines = run.lines();
    assert_eq!(lines.len(), 29);
    assert!(lines.iter().all(|line| line.ends_with("icrc ok")), "{}", run.out);
    assert_eq!(run.err, "29 packets, 29 of them RoCE v2: ICRC right in 29\n");
}

#[test]
fn json_is_one_object_per_line() {
    let run = rdmalab(&["dump", "--json", text(&capture("rping.pcap"))]).exits(0);
    assert_eq!(run.lines().len(), 29);
    assert!(run.lines().iter().all(|line| line.starts_with('{') && line.ends_with('}')), "{}", run.out);
}

#[test]
fn a_filter_selects_what_is_printed_and_judged() {
    let path = capture("rping.pcap");
    let run = rdmalab(&["dump", "--filter", "frame.number <= 3 && infiniband", text(&path)]).exits(0);
    assert_eq!(run.lines().len(), 3);
    assert_eq!(
        run.err,
        "3 packets (26 more passed over by the filter), 3 of them RoCE v2: ICRC right in 3\n"
    );
}

#[test]
fn a_filter_that_is_none_exits_with_two_and_says_the_column() {
    let path = capture("rping.pcap");
    rdmalab(&["dump", "--filter", "ip.src = 1", text(&path)]).exits(2).says("column 8: `=` found");
    rdmalab(&["dump", "--filter", "ip.sorc == 1", text(&path)]).exits(2).says("no field is named ip.sorc");
    rdmalab(&["dump", "--filter", "ip.src == 1", text(&path)]).exits(2).says("ip.src is an IPv4 address");
}

#[test]
fn a_tree_has_each_field_below_its_packet() {
    let run = rdmalab(&["dump", "-v", text(&capture("rping.pcap"))]).exits(0);
    assert!(run.out.contains("\n  infiniband.bth\n    infiniband.bth.opcode == "), "{}", run.out);
    assert_eq!(run.lines().into_iter().filter(|line| *line == "  infiniband.bth").count(), 29);
}

#[test]
fn standard_input_is_read_for_a_dash() {
    let path = capture("rping.pcap");
    let from_file = rdmalab(&["dump", text(&path)]).exits(0);
    let from_input = with_input(&["dump", "-"], &fs::read(&path).unwrap()).exits(0);
    assert_eq!(from_input.out, from_file.out);
    assert_eq!(from_input.err, from_file.err);
}

#[test]
fn a_flipped_payload_bit_is_told_with_its_frame_number() {
    let mut bytes = fs::read(capture("rping.pcap")).unwrap();
    // Frame 2: behind the first one. Its last byte before the ICRC is payload.
    let length =
        |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
    let second = FIRST_RECORD + RECORD_HEADER + length(&bytes, FIRST_RECORD);
    let end = second + RECORD_HEADER + length(&bytes, second);
    bytes[end - 5] ^= 0x10;
    let path = scratch("flipped.pcap");
    fs::write(&path, bytes).unwrap();

    let run = rdmalab(&["dump", text(&path)]).exits(1).says("WRONG in 1 (frame 2)");
    assert_eq!(run.lines().len(), 29);
    let wrong: Vec<&str> = run.lines().into_iter().filter(|line| !line.ends_with("icrc ok")).collect();
    assert_eq!(wrong.len(), 1);
    assert!(wrong[0].trim_start().starts_with("2 ") && wrong[0].contains("icrc BAD"), "{}", wrong[0]);
}

#[test]
fn a_cut_file_is_told_with_its_offset_after_the_packets_before() {
    let bytes = fs::read(capture("rping.pcap")).unwrap();
    let run = with_input(&["dump", "-"], &bytes[..1000])
        .exits(2)
        .says("standard input: after packet 2, at file offset 700");
    assert_eq!(run.lines().len(), 2);
}

#[test]
fn every_length_of_a_file_ends_orderly() {
    let bytes = fs::read(capture("rping.pcap")).unwrap();
    for length in (0..1100).step_by(37) {
        let run = with_input(&["dump", "-"], &bytes[..length]);
        let whole = length == FIRST_RECORD;
        run.exits(if whole { 0 } else { 2 });
    }
}

#[test]
fn what_cannot_be_read_exits_with_two_and_says_why() {
    let text_file = scratch("no_capture.txt");
    fs::write(&text_file, "This is no capture.").unwrap();
    rdmalab(&["dump", text(&text_file)])
        .exits(2)
        .says("neither pcap nor pcapng: it begins with the bytes 54 68 69 73");
    rdmalab(&["dump", "/nowhere/at.all"]).exits(2).says("cannot open /nowhere/at.all");
    rdmalab(&["dump", text(&scratch(""))]).exits(2).says("directory");
    with_input(&["dump", "-"], &[]).exits(2).says("standard input: at file offset 0: the capture is empty");
}

#[test]
fn a_reader_that_has_seen_enough_ends_it_quietly() {
    let path = scratch("long.pcapng");
    rdmalab(&["demo", "-q", "--messages", "200", "--size", "20000", "--pcap", text(&path)]).exits(0);
    for arguments in [&["dump", text(&path)][..], &["dump", "--json", text(&path)]] {
        let run = headed(arguments).exits(0);
        assert!(run.err.is_empty(), "{}", run.err);
    }
}
