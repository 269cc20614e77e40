//! Whichever segment of iWARP a capture lacks, the row of its direction says so, and nobody is blamed.

use std::fs;

use rdmalab_lint::{Reason, Report, Severity, lint};
use rdmalab_trace::{Reader, Streams, TcpSegment};

use super::{folder, keeping};

/// What is missing in all directions together, and whether a reason says that something is.
fn missing(report: &Report) -> (u64, bool) {
    let bytes = report.streams.iter().map(|row| row.stats.missing_bytes).sum();
    let lacks =
        |row: &rdmalab_lint::StreamReport| row.reasons.has(Reason::LostAhead) || row.reasons.has(Reason::Cut);
    (bytes, report.streams.iter().any(lacks))
}

/// The captures of a peer without losses, and how often it breaks a rule in them.
const WITHOUT_LOSSES: [(&str, u64); 4] =
    [("siw_rping", 0), ("siw_write_bw", 0), ("siw_read_bw", 0), ("siw_rstream", 1)];

/// All segments, each with the number of its frame.
fn segments(file: &[u8]) -> Vec<(usize, TcpSegment)> {
    let (mut reader, mut streams, mut segments) = (Reader::new(file).unwrap(), Streams::new(), Vec::new());
    while let Some(record) = reader.next().unwrap() {
        segments.extend(streams.dissect(&record).tcp().map(|segment| (record.frame as usize, segment)));
    }
    segments
}

/// Judges a capture without one segment, and up to a frame. What is missing within an FPDU is counted as that FPDU's.
fn without(name: &str, known: u64, lost: usize, last: usize, length: u64) {
    let file = fs::read(folder(&format!("{name}.pcap"))).unwrap();
    let rest: Vec<usize> = (1..=last).filter(|frame| *frame != lost).collect();
    let report = lint(&keeping(&file, &rest)[..], &mut ()).unwrap();
    assert!(report.count(Severity::Violation) <= known, "{name} without {lost}: {report}");
    let (bytes, is_said) = missing(&report);
    let is_within = report.streams.iter().any(|row| row.reasons.has(Reason::Cut));
    assert!(
        is_said && (bytes == length || is_within),
        "{name} without {lost}, to {last}: {bytes} {length} {report}"
    );
}

#[test]
fn whichever_segment_of_iwarp_is_missing_its_bytes_are_counted() {
    for (name, known) in WITHOUT_LOSSES {
        let file = fs::read(folder(&format!("{name}.pcap"))).unwrap();
        assert_eq!(missing(&lint(&file[..], &mut ()).unwrap()), (0, false));
        let segments = segments(&file);
        let (last, _) = segments[segments.len() - 1];
        for (frame, segment) in segments.iter().filter(|(_, segment)| segment.length > 0) {
            without(name, known, *frame, last, segment.length as u64);
        }
    }
}

#[test]
fn a_capture_may_end_with_the_acknowledgement_of_what_it_lacks() {
    let mut judged = 0;
    for (name, known) in WITHOUT_LOSSES {
        let segments = segments(&fs::read(folder(&format!("{name}.pcap"))).unwrap());
        for (index, (frame, segment)) in segments.iter().enumerate() {
            let (front, behind) = (&segments[..index], &segments[index + 1..]);
            let end = segment.sequence.wrapping_add(segment.length as u32);
            let is_heard = |other: &TcpSegment| {
                let has = other
                    .acknowledgment
                    .is_some_and(|number| !number.wrapping_sub(end).cast_signed().is_negative());
                other.source == segment.destination && other.destination == segment.source && has
            };
            let Some(heard) = behind.iter().position(|(_, other)| is_heard(other)) else { continue };
            // It is in the middle of a direction, and nothing of that comes between.
            let is_same = |(_, other): &(usize, TcpSegment)| {
                other.source == segment.source && other.destination == segment.destination
            };
            let has_begun = front.iter().any(|other| is_same(other) && other.1.length > 0);
            if segment.length > 0 && has_begun && !behind[..heard].iter().any(is_same) {
                judged += 1;
                without(name, known, *frame, behind[heard].0, segment.length as u64);
            }
        }
    }
    assert!(judged > 50, "{judged}");
}

/// In a capture that swapped packets the start of a connection may stand behind what came of it.
#[test]
fn what_stands_in_front_of_a_late_start_is_of_the_same_connection() {
    let file = fs::read(folder("siw_rping.pcap")).unwrap();
    for frames in [
        // The SYN behind an acknowledgement of what its sender said next: forgotten, that would be unheard.
        &[2, 9, 1, 4, 6][..],
        // The reply behind an answer to its sender's READ: which would still wait.
        &[4, 8, 10, 6, 9, 14, 12, 13, 16, 17],
    ] {
        let report = lint(&keeping(&file, frames)[..], &mut ()).unwrap();
        assert_eq!(report.count(Severity::Violation), 0, "{frames:?}: {report}");
    }
}
