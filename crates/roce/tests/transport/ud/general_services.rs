//! The general services interface (GSI): the datagram queue pair by which nodes manage each other.
//!
//! Rule: ud-gsi: the general services interface has the number 1 and its own privileged queue key; a port has one.

use rdmalab_roce::{CreateError, Discard, Profile, QueuePairConfig};
use rdmalab_verbs::{Attributes, Capabilities, LimitReached, QueuePairType, State, Target};
use rdmalab_wire::{QKey, Qpn};

use super::AREA;
use crate::script::*;

/// A side whose queue pair is the general services interface, in RTS.
fn gsi(profile: Profile) -> Script {
    let setup = Setup { kind: QueuePairType::Ud, profile, ..Setup::default() };
    let mut t = Script::in_state(State::Reset, setup);
    let config =
        QueuePairConfig::new(QueuePairType::Ud, t.side.domain, t.side.completions, Capabilities::default());
    t.side.queue_pair = t.side.endpoint.create_gsi(&mut t.side.context, &config).unwrap();
    t.go_to(State::Rts);
    t.modify(Attributes { queue_key: Some(QKey::GSI), ..Attributes::default() });
    t
}

#[test]
fn a_management_datagram_reaches_queue_pair_1_with_its_key_only() {
    let mut t = gsi(Profile::RXE);
    let receive = t.receive(300);
    t.deliver(send_only(0, 256));
    t.expect_discard(Discard::QueueKey);
    t.deliver(send_only(0, 256).over(deth(QKey::GSI, Qpn::GSI)));
    t.expect_received(receive, AREA + 256);
    t.expect_nothing();
}

#[test]
fn management_datagrams_go_from_queue_pair_1_and_ask_for_an_acknowledgement_as_linux_does() {
    for (profile, asks) in [(Profile::RXE, " ackreq"), (Profile::SPEC, " migrated")] {
        let mut t = gsi(profile);
        let path = t.side.handle_to(peer());
        t.post(send(256).to(Target::Datagram { path, queue_pair: PEER_QUEUE_PAIR, queue_key: QKey::GSI }));
        t.expect(&format!("UD SEND_ONLY psn=0 qkey=0x80010000 src=0x000001 len=256{asks}"));
        t.expect_done(0);
    }
}

#[test]
fn a_port_has_one_and_it_is_a_datagram_queue_pair() {
    let mut t = gsi(Profile::RXE);
    let mut config =
        QueuePairConfig::new(QueuePairType::Ud, t.side.domain, t.side.completions, Capabilities::default());
    let side = &mut t.side;
    let limit = LimitReached { what: "general services interfaces", limit: 1 };
    let second = side.endpoint.create_gsi(&mut side.context, &config);
    assert_eq!(second, Err(CreateError::LimitReached(limit)));
    side.endpoint.destroy_queue_pair(&mut side.context, Qpn::GSI).unwrap();
    assert_eq!(side.endpoint.state(Qpn::GSI), None);
    config.kind = QueuePairType::Rc;
    assert_eq!(side.endpoint.create_gsi(&mut side.context, &config), Err(CreateError::NotDatagram));
    config.kind = QueuePairType::Ud;
    assert_eq!(side.endpoint.create_gsi(&mut side.context, &config), Ok(Qpn::GSI));
}
