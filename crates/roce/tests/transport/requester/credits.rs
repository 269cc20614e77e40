//! End-to-end credits of the peer, and what they hold back.
//!
//! Rule: credit-limit: A requester whose peer grants credits sends a message that consumes a receive only up
//! to the limit: messages complete (MSN) plus credits.
//! Rule: credit-probe: Beyond the limit it sends one packet of one message, asks for its acknowledgement, and
//! goes on when that comes.
//! Rule: credit-unlimited-operations: READs, atomics and WRITEs without immediate data consume no receive and
//! are not held back by credits.
//! Rule: credit-never-back: The limit never goes back, whatever order acknowledgements come in.
//! Rule: credit-none: An acknowledgement whose credits say "none" (31) lifts the limit.

use rdmalab_roce::Discard;
use rdmalab_verbs::{Placement, State};
use rdmalab_wire::Syndrome;

use crate::script::*;

fn with_credits() -> Script {
    Script::with(Setup { profile: CREDITS, timeout: 1, ..Setup::default() })
}

/// An acknowledgement with so many messages complete and credits by this code.
fn credits(psn: u32, msn: u32, code: u8) -> Incoming {
    ack(psn).msn(msn).syndrome(Syndrome::Ack { credits: code })
}

#[test]
fn before_the_first_acknowledgement_one_message_may_ask() {
    let mut t = with_credits();
    for _ in 0..4 {
        t.post(send(1));
    }
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    t.expect_nothing();
    // One message complete, two more have receives.
    t.deliver(credits(0, 1, 2));
    t.expect_done(0);
    t.expect("SEND_ONLY psn=1 len=1 ackreq");
    t.expect("SEND_ONLY psn=2 len=1 ackreq");
    // And the next may ask.
    t.expect("SEND_ONLY psn=3 len=1 ackreq");
    t.post(send(1));
    t.expect_nothing();
    t.deliver(credits(3, 4, 0));
    for id in 1..4 {
        t.expect_done(id);
    }
    t.expect("SEND_ONLY psn=4 len=1 ackreq");
}

#[test]
fn every_operation_that_consumes_a_receive_is_limited() {
    for work in [send(1), send_imm(1, 2), send_inv(1, 2), write_imm(1, 2)] {
        let mut t = with_credits();
        t.post(work.clone());
        t.post(work);
        assert_eq!(t.take_lines().len(), 1);
        t.deliver(credits(0, 1, 1));
        t.expect_done(0);
        assert_eq!(t.take_lines().len(), 1);
    }
}

#[test]
fn what_consumes_no_receive_is_not_limited() {
    let mut t = with_credits();
    let works = [
        write(2000),
        write(1),
        read(1),
        fetch_add(1),
        flush(8, Placement::GLOBAL),
        atomic_write(1),
        write(0),
    ];
    let count = works.len();
    for work in works {
        t.post(work);
    }
    assert_eq!(t.take_lines().len(), count + 1);
}

#[test]
fn a_long_message_beyond_the_limit_sends_one_packet_and_the_rest_when_that_is_acknowledged() {
    // Whether there are credits by then or not: the message has found its receive.
    for code in [0, 1] {
        let mut t = with_credits();
        t.post(send(3000));
        t.expect("SEND_FIRST psn=0 len=1024 ackreq");
        t.expect_nothing();
        t.deliver(credits(0, 0, code));
        t.expect("SEND_MIDDLE psn=1 len=1024");
        t.expect("SEND_LAST psn=2 len=952 ackreq");
        t.deliver(credits(2, 1, 0));
        t.expect_done(0);
    }
}

#[test]
fn a_long_write_with_immediate_asks_with_its_first_packet_as_well() {
    let mut t = with_credits();
    t.post(write_imm(2000, 5));
    t.expect("WRITE_FIRST psn=0 va=0x200000 rkey=0x200 dmalen=2000 len=1024 ackreq");
    t.expect_nothing();
    t.deliver(credits(0, 0, 0));
    t.expect("WRITE_LAST_IMM psn=1 len=976 imm=0x00000005 ackreq");
}

#[test]
fn a_long_message_within_the_limit_does_not_ask() {
    let mut t = with_credits();
    t.post(write(1));
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(credits(0, 1, 1));
    t.expect_done(0);
    t.post(send(2000));
    t.expect("SEND_FIRST psn=1 len=1024");
    t.expect("SEND_LAST psn=2 len=976 ackreq");
}

#[test]
fn nothing_overtakes_a_message_that_is_held_back() {
    let mut t = with_credits();
    t.post(send(1));
    t.post(send(1));
    t.post(write(1));
    t.post(read(1));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    t.expect_nothing();
    t.deliver(credits(0, 1, 0));
    t.expect_done(0);
    t.expect("SEND_ONLY psn=1 len=1 ackreq");
    t.expect("WRITE_ONLY psn=2 va=0x200000 rkey=0x200 dmalen=1 len=1 ackreq");
    t.expect("READ_REQUEST psn=3 va=0x200000 rkey=0x200 dmalen=1 ackreq");
}

#[test]
fn messages_that_consume_no_receive_count_for_the_limit_and_close_no_question() {
    let mut t = with_credits();
    t.post(write(1));
    t.post(write(1));
    t.post(send(1));
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 3, "the first SEND asks though two messages are in front of it");
    t.deliver(credits(1, 2, 0));
    t.expect_done(0);
    t.expect_done(1);
    t.expect_nothing();
    // Three complete and one receive: the fourth has it.
    t.deliver(credits(2, 3, 1));
    t.expect_done(2);
    t.expect("SEND_ONLY psn=3 len=1 ackreq");
}

#[test]
fn an_unsolicited_acknowledgement_brings_credits() {
    let mut t = with_credits();
    for _ in 0..4 {
        t.post(send(1));
    }
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(credits(0, 1, 0));
    t.expect_done(0);
    assert_eq!(t.take_lines().len(), 1, "the second asks");
    t.deliver(credits(0, 1, 3));
    t.expect("SEND_ONLY psn=2 len=1 ackreq");
    t.expect("SEND_ONLY psn=3 len=1 ackreq");
    assert_eq!(t.counters().discarded(Discard::UnexpectedResponse), 0);
    t.deliver(credits(3, 4, 0));
    for id in 1..4 {
        t.expect_done(id);
    }
}

#[test]
fn an_old_acknowledgement_that_brings_nothing_is_dropped() {
    let mut t = with_credits();
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(credits(0, 1, 2));
    t.expect_done(0);
    t.deliver(credits(0, 1, 2));
    t.expect_discard(Discard::UnexpectedResponse);
}

#[test]
fn the_limit_never_goes_back() {
    let mut t = with_credits();
    t.post(write(1));
    t.post(write(1));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(credits(0, 1, 4));
    t.deliver(credits(1, 2, 0));
    t.expect_done(0);
    t.expect_done(1);
    for _ in 0..5 {
        t.post(send(1));
    }
    // Messages 3 to 5 have receives, and the sixth asks.
    assert_eq!(t.take_lines().len(), 4);
}

#[test]
fn code_31_lifts_the_limit() {
    let mut t = with_credits();
    for _ in 0..20 {
        t.post(send(1));
    }
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
    assert_eq!(t.take_lines().len(), 19);
}

#[test]
fn responses_with_data_bring_credits_too() {
    let brings = |response: Incoming| response.msn(1).syndrome(Syndrome::Ack { credits: 3 });
    for (work, response) in [
        (read(8), read_response_only(0, 8)),
        (fetch_add(1), atomic_ack(0, 1)),
        (flush(8, Placement::GLOBAL), read_response_only(0, 0)),
    ] {
        let mut t = with_credits();
        t.post(work);
        assert_eq!(t.take_lines().len(), 1);
        t.deliver(brings(response));
        t.expect_done(0);
        for _ in 0..6 {
            t.post(send(1));
        }
        assert_eq!(t.take_lines().len(), 4);
    }
}

#[test]
fn a_question_that_is_lost_is_asked_again_and_nothing_more() {
    let mut t = with_credits();
    t.post(send(3000));
    t.post(send(1));
    t.expect("SEND_FIRST psn=0 len=1024 ackreq");
    t.advance(8_192);
    t.expect("SEND_FIRST psn=0 len=1024 ackreq");
    t.expect_nothing();
    t.deliver(sequence_nak(0));
    t.expect("SEND_FIRST psn=0 len=1024 ackreq");
    t.expect_nothing();
}

#[test]
fn a_question_that_finds_no_receive_is_asked_again_after_the_wait() {
    let mut t = with_credits();
    t.post(send(1));
    t.post(send(1));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    t.deliver(rnr_nak(0, 1));
    t.advance(10 * MICROSECOND);
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    t.expect_nothing();
    t.deliver(credits(0, 1, 1));
    t.expect_done(0);
    t.expect("SEND_ONLY psn=1 len=1 ackreq");
}

#[test]
fn a_peer_that_counts_no_messages_stops_nobody() {
    let mut t = with_credits();
    for n in 0..5 {
        let id = t.post(send(1));
        t.expect(&format!("SEND_ONLY psn={n} len=1 ackreq"));
        t.deliver(credits(n, 0, 0));
        t.expect_done(id);
    }
}

#[test]
fn each_connection_begins_without_credits() {
    let mut t = with_credits();
    t.post(write(1));
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(credits(0, 1, 10));
    t.expect_done(0);
    t.modify_state(State::Reset);
    t.reconnect(Setup { profile: CREDITS, ..Setup::default() });
    t.post(send(1));
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 1);
}

#[test]
fn where_credits_are_not_honoured_they_limit_nothing() {
    let mut t = Script::new();
    for _ in 0..5 {
        t.post(send(1));
    }
    assert_eq!(t.take_lines().len(), 5);
    t.deliver(credits(0, 1, 0));
    t.expect_done(0);
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 1);
}
