//! Segments of one direction by hand.

use super::*;

fn segment(sequence: u32, length: usize, acknowledgment: u32) -> TcpSegment {
    let end = ([10, 0, 0, 1].into(), 7);
    TcpSegment {
        source: end,
        destination: end,
        sequence,
        acknowledgment: Some(acknowledgment),
        misses_some: false,
        syn: false,
        fin: false,
        rst: false,
        length,
    }
}

fn roles(segments: &[(u32, usize, i64)], other: &Half) -> Vec<SegmentRole> {
    let mut half = Half::default();
    let each = segments.iter().enumerate();
    each.map(|(index, (sequence, length, time))| {
        half.data(&segment(*sequence, *length, 0), 1000 + 100 * index as u16, Some(*time), other)
    })
    .collect()
}

const TIMER: SegmentRole = SegmentRole::Resent { cause: ResentCause::Timer, is_first_seen: false };

#[test]
fn what_is_sent_again_has_a_cause() {
    let mut other = Half::default();
    let quiet = roles(&[(0, 10, 0), (10, 10, 1), (0, 10, 300_000_000)], &other);
    assert_eq!(quiet, [SegmentRole::New, SegmentRole::New, TIMER]);
    for _ in 0..4 {
        other.hear(&segment(0, 0, 10), 299_000_000);
    }
    let asked = roles(&[(0, 10, 0), (20, 10, 1), (10, 10, 300_000_000)], &other);
    let cause = ResentCause::DuplicateAcknowledgements;
    assert_eq!(asked[2], SegmentRole::Resent { cause, is_first_seen: true });
}

#[test]
fn late_and_doubled_segments_are_not_sent_again() {
    let other = Half::default();
    let late = roles(&[(0, 10, 0), (20, 10, 1_000), (10, 10, 2_000)], &other);
    assert_eq!(late[2], SegmentRole::Late);
    let mut half = Half::default();
    let mut role = |id, time| half.data(&segment(0, 10, 0), id, Some(time), &other);
    assert_eq!([role(0, 0), role(0, 9_000)], [SegmentRole::New, SegmentRole::Duplicate]);
    // The same packet has the same identification.
    assert_eq!([role(500, 9_500), role(500, 9_600)], [TIMER, SegmentRole::Duplicate]);
    // Around the end of the numbers.
    let late = roles(&[(u32::MAX - 4, 10, 0), (10, 5, 1_000), (5, 5, 2_000)], &other);
    assert_eq!(late[2], SegmentRole::Late);
}

/// On a short way a receiver may miss a segment, and have it again, within microseconds.
#[test]
fn what_a_receiver_misses_is_sent_again_however_soon() {
    let cause = ResentCause::DuplicateAcknowledgements;
    let resent = SegmentRole::Resent { cause, is_first_seen: false };
    let again = |told: fn(&mut Half)| {
        let (mut half, mut other) = (Half::default(), Half::default());
        half.data(&segment(0, 10, 0), 0, Some(0), &other);
        half.data(&segment(10, 10, 0), 0, Some(1), &other);
        told(&mut other);
        half.data(&segment(0, 10, 0), 0, Some(6_000), &other)
    };
    assert_eq!(again(|_| {}), SegmentRole::Duplicate);
    // Four acknowledgements of the same, or one that tells of later bytes.
    assert_eq!(again(|other| (1..=4).for_each(|time| other.hear(&segment(0, 0, 0), time))), resent);
    assert_eq!(
        again(|other| (1..=3).for_each(|time| other.hear(&segment(0, 0, 0), time))),
        SegmentRole::Duplicate
    );
    assert_eq!(again(|other| other.hear(&TcpSegment { misses_some: true, ..segment(0, 0, 0) }, 5)), resent);
    // What it missed before, or misses elsewhere, is no reason.
    assert_eq!(
        again(|other| other.hear(&TcpSegment { misses_some: true, ..segment(0, 0, 0) }, 0)),
        SegmentRole::Duplicate
    );
    assert_eq!(
        again(|other| other.hear(&TcpSegment { misses_some: true, ..segment(0, 0, 10) }, 5)),
        SegmentRole::Duplicate
    );
}

#[test]
fn identifications_that_count_tell_the_late_from_the_resent() {
    let other = Half::default();
    let mut half = Half::default();
    let mut role = |sequence, id, time| half.data(&segment(sequence, 10, 0), id, Some(time), &other);
    for index in 0..5 {
        assert_eq!(role(index * 10, 100 + index as u16, 0), SegmentRole::New);
    }
    assert_eq!(role(60, 106, 0), SegmentRole::New);
    assert_eq!(role(50, 105, 900_000_000), SegmentRole::Late);
    assert_eq!(role(80, 108, 0), SegmentRole::New);
    let resent = SegmentRole::Resent { cause: ResentCause::Timer, is_first_seen: true };
    assert_eq!(role(70, 109, 10), resent);
}

#[test]
fn holes_are_bounded() {
    let other = Half::default();
    let mut half = Half::default();
    for index in 0..1_000 {
        half.data(&segment(index * 20, 10, 0), 0, None, &other);
    }
    assert_eq!(half.holes.len(), MOST_HOLES);
}

#[test]
fn what_is_left_of_an_earlier_connection_of_the_ports_is_not_heard() {
    let (mut one, other) = (Half::default(), Half::default());
    one.hear(&segment(77, 0, 500_000), 0);
    one.hear(&TcpSegment { syn: true, ..segment(0, 0, 21) }, 1);
    assert_eq!(one.heard(&other), Some(21));
}

#[test]
fn a_fin_is_heard_as_no_byte() {
    let (mut one, mut other) = (Half::default(), Half::default());
    other.hear(&TcpSegment { fin: true, ..segment(100, 20, 0) }, 0);
    one.hear(&segment(0, 0, 121), 0);
    assert_eq!(one.heard(&other), Some(120));
    one.hear(&segment(0, 0, 60), 0);
    assert_eq!(one.heard(&other), Some(120));
}
