//! What a responder does with the peer's requests, and how it answers. One file for each behaviour.

mod access;
mod atomic_write;
mod coalescing;
mod credits;
mod discards;
mod duplicates;
mod events;
mod fast_regions;
mod flush;
mod gaps;
mod invalidation;
mod last_words;
mod lengths;
mod message_numbers;
mod opcodes;
mod operations;
mod outstanding_reads;
mod payloads;
mod receive_errors;
mod regions;
mod replay;
mod rnr;
mod window_lives;
mod windows;
mod wrap;

use rdmalab_verbs::State;

use crate::script::{Incoming, Script};

/// Delivers a request that ends the connection, and expects this answer and nothing else.
#[track_caller]
fn expect_fatal(t: &mut Script, request: Incoming, answer: &str) {
    t.expect_state(State::Rts);
    t.deliver(request);
    t.expect(answer);
    t.expect_state(State::Err);
    t.expect_nothing();
    assert_eq!(t.counters().send_fatal_nak, 1);
}
