//! Every capture in `pcaps/`, read and judged; then cut, damaged and flipped.

use std::fs;
use std::path::{Path, PathBuf};

use rdmalab_trace::{DumpError, DumpOptions, ReadFault, Summary, dump};

/// Packets, and those to UDP port 4791, as tshark 4.0 counts them.
const COUNTS: [(&str, u64, u64); 25] = [
    ("atomic_cs", 49, 10),
    ("atomic_fa", 52, 10),
    ("hardware", 2, 2),
    ("rc_pingpong", 38, 24),
    ("rc_pingpong_v6", 41, 24),
    ("read_bw", 59, 20),
    ("read_bw_loss", 2838, 2796),
    ("rnr", 2025, 1996),
    ("rping", 29, 29),
    ("rping_v6", 34, 29),
    ("rstream", 53, 49),
    ("send_bw", 45, 15),
    ("send_timeouts", 162, 133),
    ("siw_read_bw", 102, 0),
    ("siw_rping", 28, 0),
    ("siw_rstream", 71, 0),
    ("siw_write_bw", 78, 0),
    ("siw_write_loss", 339, 0),
    ("uc_pingpong", 50, 30),
    ("ud_pingpong", 17, 6),
    ("udaddy", 8, 8),
    ("write_bw", 62, 20),
    ("write_bw_cm", 84, 84),
    ("write_bw_loss", 2368, 2329),
    ("write_drop_after", 1588, 1545),
];

fn pcaps() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pcaps")
}

fn capture(name: &str) -> Vec<u8> {
    fs::read(pcaps().join(name).with_extension("pcap")).unwrap()
}

fn print(file: &[u8], json: bool) -> (Vec<String>, Result<Summary, DumpError>) {
    let mut out = Vec::new();
    let summary = dump(file, &mut out, DumpOptions { json, ..DumpOptions::default() });
    (String::from_utf8(out).unwrap().lines().map(String::from).collect(), summary)
}

#[test]
fn every_capture_has_the_packets_tshark_counts_and_every_icrc_is_right() {
    for (name, packets, roce) in COUNTS {
        let (lines, summary) = print(&capture(name), false);
        let summary = summary.unwrap();
        assert_eq!((summary.packets, summary.roce), (packets, roce), "{name}");
        assert_eq!(summary.icrc_right, roce, "{name}");
        assert!(summary.is_fine() && summary.icrc_unknown == 0, "{name}: {summary}");
        assert_eq!(lines.len() as u64, packets, "{name}");
        assert_eq!(lines.iter().filter(|line| line.ends_with("icrc ok")).count() as u64, roce, "{name}");
    }
}

#[test]
fn no_capture_is_left_out_of_the_counts() {
    let mut names: Vec<String> = fs::read_dir(pcaps())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pcap"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_string())
        .collect();
    names.sort();
    assert_eq!(names, COUNTS.map(|(name, ..)| name));
}

#[test]
fn rping_reads_as_a_conversation() {
    let (lines, summary) = print(&capture("rping"), false);
    assert_eq!(summary.unwrap().to_string(), "29 packets, 29 of them RoCE v2: ICRC right in 29");
    assert_eq!(
        lines[3],
        "    4    0.038962 10.9.0.2 > 10.9.0.1 RoCE SEND_ONLY psn=13182942 len=16 ackreq qp=0x000012 icrc ok"
    );
    assert_eq!(
        lines[11],
        "   12    0.049948 10.9.0.1 > 10.9.0.2 RoCE WRITE_ONLY psn=3647354 va=0x55b7ac1a05b0 rkey=0x50c \
         dmalen=200 len=200 ackreq qp=0x000012 icrc ok"
    );
    assert_eq!(
        lines[28],
        "   29    0.076003 10.9.0.1 > 10.9.0.2 RoCE UD SEND_ONLY psn=1 qkey=0x80010000 src=0x000001 \
         len=256 ackreq qp=0x000001 CM DREP comm=0x33dcb6c5 remote=0x3007b9de icrc ok"
    );
}

#[test]
fn one_flipped_payload_bit_is_told_with_its_frame_number() {
    let mut file = capture("rping");
    // The last byte of frame 12's payload, a WRITE of 200 bytes.
    let frame_12 = record(&file, 12);
    let at = frame_12.end - 5;
    file[at] ^= 1;
    let (lines, summary) = print(&file, false);
    let summary = summary.unwrap();
    assert_eq!((summary.icrc_wrong.count, &summary.icrc_wrong.first[..]), (1, &[12][..]));
    assert!(!summary.is_fine());
    assert_eq!(
        summary.to_string(),
        "29 packets, 29 of them RoCE v2: ICRC right in 28, WRONG in 1 (frame 12)"
    );
    let found = file[at + 1..at + 5].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert!(lines[11].contains("icrc BAD expected "), "{}", lines[11]);
    assert!(lines[11].ends_with(&format!("found {found}")), "{}", lines[11]);
    let (objects, _) = print(&file, true);
    let object: serde_json::Value = serde_json::from_str(&objects[11]).unwrap();
    assert_eq!(object["rdmalab.icrc"], "bad");
    assert_eq!(object["rdmalab.icrc.found"], format!("0x{found}"));
    assert_eq!(object["infiniband.invariant.crc"], object["rdmalab.icrc.found"]);
    assert_ne!(object["rdmalab.icrc.expected"], object["rdmalab.icrc.found"]);
}

/// Where the bytes of a packet are in a classic capture.
fn record(file: &[u8], number: usize) -> std::ops::Range<usize> {
    let mut at = 24;
    let length = |at: usize| u32::from_le_bytes(file[at + 8..at + 12].try_into().unwrap()) as usize;
    for _ in 1..number {
        at += 16 + length(at);
    }
    at + 16..at + 16 + length(at)
}

#[test]
fn a_cut_file_prints_its_whole_packets_then_says_where_it_is_cut() {
    let file = capture("rping");
    let frame_20 = record(&file, 20);
    let (whole, _) = print(&file, false);
    let (lines, summary) = print(&file[..frame_20.end - 1], false);
    assert_eq!(lines, whole[..19]);
    let Err(DumpError::Read { error, summary, .. }) = summary else { panic!("not noticed") };
    assert_eq!(summary.packets, 19);
    assert_eq!((error.offset, error.packets_before), (frame_20.start as u64 - 16, 19));
    assert!(matches!(error.fault, ReadFault::Cut { .. }));
    assert_eq!(
        error.to_string(),
        format!(
            "after packet 19, at file offset {}: the file is cut: the packet's record takes \
             90 bytes, 89 are there",
            frame_20.start - 16
        )
    );
}

#[test]
fn a_capture_that_keeps_only_the_heads_of_packets_is_not_called_broken() {
    let whole = capture("rc_pingpong");
    let mut file = whole[..24].to_vec();
    for number in 1..=38 {
        let packet = record(&whole, number);
        let kept = packet.len().min(70);
        let mut header: Vec<u8> = whole[packet.start - 16..packet.start].to_vec();
        header[8..12].copy_from_slice(&(kept as u32).to_le_bytes());
        file.extend(header);
        file.extend(&whole[packet.start..packet.start + kept]);
    }
    let (lines, summary) = print(&file, false);
    let summary = summary.unwrap();
    assert!(summary.is_fine());
    assert_eq!((summary.icrc_right, summary.icrc_unknown), (6, 18));
    assert_eq!(
        lines[14],
        "   15    0.111523 10.9.0.2 > 10.9.0.1 RoCE SEND_FIRST psn=5302688 len=16 qp=0x000011 \
         icrc ? (cut: snap length) [16 of 1024 payload bytes captured]"
    );
    assert_eq!(summary.to_string(), "38 packets, 24 of them RoCE v2: ICRC right in 6, not known of 18");
}

#[test]
fn a_capture_printed_line_by_line_is_the_same() {
    let file = capture("read_bw");
    let mut at_once = Vec::new();
    dump(&file[..], &mut at_once, DumpOptions { flush_each: true, ..DumpOptions::default() }).unwrap();
    assert_eq!(String::from_utf8(at_once).unwrap().lines().collect::<Vec<_>>(), print(&file, false).0);
}

#[test]
fn an_output_that_takes_no_more_is_told_apart_from_a_bad_capture() {
    let file = capture("rping");
    let mut full: &mut [u8] = &mut [0; 100];
    let result = dump(&file[..], &mut full, DumpOptions::default());
    assert!(matches!(result, Err(DumpError::Write(_))));
}
