//! What a REQ must be to reach a listener, and how others are refused.

use rdmalab_cm::{Event, IpCall, Listen, ListenKind, Service};
use rdmalab_wire::mad::{
    CmMad, CmMessage, IpCmHeader, Path, PortSpace, RejMessage, RejReason, Req, ServiceId, TransportService,
};
use rdmalab_wire::{Gid, Mad, PathMtu, Psn};

use super::side::*;

#[track_caller]
fn expect_refused(request: Req, reason: RejReason, information: &[u8]) {
    let mut side = Side::new();
    side.deliver(CmMessage::Req(request));
    let mad = side.sent_mad();
    assert_eq!(mad.transaction_id, TRANSACTION);
    let CmMessage::Rej(rej) = mad.message else { panic!("{mad}") };
    assert_eq!((rej.local_communication_id, rej.remote_communication_id), (0, PEER_ID));
    assert_eq!((rej.message, rej.reason), (RejMessage::Req, reason));
    assert_eq!(&rej.additional_information[..usize::from(rej.information_length)], information);
    side.expect_nothing();
    assert_eq!(side.cm.connections(), 0);
}

#[test]
fn call_says_all_that_a_queue_pair_needs() {
    let (mut side, call) = Side::called();
    assert_eq!((call.route, call.service_id, call.service), (route(), SERVICE, Service::Rc));
    let ip = IpCall {
        space: PortSpace::Tcp,
        source: "10.9.0.2:40000".parse().unwrap(),
        destination: "10.9.0.1:7174".parse().unwrap(),
    };
    assert_eq!(call.ip, Some(ip));
    assert_eq!((call.qpn, call.starting_psn), (PEER_QPN, Psn::new(77)));
    assert_eq!((call.responder_resources, call.initiator_depth), (3, 5));
    assert_eq!((call.retry_count, call.rnr_retry_count), (6, 4));
    assert_eq!((call.path_mtu, call.path.ack_timeout, call.path.hop_limit), (PathMtu::M1024, 17, 64));
    assert_eq!(call.private_data, [0; 56]);
    side.accept(&call);
    let CmMessage::Rep(rep) = side.sent() else { panic!() };
    assert_eq!((rep.responder_resources, rep.initiator_depth), (5, 3));
    assert_eq!((rep.local_qpn, rep.starting_psn, rep.local_ca_guid), (OUR_QPN, Psn::new(88), OUR_GUID));
    assert_eq!(rep.failover_accepted, 0);
}

#[test]
fn unknown_service_is_refused() {
    let service_id = ServiceId::rdma_ip(PortSpace::Tcp, PORT + 1);
    expect_refused(Req { service_id, ..req() }, RejReason::INVALID_SERVICE_ID, &[]);
}

#[test]
fn reliable_datagram_and_unknown_extensions_are_refused() {
    for (transport_service, extended_transport) in
        [(TransportService::Rd, 0), (TransportService::Extended, 0), (TransportService::Extended, 2)]
    {
        let request = Req { transport_service, extended_transport, ..req() };
        expect_refused(request, RejReason::INVALID_TRANSPORT_SERVICE_TYPE, &[]);
    }
}

#[test]
fn call_to_a_datagram_service_is_refused() {
    let mut side = Side::new();
    let service_id = ServiceId::rdma_ip(PortSpace::Udp, PORT);
    let kind = ListenKind::Datagrams;
    side.cm.listen(&Listen { service_id, address: None, kind, backlog: 1 }).unwrap();
    side.deliver(CmMessage::Req(Req { service_id, ..req() }));
    assert_eq!(side.sent_rej().reason, RejReason::INVALID_TRANSPORT_SERVICE_TYPE);
}

#[test]
fn path_to_another_address_is_refused_with_the_right_one() {
    let mut request = req();
    request.primary.remote_gid = Gid([1; 16]);
    expect_refused(request, RejReason::PRIMARY_REMOTE_GID_REJECTED, &route().local_gid().0);
}

#[test]
fn path_from_another_address_is_refused() {
    let mut request = req();
    request.primary.local_gid = Gid([1; 16]);
    expect_refused(request, RejReason::UNSUPPORTED_REQUEST, &[]);
}

#[test]
fn path_mtu_beyond_ours_is_refused_with_ours() {
    for path_mtu_code in [0, 6, 15] {
        expect_refused(Req { path_mtu_code, ..req() }, RejReason::INVALID_PATH_MTU, &[5]);
    }
    let config = rdmalab_cm::Config { path_mtu: PathMtu::M512, ..rdmalab_cm::Config::new(OUR_GUID) };
    let mut side = Side::with(config);
    side.deliver(CmMessage::Req(req()));
    let rej = side.sent_rej();
    assert_eq!((rej.reason, rej.additional_information[0]), (RejReason::INVALID_PATH_MTU, 2));
    side.deliver(CmMessage::Req(Req { path_mtu_code: 2, ..req() }));
    assert!(matches!(side.event(), Event::ConnectRequest { .. }));
}

#[test]
fn rdma_cm_header_of_another_version_or_from_somebody_else_is_refused() {
    let good = IpCmHeader::new(route().peer, 40_000, route().local).unwrap();
    let other = other_route().peer;
    let bad = [
        IpCmHeader { major_version: 1, ..good },
        IpCmHeader { ip_version: 5, ..good },
        IpCmHeader { ip_version: 6, ..good },
        IpCmHeader::new(other, 40_000, route().local).unwrap(),
        IpCmHeader::new(route().peer, 40_000, other).unwrap(),
    ];
    for header in bad {
        let mut request = req();
        request.private_data[..36].copy_from_slice(&header.encode());
        expect_refused(request, RejReason::CONSUMER_REJECT, &[]);
    }
}

#[test]
fn call_to_a_service_by_number_needs_no_header() {
    let mut side = Side::new();
    let service_id = ServiceId(0x1234_5678_9abc_def0);
    let kind = ListenKind::Connections;
    side.cm.listen(&Listen { service_id, address: None, kind, backlog: 1 }).unwrap();
    side.deliver(CmMessage::Req(Req { service_id, private_data: [6; 92], ..req() }));
    let Event::ConnectRequest { call, .. } = side.event() else { panic!() };
    assert_eq!((call.ip, call.private_data.as_slice()), (None, [6; 92].as_slice()));
}

#[test]
fn class_version_that_is_not_spoken_is_refused_with_ours() {
    let mut side = Side::new();
    let mut bytes = CmMad::new(TRANSACTION, CmMessage::Req(req())).encode();
    bytes[2] = 3;
    side.cm.handle_mad(0, route(), &bytes);
    let rej = side.sent_rej();
    assert_eq!((rej.reason, rej.additional_information[0]), (RejReason::INVALID_CLASS_VERSION, 2));
    assert_eq!(rej.remote_communication_id, PEER_ID);
}

#[test]
fn other_management_and_broken_datagrams_are_counted_and_not_answered() {
    let mut side = Side::new();
    let good = CmMad::new(TRANSACTION, CmMessage::Req(req())).encode();
    for (place, value) in [(0, 2), (1, 3), (3, 0x81), (17, 0x30)] {
        // Of this class version and of another.
        for class_version in [2, 1] {
            let mut bytes = good;
            bytes[2] = class_version;
            bytes[place] = value;
            side.cm.handle_mad(0, route(), &bytes);
        }
    }
    side.cm.handle_mad(0, route(), &good[..Mad::LENGTH - 1]);
    side.cm.handle_mad(0, route(), &[]);
    side.expect_nothing();
    let counters = side.counters();
    assert_eq!((counters.not_communication_management, counters.malformed, counters.received), (8, 2, 10));
}

#[test]
fn alternate_path_is_not_taken() {
    let mut side = Side::new();
    let alternate = Path { hop_limit: 1, ..Path::default() };
    side.deliver(CmMessage::Req(Req { alternate, ..req() }));
    let Event::ConnectRequest { id, call, .. } = side.event() else { panic!() };
    side.id = id;
    side.accept(&call);
    let CmMessage::Rep(rep) = side.sent() else { panic!() };
    assert_eq!(rep.failover_accepted, 1);
}

#[test]
fn xrc_reply_has_the_queue_pair_in_the_place_of_the_context() {
    let mut side = Side::new();
    let transport_service = TransportService::Extended;
    side.deliver(CmMessage::Req(Req { transport_service, extended_transport: 1, ..req() }));
    let Event::ConnectRequest { id, call, .. } = side.event() else { panic!() };
    assert_eq!(call.service, Service::Xrc);
    side.id = id;
    side.accept(&call);
    let CmMessage::Rep(rep) = side.sent() else { panic!() };
    assert_eq!((rep.local_qpn.value(), rep.local_ee_context), (0, OUR_QPN.value()));
    assert!(rep.shared_receive_queue);
}
