//! Known answers: a responder of ours takes the place of one of Linux rxe. It is fed what rxe's requester sent in a
//! capture, packet by packet, and must answer what rxe's responder answered there: opcode, PSN, syndrome, MSN,
//! segmentation, flags and payload, in the same order.
//!
//! Where nothing was lost, a requester of ours takes the place of rxe's, too. Of unreliable connections and datagrams, which
//! nobody answers, both ends are ours in turn: the sender must send the same packets, the receiver take the same messages.
//!
//! Of the setting, only two numbers differ, which our endpoint gives out itself: its queue pair's and its region's. They
//! are exchanged in the requests. Memory is filled from the responses just before each READ and atomic, so the data says
//! nothing about the operation, only that it went out from the right place.
//!
//! Where a capture lacks lost packets, or has packets that never arrived, the test says so and counts them. Differences
//! in behaviour are these, and no others:
//!
//! | rxe | here | why |
//! |---|---|---|
//! | acknowledges every repeated packet of a SEND or WRITE | only those that ask for it | rxe's own requester can stop for good when an acknowledgement runs ahead of what it has sent again (seen live) |
//! | after an RNR NAK, a later packet gets a sequence error NAK with the same PSN | silence | the requester was told already where to begin again, and when |

mod answerer;
mod asker;
mod capture;
mod unreliable;
mod unreliable_end;

use rdmalab_wire::{PathMtu, Syndrome};

use answerer::Answerer;
use asker::Asker;
use capture::{Conversation, Heard, conversations, flows};

/// Feeds every request, and requires rxe's answers after each: nothing was lost.
fn expect_same_answers(name: &str, mtu: PathMtu, requests: usize, answers: usize) {
    let mut counts = (0, 0);
    for conversation in conversations(name) {
        let mut ours = Answerer::new(&conversation, mtu);
        let mut theirs = conversation.answers.iter();
        for request in &conversation.requests {
            ours.make_ready(request, theirs.as_slice());
            for answer in ours.feed(request) {
                let Some(expected) = theirs.next() else {
                    panic!(
                        "{name}: rxe said nothing more to frame {}, we: {}",
                        request.frame,
                        answer.packet()
                    )
                };
                expect_same(name, request, &answer, expected);
            }
        }
        let missing: Vec<_> = theirs.map(|heard| (heard.frame, heard.packet().to_string())).collect();
        assert!(missing.is_empty(), "{name}: not answered here: {missing:#?}");
        counts.0 += conversation.requests.len();
        counts.1 += conversation.answers.len();
    }
    assert_eq!(counts, (requests, answers), "{name}: requests and answers compared");
}

/// The conversation of a capture in which one side asks.
fn only_conversation(name: &str) -> Conversation {
    let mut found = conversations(name);
    assert_eq!(found.len(), 1, "{name}");
    found.remove(0)
}

#[track_caller]
fn expect_same(name: &str, request: &Heard, ours: &Heard, theirs: &Heard) {
    assert_eq!(
        ours.packet(),
        theirs.packet(),
        "{name}, frame {}: {}\nours:   {}\ntheirs: {} (frame {})",
        request.frame,
        request.packet(),
        ours.packet(),
        theirs.packet(),
        theirs.frame
    );
}

#[test]
fn sends_of_several_packets_are_answered_as_by_rxe() {
    expect_same_answers("rc_pingpong", PathMtu::M1024, 18, 6);
    expect_same_answers("rc_pingpong_v6", PathMtu::M1024, 18, 6);
    expect_same_answers("send_bw", PathMtu::M4096, 10, 5);
}

#[test]
fn writes_are_answered_as_by_rxe() {
    expect_same_answers("write_bw", PathMtu::M4096, 15, 5);
    expect_same_answers("write_bw_cm", PathMtu::M4096, 37, 37);
}

#[test]
fn writes_with_immediate_are_answered_as_by_rxe() {
    expect_same_answers("rstream", PathMtu::M4096, 22, 22);
}

#[test]
fn reads_are_answered_as_by_rxe() {
    expect_same_answers("read_bw", PathMtu::M4096, 5, 15);
}

#[test]
fn atomics_are_answered_as_by_rxe() {
    expect_same_answers("atomic_fa", PathMtu::M4096, 5, 5);
    expect_same_answers("atomic_cs", PathMtu::M4096, 5, 5);
}

#[test]
fn a_mixture_of_sends_reads_and_writes_both_ways_is_answered_as_by_rxe() {
    expect_same_answers("rping", PathMtu::M1024, 12, 12);
    expect_same_answers("rping_v6", PathMtu::M1024, 12, 12);
}

/// `ib_send_bw` with two receives posted: rxe's responder was often not ready. When it had a receive is told by its
/// answers.
#[test]
fn a_receiver_that_is_not_ready_answers_as_rxe_but_for_the_naks_behind_its_rnr_naks() {
    let conversation = only_conversation("rnr");
    let mut ours = Answerer::new(&conversation, PathMtu::M1024);
    let mut theirs = conversation.answers.iter();
    let (mut rnr_naks, mut naks_behind) = (0, 0);
    for request in &conversation.requests {
        ours.make_ready(request, theirs.as_slice());
        for answer in ours.feed(request) {
            let expected = theirs.next().expect("rxe answered too");
            expect_same("rnr", request, &answer, expected);
            let is_rnr = matches!(answer.syndrome(), Some(Syndrome::RnrNak { timer: 12 }));
            rnr_naks += usize::from(is_rnr);
            let is_behind = theirs.as_slice().first().is_some_and(|next| {
                is_rnr && next.is_sequence_nak() && next.packet().bth.psn == answer.packet().bth.psn
            });
            if is_behind {
                theirs.next();
                naks_behind += 1;
            }
        }
    }
    assert_eq!(theirs.next().map(|heard| heard.frame), None);
    assert_eq!((rnr_naks, naks_behind), (91, 90));
}

/// Captures with packets that the responder dropped before its transport saw them. Which they were is told by rxe's
/// answers: a packet that was never answered, though it would have had to be, did not arrive.
#[test]
fn duplicates_and_gaps_are_answered_as_by_rxe_when_requests_are_lost() {
    for (name, requests, answers, lost, quiet) in
        [("write_drop_after", 1496, 49, 14, 20), ("send_timeouts", 68, 65, 3, 0)]
    {
        let conversation = only_conversation(name);
        assert_eq!((conversation.requests.len(), conversation.answers.len()), (requests, answers));
        let mut ours = Answerer::new(&conversation, PathMtu::M1024);
        let mut theirs = conversation.answers.iter();
        let mut dropped = Vec::new();
        let mut by_rxe_alone = 0;
        for request in &conversation.requests {
            ours.make_ready(request, theirs.as_slice());
            if !ours.arrived(request, theirs.as_slice().first()) {
                dropped.push(request.frame);
                continue;
            }
            if ours.is_acknowledged_by_rxe_alone(request, theirs.as_slice().first()) {
                theirs.next();
                by_rxe_alone += 1;
            }
            for answer in ours.feed(request) {
                let expected = theirs.next().expect("rxe answered too");
                expect_same(name, request, &answer, expected);
            }
        }
        assert_eq!(theirs.next().map(|heard| heard.frame), None, "{name}: not answered here");
        assert_eq!(dropped.len(), lost, "{name}: frames {dropped:?}");
        assert_eq!(by_rxe_alone, quiet, "{name}");
    }
}

/// Captures without the packets that were lost. All requests in them arrived; of rxe's answers some are missing.
#[test]
fn repeated_writes_and_reads_are_answered_as_by_rxe_when_answers_are_lost() {
    for (name, answers, lost, quiet) in [("write_bw_loss", 60, 2, 14), ("read_bw_loss", 2643, 163, 0)] {
        let conversation = only_conversation(name);
        assert_eq!(conversation.answers.len(), answers);
        let mut ours = Answerer::new(&conversation, PathMtu::M1024);
        let mut theirs = conversation.answers.iter().peekable();
        let (mut missing, mut by_rxe_alone) = (0, 0);
        for request in &conversation.requests {
            ours.make_ready(request, &conversation.answers);
            if ours.is_acknowledged_by_rxe_alone(request, theirs.peek().copied()) {
                theirs.next();
                by_rxe_alone += 1;
            }
            for answer in ours.feed(request) {
                match theirs.peek() {
                    Some(expected) if answer.packet() == expected.packet() => {
                        theirs.next();
                    }
                    _ => missing += 1,
                }
            }
        }
        let next = theirs.next().map(|heard| (heard.frame, heard.packet().to_string()));
        assert_eq!(next, None, "{name}: never said here");
        assert_eq!((missing, by_rxe_alone), (lost, quiet), "{name}");
    }
}

/// Captures in which nothing was lost. Our requester gets the work that rxe's must have had, and rxe's answers in their
/// order: it must ask in the same packets, and all of the work must be done in the end.
#[test]
fn the_same_work_is_asked_for_in_the_same_packets_as_by_rxe() {
    for (name, mtu) in [
        ("rc_pingpong", PathMtu::M1024),
        ("rc_pingpong_v6", PathMtu::M1024),
        ("send_bw", PathMtu::M4096),
        ("write_bw", PathMtu::M4096),
        ("write_bw_cm", PathMtu::M4096),
        ("rstream", PathMtu::M4096),
        ("read_bw", PathMtu::M4096),
        ("atomic_fa", PathMtu::M4096),
        ("atomic_cs", PathMtu::M4096),
        ("rping", PathMtu::M1024),
        ("rping_v6", PathMtu::M1024),
    ] {
        for conversation in conversations(name) {
            let mut ours = Asker::new(&conversation, mtu);
            let mut asked = ours.ask();
            for answer in &conversation.answers {
                ours.hear(answer);
                asked.extend(ours.ask());
            }
            let lines = |heard: &[Heard]| heard.iter().map(|heard| heard.packet().to_string()).collect();
            let (asked_lines, their_lines): (Vec<_>, Vec<_>) = (lines(&asked), lines(&conversation.requests));
            assert_eq!(asked_lines, their_lines, "{name}");
            for (asked, theirs) in asked.iter().zip(&conversation.requests) {
                assert_eq!(asked.packet(), theirs.packet(), "{name}, frame {}", theirs.frame);
            }
            ours.expect_done(name);
        }
    }
}

/// A capture that is added needs a test here, unless it has no RoCE v2 in it.
#[test]
fn every_capture_of_roce_is_known_here() {
    let sources = [include_str!("main.rs"), include_str!("unreliable.rs")];
    let mut found = 0;
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../pcaps")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if path.extension().is_none_or(|end| end != "pcap")
            || (conversations(name).is_empty() && flows(name).is_empty())
        {
            continue;
        }
        found += 1;
        let quoted = format!("\"{name}\"");
        assert!(sources.iter().any(|source| source.contains(&quoted)), "{name} is not tested");
    }
    assert_eq!(found, 20);
}
