//! Unreliable datagrams: what goes out, what comes in, and what is dropped. One file for each behaviour.

mod address_handles;
mod completions;
mod general_services;
mod header_area;
mod multicast;
mod queue_keys;
mod send_errors;
mod sending;
mod sizes;

use std::net::{IpAddr, Ipv6Addr};

use rdmalab_roce::EndpointConfig;
use rdmalab_verbs::{AddressHandleId, QueuePairType, State, Target};
use rdmalab_wire::PathMtu;

use crate::script::*;

/// Bytes in front of the payload in a receive.
const AREA: u32 = 40;

fn setup() -> Setup {
    Setup { kind: QueuePairType::Ud, ..Setup::default() }
}

fn ud() -> Script {
    Script::with(setup())
}

fn v6(n: u16) -> IpAddr {
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, n))
}

/// A side with an IPv4 and an IPv6 address.
fn ud_of_two_families() -> Script {
    let mut t = Script::in_state(State::Reset, setup());
    let addresses = vec![t.side.address, v6(1)];
    t.side.move_to(EndpointConfig::new(addresses, PathMtu::M4096));
    t.go_to(State::Rts);
    t
}

/// The script's usual target, by another way.
fn by(path: AddressHandleId) -> Target {
    Target::Datagram { path, queue_pair: PEER_QUEUE_PAIR, queue_key: QUEUE_KEY }
}
