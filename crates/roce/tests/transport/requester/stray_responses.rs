//! Answers to nothing: ghosts, late ones, and ones that were never asked for change nothing.
//!
//! Rule: rc-ghost-ack: An answer to what is not outstanding, late or never sent, changes nothing.

use rdmalab_roce::Discard;
use rdmalab_verbs::State;
use rdmalab_wire::NakCode;

use crate::script::*;

fn every_answer(psn: u32) -> Vec<Incoming> {
    vec![
        ack(psn),
        sequence_nak(psn),
        rnr_nak(psn, 1),
        nak(psn, NakCode::InvalidRequest),
        nak(psn, NakCode::RemoteAccessError),
        read_response_first(psn, 1024),
        read_response_middle(psn, 1024),
        read_response_last(psn, 1),
        read_response_only(psn, 1),
        atomic_ack(psn, 1),
    ]
}

#[test]
fn an_answer_is_dropped_while_nothing_is_outstanding() {
    let mut t = Script::new();
    for psn in [0, 1, 0xff_ffff, 0x80_0000] {
        for answer in every_answer(psn) {
            t.deliver(answer);
            t.expect_discard(Discard::UnexpectedResponse);
        }
    }
    t.expect_state(State::Rts);
    t.expect_nothing();
}

#[test]
fn a_ghost_answer_to_what_was_not_sent_yet_is_dropped() {
    let mut t = Script::new();
    t.post(send(1));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    for psn in [1, 2, 0x7f_ffff] {
        for answer in every_answer(psn) {
            t.deliver(answer);
            t.expect_discard(Discard::UnexpectedResponse);
        }
    }
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
}

#[test]
fn an_answer_to_what_is_done_is_dropped() {
    let mut t = Script::new();
    t.post(send(1));
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
    for answer in every_answer(0) {
        t.deliver(answer);
        t.expect_discard(Discard::UnexpectedResponse);
    }
    t.expect_nothing();
    t.deliver(ack(1).msn(2));
    t.expect_done(1);
}

#[test]
fn a_stale_sequence_nak_does_not_send_again() {
    let mut t = Script::new();
    t.post(send(1));
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(ack(1).msn(2));
    t.deliver(sequence_nak(1));
    t.expect_done(0);
    t.expect_done(1);
    t.expect_nothing();
    assert_eq!(t.counters().rcvd_seq_err, 0);
}

#[test]
fn answers_before_the_queue_pair_may_send_are_dropped() {
    let mut t = Script::in_state(State::Rtr, Setup::default());
    for answer in every_answer(0) {
        t.deliver(answer);
        t.expect_discard(Discard::State);
    }
}
