//! How connections end, and what is left of them.

use rdmalab_cm::{CommandError, DisconnectCause, EstablishedBy, Event};
use rdmalab_wire::Qpn;
use rdmalab_wire::mad::{ApStatus, CmMessage, Drep, Dreq, Lap, Rej, RejMessage, RejReason};

use super::side::*;

#[track_caller]
fn expect_disconnected(side: &mut Side, cause: DisconnectCause) {
    match side.event() {
        Event::Disconnected { id, cause: found, .. } => assert_eq!((id, found), (side.id, cause)),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn expect_time_wait(side: &mut Side) {
    side.expect_timer_after(TIME_WAIT);
    assert_eq!(side.event(), Event::TimeWaitExit { id: side.id, qpn: OUR_QPN });
    side.expect_nothing();
    assert_eq!((side.cm.connections(), side.cm.next_timeout()), (0, None));
}

#[test]
fn release_is_asked_for_and_agreed_to() {
    for mut side in Side::connected() {
        side.cm.disconnect(side.now, side.id, b"bye").unwrap();
        let CmMessage::Dreq(dreq) = side.sent() else { panic!() };
        assert_eq!((dreq.local_communication_id, dreq.remote_communication_id), (side.id.value(), PEER_ID));
        assert_eq!((dreq.remote_qpn, &dreq.private_data[..4]), (PEER_QPN, b"bye\0".as_slice()));
        side.deliver(CmMessage::Drep(Drep { private_data: [8; 224], ..side.drep() }));
        let Event::Disconnected { cause, private_data, .. } = side.event() else { panic!() };
        assert_eq!((cause, private_data.as_slice()), (DisconnectCause::Ours, [8; 224].as_slice()));
        expect_time_wait(&mut side);
    }
}

#[test]
fn peers_release_is_agreed_to_each_time_it_comes() {
    for mut side in Side::connected() {
        side.deliver_from(route(), 5, CmMessage::Dreq(Dreq { private_data: [8; 220], ..side.dreq() }));
        let mad = side.sent_mad();
        assert_eq!(mad.transaction_id, 5);
        assert!(matches!(mad.message, CmMessage::Drep(_)));
        let Event::Disconnected { cause, private_data, .. } = side.event() else { panic!() };
        assert_eq!((cause, private_data.as_slice()), (DisconnectCause::Peer, [8; 220].as_slice()));
        side.deliver(CmMessage::Dreq(side.dreq()));
        assert!(matches!(side.sent(), CmMessage::Drep(_)));
        expect_time_wait(&mut side);
        // And when nothing is left, too.
        side.deliver(CmMessage::Dreq(side.dreq()));
        let CmMessage::Drep(drep) = side.sent() else { panic!() };
        assert_eq!((drep.local_communication_id, drep.remote_communication_id), (side.id.value(), PEER_ID));
        side.expect_no_event();
        assert_eq!(side.counters().releases_unknown, 1);
    }
}

#[test]
fn crossing_releases_end_the_connection_once() {
    for mut side in Side::connected() {
        side.cm.disconnect(side.now, side.id, &[]).unwrap();
        side.sent();
        side.deliver(CmMessage::Dreq(side.dreq()));
        assert!(matches!(side.sent(), CmMessage::Drep(_)));
        expect_disconnected(&mut side, DisconnectCause::Both);
        side.deliver(CmMessage::Drep(side.drep()));
        side.expect_nothing();
        expect_time_wait(&mut side);
    }
}

#[test]
fn release_that_nobody_answers_ends_all_the_same() {
    for mut side in Side::connected() {
        side.cm.disconnect(side.now, side.id, &[]).unwrap();
        side.sent();
        for _ in 0..15 {
            side.expect_timer_after(WAIT);
            assert!(matches!(side.sent(), CmMessage::Dreq(_)));
        }
        side.expect_timer_after(WAIT);
        side.expect_silence();
        expect_disconnected(&mut side, DisconnectCause::NoAnswer);
        expect_time_wait(&mut side);
    }
}

#[test]
fn release_before_the_rtu_says_that_the_connection_was_made() {
    let mut side = Side::accepted();
    side.deliver(CmMessage::Dreq(side.dreq()));
    assert!(matches!(side.sent(), CmMessage::Drep(_)));
    assert_eq!(side.event(), Event::Established { id: side.id, by: EstablishedBy::Release });
    expect_disconnected(&mut side, DisconnectCause::Peer);
    expect_time_wait(&mut side);
}

#[test]
fn release_of_another_queue_pair_is_refused() {
    for mut side in Side::connected() {
        side.deliver(CmMessage::Dreq(Dreq { remote_qpn: Qpn::new(1), ..side.dreq() }));
        let rej = side.sent_rej();
        assert_eq!(rej.reason, RejReason::INVALID_COMMUNICATION_INSTANCE);
        assert_eq!((rej.local_communication_id, rej.remote_communication_id), (side.id.value(), PEER_ID));
        side.expect_no_event();
    }
}

#[test]
fn release_by_somebody_else_ends_nothing() {
    for mut side in Side::connected() {
        side.deliver_from(other_route(), 1, CmMessage::Dreq(side.dreq()));
        assert!(matches!(side.sent(), CmMessage::Drep(_)));
        side.deliver(CmMessage::Dreq(Dreq { local_communication_id: 1, ..side.dreq() }));
        assert!(matches!(side.sent(), CmMessage::Drep(_)));
        side.expect_no_event();
        assert_eq!(side.counters().releases_unknown, 2);
        side.cm.disconnect(side.now, side.id, &[]).unwrap();
        side.sent();
        side.deliver_from(other_route(), 1, CmMessage::Drep(side.drep()));
        side.expect_nothing();
    }
}

#[test]
fn rejected_release_is_a_release() {
    for mut side in Side::connected() {
        side.cm.disconnect(side.now, side.id, &[]).unwrap();
        side.sent();
        let rej = side.rej(RejMessage::Other, RejReason::INVALID_COMMUNICATION_INSTANCE);
        side.deliver(CmMessage::Rej(Rej { local_communication_id: 0, ..rej }));
        expect_disconnected(&mut side, DisconnectCause::Ours);
        expect_time_wait(&mut side);
    }
}

#[test]
fn disconnecting_twice_or_after_the_peer_does_nothing() {
    for mut side in Side::connected() {
        side.cm.disconnect(side.now, side.id, &[]).unwrap();
        side.sent();
        assert_eq!(side.cm.disconnect(side.now, side.id, &[]), Ok(()));
        side.expect_nothing();
        side.deliver(CmMessage::Drep(side.drep()));
        side.event();
        assert_eq!(side.cm.disconnect(side.now, side.id, &[]), Ok(()));
        expect_time_wait(&mut side);
        assert_eq!(side.cm.disconnect(side.now, side.id, &[]), Err(CommandError::UnknownConnection));
    }
}

#[test]
fn commands_in_the_wrong_state_change_nothing() {
    let mut side = Side::calling();
    assert!(matches!(side.cm.disconnect(0, side.id, &[]), Err(CommandError::WrongState(_))));
    assert!(matches!(side.cm.confirm(side.id, &[]), Err(CommandError::WrongState(_))));
    assert!(matches!(side.cm.mra(side.id, 1, &[]), Err(CommandError::WrongState(_))));
    let consumer = rdmalab_cm::RejectRequest::consumer(&[]);
    assert!(matches!(side.cm.reject(0, side.id, &consumer), Err(CommandError::WrongState(_))));
    side.expect_nothing();
    side.deliver(CmMessage::Rep(side.rep()));
    assert!(matches!(side.event(), Event::ConnectResponse { .. }));
}

#[test]
fn destroyed_connection_ends_properly_and_says_no_more() {
    for mut side in Side::connected() {
        side.cm.destroy(side.now, side.id).unwrap();
        assert!(matches!(side.sent(), CmMessage::Dreq(_)));
        assert_eq!(side.cm.destroy(side.now, side.id), Err(CommandError::UnknownConnection));
        side.expect_timer_after(WAIT);
        assert!(matches!(side.sent(), CmMessage::Dreq(_)));
        side.deliver(CmMessage::Drep(side.drep()));
        side.expect_nothing();
        side.deliver(CmMessage::Dreq(side.dreq()));
        assert!(matches!(side.sent(), CmMessage::Drep(_)));
        side.expect_timer_after(TIME_WAIT);
        side.expect_nothing();
        assert_eq!(side.cm.connections(), 0);
    }
}

#[test]
fn destroyed_call_request_and_reply_are_refused() {
    let (called, _) = Side::called();
    let cases = [
        (Side::calling(), RejMessage::Other, RejReason::TIMEOUT),
        (called, RejMessage::Req, RejReason::CONSUMER_REJECT),
        (Side::replied(), RejMessage::Rep, RejReason::CONSUMER_REJECT),
        (Side::accepted(), RejMessage::Other, RejReason::CONSUMER_REJECT),
    ];
    for (mut side, message, reason) in cases {
        side.cm.destroy(side.now, side.id).unwrap();
        let rej = side.sent_rej();
        assert_eq!((rej.message, rej.reason), (message, reason));
        assert_eq!(side.cm.destroy(side.now, side.id), Err(CommandError::UnknownConnection));
        while let Some(at) = side.cm.next_timeout() {
            side.cm.handle_timeout(at);
        }
        side.expect_nothing();
        assert_eq!(side.cm.connections(), 0);
    }
}

#[test]
fn time_wait_follows_the_acknowledgement_timeout_within_bounds() {
    for (ack_timeout, code) in [(0, 21), (14, 14), (31, 21)] {
        let mut side = Side::new();
        let mut request = req();
        request.primary.local_ack_timeout = ack_timeout;
        side.deliver(CmMessage::Req(request));
        let Event::ConnectRequest { id, call, .. } = side.event() else { panic!() };
        side.id = id;
        side.accept(&call);
        side.sent();
        side.deliver(CmMessage::Dreq(side.dreq()));
        side.sent();
        assert_eq!(side.cm.next_timeout(), Some(side.now + (4_096 << code)));
    }
}

#[test]
fn alternate_path_is_refused() {
    let lap = |side: &Side| Lap {
        local_communication_id: PEER_ID,
        remote_communication_id: side.id.value(),
        ..Lap::decode(&[0; 232])
    };
    for mut side in Side::connected() {
        side.deliver(CmMessage::Lap(lap(&side)));
        let CmMessage::Apr(apr) = side.sent() else { panic!() };
        assert_eq!((apr.status, apr.remote_communication_id), (ApStatus::NOT_SUPPORTED, PEER_ID));
        side.deliver_from(other_route(), 1, CmMessage::Lap(lap(&side)));
        let CmMessage::Apr(apr) = side.sent() else { panic!() };
        assert_eq!(apr.status, ApStatus::INVALID_COMMUNICATION_ID);
    }
    let mut side = Side::new();
    side.deliver(CmMessage::Lap(lap(&side)));
    let CmMessage::Apr(apr) = side.sent() else { panic!() };
    assert_eq!(apr.status, ApStatus::INVALID_COMMUNICATION_ID);
}
