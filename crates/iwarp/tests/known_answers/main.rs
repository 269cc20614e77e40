//! Known answers: our start-up and queue pair take the place of one side of Linux siw, in each role. They hear what the other
//! side said in a capture, and must say what siw said there: the start-up frame byte for byte, and every FPDU with its
//! segmentation, sequence numbers, offsets, last flags, tags, payload, padding and field for the CRC, in the same order.
//!
//! Of the setting, only the tags of our regions differ, which our context gives out itself: they are exchanged in what is
//! heard and said. Memory is filled from siw's READ responses just before ours are made, so the data says nothing but that it
//! went out from the right place. What ends a connection, and why, is compared in [`refusals`], replies to odd requests in
//! [`start_ups`], with differences of their own. Else
//! differences in behaviour are these, and no others:
//!
//! | siw | here | why |
//! |---|---|---|
//! | its longest FPDU is a multiple of eight bytes: 4144 of a TCP segment of 4148 | the segment size is set to 4144 here | RFC 5044 §5.1 lets an FPDU be as long as the segment |
//! | some padding is not zero | all is | RFC 5044 §4 |
//! | as responder it sends as soon as it has accepted | so in its profile; in others not before the initiator's first FPDU has come | RFC 5044 §7.1.2 |

mod capture;
mod party;
mod refusals;
mod start_ups;

use capture::conversations;
use party::play;
use rdmalab_iwarp::Role;

/// What there is to compare in a capture.
struct Expected {
    /// By connection, the segments of the initiator and of the responder.
    segments: &'static [[usize; 2]],
    /// Those that we say later than siw where a responder waits for the initiator.
    later: usize,
    /// Those that siw pads with something else than zeros.
    bad_pads: usize,
}

/// Plays both roles of each connection.
#[track_caller]
fn expect_the_same(name: &str, expected: &Expected) {
    let found = conversations(name);
    let (mut segments, mut later, mut bad_pads) = (Vec::new(), 0, 0);
    for conversation in &found {
        let initiator = play(name, conversation, Role::Initiator, true);
        let responder = play(name, conversation, Role::Responder, true);
        assert_eq!(initiator.later, 0, "{name}: an initiator may speak at once");
        let as_siw = play(name, conversation, Role::Responder, false);
        assert_eq!(
            (as_siw.segments, as_siw.later),
            (responder.segments, 0),
            "{name}: as siw, as early as siw"
        );
        segments.push([initiator.segments, responder.segments]);
        later += responder.later;
        bad_pads += conversation.bad_pads();
    }
    assert_eq!(segments, expected.segments, "{name}: segments of the initiator and of the responder");
    assert_eq!((later, bad_pads), (expected.later, expected.bad_pads), "{name}: later, and badly padded");
}

#[test]
fn sends_reads_and_writes_both_ways_are_as_siws() {
    expect_the_same("siw_rping", &Expected { segments: &[[6, 8]], later: 0, bad_pads: 0 });
}

#[test]
fn writes_in_several_segments_are_as_siws() {
    expect_the_same("siw_write_bw", &Expected { segments: &[[16, 16], [15, 0]], later: 0, bad_pads: 2 });
}

#[test]
fn reads_are_asked_for_and_answered_as_by_siw() {
    expect_the_same("siw_read_bw", &Expected { segments: &[[16, 16], [5, 15]], later: 0, bad_pads: 2 });
}

/// `rstream` writes as soon as it is connected, at both ends: siw's responder does not wait for the initiator.
#[test]
fn a_responder_says_the_same_as_siw_and_where_it_waits_not_before_the_initiator_has_spoken() {
    expect_the_same("siw_rstream", &Expected { segments: &[[21, 21]], later: 1, bad_pads: 0 });
}

/// TCP segments that were lost, late and out of order: the stream is the same.
#[test]
fn a_bad_network_changes_nothing() {
    expect_the_same("siw_write_loss", &Expected { segments: &[[16, 16], [150, 0]], later: 0, bad_pads: 2 });
}

/// A capture that is added needs a test here, unless there is no iWARP in it.
#[test]
fn every_capture_of_iwarp_is_known_here() {
    let source = include_str!("main.rs");
    let mut found = 0;
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../pcaps")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if path.extension().is_none_or(|end| end != "pcap") || !name.starts_with("siw_") {
            continue;
        }
        found += 1;
        assert!(source.contains(&format!("\"{name}\"")), "{name} is not tested");
    }
    assert_eq!(found, 5);
}
