//! A receiver that is not ready: the requester waits as long as it is told, sends nothing meanwhile, and gives up only
//! when its RNR retries are used up.
//!
//! Rule: rc-rnr-wait: After an RNR NAK nothing is sent until its time is over, and then the packet that it
//! names goes first.
//! Rule: rc-rnr-retry: RNR NAKs beyond the RNR retry count end the request with IBV_WC_RNR_RETRY_EXC_ERR; a
//! count of 7 is without limit.

use rdmalab_roce::RetryCause;
use rdmalab_verbs::{CompletionStatus, Placement, State};

use crate::script::*;

/// What each timer code stands for in microseconds, as the verbs' manuals list it.
const MICROSECONDS: [u64; 32] = [
    655_360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1_280, 1_920, 2_560, 3_840, 5_120,
    7_680, 10_240, 15_360, 20_480, 30_720, 40_960, 61_440, 81_920, 122_880, 163_840, 245_760, 327_680,
    491_520,
];

#[test]
fn every_timer_code_is_waited_for_to_the_nanosecond() {
    for (code, microseconds) in MICROSECONDS.into_iter().enumerate() {
        let mut t = Script::new();
        t.post(send(1));
        t.expect("SEND_ONLY psn=0 len=1 ackreq");
        t.deliver(rnr_nak(0, code as u8));
        t.expect_retry(0, RetryCause::RnrNak);
        t.advance(microseconds * MICROSECOND - 1);
        t.expect_nothing();
        t.advance(1);
        t.expect("SEND_ONLY psn=0 len=1 ackreq");
    }
}

#[test]
fn an_rnr_nak_acknowledges_what_is_before_it() {
    let mut t = Script::new();
    t.post(write(1));
    t.post(send(1));
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 3);
    t.deliver(rnr_nak(1, 1).msn(1));
    t.expect_done(0);
    t.advance(10 * MICROSECOND);
    t.expect("SEND_ONLY psn=1 len=1 ackreq");
    t.expect("SEND_ONLY psn=2 len=1 ackreq");
}

#[test]
fn nothing_is_sent_while_waiting_whatever_is_posted_or_arrives() {
    let mut t = Script::with(Setup { timeout: 1, ..Setup::default() });
    t.post(send(1));
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(rnr_nak(0, 0));
    t.post(send(1));
    t.post(read(1));
    t.deliver(sequence_nak(0));
    t.deliver(rnr_nak(0, 1));
    t.advance(655_360 * MICROSECOND - 1);
    t.expect_nothing();
    assert_eq!(t.counters().local_ack_timeout, 0, "no timeout counts while the receiver has asked to wait");
    t.advance(1);
    assert_eq!(t.take_lines().len(), 4);
}

#[test]
fn a_lost_response_that_shows_while_waiting_is_asked_for_at_once_if_the_wait_has_lost_its_cause() {
    let mut t = Script::new();
    t.post(send(1));
    t.post(read(1));
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 3);
    t.deliver(rnr_nak(0, 1));
    t.deliver(ack(2).msn(3));
    t.expect_done(0);
    t.expect("READ_REQUEST psn=1 va=0x200000 rkey=0x200 dmalen=1 ackreq");
    t.expect("SEND_ONLY psn=2 len=1 ackreq");
}

#[test]
fn requests_of_the_peer_are_answered_while_waiting() {
    let mut t = Script::new();
    t.post(send(1));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    t.deliver(rnr_nak(0, 0));
    t.deliver(write_only(0, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.deliver(write_only(0, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_nothing();
}

#[test]
fn a_write_whose_immediate_found_no_receive_resumes_at_its_last_packet() {
    let mut t = Script::new();
    t.post(write_imm(2500, 9));
    assert_eq!(t.take_lines().len(), 3);
    t.deliver(rnr_nak(2, 1));
    t.advance(10 * MICROSECOND);
    t.expect("WRITE_LAST_IMM psn=2 len=452 imm=0x00000009 ackreq");
}

#[test]
fn the_local_ack_timeout_starts_when_the_packet_goes_out_again() {
    let mut t = Script::with(Setup { timeout: 1, ..Setup::default() });
    t.post(send(1));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    t.deliver(rnr_nak(0, 12));
    assert_eq!(t.until_timeout(), Some(640 * MICROSECOND));
    t.advance(640 * MICROSECOND);
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    assert_eq!(t.until_timeout(), Some(8_192));
}

#[test]
fn one_rnr_nak_more_than_the_rnr_retries_ends_the_connection() {
    for rnr_retry in [0, 1, 6] {
        let mut t = Script::with(Setup { rnr_retry, ..Setup::default() });
        t.post(send(1));
        t.post(send(1));
        t.receive(1);
        assert_eq!(t.take_lines().len(), 2);
        for _ in 0..rnr_retry {
            t.deliver(rnr_nak(0, 1));
            t.advance(10 * MICROSECOND);
            assert_eq!(t.take_lines().len(), 2);
        }
        t.deliver(rnr_nak(0, 1));
        t.expect_completion(0, CompletionStatus::RnrRetryExceeded);
        t.expect_flushed([1, 100]);
        t.expect_state(State::Err);
        assert_eq!(t.until_timeout(), None);
        assert_eq!(t.counters().retry_rnr_exceeded_err, 1);
        assert_eq!(t.counters().rcvd_rnr_err, u64::from(rnr_retry) + 1);
    }
}

#[test]
fn seven_rnr_retries_are_without_limit() {
    let mut t = Script::new();
    t.post(send(1));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    for _ in 0..1000 {
        t.deliver(rnr_nak(0, 1));
        t.advance(10 * MICROSECOND);
        t.expect("SEND_ONLY psn=0 len=1 ackreq");
    }
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
}

#[test]
fn rnr_retries_are_whole_again_after_progress() {
    let mut t = Script::with(Setup { rnr_retry: 1, ..Setup::default() });
    for psn in 0..5 {
        t.post(send(1));
        t.expect(&format!("SEND_ONLY psn={psn} len=1 ackreq"));
        t.deliver(rnr_nak(psn, 1));
        t.advance(10 * MICROSECOND);
        t.expect(&format!("SEND_ONLY psn={psn} len=1 ackreq"));
        t.deliver(ack(psn).msn(psn + 1));
        t.expect_done(psn.into());
    }
}

#[test]
fn rnr_naks_do_not_use_up_the_retry_count() {
    let mut t = Script::with(Setup { retry_count: 0, ..Setup::default() });
    t.post(send(1));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    for _ in 0..3 {
        t.deliver(rnr_nak(0, 1));
        t.advance(10 * MICROSECOND);
        t.expect("SEND_ONLY psn=0 len=1 ackreq");
    }
    t.expect_state(State::Rts);
}

#[test]
fn a_read_or_atomic_that_the_peer_has_no_room_for_is_repeated_after_the_wait() {
    let cases = [
        (read(8), read_response_only(0, 8)),
        (fetch_add(1), atomic_ack(0, 1)),
        (compare_swap(1, 2), atomic_ack(0, 1)),
        (flush(8, Placement::GLOBAL), read_response_only(0, 0)),
        (atomic_write(1), read_response_only(0, 0)),
    ];
    for (work, response) in cases {
        let mut t = Script::new();
        t.post(work);
        let sent = t.take_lines();
        t.deliver(rnr_nak(0, 1));
        t.advance(10 * MICROSECOND - 1);
        t.expect_nothing();
        t.advance(1);
        assert_eq!(t.take_lines(), sent);
        t.deliver(response.msn(1));
        t.expect_done(0);
    }
}

#[test]
fn an_rnr_nak_in_the_midst_of_a_read_response_asks_for_the_rest_after_the_wait() {
    let mut t = Script::new();
    t.post(read(3000));
    t.expect("READ_REQUEST psn=0 va=0x200000 rkey=0x200 dmalen=3000 ackreq");
    t.deliver(read_response_first(0, 1024).msn(1));
    t.deliver(rnr_nak(1, 1).msn(1));
    t.advance(10 * MICROSECOND);
    t.expect("READ_REQUEST psn=1 va=0x200400 rkey=0x200 dmalen=1976 ackreq");
    t.deliver(read_response_first(1, 1024).msn(1));
    t.deliver(read_response_last(2, 952).msn(1));
    t.expect_done(0);
}

#[test]
fn the_wait_ends_when_the_packet_is_acknowledged_after_all() {
    // The network had doubled it, and the second one found a receive.
    let mut t = Script::new();
    t.post(send(1));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    t.deliver(rnr_nak(0, 0));
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
    t.post(send(2));
    t.expect("SEND_ONLY psn=1 len=2 ackreq");
}
