//! `rdmalab view`.

use std::fs;

use crate::program::{capture, rdmalab, scratch, text};

#[test]
fn a_page_a_ladder_and_a_picture_are_drawn() {
    let file = capture("rping.pcap");
    let page = scratch("view.html");
    rdmalab(&["view", text(&file), "-o", text(&page)]).exits(0).says("29 packets");
    assert!(fs::read_to_string(&page).unwrap().starts_with("<!doctype html>"));
    let ladder = rdmalab(&["view", text(&file), "--text"]).exits(0);
    assert!(ladder.out.contains("│── SEND_ONLY") && !ladder.out.contains('\u{1b}'), "{}", ladder.out);
    let some = rdmalab(&["view", text(&file), "--text", "--filter", "frame.number <= 3"]).exits(0);
    assert_eq!(some.lines().len(), 4, "a head, and three packets");
    let picture = rdmalab(&["view", text(&file), "--svg", "--flow", "2"]).exits(0);
    assert!(picture.out.starts_with("<svg ") && picture.out.ends_with("</svg>\n"), "{}", picture.out);
}

#[test]
fn what_cannot_be_drawn_is_told_with_what_to_do() {
    let file = capture("rping.pcap");
    rdmalab(&["view", text(&file)]).exits(2).says("--output");
    rdmalab(&["view", "nowhere.pcap", "--text"]).exits(2).says("cannot open nowhere.pcap");
    let kept = scratch("view-kept.svg");
    fs::write(&kept, "a picture").unwrap();
    rdmalab(&["view", text(&file), "--svg", "--flow", "77", "-o", text(&kept)])
        .exits(2)
        .says("there is no such flow; there are 1 2");
    assert_eq!(fs::read_to_string(&kept).unwrap(), "a picture");
    let commanding = scratch("a\u{1b}]0;title\u{7}.pcap");
    fs::write(&commanding, &fs::read(&file).unwrap()[..24]).unwrap();
    rdmalab(&["view", text(&commanding), "--text"])
        .exits(0)
        .says("a\\u{1b}]0;title\\u{7}.pcap: there is no packet");
    rdmalab(&["view", text(&capture("read_bw_loss.pcap")), "--svg"])
        .exits(2)
        .says("draw a part of it: --filter");
    let none = ["view", text(&file), "--filter", "frame.number > 100"];
    rdmalab(&[&none[..], &["--svg"]].concat()).exits(2).says("no packet passes the filter");
    rdmalab(&[&none[..], &["--text"]].concat()).exits(0).says("no packet passes the filter");
    let own = scratch("view-over-itself.pcap");
    fs::copy(&file, &own).unwrap();
    rdmalab(&["view", text(&own), "-o", text(&own)]).exits(2).says("are the same file, which would be lost");
    assert_eq!(fs::read(&own).unwrap(), fs::read(&file).unwrap());
    let cut = scratch("view-cut.pcap");
    let bytes = fs::read(&file).unwrap();
    fs::write(&cut, &bytes[..bytes.len() - 10]).unwrap();
    let run =
        rdmalab(&["view", text(&cut), "--text"]).exits(2).says("what is drawn is of the packets in front");
    assert!(run.out.contains("     28 "), "{}", run.out);
}

#[test]
fn of_too_many_packets_as_many_as_there_is_room_for_are_offered_and_a_filter_draws_some() {
    let file = scratch("view-too-many.pcap");
    // Little-endian, microseconds, version 2.4, Ethernet; then packets of one byte.
    let mut bytes =
        vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0];
    for _ in 0..1_000_001 {
        bytes.extend([0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0x55]);
    }
    fs::write(&file, bytes).unwrap();
    rdmalab(&["view", text(&file), "--text"])
        .exits(2)
        .says("more than 1000000 packets")
        .says("--filter 'frame.number <= 1000000'");
    let some = rdmalab(&["view", text(&file), "--text", "--filter", "frame.number <= 3"]).exits(0);
    assert!(some.out.contains("\n      3 ") && !some.out.contains("\n      4 "), "{}", some.out);
    fs::remove_file(&file).unwrap();
}
