//! Each direction captured at a place of its own, by clocks that differ: what seems to come too early or too late is no violation.

use rdmalab_lint::Severity;

use super::lost::{Packets, judged, of};
use super::{KNOWN, captures};

/// Who sent an IPv4 packet.
fn source(packet: &[u8]) -> Option<&[u8]> {
    packet.get(26..30).filter(|_| packet.get(12..14) == Some(&[8, 0]))
}

/// What one of two sends, so many nanoseconds later, in the order of their times.
fn shifted(packets: &Packets, by: u64) -> Packets {
    let first = packets.iter().find_map(|(_, packet)| source(packet)).map(<[u8]>::to_vec);
    let is_first = |packet: &[u8]| source(packet) == first.as_deref();
    let mut shifted: Packets = packets
        .iter()
        .map(|(time, packet)| (time + if is_first(packet) { 2_000_000_000 } else { by }, packet.clone()))
        .collect();
    shifted.sort_by_key(|(time, _)| *time);
    shifted
}

#[test]
fn clocks_that_differ_are_no_violation() {
    for name in captures("").keys() {
        let known: u64 = KNOWN.iter().filter(|(known, ..)| known == name).map(|(.., count)| count).sum();
        for (by, words) in [
            (1_000_000_000, "a second before"),
            (1_999_000_000, "a millisecond before"),
            (1_999_950_000, "50 µs before"),
            (2_000_050_000, "50 µs behind"),
            (2_001_000_000, "a millisecond behind"),
            (3_000_000_000, "a second behind"),
        ] {
            let report = judged(&shifted(&of(name), by));
            assert!(report.count(Severity::Violation) <= known, "{name}, {words}:\n{report}");
        }
    }
}
