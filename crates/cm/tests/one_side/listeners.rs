//! Who is found, and how many may wait.

use std::net::IpAddr;

use rdmalab_cm::{CommandError, Event, Listen, ListenKind, ListenerId, RejectRequest, Route};
use rdmalab_wire::PKey;
use rdmalab_wire::mad::{CmMessage, Req};

use super::side::*;

fn listen(address: Option<IpAddr>) -> Listen {
    Listen { service_id: SERVICE, address, kind: ListenKind::Connections, backlog: 9 }
}

#[test]
fn most_exact_listener_is_called() {
    let addresses = ["10.9.0.1", "0.0.0.0", "fd00:9::1", "::"].map(|text| Some(text.parse().unwrap()));
    let mut side = Side::new();
    let any = side.listener.unwrap();
    let [v4, any_v4, v6, any_v6] = addresses.map(|address| side.cm.listen(&listen(address)).unwrap());
    let mut expect = |local: &str, peer: &str, id: u32, expected: ListenerId| {
        let route = Route::new(local.parse().unwrap(), peer.parse().unwrap(), PKey::DEFAULT);
        let local_qpn = rdmalab_wire::Qpn::new(id);
        let request = Req { local_communication_id: id, local_qpn, ..req_over(&route) };
        side.deliver_from(route, 1, CmMessage::Req(request));
        let Event::ConnectRequest { listener, .. } = side.event() else { panic!() };
        assert_eq!(listener, expected, "{local}");
        side.cm.stop_listening(expected).unwrap();
    };
    expect("10.9.0.1", "10.9.0.2", 1, v4);
    expect("10.9.0.1", "10.9.0.2", 2, any_v4);
    expect("fd00:9::1", "fd00:9::2", 3, v6);
    expect("fd00:9::1", "fd00:9::2", 4, any_v6);
    expect("fd00:9::1", "fd00:9::2", 5, any);
}

#[test]
fn service_has_one_listener_at_an_address() {
    let mut side = Side::new();
    assert_eq!(side.cm.listen(&listen(None)), Err(CommandError::ServiceInUse));
    let first = side.cm.listen(&listen(Some([10, 9, 0, 1].into()))).unwrap();
    let mapped: IpAddr = "::ffff:10.9.0.1".parse().unwrap();
    assert_eq!(side.cm.listen(&listen(Some(mapped))), Err(CommandError::ServiceInUse));
    side.cm.stop_listening(first).unwrap();
    assert_eq!(side.cm.stop_listening(first), Err(CommandError::UnknownListener));
    assert!(side.cm.listen(&listen(Some(mapped))).is_ok());
}

#[test]
fn full_backlog_is_silent_until_something_is_decided() {
    let mut side = Side::new();
    let call = |number: u32| {
        let local_qpn = rdmalab_wire::Qpn::new(number);
        CmMessage::Req(Req { local_communication_id: number, local_qpn, ..req() })
    };
    let mut ids = Vec::new();
    for number in 1..=2 {
        side.deliver(call(number));
        let Event::ConnectRequest { id, .. } = side.event() else { panic!() };
        ids.push(id);
    }
    side.deliver(call(3));
    side.expect_nothing();
    assert_eq!(side.counters().backlog_full, 1);
    assert_eq!(side.cm.waiting_requests(side.listener.unwrap()), Some(2));
    side.cm.reject(side.now, ids[0], &RejectRequest::consumer(&[])).unwrap();
    side.sent_rej();
    side.deliver(call(3));
    assert!(matches!(side.event(), Event::ConnectRequest { .. }));
}

#[test]
fn request_outlives_its_listener() {
    let (mut side, call) = Side::called();
    side.cm.stop_listening(side.listener.unwrap()).unwrap();
    side.accept(&call);
    assert!(matches!(side.sent(), CmMessage::Rep(_)));
    side.deliver(CmMessage::Rtu(side.rtu()));
    assert!(matches!(side.event(), Event::Established { .. }));
}
