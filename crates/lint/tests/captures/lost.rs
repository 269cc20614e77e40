//! What the capturing program lost may be a single packet, or most of them, and it may have changed their order. That is no fault of
//! those who are in the capture.

use std::fs;

use rdmalab_lint::{Reason, Report, RuleId, Severity, lint};
use rdmalab_trace::{Entry, Writer};

use super::{folder, packets};

pub(super) type Packets = Vec<(u64, Vec<u8>)>;

pub(super) fn of(name: &str) -> Packets {
    packets(&fs::read(folder(&format!("{name}.pcap"))).unwrap())
}

pub(super) fn judged(packets: &[(u64, Vec<u8>)]) -> Report {
    let mut file = Writer::new(Vec::new()).unwrap();
    let interface = file.interface("eth0").unwrap();
    for (time, data) in packets {
        file.write(Entry::new(interface, *time, data)).unwrap();
    }
    lint(&file.finish().unwrap()[..], &mut ()).unwrap()
}

/// What is left of a capture: the packets of these numbers, counted from 1.
#[track_caller]
fn left(name: &str, is_left: impl Fn(usize) -> bool) -> Report {
    let mut number = 0;
    let mut packets = of(name);
    packets.retain(|_| {
        number += 1;
        is_left(number)
    });
    let report = judged(&packets);
    assert_eq!(report.count(Severity::Violation), 0, "{name}: {report}");
    report
}

/// Each packet is up to so many places further behind.
fn reordered(packets: &[(u64, Vec<u8>)], places: u64, mut seed: u64) -> Packets {
    let mut placed: Vec<(u64, &(u64, Vec<u8>))> = Vec::new();
    for (index, packet) in packets.iter().enumerate() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        placed.push((index as u64 + (seed >> 33) % places, packet));
    }
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, packet)| packet.clone()).collect()
}

/// Two READs of three packets each; those between them and all answers are missing: nothing says which path MTU there is.
#[test]
fn requests_alone_do_not_tell_the_path_mtu() {
    let report = left("read_bw", |frame| frame == 20 || frame == 25);
    assert_eq!(report.flows[0].stats.repeated.iter().sum::<u64>(), 0, "{report}");
    // Nor do requests that would fit another one, were none missing between them.
    for name in ["read_bw", "read_bw_loss"] {
        for source in [1, 2] {
            let requests = of(name).into_iter().filter(|(_, data)| data.get(29) == Some(&source));
            let requests: Packets = requests.collect();
            for (first, every) in [(0, 2), (1, 2), (0, 3), (2, 3), (4, 5)] {
                let kept = requests.iter().enumerate().filter(|(index, _)| index % every != first);
                let report = judged(&kept.map(|(_, packet)| packet.clone()).collect::<Packets>());
                assert_eq!(report.count(Severity::Violation), 0, "{name} {first} of {every}: {report}");
            }
        }
    }
}

#[test]
fn what_came_behind_a_gap_may_be_missing() {
    for report in [
        left("write_drop_after", |frame| !(29..=42).contains(&frame)),
        left("rnr", |frame| frame <= 1319 || frame == 1325),
    ] {
        assert_eq!(report.count_of(RuleId::AckUnseen), 1, "{report}");
    }
}

/// READs that come behind a gap, or fill one, may be the rests of those that are missing: nobody knows how many there were.
#[test]
fn reads_that_may_be_rests_are_not_counted_as_messages() {
    let kept = [1491, 1492, 1493, 1494, 1512, 1744, 1745, 1855, 1859, 1861, 1881];
    let report = left("read_bw_loss", |frame| kept.contains(&frame));
    assert!(report.flows.iter().any(|flow| flow.reasons.has(Reason::CountLost)), "{report}");
}

/// The capture begins with READs that are asked for again: their answers count others that were taken before, which come again later.
#[test]
fn answers_to_repeated_reads_count_those_that_come_again_behind() {
    let kept = [825, 837, 838, 839, 840, 903];
    left("read_bw_loss", |frame| kept.contains(&frame));
}

/// Acknowledgements that changed places, and one of whose requests is missing: how many messages that was nobody knows.
#[test]
fn late_acknowledgements_count_no_messages_behind_a_gap() {
    for name in ["rnr", "rping", "rping_v6", "rstream", "send_bw", "send_timeouts"] {
        for (places, seed) in (1..=4).flat_map(|seed| [2, 5, 20].map(|places| (places, seed))) {
            let mut packets = reordered(&of(name), places, seed);
            for _ in 0..2 {
                let report = judged(&packets);
                assert_eq!(report.count_of(RuleId::Msn), 0, "{name} {places} {seed}: {report}");
                let mut number = 0;
                packets.retain(|_| {
                    number += 1;
                    number % 7 != 3
                });
            }
        }
    }
}
