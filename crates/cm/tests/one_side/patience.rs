//! How long and how often, and more time that is asked for, on both sides.

use rdmalab_cm::{Config, Event, Missing};
use rdmalab_wire::mad::{CmMessage, MraMessage, RejMessage, RejReason, Req};

use super::side::*;

#[test]
fn request_repeated_before_a_decision_is_told_to_wait() {
    let (mut side, call) = Side::called();
    for _ in 0..2 {
        side.deliver(CmMessage::Req(req()));
        let CmMessage::Mra(mra) = side.sent() else { panic!() };
        assert_eq!((mra.message, mra.service_timeout), (MraMessage::Req, 24));
        side.expect_no_event();
    }
    side.accept(&call);
    assert!(matches!(side.sent(), CmMessage::Rep(_)));
}

#[test]
fn mra_gives_the_peer_more_time() {
    let mut side = Side::calling();
    side.deliver(CmMessage::Mra(side.mra(MraMessage::Req, 22)));
    side.expect_timer_after(4_096 << 22);
    assert!(matches!(side.sent(), CmMessage::Req(_)));
    side.expect_timer_after(WAIT);
    let mut side = Side::accepted();
    side.deliver(CmMessage::Mra(side.mra(MraMessage::Rep, 22)));
    side.expect_timer_after(4_096 << 22);
    assert!(matches!(side.sent(), CmMessage::Rep(_)));
}

#[test]
fn mra_is_never_for_less_nor_for_ever() {
    let mut side = Side::calling();
    side.deliver(CmMessage::Mra(side.mra(MraMessage::Req, 0)));
    side.expect_timer_after(WAIT);
    side.sent();
    side.deliver(CmMessage::Mra(side.mra(MraMessage::Req, 31)));
    side.expect_timer_after(4_096 << 24);
    side.sent();
    for _ in 0..100 {
        side.deliver(CmMessage::Mra(side.mra(MraMessage::Req, 31)));
    }
    assert_eq!(side.counters().unexpected, 100 - 13);
}

#[test]
fn mra_about_another_message_is_ignored() {
    let mut side = Side::calling();
    side.deliver(CmMessage::Mra(side.mra(MraMessage::Rep, 24)));
    assert_eq!(side.cm.next_timeout(), Some(side.now + WAIT));
    let mut side = Side::connected_by_us();
    side.deliver(CmMessage::Mra(side.mra(MraMessage::Lap, 24)));
    assert_eq!((side.cm.next_timeout(), side.counters().unexpected), (None, 1));
}

#[test]
fn our_mra_is_repeated_until_there_is_an_answer() {
    let mut side = Side::replied();
    side.cm.mra(side.id, 20, b"soon").unwrap();
    let CmMessage::Mra(mra) = side.sent() else { panic!() };
    assert_eq!((mra.message, mra.service_timeout), (MraMessage::Rep, 20));
    side.deliver(CmMessage::Rep(side.rep()));
    assert_eq!(side.sent(), CmMessage::Mra(mra));
}

#[test]
fn request_is_sent_sixteen_times_and_taken_back() {
    let mut side = Side::calling();
    for _ in 0..15 {
        side.expect_timer_after(WAIT);
        assert!(matches!(side.sent(), CmMessage::Req(_)));
    }
    side.expect_timer_after(WAIT);
    assert_eq!(side.event(), Event::Unreachable { id: side.id, missing: Missing::Reply });
    let rej = side.sent_rej();
    assert_eq!((rej.message, rej.reason), (RejMessage::Other, RejReason::TIMEOUT));
    assert_eq!(rej.additional_information[..8], OUR_GUID.to_be_bytes());
    assert_eq!((rej.information_length, rej.remote_communication_id), (8, 0));
    assert_eq!((side.cm.connections(), side.cm.next_timeout()), (0, None));
    assert_eq!((side.counters().retransmitted, side.counters().timeouts), (15, 1));
}

#[test]
fn reply_is_sent_as_often_as_the_caller_asked_for() {
    let mut side = Side::new();
    side.deliver(CmMessage::Req(Req { max_cm_retries: 2, ..req() }));
    let Event::ConnectRequest { id, call, .. } = side.event() else { panic!() };
    side.id = id;
    side.accept(&call);
    side.sent();
    for _ in 0..2 {
        side.expect_timer_after(WAIT);
        assert!(matches!(side.sent(), CmMessage::Rep(_)));
    }
    side.expect_timer_after(WAIT);
    assert_eq!(side.event(), Event::Unreachable { id, missing: Missing::ReadyToUse });
    assert_eq!(side.sent_rej().reason, RejReason::TIMEOUT);
    side.expect_timer_after(TIME_WAIT);
    assert_eq!(side.event(), Event::TimeWaitExit { id, qpn: OUR_QPN });
}

#[test]
fn patience_is_a_setting_within_what_can_be_said() {
    for (max_retries, sent) in [(0, 1), (2, 3), (15, 16), (99, 16)] {
        let config =
            Config { max_retries, response_timeout: 14, packet_life_time: 4, ..Config::new(OUR_GUID) };
        let mut side = Side::with(config);
        side.id = side.cm.connect(side.now, &connect_request()).unwrap();
        for _ in 0..sent {
            let CmMessage::Req(req) = side.sent() else { panic!() };
            assert_eq!((req.max_cm_retries, req.remote_response_timeout), (sent - 1, 14));
            side.expect_timer_after((4_096 << 14) + (4_096 << 5));
        }
        assert!(matches!(side.event(), Event::Unreachable { .. }));
    }
}
