//! What fits, and what happens to what does not.

use rdmalab_cm::{
    AcceptRequest, AnswerRequest, CommandError, Config, ConnectRequest, Event, Limits, Listen, ListenKind,
    RejectRequest, ResolveRequest, Route, Target,
};
use rdmalab_wire::mad::{CmMessage, RejReason, Req, ServiceId};
use rdmalab_wire::{PKey, Psn, QKey, Qpn};

use super::side::*;

fn limited(change: impl FnOnce(&mut Limits)) -> Side {
    let mut config = Config::new(OUR_GUID);
    change(&mut config.limits);
    Side::with(config)
}

fn call(number: u32) -> CmMessage {
    let local_qpn = Qpn::new(number);
    CmMessage::Req(Req { local_communication_id: number, local_qpn, ..req() })
}

#[track_caller]
fn too_long<T: std::fmt::Debug>(result: Result<T, CommandError>, limit: usize) {
    match result {
        Err(CommandError::PrivateDataTooLong { given, limit: found }) => {
            assert_eq!((given, found), (limit + 1, limit));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn private_data_fit_to_the_last_byte_and_no_further() {
    let data = [9; 300];
    let service = Target::Service(ServiceId(1));

    let mut side = Side::new();
    for (target, limit) in [(connect_request().target, 56), (service, 92)] {
        let request = |length| ConnectRequest { target, private_data: &data[..length], ..connect_request() };
        too_long(side.cm.connect(0, &request(limit + 1)), limit);
        let id = side.cm.connect(0, &request(limit)).unwrap();
        let CmMessage::Req(sent) = side.sent() else { panic!() };
        assert_eq!(sent.private_data[92 - limit..], data[..limit]);
        side.cm.destroy(0, id).unwrap();
        side.sent();
    }
    for (target, limit) in [(connect_request().target, 180), (service, 216)] {
        let request = |length| ResolveRequest { route: route(), target, private_data: &data[..length] };
        too_long(side.cm.resolve_service(0, &request(limit + 1)), limit);
        side.cm.resolve_service(0, &request(limit)).unwrap();
        let CmMessage::SidrReq(sent) = side.sent() else { panic!() };
        assert_eq!(sent.private_data[216 - limit..], data[..limit]);
    }

    let (mut side, call) = Side::called();
    let accept = |length| AcceptRequest {
        private_data: &data[..length],
        ..AcceptRequest::new(&call, OUR_QPN, Psn::new(1))
    };
    too_long(side.cm.accept(0, side.id, &accept(197)), 196);
    too_long(side.cm.reject(0, side.id, &RejectRequest::consumer(&data[..149])), 148);
    too_long(side.cm.mra(side.id, 1, &data[..223]), 222);
    side.expect_nothing();
    side.cm.accept(0, side.id, &accept(196)).unwrap();
    let CmMessage::Rep(rep) = side.sent() else { panic!() };
    assert_eq!(rep.private_data, [9; 196]);

    let mut side = Side::replied();
    too_long(side.cm.confirm(side.id, &data[..225]), 224);
    side.cm.confirm(side.id, &data[..224]).unwrap();
    let CmMessage::Rtu(rtu) = side.sent() else { panic!() };
    assert_eq!(rtu.private_data, [9; 224]);
    too_long(side.cm.disconnect(0, side.id, &data[..221]), 220);
    side.cm.disconnect(0, side.id, &data[..220]).unwrap();
    let CmMessage::Dreq(dreq) = side.sent() else { panic!() };
    assert_eq!(dreq.private_data, [9; 220]);
}

#[test]
fn rejection_carries_information_and_private_data_to_their_limits() {
    let data = [9; 148];
    let (mut side, _) = Side::called();
    let request = |length| RejectRequest {
        reason: RejReason::NO_RESOURCES,
        additional_information: &data[..length],
        private_data: &data,
    };
    let given = 73;
    assert_eq!(side.cm.reject(0, side.id, &request(73)), Err(CommandError::InformationTooLong { given }));
    side.cm.reject(0, side.id, &request(72)).unwrap();
    let rej = side.sent_rej();
    assert_eq!((rej.reason, rej.information_length), (RejReason::NO_RESOURCES, 72));
    assert_eq!((rej.additional_information, rej.private_data), ([9; 72], [9; 148]));
}

#[test]
fn addresses_of_two_families_make_no_route_to_call() {
    let mut side = Side::new();
    let route = Route::new([10, 9, 0, 1].into(), "fd00::1".parse().unwrap(), PKey::DEFAULT);
    for target in [connect_request().target, Target::Service(ServiceId(1))] {
        let request = ConnectRequest { route, target, ..connect_request() };
        assert_eq!(side.cm.connect(0, &request), Err(CommandError::MixedFamilies));
        let request = ResolveRequest { route, target, private_data: &[] };
        assert_eq!(side.cm.resolve_service(0, &request), Err(CommandError::MixedFamilies));
    }
}

#[test]
fn connections_beyond_the_limit_are_refused() {
    let mut side = limited(|limits| limits.connections = 1);
    side.deliver(call(1));
    assert!(matches!(side.event(), Event::ConnectRequest { .. }));
    side.deliver(call(2));
    assert_eq!(side.sent_rej().reason, RejReason::NO_RESOURCES);
    assert_eq!(side.counters().connections_full, 1);
    assert_eq!(side.cm.connect(0, &connect_request()), Err(CommandError::TooMany));
}

#[test]
fn oldest_rejection_is_forgotten_first() {
    let mut side = limited(|limits| limits.rejections = 2);
    for number in 1..=3 {
        side.deliver(call(number));
        let Event::ConnectRequest { id, .. } = side.event() else { panic!() };
        side.cm.reject(side.now, id, &RejectRequest::consumer(&[])).unwrap();
        side.sent_rej();
    }
    assert_eq!(side.cm.connections(), 2);
    side.deliver(call(2));
    side.sent_rej();
    side.expect_no_event();
    side.deliver(call(1));
    assert!(matches!(side.event(), Event::ConnectRequest { .. }));
}

#[test]
fn events_that_nobody_polls_keep_new_calls_out_but_lose_nothing() {
    let mut side = limited(|limits| limits.events = 1);
    side.deliver(call(1));
    side.deliver(call(2));
    side.expect_silence();
    assert_eq!(side.counters().events_full, 1);
    let Event::ConnectRequest { id, .. } = side.event() else { panic!() };
    side.deliver(call(2));
    side.cm.destroy(side.now, id).unwrap();
    side.sent_rej();
    assert!(matches!(side.event(), Event::ConnectRequest { .. }));
}

#[test]
fn datagrams_that_nobody_polls_are_lost() {
    let mut side = limited(|limits| limits.transmits = 2);
    let unknown = Req { service_id: ServiceId(5), ..req() };
    for _ in 0..5 {
        side.deliver(CmMessage::Req(unknown));
    }
    let sent = std::iter::from_fn(|| side.cm.poll_transmit()).count();
    assert_eq!((sent, side.counters().transmits_full), (2, 3));
}

#[test]
fn listeners_and_questions_have_their_limits() {
    let mut side = limited(|limits| {
        limits.listeners = 2;
        limits.resolutions = 1;
    });
    let listen = |number| Listen {
        service_id: ServiceId(number),
        address: None,
        kind: ListenKind::Datagrams,
        backlog: 9,
    };
    side.cm.listen(&listen(1)).unwrap();
    assert_eq!(side.cm.listen(&listen(2)), Err(CommandError::TooMany));
    let target = Target::Service(ServiceId(1));
    let request = ResolveRequest { route: route(), target, private_data: &[] };
    side.cm.resolve_service(0, &request).unwrap();
    assert_eq!(side.cm.resolve_service(0, &request), Err(CommandError::TooMany));
}

#[test]
fn oldest_answer_is_forgotten_first() {
    let mut side = limited(|limits| limits.answers = 1);
    let service_id = ServiceId(1);
    let kind = ListenKind::Datagrams;
    side.cm.listen(&Listen { service_id, address: None, kind, backlog: 9 }).unwrap();
    let question = |request_id| {
        let req = rdmalab_wire::mad::SidrReq { request_id, service_id, ..Default::default() };
        CmMessage::SidrReq(req)
    };
    for number in 1..=2 {
        side.deliver(question(number));
        let Event::ServiceRequest { id, .. } = side.event() else { panic!() };
        let answer = AnswerRequest::QueuePair { qpn: OUR_QPN, queue_key: QKey::new(1), private_data: &[] };
        side.cm.answer(side.now, id, &answer).unwrap();
        side.sent();
    }
    side.deliver(question(2));
    assert!(matches!(side.sent(), CmMessage::SidrRep(_)));
    side.deliver(question(1));
    assert!(matches!(side.event(), Event::ServiceRequest { .. }));
}
