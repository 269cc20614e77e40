//! Multicast groups.
//!
//! Rule: ud-multicast: a datagram to a multicast group reaches each queue pair that is attached to it, as one to itself
//! would.
//! Rule: ud-multicast-number: datagrams to a group are for the queue pair number 0xffffff.

use std::net::{IpAddr, Ipv4Addr};

use rdmalab_roce::{Discard, MulticastError};
use rdmalab_verbs::{Attributes, CompletionStatus, QueuePairType, ReceiveRequest, State, Target};
use rdmalab_wire::{Datagram, Packet, QKey, Qpn};

use super::{AREA, setup, ud, ud_of_two_families, v6};
use crate::script::*;

const GROUP: IpAddr = IpAddr::V4(Ipv4Addr::new(224, 0, 1, 7));

fn deliver_to(t: &mut Script, group: IpAddr, packet: Incoming) {
    let source = if group.is_ipv4() { peer() } else { v6(2) };
    let bytes = t.encode_between(source, group, &packet.to(Qpn::MULTICAST));
    t.deliver_bytes(&bytes);
}

fn receive_on(t: &mut Script, queue_pair: Qpn, id: u64, offset: usize) {
    let elements = [t.side.sge(offset, 100)];
    let Side { endpoint, context, .. } = &mut t.side;
    endpoint.post_receive(context, queue_pair, &ReceiveRequest { id, elements: &elements }).unwrap();
}

#[test]
fn who_is_attached_gets_the_groups_datagrams_until_detached() {
    let mut t = ud();
    t.receive(100);
    deliver_to(&mut t, GROUP, send_only(0, 8));
    t.expect_discard(Discard::NoMember);
    let number = t.side.queue_pair;
    t.side.endpoint.attach_multicast(number, GROUP).unwrap();
    deliver_to(&mut t, GROUP, send_only(0, 8));
    let received = t.expect_received(100, AREA + 8);
    assert_eq!(received.source, Some(PEER_QUEUE_PAIR));
    t.side.endpoint.detach_multicast(number, GROUP).unwrap();
    deliver_to(&mut t, GROUP, send_only(0, 8));
    t.expect_discard(Discard::NoMember);
}

#[test]
fn all_members_get_a_copy_and_each_judges_for_itself() {
    let mut t = ud();
    let first = t.side.queue_pair;
    let others: Vec<_> = (0..3).map(|_| t.side.connect_another(&setup(), peer(), PEER_QUEUE_PAIR)).collect();
    for number in [first, others[0], others[1], others[2]] {
        t.side.endpoint.attach_multicast(number, GROUP).unwrap();
    }
    // The second has no receive; the third another queue key.
    t.receive_at(0, 100);
    receive_on(&mut t, others[1], 1, 1000);
    receive_on(&mut t, others[2], 2, 2000);
    let other_key = Attributes { queue_key: Some(QKey::new(7)), ..Attributes::default() };
    let Side { endpoint, context, .. } = &mut t.side;
    endpoint.modify(context, others[1], &other_key).unwrap();
    deliver_to(&mut t, GROUP, send_only(0, 8));
    t.expect_received(100, AREA + 8);
    t.expect_completion_of(others[2], 2, CompletionStatus::Success);
    t.expect_bytes(40, &pattern(0, 8));
    t.expect_bytes(2040, &pattern(0, 8));
    t.expect_bytes(1000, &[0; 100]);
    assert_eq!(t.counters().discarded(Discard::NoReceive), 1);
    assert_eq!(t.counters().discarded(Discard::QueueKey), 1);
}

#[test]
fn a_datagram_of_another_partition_is_dropped_by_each_member() {
    let mut t = ud();
    t.receive(100);
    t.side.endpoint.attach_multicast(t.side.queue_pair, GROUP).unwrap();
    deliver_to(&mut t, GROUP, send_only(0, 8).partition(0x8001));
    t.expect_discard(Discard::PartitionKey);
    let mut bytes = t.encode_between(peer(), GROUP, &send_only(0, 8).to(Qpn::MULTICAST));
    *bytes.last_mut().unwrap() ^= 1;
    t.deliver_bytes(&bytes);
    t.expect_discard(Discard::Icrc);
    t.expect_no_completion();
}

#[test]
fn a_group_may_have_an_ipv6_address() {
    let mut t = ud_of_two_families();
    let group: IpAddr = "ff0e::1:7".parse().unwrap();
    t.receive(100);
    t.side.endpoint.attach_multicast(t.side.queue_pair, group).unwrap();
    deliver_to(&mut t, group, send_only(0, 8));
    t.expect_received(100, AREA + 8);
}

#[test]
fn a_member_that_is_gone_is_no_member() {
    let mut t = ud();
    let other = t.side.connect_another(&setup(), peer(), PEER_QUEUE_PAIR);
    t.side.endpoint.attach_multicast(other, GROUP).unwrap();
    let Side { endpoint, context, .. } = &mut t.side;
    endpoint.destroy_queue_pair(context, other).unwrap();
    deliver_to(&mut t, GROUP, send_only(0, 8));
    t.expect_discard(Discard::NoMember);
}

#[test]
fn a_member_that_does_not_receive_drops_its_copy() {
    let mut t = Script::in_state(State::Init, setup());
    t.receive(100);
    t.side.endpoint.attach_multicast(t.side.queue_pair, GROUP).unwrap();
    deliver_to(&mut t, GROUP, send_only(0, 8));
    t.expect_discard(Discard::State);
    t.modify_state(State::Rtr);
    deliver_to(&mut t, GROUP, send_only(0, 8));
    t.expect_received(100, AREA + 8);
}

#[test]
fn attaching_twice_is_being_attached_once() {
    let mut t = ud();
    t.receive(100);
    t.receive(100);
    let number = t.side.queue_pair;
    t.side.endpoint.attach_multicast(number, GROUP).unwrap();
    t.side.endpoint.attach_multicast(number, GROUP).unwrap();
    deliver_to(&mut t, GROUP, send_only(0, 8));
    t.expect_received(100, AREA + 8);
    t.expect_no_completion();
    t.side.endpoint.detach_multicast(number, GROUP).unwrap();
    let again = t.side.endpoint.detach_multicast(number, GROUP);
    assert_eq!(again, Err(MulticastError::NotAttached));
}

#[test]
fn what_cannot_be_attached_is_refused_by_its_reason() {
    let mut t = ud();
    let number = t.side.queue_pair;
    let endpoint = &mut t.side.endpoint;
    assert_eq!(endpoint.attach_multicast(number, peer()), Err(MulticastError::NotMulticast));
    assert_eq!(endpoint.attach_multicast(Qpn::new(5), GROUP), Err(MulticastError::NoSuchQueuePair));
    assert_eq!(endpoint.detach_multicast(number, GROUP), Err(MulticastError::NotAttached));
    for kind in [QueuePairType::Rc, QueuePairType::Uc] {
        let mut t = Script::of(kind);
        let refused = t.side.endpoint.attach_multicast(t.side.queue_pair, GROUP);
        assert_eq!(refused, Err(MulticastError::NotDatagram));
    }
}

#[test]
fn groups_and_members_have_limits() {
    let mut t = ud();
    let number = t.side.queue_pair;
    for n in 0..1024_u32 {
        let group = IpAddr::V4(Ipv4Addr::from(0xe100_0000 + n));
        t.side.endpoint.attach_multicast(number, group).unwrap();
    }
    assert_eq!(t.side.endpoint.attach_multicast(number, GROUP), Err(MulticastError::TooManyGroups));

    let mut t = ud();
    for _ in 0..64 {
        let other = t.side.another_queue_pair();
        t.side.endpoint.attach_multicast(other, GROUP).unwrap();
    }
    let refused = t.side.endpoint.attach_multicast(t.side.queue_pair, GROUP);
    assert_eq!(refused, Err(MulticastError::TooManyMembers));
}

#[test]
fn only_datagrams_reach_a_group() {
    let mut t = ud();
    t.receive(100);
    t.side.endpoint.attach_multicast(t.side.queue_pair, GROUP).unwrap();
    deliver_to(&mut t, GROUP, send_only(0, 8).over(rdmalab_wire::Transport::Uc));
    t.expect_discard(Discard::UnknownQueuePair);
    // To the address of a group, but to one queue pair; and the other way about.
    let bytes = t.encode_between(peer(), GROUP, &send_only(0, 8));
    t.deliver_bytes(&bytes);
    t.expect_discard(Discard::Address);
    t.deliver(send_only(0, 8).to(Qpn::MULTICAST));
    t.expect_discard(Discard::NoMember);
    t.expect_no_completion();
}

#[test]
fn a_datagram_to_a_group_goes_out_to_its_address() {
    let mut t = ud();
    let path = t.side.handle_to(GROUP);
    t.post(send(1).to(Target::Datagram { path, queue_pair: Qpn::MULTICAST, queue_key: QUEUE_KEY }));
    let packets = t.take_packets();
    let datagram = Datagram::parse(&packets[0]).unwrap();
    datagram.verify_icrc().unwrap();
    assert_eq!(datagram.destination, GROUP);
    assert_eq!(Packet::parse(datagram.ib).unwrap().bth.destination, Qpn::MULTICAST);
    t.expect_done(0);
}
