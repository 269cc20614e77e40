//! What a flow sends is spaced by its rate, and notifications lower the rate.
//!
//! Rule: cc-fixed-rate: A flow with a fixed rate sends at that rate in the long run, and no notification changes it.
//! Rule: cc-dcqcn-cut: A notification lowers the rate of a flow at once; without further ones the rate comes back by itself.
//! Rule: cc-only-data: Requests and READ responses are held to the rate; acknowledgements are not.
//! Rule: cc-timeout: Time that packets are held back for the rate does not count against the local ACK timeout: it runs from a packet that asks for an acknowledgement.
//! Rule: cc-spacing-keeps-order: Holding packets back changes neither their order nor what is sent.

use rdmalab_roce::{CongestionControl, DcqcnConfig};
use rdmalab_verbs::State;
use rdmalab_wire::{Body, Transport};

use crate::script::*;

/// Bytes per second.
const RATE: u64 = 100_000_000;
/// What a flow may send at once before it is held to the rate: 64 KiB.
const BURST: u64 = 64 * 1024;

fn with(congestion_control: CongestionControl) -> Script {
    Script::with(Setup { congestion_control, timeout: 0, ..Setup::default() })
}

fn notify(t: &mut Script) {
    let mut notification = packet(0, Body::CongestionNotification).over(Transport::Cnp).payload(&[0; 16]);
    notification.bth.becn = true;
    t.deliver(notification);
}

fn rate(t: &Script) -> Option<u64> {
    t.side.endpoint.rate(t.side.queue_pair)
}

#[test]
fn without_control_nothing_is_held_back() {
    let mut t = with(CongestionControl::None);
    for _ in 0..100 {
        t.post(write(1024));
    }
    assert_eq!(t.take_packets().len(), 100);
    assert_eq!(rate(&t), None);
    notify(&mut t);
    assert_eq!(rate(&t), None);
}

#[test]
fn a_fixed_rate_is_kept_after_the_first_burst() {
    let mut t = with(CongestionControl::Fixed(RATE));
    let mut sent = 0;
    for _ in 0..120 {
        t.post(write(1024));
    }
    let mut count = t.take_packets().iter().map(|packet| sent += packet.len() as u64).count();
    assert!((BURST..BURST + 1200).contains(&sent), "{sent} bytes at once");
    let begin = t.now;
    while count < 120 {
        let wait = t.until_timeout().expect("held back until a time");
        t.advance(wait);
        for packet in t.take_packets() {
            (sent, count) = (sent + packet.len() as u64, count + 1);
        }
    }
    let expected = (sent - BURST) * 1_000_000_000 / RATE;
    let took = t.now - begin;
    assert!(took.abs_diff(expected) <= expected / 20, "{took} ns for what takes {expected} ns");
    notify(&mut t);
    assert_eq!(rate(&t), Some(RATE));
}

#[test]
fn packets_held_back_leave_in_order_and_whole() {
    let mut t = with(CongestionControl::Fixed(RATE));
    t.post(write(100 * 1024));
    let mut lines = t.take_lines();
    assert!((60..70).contains(&lines.len()), "{} packets at once", lines.len());
    while lines.len() < 100 {
        let wait = t.until_timeout().expect("held back until a time");
        t.advance(wait);
        lines.extend(t.take_lines());
    }
    assert!(lines[0].starts_with("WRITE_FIRST psn=0 "));
    for (psn, line) in lines.iter().enumerate().take(99).skip(1) {
        assert!(line.starts_with(&format!("WRITE_MIDDLE psn={psn} ")), "{line}");
    }
    assert!(lines[99].starts_with("WRITE_LAST psn=99 "));
}

#[test]
fn acknowledgements_leave_while_requests_are_held_back() {
    let mut t = with(CongestionControl::Fixed(RATE));
    for _ in 0..100 {
        t.post(write(1024));
    }
    t.take_packets();
    t.deliver(write_only(0, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_nothing();
}

#[test]
fn read_responses_are_held_to_the_rate_too() {
    let mut t = with(CongestionControl::Fixed(RATE));
    t.deliver(read_request(0, 0, 100 * 1024));
    let at_once = t.take_packets().len();
    assert!((60..70).contains(&at_once), "{at_once} packets at once");
    assert!(t.until_timeout().is_some());
    t.deliver(write_only(100, 0, 8));
    t.advance(MILLISECOND);
    let rest = t.take_lines();
    assert_eq!(rest.len(), 100 - at_once + 1);
    assert_eq!(rest.last().unwrap(), "ACKNOWLEDGE psn=100 ack msn=2");
}

#[test]
fn a_notification_lowers_the_rate_and_time_brings_it_back() {
    let config = DcqcnConfig::new(RATE);
    let mut t = with(CongestionControl::Dcqcn(config));
    assert_eq!(rate(&t), Some(RATE));
    notify(&mut t);
    let cut = rate(&t).unwrap();
    assert_eq!(cut, RATE / 2, "the first cut, with alpha at its beginning of 1, halves the rate");
    t.now += 100 * MILLISECOND;
    t.post(write(8));
    t.take_packets();
    let later = rate(&t).unwrap();
    assert!(later > cut && later <= RATE, "{later}");
}

#[test]
fn a_reset_forgets_the_congestion() {
    let mut t = with(CongestionControl::Dcqcn(DcqcnConfig::new(RATE)));
    notify(&mut t);
    assert!(rate(&t).unwrap() < RATE);
    t.modify_state(State::Reset);
    assert_eq!(rate(&t), Some(RATE));
}

#[test]
fn a_message_that_takes_longer_than_the_timeout_does_not_time_out() {
    // Sixty-four packets, after which an acknowledgement is asked for, take longer than 67 ms.
    let slow = CongestionControl::Fixed(500_000);
    let mut t = Script::with(Setup { congestion_control: slow, timeout: 14, ..Setup::default() });
    t.post(write(200 * 1024));
    let mut sent = 0;
    while sent < 200 {
        for line in t.take_lines() {
            assert!(line.contains(&format!("psn={sent} ")), "{line} where {sent} was due");
            if line.ends_with("ackreq") {
                t.deliver(ack(sent).msn(u32::from(sent == 199)));
            }
            sent += 1;
        }
        if let Some(wait) = t.until_timeout() {
            t.advance(wait);
        }
    }
    t.expect_done(0);
    assert_eq!((t.counters().local_ack_timeout, t.counters().retransmitted_pkts), (0, 0));
    assert!(t.now > 200 * MILLISECOND);
}
