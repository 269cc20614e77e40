//! Answers that the capturing program lost, and packets that two places of capture have both: what happened stays the same.

use rdmalab_lint::{Report, Severity};

use super::lost::{Packets, judged, of};

/// The opcode of a RoCE v2 packet over IPv4 without options.
fn opcode(packet: &[u8]) -> Option<u8> {
    let is_roce = packet.get(23) == Some(&17) && packet.get(36..38) == Some(&4791_u16.to_be_bytes());
    packet.get(42).copied().filter(|_| is_roce)
}

/// Whether it answers with data: READ responses, and those of atomics.
fn has_data(packet: &[u8]) -> bool {
    opcode(packet).is_some_and(|opcode| matches!(opcode, 0x0d..=0x10 | 0x12))
}

fn done(report: &Report) -> Vec<(u64, u64)> {
    let operations = report.flows.iter().map(|flow| &flow.stats.operations);
    operations.map(|operations| (operations.count(), operations.bytes())).collect()
}

fn returns(report: &Report) -> u64 {
    report.flows.iter().flat_map(|flow| flow.stats.returns).sum()
}

/// Whoever goes on without asking again has its answer. The last two READs and atomics may be left open: nothing comes behind them.
#[test]
fn an_answer_that_only_the_capture_lacks_leaves_the_table_right() {
    for (name, last) in [("read_bw", 4), ("atomic_fa", 1), ("atomic_cs", 1)] {
        let whole = of(name);
        let right = done(&judged(&whole));
        let answers: Vec<usize> = (0..whole.len()).filter(|index| has_data(&whole[*index].1)).collect();
        assert!(answers.len() > last, "{name}");
        for index in &answers[..answers.len() - last] {
            let mut packets = whole.clone();
            packets.remove(*index);
            let report = judged(&packets);
            assert_eq!(report.count(Severity::Violation), 0, "{name} without {}:\n{report}", index + 1);
            assert_eq!(done(&report), right, "{name} without {}:\n{report}", index + 1);
            let sum = |count: fn(&rdmalab_lint::Stats) -> u64| -> u64 {
                report.flows.iter().map(|flow| count(&flow.stats)).sum()
            };
            assert_eq!(sum(|stats| stats.responses_uncaptured), 1, "{name} without {}:\n{report}", index + 1);
            assert_eq!(sum(|stats| stats.responses_missing), 0, "{name} without {}:\n{report}", index + 1);
            assert_eq!(sum(|stats| stats.implied_naks), 0, "{name} without {}:\n{report}", index + 1);
        }
    }
}

/// Each packet twice, the second so many nanoseconds later, in the order of their times.
fn twice(packets: &Packets, later: u64) -> Packets {
    let again = packets.iter().map(|(time, data)| (time + later, data.clone()));
    let mut all: Packets = packets.iter().cloned().chain(again).collect();
    all.sort_by_key(|(time, _)| *time);
    all
}

#[test]
fn two_places_of_capture_count_nothing_twice() {
    for name in ["rnr", "write_drop_after", "write_bw_loss", "send_timeouts", "read_bw_loss", "atomic_fa"] {
        let packets = of(name);
        let right = judged(&packets);
        for later in [0, 700, 20_000] {
            let report = judged(&twice(&packets, later));
            assert_eq!(report.count(Severity::Violation), 0, "{name} {later}:\n{report}");
            assert_eq!(done(&report), done(&right), "{name} {later}:\n{report}");
            assert_eq!(returns(&report), returns(&right), "{name} {later}:\n{report}");
            for (flow, right) in report.flows.iter().zip(&right.flows) {
                let (stats, right) = (&flow.stats, &right.stats);
                assert_eq!(
                    (stats.naks, stats.rnr_naks),
                    (right.naks, right.rnr_naks),
                    "{name} {later}:\n{report}"
                );
                assert_eq!(stats.lost_behind, right.lost_behind, "{name} {later}:\n{report}");
                assert_eq!(stats.repeated, right.repeated, "{name} {later}:\n{report}");
                assert_eq!(stats.duplicates, right.requests, "{name} {later}:\n{report}");
                assert_eq!(stats.duplicate_responses, right.responses, "{name} {later}:\n{report}");
            }
        }
    }
}

/// A pause behind all operations, and then one of them again, is no time in which anything was to be carried.
#[test]
fn goodput_is_of_the_time_of_operations() {
    let mut packets = of("write_bw");
    let before = judged(&packets).flows[0].stats.goodput();
    let last =
        packets.iter().rposition(|(_, data)| opcode(data).is_some_and(|opcode| opcode < 0x0c)).unwrap();
    let again = packets[last].1.clone();
    packets.push((packets.last().unwrap().0 + 300_000_000, again));
    let report = judged(&packets);
    assert_eq!(report.flows[0].stats.goodput(), before, "{report}");
}
