//! The local ACK timeout: 4.096 us times two to the power of the code, and no more repeats than the retry count.
//!
//! Rule: rc-ack-timeout: A packet that is not acknowledged within 4.096 us times two to the timeout is sent
//! again, with all that follow it.
//! Rule: rc-ack-timeout-exceeded: Timeouts beyond the retry count end the request with IBV_WC_RETRY_EXC_ERR.

use rdmalab_roce::RetryCause;
use rdmalab_verbs::{CompletionStatus, State};

use crate::script::*;

fn with_timeout(timeout: u8, retry_count: u8) -> Script {
    Script::with(Setup { timeout, retry_count, ..Setup::default() })
}

#[test]
fn every_timeout_code_waits_for_4096_ns_times_two_to_its_power() {
    for code in 1..=31 {
        let mut t = with_timeout(code, 7);
        t.post(send(1));
        t.expect("SEND_ONLY psn=0 len=1 ackreq");
        let wait = 4_096 << code;
        assert_eq!(t.until_timeout(), Some(wait));
        t.advance(wait - 1);
        t.expect_nothing();
        t.advance(1);
        t.expect_retry(0, RetryCause::Timeout);
        t.expect("SEND_ONLY psn=0 len=1 ackreq");
    }
}

#[test]
fn with_code_zero_nothing_is_ever_noticed() {
    let mut t = with_timeout(0, 7);
    t.post(send(1));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    assert_eq!(t.until_timeout(), None);
    t.advance(u64::from(u32::MAX) * MILLISECOND);
    t.expect_nothing();
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
}

#[test]
fn a_timeout_sends_everything_unacknowledged_again() {
    let mut t = with_timeout(1, 7);
    t.post(send(2000));
    t.post(write(1));
    assert_eq!(t.take_lines().len(), 3);
    t.deliver(ack(0));
    t.advance(8_192);
    t.expect("SEND_LAST psn=1 len=976 ackreq");
    t.expect("WRITE_ONLY psn=2 va=0x200000 rkey=0x200 dmalen=1 len=1 ackreq");
}

#[test]
fn timeouts_within_the_retry_count_are_recovered() {
    let mut t = with_timeout(1, 3);
    t.post(send(1));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    for _ in 0..3 {
        t.advance(8_192);
        t.expect("SEND_ONLY psn=0 len=1 ackreq");
    }
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
    assert_eq!(t.until_timeout(), None);
}

#[test]
fn one_timeout_more_than_the_retry_count_ends_the_connection() {
    for retry_count in [0, 1, 7] {
        let mut t = with_timeout(1, retry_count);
        t.post(send(1).unsignaled());
        t.post(read(1).unsignaled());
        t.receive(1);
        assert_eq!(t.take_lines().len(), 2);
        for _ in 0..retry_count {
            t.advance(8_192);
            assert_eq!(t.take_lines().len(), 2);
        }
        t.advance(8_191);
        t.expect_state(State::Rts);
        t.advance(1);
        t.expect_completion(0, CompletionStatus::RetryExceeded);
        t.expect_flushed([1, 100]);
        t.expect_state(State::Err);
        assert_eq!(t.until_timeout(), None);
        assert_eq!(t.counters().retry_exceeded_err, 1);
        assert_eq!(t.counters().local_ack_timeout, u64::from(retry_count) + 1);
    }
}

#[test]
fn the_timer_runs_for_the_oldest_packet_and_not_for_the_newest() {
    let mut t = with_timeout(10, 7);
    let wait = 4_096 << 10;
    t.post(send(1));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    t.advance(wait - 10);
    t.post(send(1));
    t.expect("SEND_ONLY psn=1 len=1 ackreq");
    assert_eq!(t.until_timeout(), Some(10));
}

#[test]
fn the_timer_starts_anew_with_every_progress_and_ends_with_the_last() {
    let mut t = with_timeout(10, 7);
    let wait = 4_096 << 10;
    t.post(send(1));
    t.post(read(2000));
    assert_eq!(t.take_lines().len(), 2);
    t.advance(wait - 1);
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
    assert_eq!(t.until_timeout(), Some(wait));
    t.advance(wait - 1);
    t.deliver(read_response_first(1, 1024).msn(2));
    assert_eq!(t.until_timeout(), Some(wait));
    t.deliver(read_response_last(2, 976).msn(2));
    t.expect_done(1);
    assert_eq!(t.until_timeout(), None);
}

#[test]
fn an_acknowledgement_of_nothing_new_does_not_start_the_timer_anew() {
    let mut t = with_timeout(10, 7);
    let wait = 4_096 << 10;
    t.post(send(1));
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
    t.advance(wait - 10);
    t.deliver(ack(0).msn(1));
    assert_eq!(t.until_timeout(), Some(10));
}

#[test]
fn a_late_acknowledgement_after_a_repeat_is_as_good_as_a_timely_one() {
    let mut t = with_timeout(1, 1);
    t.post(send(1));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    t.advance(8_192);
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
    t.deliver(ack(0).msn(1));
    t.expect_discard(rdmalab_roce::Discard::UnexpectedResponse);
}

#[test]
fn a_lost_atomic_is_sent_again_as_it_was() {
    let mut t = with_timeout(1, 7);
    t.post(compare_swap(7, 8));
    t.expect("COMPARE_SWAP psn=0 va=0x200000 rkey=0x200 swap=0x8 compare=0x7 ackreq");
    t.advance(8_192);
    t.expect("COMPARE_SWAP psn=0 va=0x200000 rkey=0x200 swap=0x8 compare=0x7 ackreq");
    t.deliver(atomic_ack(0, 7).msn(1));
    t.expect_done(0);
}
