//! What is not understood is said to be not judged, instead of looking clean or wrong.

use std::fs;

use rdmalab_lint::{Reason, Report, lint};
use rdmalab_trace::{Entry, LinkType, Writer};

use super::{Lie, folder, keeping, lied};

fn rping() -> Vec<u8> {
    fs::read(folder("rping.pcap")).unwrap()
}

fn cut(name: &str, length: usize) -> Report {
    let file = fs::read(folder(&format!("{name}.pcap"))).unwrap();
    lint(&lied(&file, Lie::Cut(length))[..], &mut ()).unwrap()
}

#[track_caller]
fn says(report: &Report, sentence: &str) {
    assert!(report.findings.is_empty(), "{report}");
    assert!(report.to_string().contains(&format!("not judged: {sentence}")), "{report}");
    let said = report.json()["not_judged"].to_string();
    assert!(said.contains(sentence), "{said}");
}

/// By the number in a classic file's header; 101 is IP without a link, 247 InfiniBand.
#[test]
fn packets_of_other_links_are_not_judged() {
    for link_type in [0_u32, 12, 14, 101, 108, 113, 147, 228, 229, 247, 276, 999] {
        let mut file = rping();
        file[20..24].copy_from_slice(&link_type.to_le_bytes());
        let report = lint(&file[..], &mut ()).unwrap();
        says(&report, &format!("29 packets, as link type {link_type} "));
        says(&report, "anything, as no packet was seen to be of RDMA");
        assert!(report.to_string().contains("29 not judged;"), "{report}");
    }
}

#[test]
fn a_capture_of_nothing_is_not_clean_without_a_word() {
    says(&lint(&rping()[..24], &mut ()).unwrap(), "anything, as no packet");
}

/// Their link is understood; what they carry is nothing of InfiniBand's.
#[test]
fn raw_packets_of_native_links_are_told_as_such() {
    let mut file = Writer::new(Vec::new()).unwrap();
    let interface = file.interface_of("ib0", LinkType::INFINIBAND).unwrap();
    for next_header in [0, 1] {
        let mut packet = [0; 40];
        (packet[1], packet[5]) = (next_header, 10);
        file.write(Entry::new(interface, 0, &packet)).unwrap();
    }
    let report = lint(&file.finish().unwrap()[..], &mut ()).unwrap();
    says(&report, "2 raw packets of native links");
    assert_eq!((report.unjudged.packets(), report.unjudged.links), (2, None), "{report}");
}

/// IP begins at byte 14, UDP at 34, the base header at 42, what is behind it at 54.
#[test]
fn packets_cut_within_their_headers_are_not_judged() {
    for (length, packets) in [(20, 29), (30, 29), (40, 29), (50, 29), (54, 21), (60, 9)] {
        let report = cut("rping", length);
        says(
            &report,
            &format!("{packets} packets of RoCE or InfiniBand, or what may be such, frame 1 the first"),
        );
        assert_eq!(report.unjudged.packets(), packets, "{length}: {report}");
    }
    let mut file = rping();
    let report = lint(&file[..], &mut ()).unwrap();
    assert_eq!(report.unjudged.packets(), 0, "{report}");
    assert!(!report.to_string().contains("not judged:"), "{report}");
    // Of version 15, in frame 1: that is wrong of IP behind Ethernet.
    file[24 + 16 + 14] = 0xf5;
    let report = lint(&file[..], &mut ()).unwrap();
    assert_eq!(report.unjudged.packets(), 0, "{report}");
}

#[test]
fn management_datagrams_that_are_cut_are_not_judged() {
    let report = cut("rping", 70);
    says(&report, "5 management datagrams");
    assert_eq!(report.unjudged.packets(), 5, "{report}");
    assert_eq!(report.flows.len(), 2, "{report}");
}

/// A connection whose start-up frames do not fit, or whose request has a broken key, is not seen to be iWARP's.
#[test]
fn connections_that_are_not_recognised_are_not_judged() {
    let sentence = "1 TCP connection, in which no start-up and no FPDUs of iWARP were recognised";
    says(&cut("siw_rping", 80), &format!("{sentence}; the capture cut packets of 1"));
    says(&cut("siw_rping", 50), "26 packets, as the capture cut within the TCP header");
    let mut file = fs::read(folder("siw_rping.pcap")).unwrap();
    let report = lint(&file[..], &mut ()).unwrap();
    assert!(!report.to_string().contains("not judged:"), "{report}");
    let key = file.windows(10).position(|bytes| bytes == b"MPA ID Req").unwrap();
    file[key] ^= 0x20;
    says(&lint(&file[..], &mut ()).unwrap(), sentence);
}

/// Frame 8 is the first FPDU of the side that opened the connection, its length said to be 65312: none of its 600 bytes is
/// understood, and none was lost.
#[test]
fn what_a_wrong_length_hides_is_not_said_to_be_lost() {
    let mut file = fs::read(folder("siw_rping.pcap")).unwrap();
    let first = file.windows(4).position(|bytes| bytes == [0x00, 0x22, 0x41, 0x43]).unwrap();
    file[first..first + 2].copy_from_slice(&[0xff, 0x20]);
    let report = lint(&file[..], &mut ()).unwrap();
    let [answers, broken] = &report.streams[..] else { panic!("{report}") };
    assert_eq!((broken.stats.unread_bytes, broken.stats.missing_bytes), (600, 0), "{report}");
    for stream in [answers, broken] {
        assert!(stream.reasons.has(Reason::NoFpdus) && !stream.reasons.has(Reason::LostAhead), "{report}");
    }
    assert!(report.to_string().contains("bytes of the stream that are no whole FPDU"), "{report}");
}

/// Of `write_bw_cm`, the REQ of its second connection and the REP of its first alone.
#[test]
fn a_rep_whose_req_was_missed_answers_no_other() {
    let file = fs::read(folder("write_bw_cm.pcap")).unwrap();
    let report = lint(&keeping(&file, &[2, 24])[..], &mut ()).unwrap();
    assert!(report.findings.is_empty(), "{report}");
}
