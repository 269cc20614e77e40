//! A conversation whose streams are cut at every byte comes to the same end.
//!
//! Rule: mpa-any-pieces: TCP may deliver the stream in pieces of any size; nothing depends on them (RFC 5044 §4, §8).

use rdmalab_iwarp::ReadyToReceive;
use rdmalab_verbs::{Completion, CompletionKind, Operation};

use crate::pair::{Cut, Outcome, Pair};
use crate::pairs::converse;
use crate::side::{Setup, pattern};

fn setups() -> impl Iterator<Item = Setup> {
    [(true, false), (false, false), (true, true), (false, true)].into_iter().map(|(crc, markers)| Setup {
        crc,
        markers,
        segment_size: 256,
        ready: Some(ReadyToReceive::Read),
        ..Setup::default()
    })
}

/// Everything that works, and the end in order.
fn good(setup: Setup, cut: Cut) -> (Outcome, [usize; 2]) {
    let mut pair = Pair::cut(setup, cut);
    converse(&mut pair, [130, 700]);
    pair.disconnect(1);
    pair.run();
    let sent = pair.sent;
    (pair.outcome(), sent)
}

/// Something that works, then a WRITE out of bounds with requests behind it.
fn bad(setup: Setup, cut: Cut) -> (Outcome, [usize; 2]) {
    let mut pair = Pair::cut(setup, cut);
    pair.sides[0].fill(0, &pattern(3, 4000));
    pair.sides[1].receive(0, 9000, 1000);
    pair.sides[1].receive(1, 9000, 1000);
    pair.post(0, Operation::Send, 0, 900);
    pair.run();
    let end = pair.sides[1].bytes(0, 1).len() as u64 * (1 << 16);
    let mut remote = pair.remote(0, 0);
    remote.address += end - 1000;
    pair.post(0, Operation::RdmaWrite(remote), 0, 1500);
    pair.post(0, Operation::RdmaRead(pair.remote(0, 0)), 0, 100);
    pair.post(1, Operation::RdmaRead(pair.remote(1, 0)), 0, 100);
    pair.run();
    let sent = pair.sent;
    (pair.outcome(), sent)
}

fn every_cut(play: fn(Setup, Cut) -> (Outcome, [usize; 2])) {
    for setup in setups() {
        let (whole, sent) = play(setup, Cut::Whole);
        let (outcome, _) = play(setup, Cut::Bytes);
        assert!(outcome == whole, "{setup:?}: {:?} {:?}", outcome.completions, outcome.events);
        for (side, length) in sent.into_iter().enumerate() {
            for at in 0..length {
                let cut = Cut::At(side, at);
                let (outcome, _) = play(setup, cut);
                assert!(
                    outcome == whole,
                    "{setup:?} {cut:?}: {:?} {:?}",
                    outcome.completions,
                    outcome.events
                );
            }
        }
    }
}

#[test]
fn a_conversation_cut_at_every_byte_comes_to_the_same_end() {
    every_cut(good);
}

#[test]
fn a_conversation_in_pieces_that_know_no_fpdus_comes_to_the_same_end() {
    // Some pieces wait for others, so that what we send and what we receive may meet otherwise; each has its order.
    let apart = |(mut outcome, _): (Outcome, _)| {
        outcome.completions.iter_mut().for_each(|side| side.sort_by_key(is_receive));
        outcome
    };
    for setup in setups() {
        let whole = apart(good(setup, Cut::Whole));
        for size in [2, 3, 7, 511, 4096] {
            let outcome = apart(good(setup, Cut::Every(size)));
            assert!(outcome == whole, "{setup:?} {size}: {:?} {:?}", outcome.completions, outcome.events);
        }
    }
}

fn is_receive(completion: &Completion) -> bool {
    matches!(completion.kind, CompletionKind::Receive | CompletionKind::ReceiveRdmaWithImmediate)
}

#[test]
fn an_error_in_a_stream_cut_at_every_byte_comes_to_the_same_end() {
    every_cut(bad);
}
