//! Questions for datagram services.

use rdmalab_cm::{
    AnswerRequest, CommandError, Event, Listen, ListenKind, ResolutionId, ResolveRequest, Target,
};
use rdmalab_wire::mad::{CmMessage, IpCmHeader, PortSpace, ServiceId, SidrRep, SidrReq, SidrStatus};
use rdmalab_wire::{PKey, QKey, Qpn};

use super::side::*;

const UDP_SERVICE: ServiceId = ServiceId::rdma_ip(PortSpace::Udp, PORT);

fn question(number: u32) -> SidrReq {
    let header = IpCmHeader::new(route().peer, 40_000, route().local).unwrap();
    let mut private_data = [0; 216];
    private_data[..36].copy_from_slice(&header.encode());
    SidrReq {
        request_id: number,
        partition_key: PKey::DEFAULT,
        reserved: 0,
        service_id: UDP_SERVICE,
        private_data,
    }
}

fn serving() -> Side {
    let mut side = Side::new();
    let kind = ListenKind::Datagrams;
    side.listener = side.cm.listen(&Listen { service_id: UDP_SERVICE, address: None, kind, backlog: 2 }).ok();
    side
}

fn asking() -> (Side, ResolutionId) {
    let mut side = Side::new();
    let target = Target::Ip { space: PortSpace::Udp, port: PORT, source_port: 50_000 };
    let request = ResolveRequest { route: route(), target, private_data: b"who" };
    let id = side.cm.resolve_service(side.now, &request).unwrap();
    let CmMessage::SidrReq(req) = side.sent() else { panic!() };
    assert_eq!((req.request_id, req.service_id), (id.value(), UDP_SERVICE));
    (side, id)
}

#[track_caller]
fn sent_answer(side: &mut Side) -> SidrRep {
    match side.sent() {
        CmMessage::SidrRep(rep) => rep,
        other => panic!("{other}"),
    }
}

const GOOD: AnswerRequest<'static> =
    AnswerRequest::QueuePair { qpn: OUR_QPN, queue_key: QKey::new(3), private_data: &[6; 136] };

#[test]
fn question_is_answered_once_and_the_answer_repeated() {
    let mut side = serving();
    side.deliver(CmMessage::SidrReq(question(1)));
    let Event::ServiceRequest { id, call, .. } = side.event() else { panic!() };
    assert_eq!((call.service_id, call.ip.unwrap().source.port()), (UDP_SERVICE, 40_000));
    side.deliver(CmMessage::SidrReq(question(1)));
    side.expect_nothing();
    side.now += WAIT;
    side.cm.answer(side.now, id, &GOOD).unwrap();
    assert_eq!(side.cm.next_timeout(), Some(side.now + MEMORY));
    let rep = sent_answer(&mut side);
    assert_eq!(
        (rep.request_id, rep.status, rep.qpn, rep.queue_key),
        (1, SidrStatus::VALID, OUR_QPN, QKey::new(3))
    );
    assert_eq!(side.cm.answer(side.now, id, &GOOD), Err(CommandError::UnknownResolution));
    side.now += WAIT;
    side.deliver(CmMessage::SidrReq(question(1)));
    assert_eq!(sent_answer(&mut side), rep);
    side.expect_timer_after(MEMORY);
    side.deliver(CmMessage::SidrReq(question(1)));
    assert!(matches!(side.event(), Event::ServiceRequest { .. }));
}

#[test]
fn question_for_no_service_is_refused() {
    let mut side = serving();
    let service_id = ServiceId::rdma_ip(PortSpace::Udp, PORT + 1);
    side.deliver(CmMessage::SidrReq(SidrReq { service_id, ..question(1) }));
    assert_eq!(sent_answer(&mut side).status, SidrStatus::SERVICE_ID_NOT_SUPPORTED);
    // Connections are another kind of service.
    side.deliver(CmMessage::SidrReq(SidrReq { service_id: SERVICE, ..question(2) }));
    assert_eq!(sent_answer(&mut side).status, SidrStatus::SERVICE_ID_NOT_SUPPORTED);
    side.expect_no_event();
}

#[test]
fn question_with_a_wrong_header_is_refused() {
    let mut side = serving();
    let mut bad = question(1);
    bad.private_data[0] = 0x10;
    side.deliver(CmMessage::SidrReq(bad));
    assert_eq!(sent_answer(&mut side).status, SidrStatus::REJECTED);
    side.deliver_from(other_route(), 1, CmMessage::SidrReq(question(1)));
    assert_eq!(sent_answer(&mut side).status, SidrStatus::REJECTED);
    assert_eq!(side.counters().questions_wrong_header, 2);
}

#[test]
fn questions_beyond_the_backlog_wait_for_their_repetition() {
    let mut side = serving();
    for number in 1..=3 {
        side.deliver(CmMessage::SidrReq(question(number)));
    }
    let Event::ServiceRequest { id, .. } = side.event() else { panic!() };
    assert!(matches!(side.event(), Event::ServiceRequest { .. }));
    side.expect_nothing();
    assert_eq!(side.counters().questions_full, 1);
    side.cm.cancel_resolution(id).unwrap();
    side.deliver(CmMessage::SidrReq(question(3)));
    assert!(matches!(side.event(), Event::ServiceRequest { .. }));
}

#[test]
fn question_that_nobody_answers_is_forgotten() {
    let mut side = serving();
    side.deliver(CmMessage::SidrReq(question(1)));
    let Event::ServiceRequest { id, .. } = side.event() else { panic!() };
    side.expect_timer_after(MEMORY);
    side.expect_nothing();
    assert_eq!(side.cm.answer(side.now, id, &GOOD), Err(CommandError::UnknownResolution));
    assert_eq!(side.cm.waiting_requests(side.listener.unwrap()), Some(0));
}

#[test]
fn our_question_is_asked_sixteen_times() {
    let (mut side, id) = asking();
    for _ in 0..15 {
        side.expect_timer_after(WAIT);
        assert!(matches!(side.sent(), CmMessage::SidrReq(_)));
    }
    side.expect_timer_after(WAIT);
    assert_eq!(side.event(), Event::ServiceUnreachable { id });
    assert_eq!(side.cm.next_timeout(), None);
    side.expect_nothing();
}

#[test]
fn answer_comes_once_and_from_whom_was_asked() {
    let (mut side, id) = asking();
    let rep = SidrRep {
        request_id: id.value(),
        qpn: Qpn::new(5),
        service_id: UDP_SERVICE,
        queue_key: QKey::new(3),
        private_data: [6; 136],
        ..SidrRep::default()
    };
    side.deliver_from(other_route(), 1, CmMessage::SidrRep(rep));
    side.deliver(CmMessage::SidrRep(SidrRep { request_id: 1, ..rep }));
    side.deliver(CmMessage::SidrRep(SidrRep { service_id: SERVICE, ..rep }));
    side.expect_nothing();
    side.deliver(CmMessage::SidrRep(rep));
    let Event::ServiceResolved { answer, .. } = side.event() else { panic!() };
    assert_eq!(
        (answer.qpn, answer.queue_key, answer.private_data),
        (Qpn::new(5), QKey::new(3), vec![6; 136])
    );
    side.deliver(CmMessage::SidrRep(rep));
    side.expect_nothing();
    assert_eq!((side.counters().answers_unknown, side.cm.next_timeout()), (4, None));
}

#[test]
fn refusal_and_redirection_say_all() {
    let (mut side, id) = asking();
    let mut rep = SidrRep { request_id: id.value(), status: SidrStatus::REDIRECTED, ..SidrRep::default() };
    rep.information_length = 200;
    rep.additional_information = [5; 72];
    side.deliver(CmMessage::SidrRep(rep));
    let Event::ServiceRefused { refusal, .. } = side.event() else { panic!() };
    assert_eq!(refusal.status, SidrStatus::REDIRECTED);
    assert_eq!(refusal.additional_information, [5; 72]);
}

#[test]
fn question_that_was_given_up_is_silent() {
    let (mut side, id) = asking();
    side.cm.cancel_resolution(id).unwrap();
    assert_eq!(side.cm.cancel_resolution(id), Err(CommandError::UnknownResolution));
    assert_eq!(side.cm.next_timeout(), None);
    side.expect_nothing();
}
