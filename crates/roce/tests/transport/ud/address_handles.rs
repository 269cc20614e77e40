//! Ways to peers: each datagram goes by the address handle that its request names.
//!
//! Rule: ud-address-handle: addresses, traffic class and hop limit of a datagram are those of the address handle that
//! its request names.
//! Rule: ud-address-handle-domain: a queue pair uses the address handles of its own protection domain only.

use rdmalab_verbs::{CompletionStatus, Path, PostError, State, Target};
use rdmalab_wire::{Datagram, Ecn, Packet, Qpn};

use super::{by, ud, ud_of_two_families, v6};
use crate::script::*;
use crate::side::address;

#[test]
fn one_queue_pair_sends_to_many_peers() {
    let mut t = ud();
    for n in [3, 4] {
        let path = t.side.handle_to(address(n));
        let queue_pair = Qpn::new(0x100 + u32::from(n));
        t.post(send(1).to(Target::Datagram { path, queue_pair, queue_key: QUEUE_KEY }));
    }
    let packets = t.take_packets();
    for (bytes, n) in packets.iter().zip([3, 4]) {
        let datagram = Datagram::parse(bytes).unwrap();
        datagram.verify_icrc().unwrap();
        assert_eq!((datagram.source, datagram.destination), (t.side.address, address(n)));
        let bth = Packet::parse(datagram.ib).unwrap().bth;
        assert_eq!(bth.destination, Qpn::new(0x100 + u32::from(n)));
    }
    assert_eq!(packets.len(), 2);
    t.expect_done(0);
    t.expect_done(1);
}

#[test]
fn one_queue_pair_sends_over_both_address_families() {
    let mut t = ud_of_two_families();
    let path = Path { traffic_class: 0x68, hop_limit: 3, ..Path::new(v6(1), v6(2)) };
    let over_v6 = t.side.context.create_address_handle(t.side.domain, path).unwrap();
    t.post(send(5));
    t.post(send(5).to(by(over_v6)));
    let packets = t.take_packets();
    let seen: Vec<_> = packets
        .iter()
        .map(|bytes| {
            let datagram = Datagram::parse(bytes).unwrap();
            datagram.verify_icrc().unwrap();
            (datagram.source, datagram.destination, datagram.dscp, datagram.ecn, datagram.ttl)
        })
        .collect();
    let over_v4 = (t.side.address, peer(), 0, Ecn::NotEct, 64);
    assert_eq!(seen, [over_v4, (v6(1), v6(2), 26, Ecn::NotEct, 3)]);
    t.expect_done(0);
    t.expect_done(1);
}

#[test]
fn a_handle_that_is_gone_is_refused_when_a_request_names_it() {
    let mut t = ud();
    let path = t.side.handle_to(peer());
    t.side.context.destroy_address_handle(path).unwrap();
    assert_eq!(t.try_post(send(1).to(by(path))), Err(PostError::NoSuchAddressHandle));
}

#[test]
fn a_handle_that_goes_before_its_request_is_sent_stops_the_send_queue() {
    let mut t = ud();
    let path = t.side.handle_to(peer());
    t.post(send(1).to(by(path)));
    t.post(send(1));
    t.side.context.destroy_address_handle(path).unwrap();
    t.expect_completion(0, CompletionStatus::LocalQueuePairOperationError);
    t.expect_flushed([1]);
    t.expect_state(State::Sqe);
    t.expect_nothing();
}

#[test]
fn a_handle_of_another_protection_domain_is_refused() {
    let mut t = ud();
    let other = t.side.context.allocate_protection_domain().unwrap();
    let path = Path::new(t.side.address, peer());
    let handle = t.side.context.create_address_handle(other, path).unwrap();
    assert_eq!(t.try_post(send(1).to(by(handle))), Err(PostError::NoSuchAddressHandle));
}

#[test]
fn a_handle_from_an_address_of_another_port_is_refused() {
    let mut t = ud();
    let path = Path::new(address(9), peer());
    let handle = t.side.context.create_address_handle(t.side.domain, path).unwrap();
    assert_eq!(t.try_post(send(1).to(by(handle))), Err(PostError::NoSuchAddressHandle));
}
