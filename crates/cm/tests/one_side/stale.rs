//! Peers that have forgotten a connection, or were started again, and call with the same queue pair or the same IDs.

use rdmalab_cm::{DisconnectCause, Event};
use rdmalab_wire::mad::{CmMessage, RejMessage, RejReason, Req};
use rdmalab_wire::{Psn, Qpn};

use super::side::*;

/// The same queue pair, another call.
fn again() -> Req {
    Req { local_communication_id: PEER_ID + 1, starting_psn: Psn::new(1), ..req() }
}

#[track_caller]
fn expect_stale_rej(side: &mut Side, remote_id: u32) {
    let mad = side.sent_mad();
    let CmMessage::Rej(rej) = mad.message else { panic!("{mad}") };
    assert_eq!((rej.message, rej.reason), (RejMessage::Req, RejReason::STALE_CONNECTION));
    assert_eq!((rej.local_communication_id, rej.remote_communication_id), (0, remote_id));
}

#[test]
fn call_with_a_connected_queue_pair_is_refused_and_the_old_connection_released() {
    for mut side in Side::connected() {
        side.deliver(CmMessage::Req(again()));
        expect_stale_rej(&mut side, PEER_ID + 1);
        let CmMessage::Dreq(dreq) = side.sent() else { panic!() };
        assert_eq!((dreq.remote_communication_id, dreq.remote_qpn), (PEER_ID, PEER_QPN));
        side.deliver(CmMessage::Drep(side.drep()));
        let Event::Disconnected { cause, .. } = side.event() else { panic!() };
        assert_eq!(cause, DisconnectCause::Stale);
        // The next try succeeds.
        side.deliver(CmMessage::Req(Req { local_communication_id: PEER_ID + 2, ..again() }));
        assert!(matches!(side.event(), Event::ConnectRequest { .. }));
    }
}

#[test]
fn call_with_the_ids_of_a_living_connection_is_refused_if_it_is_another() {
    let mut side = Side::connected_by_peer();
    side.deliver(CmMessage::Req(Req { starting_psn: Psn::new(1), ..req() }));
    expect_stale_rej(&mut side, PEER_ID);
    assert!(matches!(side.sent(), CmMessage::Dreq(_)));
}

#[test]
fn call_with_the_ids_of_a_connection_that_has_ended_is_a_new_one() {
    let mut side = Side::connected_by_peer();
    side.deliver(CmMessage::Dreq(side.dreq()));
    side.sent();
    side.event();
    side.deliver(CmMessage::Req(Req { starting_psn: Psn::new(1), ..req() }));
    let Event::ConnectRequest { id, .. } = side.event() else { panic!() };
    assert_ne!(id, side.id);
    // The old one still ends its time-wait, and its end touches nothing of the new one.
    side.expect_timer_after(TIME_WAIT);
    assert_eq!(side.event(), Event::TimeWaitExit { id: side.id, qpn: OUR_QPN });
    side.deliver(CmMessage::Req(Req { starting_psn: Psn::new(1), ..req() }));
    assert!(matches!(side.sent(), CmMessage::Mra(_)));
    side.expect_no_event();
}

#[test]
fn call_that_nobody_has_decided_about_makes_room_for_the_next() {
    for request in [again(), Req { starting_psn: Psn::new(1), ..req() }] {
        let (mut side, _) = Side::called();
        side.deliver(CmMessage::Req(request));
        assert!(matches!(side.event(), Event::Rejected { id, .. } if id == side.id));
        assert!(matches!(side.event(), Event::ConnectRequest { id, .. } if id != side.id));
        assert_eq!(side.cm.waiting_requests(side.listener.unwrap()), Some(1));
        side.expect_silence();
    }
}

#[test]
fn call_with_the_queue_pair_of_an_accepted_call_ends_that_one() {
    let mut side = Side::accepted();
    side.deliver(CmMessage::Req(again()));
    expect_stale_rej(&mut side, PEER_ID + 1);
    assert!(matches!(side.event(), Event::Rejected { id, .. } if id == side.id));
    side.expect_timer_after(TIME_WAIT);
    assert!(matches!(side.event(), Event::TimeWaitExit { .. }));
}

#[test]
fn reply_with_a_connected_queue_pair_is_refused() {
    let mut side = Side::connected_by_peer();
    let old = side.id;
    side.id = side.cm.connect(side.now, &connect_request()).unwrap();
    side.sent();
    side.deliver(CmMessage::Rep(side.rep()));
    let reason = RejReason::STALE_CONNECTION;
    assert_eq!(side.event(), Event::ConnectError { id: side.id, reason });
    let mad = side.sent_mad();
    let CmMessage::Rej(rej) = mad.message else { panic!("{mad}") };
    assert_eq!((rej.message, rej.reason), (RejMessage::Rep, reason));
    let CmMessage::Dreq(dreq) = side.sent() else { panic!() };
    assert_eq!(dreq.local_communication_id, old.value());
    // A repeated reply gets the same answer.
    side.deliver(CmMessage::Rep(side.rep()));
    assert_eq!(side.sent_rej(), rej);
}

#[test]
fn same_queue_pair_number_of_another_host_is_another_queue_pair() {
    let mut side = Side::connected_by_peer();
    side.deliver_from(other_route(), 1, CmMessage::Req(req_over(&other_route())));
    assert!(matches!(side.event(), Event::ConnectRequest { .. }));
    side.expect_silence();
}

#[test]
fn new_call_or_reply_stands_for_the_lost_answer_to_our_release() {
    for mut side in Side::connected() {
        side.cm.disconnect(side.now, side.id, &[]).unwrap();
        side.sent();
        side.deliver(CmMessage::Req(again()));
        let Event::Disconnected { cause, .. } = side.event() else { panic!() };
        assert_eq!(cause, DisconnectCause::Ours);
        assert!(matches!(side.event(), Event::ConnectRequest { .. }));
        side.expect_silence();
    }
    for mut side in Side::connected() {
        side.cm.disconnect(side.now, side.id, &[]).unwrap();
        side.sent();
        side.id = side.cm.connect(side.now, &connect_request()).unwrap();
        side.sent();
        side.deliver(CmMessage::Rep(side.rep()));
        assert!(matches!(side.event(), Event::Disconnected { cause: DisconnectCause::Ours, .. }));
        assert!(matches!(side.event(), Event::ConnectResponse { .. }));
        side.expect_silence();
    }
    let mut side = Side::connected_by_peer();
    side.cm.disconnect(side.now, side.id, &[]).unwrap();
    side.sent();
    side.deliver(CmMessage::Req(Req { starting_psn: Psn::new(1), ..req() }));
    assert!(matches!(side.event(), Event::Disconnected { .. }));
    assert!(matches!(side.event(), Event::ConnectRequest { .. }));
    side.expect_silence();
}

#[test]
fn call_with_the_ids_of_a_refused_one_is_a_new_one() {
    let (mut side, _) = Side::called();
    side.cm.reject(side.now, side.id, &rdmalab_cm::RejectRequest::consumer(&[])).unwrap();
    side.sent();
    side.deliver(CmMessage::Req(Req { starting_psn: Psn::new(1), ..req() }));
    assert!(matches!(side.event(), Event::ConnectRequest { .. }));
    side.expect_silence();
}

#[test]
fn regression_call_with_the_ids_of_one_call_and_the_queue_pair_of_a_connection_is_stale() {
    let mut side = Side::connected_by_peer();
    let other = Qpn::new(0x99);
    side.deliver(CmMessage::Req(Req { local_qpn: other, ..again() }));
    assert!(matches!(side.event(), Event::ConnectRequest { .. }));
    side.deliver(CmMessage::Req(again()));
    assert!(matches!(side.event(), Event::Rejected { .. }));
    expect_stale_rej(&mut side, PEER_ID + 1);
    assert!(matches!(side.sent(), CmMessage::Dreq(_)));
    side.cm.assert_sound();
}
