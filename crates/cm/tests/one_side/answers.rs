//! Replies and rejections, on both sides.

use rdmalab_cm::{CommandError, DisconnectCause, EstablishedBy, Event, RejectRequest};
use rdmalab_wire::Qpn;
use rdmalab_wire::mad::{CmMessage, Rej, RejMessage, RejReason, Rep, Rtu};

use super::side::*;

#[test]
fn repeated_request_repeats_the_reply() {
    let mut side = Side::accepted();
    let before = side.cm.next_timeout();
    side.deliver(CmMessage::Req(req()));
    assert!(matches!(side.sent(), CmMessage::Rep(_)));
    side.expect_no_event();
    assert_eq!(side.cm.next_timeout(), before);
    assert_eq!(side.counters().requests_repeated, 1);
}

#[test]
fn late_request_of_a_connection_that_is_made_is_not_answered() {
    let mut side = Side::connected_by_peer();
    side.deliver(CmMessage::Req(req()));
    side.expect_nothing();
    side.deliver(CmMessage::Dreq(side.dreq()));
    side.sent();
    side.event();
    side.deliver(CmMessage::Req(req()));
    side.expect_nothing();
}

#[test]
fn repeated_reply_repeats_the_rtu_and_before_that_nothing() {
    let mut side = Side::replied();
    side.deliver(CmMessage::Rep(side.rep()));
    side.expect_nothing();
    side.cm.confirm(side.id, b"first").unwrap();
    let first = side.sent();
    side.deliver(CmMessage::Rep(side.rep()));
    assert_eq!(side.sent(), first);
    side.expect_no_event();
}

#[test]
fn reply_to_nobody_is_refused() {
    let mut side = Side::calling();
    let wrong_id = Rep { remote_communication_id: side.id.value() + 1, ..side.rep() };
    side.deliver(CmMessage::Rep(wrong_id));
    let rej = side.sent_rej();
    assert_eq!((rej.message, rej.reason), (RejMessage::Rep, RejReason::INVALID_COMMUNICATION_ID));
    assert_eq!(rej.remote_communication_id, PEER_ID);
    // A stranger that knows our ID is no better.
    side.deliver_from(other_route(), 1, CmMessage::Rep(side.rep()));
    assert_eq!(side.sent_rej().reason, RejReason::INVALID_COMMUNICATION_ID);
    side.expect_no_event();
    // Nor is the reply of a second host to one that was accepted.
    side.deliver(CmMessage::Rep(side.rep()));
    side.event();
    side.deliver(CmMessage::Rep(Rep { local_communication_id: PEER_ID + 1, ..side.rep() }));
    assert_eq!(side.sent_rej().reason, RejReason::INVALID_COMMUNICATION_ID);
}

#[test]
fn first_packet_makes_the_connection_and_the_rtu_is_late() {
    let mut side = Side::accepted();
    assert!(!side.cm.communication_established(Qpn::new(1)));
    assert!(side.cm.communication_established(OUR_QPN));
    assert_eq!(side.event(), Event::Established { id: side.id, by: EstablishedBy::Data });
    assert!(!side.cm.communication_established(OUR_QPN));
    assert_eq!(side.cm.next_timeout(), None);
    side.deliver(CmMessage::Rtu(side.rtu()));
    side.expect_nothing();
    assert_eq!(side.counters().unexpected, 1);
}

#[test]
fn rtu_of_somebody_else_is_ignored() {
    let mut side = Side::accepted();
    side.deliver_from(other_route(), 1, CmMessage::Rtu(side.rtu()));
    side.deliver(CmMessage::Rtu(Rtu { local_communication_id: 1, ..side.rtu() }));
    side.deliver(CmMessage::Rtu(Rtu { remote_communication_id: 1, ..side.rtu() }));
    side.expect_nothing();
    assert_eq!((side.counters().mismatched, side.counters().unknown), (2, 1));
}

#[test]
fn rejection_of_our_call_ends_it_and_says_all() {
    let mut side = Side::calling();
    let mut rej = Rej { local_communication_id: 0, ..side.rej(RejMessage::Req, RejReason::PORT_REDIRECT) };
    rej.additional_information[..16].copy_from_slice(&[5; 16]);
    rej.information_length = 16;
    rej.private_data = [4; 148];
    side.deliver(CmMessage::Rej(rej));
    let Event::Rejected { id, rejection } = side.event() else { panic!() };
    assert_eq!(
        (id, rejection.reason, rejection.message),
        (side.id, RejReason::PORT_REDIRECT, RejMessage::Req)
    );
    assert_eq!(rejection.additional_information, [5; 16]);
    assert_eq!((rejection.private_data.as_slice(), rejection.time_wait), ([4; 148].as_slice(), false));
    assert_eq!((side.cm.connections(), side.cm.next_timeout()), (0, None));
    side.expect_nothing();
}

#[test]
fn rejection_for_a_stale_connection_leads_to_time_wait() {
    let mut side = Side::calling();
    side.deliver(CmMessage::Rej(side.rej(RejMessage::Req, RejReason::STALE_CONNECTION)));
    let Event::Rejected { rejection, .. } = side.event() else { panic!() };
    assert!(rejection.time_wait);
    side.expect_timer_after(TIME_WAIT);
    assert_eq!(side.event(), Event::TimeWaitExit { id: side.id, qpn: OUR_QPN });
    assert_eq!(side.cm.connections(), 0);
}

#[test]
fn rejections_reach_every_state_before_the_end() {
    for (mut side, message) in [(Side::accepted(), RejMessage::Rep), (Side::replied(), RejMessage::Other)] {
        side.deliver(CmMessage::Rej(side.rej(message, RejReason::CONSUMER_REJECT)));
        let Event::Rejected { rejection, .. } = side.event() else { panic!() };
        assert!(rejection.time_wait);
        side.expect_timer_after(TIME_WAIT);
        assert!(matches!(side.event(), Event::TimeWaitExit { .. }));
    }
    for mut side in Side::connected() {
        side.deliver(CmMessage::Rej(side.rej(RejMessage::Other, RejReason::TIMEOUT)));
        let cause = DisconnectCause::Rejected(RejReason::TIMEOUT);
        assert!(matches!(side.event(), Event::Disconnected { cause: found, .. } if found == cause));
        side.deliver(CmMessage::Rej(side.rej(RejMessage::Other, RejReason::TIMEOUT)));
        side.expect_nothing();
    }
    let (mut side, _) = Side::called();
    side.deliver(CmMessage::Rej(side.rej(RejMessage::Other, RejReason::TIMEOUT)));
    assert!(matches!(side.event(), Event::Rejected { .. }));
    assert_eq!(side.cm.waiting_requests(side.listener.unwrap()), Some(0));
}

#[test]
fn rejection_without_an_id_ends_no_connection_that_is_made() {
    for mut side in Side::connected() {
        let rej = side.rej(RejMessage::Req, RejReason::INVALID_SERVICE_ID);
        side.deliver(CmMessage::Rej(Rej { local_communication_id: 0, ..rej }));
        side.expect_nothing();
        side.cm.disconnect(side.now, side.id, &[]).unwrap();
    }
}

#[test]
fn caller_that_gives_up_is_found_by_its_guid() {
    let (mut side, call) = Side::called();
    let mut rej = side.rej(RejMessage::Other, RejReason::TIMEOUT);
    rej.remote_communication_id = 0;
    rej.additional_information[..8].copy_from_slice(&PEER_GUID.to_be_bytes());
    // Without the GUID, from elsewhere, or of another call it is nobody's.
    side.deliver(CmMessage::Rej(rej));
    rej.information_length = 8;
    side.deliver_from(other_route(), 1, CmMessage::Rej(rej));
    side.deliver(CmMessage::Rej(Rej { local_communication_id: PEER_ID + 1, ..rej }));
    side.expect_nothing();
    assert_eq!(side.counters().unknown, 3);
    side.deliver(CmMessage::Rej(rej));
    assert!(matches!(side.event(), Event::Rejected { .. }));
    let accept = rdmalab_cm::AcceptRequest::new(&call, OUR_QPN, rdmalab_wire::Psn::new(1));
    assert_eq!(side.cm.accept(0, side.id, &accept), Err(CommandError::UnknownConnection));
}

#[test]
fn rejection_is_repeated_when_the_request_is_and_then_forgotten() {
    let (mut side, _) = Side::called();
    side.cm.reject(side.now, side.id, &RejectRequest::consumer(b"no")).unwrap();
    let first = side.sent();
    for _ in 0..3 {
        side.now += WAIT;
        side.deliver(CmMessage::Req(req()));
        assert_eq!(side.sent(), first);
    }
    side.expect_no_event();
    side.expect_timer_after(MEMORY);
    side.expect_nothing();
    assert_eq!(side.cm.connections(), 0);
    side.deliver(CmMessage::Req(req()));
    assert!(matches!(side.event(), Event::ConnectRequest { .. }));
}

#[test]
fn xrc_reply_names_the_target_queue_pair_by_the_context() {
    let mut side = Side::new();
    let request = rdmalab_cm::ConnectRequest { service: rdmalab_cm::Service::Xrc, ..connect_request() };
    side.id = side.cm.connect(side.now, &request).unwrap();
    let CmMessage::Req(sent) = side.sent() else { panic!() };
    assert_eq!((sent.transport_service as u8, sent.extended_transport), (3, 1));
    let rep = Rep { local_qpn: Qpn::new(0), local_ee_context: 0x99, ..side.rep() };
    side.deliver(CmMessage::Rep(rep));
    let Event::ConnectResponse { reply, .. } = side.event() else { panic!() };
    assert_eq!(reply.qpn, Qpn::new(0x99));
    // Of any other connection the context says nothing.
    let mut side = Side::calling();
    side.deliver(CmMessage::Rep(Rep { local_ee_context: 0x99, ..side.rep() }));
    let Event::ConnectResponse { reply, .. } = side.event() else { panic!() };
    assert_eq!(reply.qpn, PEER_QPN);
}

#[test]
fn rejection_by_a_stranger_or_for_another_peer_ends_nothing() {
    let rej = |side: &Side, local_communication_id| Rej {
        local_communication_id,
        ..side.rej(RejMessage::Other, RejReason::CONSUMER_REJECT)
    };
    let mut side = Side::calling();
    for id in [0, PEER_ID] {
        side.deliver_from(other_route(), 1, CmMessage::Rej(rej(&side, id)));
    }
    side.expect_nothing();
    for mut side in [Side::replied(), Side::accepted()] {
        side.deliver_from(other_route(), 1, CmMessage::Rej(rej(&side, PEER_ID)));
        side.deliver(CmMessage::Rej(rej(&side, PEER_ID + 1)));
        side.expect_nothing();
        assert_eq!(side.counters().unknown, 2);
        side.deliver(CmMessage::Rej(rej(&side, 0)));
        assert!(matches!(side.event(), Event::Rejected { .. }));
    }
}

#[test]
fn list_of_connections_has_those_that_the_owner_knows() {
    let list = |side: &Side| side.cm.connection_ids().collect::<Vec<_>>();
    let (mut side, _) = Side::called();
    assert_eq!(list(&side), [side.id]);
    side.cm.reject(side.now, side.id, &RejectRequest::consumer(&[])).unwrap();
    assert_eq!((list(&side).len(), side.cm.connections()), (0, 1));
    for mut side in Side::connected() {
        assert_eq!(list(&side), [side.id]);
        side.cm.destroy(side.now, side.id).unwrap();
        assert_eq!((list(&side).len(), side.cm.connections()), (0, 1));
    }
}
