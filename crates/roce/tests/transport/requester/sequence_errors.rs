//! Go-back-N on a PSN sequence error NAK: from the PSN it names, at once, as often as the retry count allows.
//!
//! Rule: rc-sequence-nak: A PSN sequence error NAK acknowledges what is in front of its PSN and makes the
//! requester send again from there on.
//! Rule: rc-send-partial-retry: A SEND that is repeated from its middle goes on with the packet that is
//! missing.
//! Rule: rc-write-partial-retry: A WRITE that is repeated from its middle does not name its address again.
//! Rule: rc-retry-count: Sequence errors beyond the retry count end the request with IBV_WC_RETRY_EXC_ERR;
//! progress makes the count whole again.

use rdmalab_roce::RetryCause;
use rdmalab_verbs::{CompletionStatus, Placement, State};

use crate::script::*;

#[test]
fn a_sequence_nak_completes_what_is_before_it_and_sends_again_from_its_psn() {
    let mut t = Script::new();
    for _ in 0..4 {
        t.post(send(1));
    }
    assert_eq!(t.take_lines().len(), 4);
    t.deliver(sequence_nak(2).msn(2));
    t.expect_retry(2, RetryCause::SequenceError);
    t.expect_done(0);
    t.expect_done(1);
    t.expect("SEND_ONLY psn=2 len=1 ackreq");
    t.expect("SEND_ONLY psn=3 len=1 ackreq");
    t.expect_nothing();
    assert_eq!(t.counters().retransmitted_pkts, 2);
    t.deliver(ack(3).msn(4));
    t.expect_done(2);
    t.expect_done(3);
}

#[test]
fn a_write_that_is_resumed_in_its_middle_does_not_say_again_where_it_goes() {
    let mut t = Script::new();
    t.side.fill(0, 4000, 9);
    t.post(write(4000));
    assert_eq!(t.take_lines().len(), 4);
    t.deliver(sequence_nak(1));
    t.expect("WRITE_MIDDLE psn=1 len=1024");
    assert_eq!(t.payload(), t.side.bytes(1024, 1024));
    t.expect("WRITE_MIDDLE psn=2 len=1024");
    t.expect("WRITE_LAST psn=3 len=928 ackreq");
    assert_eq!(t.payload(), t.side.bytes(3072, 928));
    t.deliver(ack(3).msn(1));
    t.expect_done(0);
}

#[test]
fn a_write_that_is_repeated_whole_has_its_first_address_and_length() {
    let mut t = Script::new();
    t.post(write(2000));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(sequence_nak(0));
    t.expect("WRITE_FIRST psn=0 va=0x200000 rkey=0x200 dmalen=2000 len=1024");
    t.expect("WRITE_LAST psn=1 len=976 ackreq");
}

#[test]
fn a_send_is_resumed_in_its_middle() {
    let mut t = Script::new();
    t.post(send_imm(2500, 7));
    assert_eq!(t.take_lines().len(), 3);
    t.deliver(sequence_nak(2));
    t.expect("SEND_LAST_IMM psn=2 len=452 imm=0x00000007 ackreq");
}

#[test]
fn a_sequence_nak_in_front_of_a_read_repeats_the_read_and_what_follows() {
    let mut t = Script::new();
    t.post(read(2000));
    t.post(fetch_add(1));
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 3);
    t.deliver(sequence_nak(0));
    t.expect("READ_REQUEST psn=0 va=0x200000 rkey=0x200 dmalen=2000 ackreq");
    t.expect("FETCH_ADD psn=2 va=0x200000 rkey=0x200 add=0x1 ackreq");
    t.expect("SEND_ONLY psn=3 len=1 ackreq");
}

#[test]
fn a_sequence_nak_that_arrives_twice_before_the_repeat_leaves_counts_once() {
    let mut t = Script::with(Setup { retry_count: 1, ..Setup::default() });
    t.post(send(1));
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(sequence_nak(0));
    t.deliver(sequence_nak(0));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    t.expect("SEND_ONLY psn=1 len=1 ackreq");
    t.expect_nothing();
    t.deliver(ack(1).msn(2));
    t.expect_done(0);
    t.expect_done(1);
}

#[test]
fn sequence_errors_within_the_retry_count_are_recovered() {
    let mut t = Script::with(Setup { retry_count: 3, ..Setup::default() });
    t.post(send(1));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    for _ in 0..3 {
        t.deliver(sequence_nak(0));
        t.expect("SEND_ONLY psn=0 len=1 ackreq");
    }
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
    t.expect_state(State::Rts);
}

#[test]
fn one_sequence_error_more_than_the_retry_count_ends_the_connection() {
    for retry_count in [0, 1, 7] {
        let mut t = Script::with(Setup { retry_count, ..Setup::default() });
        t.post(send(1));
        t.post(send(1));
        t.receive(10);
        assert_eq!(t.take_lines().len(), 2);
        for _ in 0..retry_count {
            t.deliver(sequence_nak(0));
            assert_eq!(t.take_lines().len(), 2);
        }
        t.deliver(sequence_nak(0));
        t.expect_completion(0, CompletionStatus::RetryExceeded);
        t.expect_flushed([1, 100]);
        t.expect_state(State::Err);
        t.expect_nothing();
        assert_eq!(t.counters().retry_exceeded_err, 1);
    }
}

#[test]
fn the_retry_count_is_whole_again_after_progress() {
    let mut t = Script::with(Setup { retry_count: 1, ..Setup::default() });
    for psn in 0..5 {
        t.post(send(1));
        t.expect(&format!("SEND_ONLY psn={psn} len=1 ackreq"));
        t.deliver(sequence_nak(psn));
        t.expect(&format!("SEND_ONLY psn={psn} len=1 ackreq"));
        t.deliver(ack(psn).msn(psn + 1));
        t.expect_done(psn.into());
    }
}

#[test]
fn requests_posted_while_going_back_follow_in_order() {
    let mut t = Script::new();
    t.post(send(1));
    t.post(send(2));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(sequence_nak(0));
    t.post(send(3));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    t.expect("SEND_ONLY psn=1 len=2 ackreq");
    t.expect("SEND_ONLY psn=2 len=3 ackreq");
}

#[test]
fn an_acknowledgement_that_overtakes_the_repeat_skips_what_it_acknowledges() {
    let mut t = Script::new();
    for _ in 0..3 {
        t.post(send(1));
    }
    assert_eq!(t.take_lines().len(), 3);
    t.deliver(sequence_nak(0));
    t.deliver(ack(1).msn(2));
    t.expect_done(0);
    t.expect_done(1);
    t.expect("SEND_ONLY psn=2 len=1 ackreq");
}

#[test]
fn a_sequence_nak_for_any_operation_repeats_it_as_it_was() {
    let works = [
        send(2000),
        send_imm(8, 1),
        send_inv(8, 1),
        write(2000),
        write_imm(8, 1),
        read(2000),
        fetch_add(1),
        compare_swap(1, 2),
        flush(8, Placement::GLOBAL),
        atomic_write(1),
    ];
    for work in works {
        let mut t = Script::new();
        t.post(work);
        let sent = t.take_lines();
        t.deliver(sequence_nak(0));
        assert_eq!(t.take_lines(), sent);
    }
}

#[test]
fn a_sequence_nak_in_the_midst_of_a_read_response_asks_for_the_rest() {
    let mut t = Script::new();
    t.post(read(3000));
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(read_response_first(0, 1024).msn(1));
    t.deliver(sequence_nak(1).msn(1));
    t.expect("READ_REQUEST psn=1 va=0x200400 rkey=0x200 dmalen=1976 ackreq");
    t.expect("SEND_ONLY psn=3 len=1 ackreq");
}
