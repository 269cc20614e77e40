//! A host that calls itself: both ends of each conversation are in one table.

use rdmalab_cm::{
    AcceptRequest, Cm, Config, ConnectRequest, DisconnectCause, Event, Listen, ListenKind, Route, Target,
};
use rdmalab_wire::mad::{PortSpace, ServiceId};
use rdmalab_wire::{PKey, Psn, Qpn};

#[test]
fn host_calls_itself() {
    let route = Route::new([127, 0, 0, 1].into(), [127, 0, 0, 1].into(), PKey::DEFAULT);
    let mut cm = Cm::new(Config::new(1), 1);
    let service_id = ServiceId::rdma_ip(PortSpace::Tcp, 7);
    let kind = ListenKind::Connections;
    cm.listen(&Listen { service_id, address: Some(route.local), kind, backlog: 1 }).unwrap();
    let target = Target::Ip { space: PortSpace::Tcp, port: 7, source_port: 8 };
    let ours = cm.connect(0, &ConnectRequest::new(route, target, Qpn::new(2), Psn::new(0))).unwrap();
    let mut theirs = None;
    let mut causes = Vec::new();
    while let Some(outgoing) = cm.poll_transmit() {
        cm.handle_mad(0, route, &outgoing.bytes);
        cm.assert_sound();
        while let Some(event) = cm.poll_event() {
            match event {
                Event::ConnectRequest { id, call, .. } => {
                    theirs = Some(id);
                    cm.accept(0, id, &AcceptRequest::new(&call, Qpn::new(3), Psn::new(0))).unwrap();
                }
                Event::ConnectResponse { id, .. } => cm.confirm(id, &[]).unwrap(),
                Event::Established { id, .. } => cm.disconnect(0, id, &[]).unwrap(),
                Event::Disconnected { id, cause, .. } => causes.push((id, cause)),
                other => panic!("{other:?}"),
            }
        }
    }
    let theirs = theirs.unwrap();
    assert_eq!(causes, [(ours, DisconnectCause::Peer), (theirs, DisconnectCause::Ours)]);
}
