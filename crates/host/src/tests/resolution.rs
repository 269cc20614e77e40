//! Neighbours: asked for once, waited for in order, given up on, and not drowned.

use core::net::{IpAddr, Ipv4Addr};

use rdmalab_wire::EthernetAddress;

use super::link::*;
use crate::arp::{Arp, Operation};
use crate::neighbours::{ENTRIES_MAX, HELD_MAX, HOLDING_MAX};
use crate::{HEADROOM, Host, HostAddress, HostConfig, Reach, SendError, Sent};

fn ethertypes(frames: &[Vec<u8>]) -> Vec<u16> {
    frames.iter().map(|frame| u16::from_be_bytes([frame[12], frame[13]])).collect()
}

fn arp(operation: Operation, sender_mac: EthernetAddress, sender: IpAddr, target: IpAddr) -> Vec<u8> {
    let (IpAddr::V4(sender), IpAddr::V4(target)) = (sender, target) else { panic!("IPv4 only") };
    let mut payload = Vec::new();
    Arp { operation, sender_mac, sender, target_mac: EthernetAddress([0; 6]), target }.encode(&mut payload);
    ethernet(EthernetAddress::BROADCAST, sender_mac, 0x0806, &payload)
}

fn number(host: u32) -> (EthernetAddress, IpAddr) {
    let [_, b, c, d] = host.to_be_bytes();
    let address = Ipv4Addr::from_bits(u32::from(Ipv4Addr::new(10, 0, 0, 0)) + host);
    (EthernetAddress([2, 9, 9, b, c, d]), address.into())
}

/// A host on a network of 16 million addresses.
fn host_on_a_wide_link() -> Host {
    let mut config = config(MAC_B, B4, B6);
    config.addresses[0].prefix_length = 8;
    Host::new(&config).unwrap()
}

#[test]
fn the_first_packet_waits_for_one_question_and_later_ones_go_at_once() {
    for (source, destination, question) in [(A4, B4, 0x0806), (A6, B6, 0x86dd)] {
        let mut link = Link::new();
        let packets: Vec<_> = (0..3).map(|n| roce_packet(source, destination, &[n; 50])).collect();
        for n in 0..3 {
            assert_eq!(link.a.send_roce(0, &mut roce_frame(source, destination, &[n; 50])), Sent::Held);
        }
        link.pass(10 * MILLISECOND);
        assert_eq!(ethertypes(&link.sent)[..2], [question, question], "asked once, answered once");
        assert_eq!(link.sent.len(), 5);
        assert_eq!(link.roce, packets.into_iter().map(|packet| (true, packet)).collect::<Vec<_>>());

        let mut frame = roce_frame(source, destination, b"later");
        assert_eq!(link.a.send_roce(link.now, &mut frame), Sent::Ready);
        assert_eq!(frame[..6], MAC_B.0);
        assert_eq!(frame[6..12], MAC_A.0);
        assert_eq!(frame[HEADROOM..], roce_packet(source, destination, b"later"));
        // The answering side has learned from the question.
        assert_eq!(link.b.send_roce(link.now, &mut roce_frame(destination, source, b"")), Sent::Ready);
        assert_eq!(link.a.next_hop_mac(destination), Some(MAC_B));
    }
}

#[test]
fn a_packet_does_not_overtake_those_that_wait() {
    let (mut a, mut b) = (host_a(), host_b());
    for n in 0..2 {
        assert_eq!(a.send_roce(0, &mut roce_frame(A4, B4, &[n])), Sent::Held);
    }
    let question = frames(&mut a, 0);
    b.handle_frame(0, &question[0]);
    a.handle_frame(0, &frames(&mut b, 0)[0]);
    // Resolved, but the first two have not been taken out yet.
    assert_eq!(a.send_roce(0, &mut roce_frame(A4, B4, &[2])), Sent::Held);
    let released = frames(&mut a, 0);
    let last_bytes: Vec<_> = released.iter().map(|frame| *frame.last().unwrap()).collect();
    assert_eq!(last_bytes, [0, 1, 2]);
    assert_eq!(a.send_roce(0, &mut roce_frame(A4, B4, &[3])), Sent::Ready);
}

#[test]
fn a_lost_question_is_asked_again_after_a_second_and_given_up_after_three() {
    let mut link = Link::new();
    link.loss = Box::new(|number, _| number < 2);
    link.a.send_roce(0, &mut roce_frame(A4, B4, b"patience"));
    link.pass(1900 * MILLISECOND);
    assert_eq!(link.sent.len(), 2);
    link.pass(SECOND);
    assert_eq!(link.roce.len(), 1, "the third question was answered");

    let mut a = host_a();
    assert_eq!(a.send_roce(0, &mut roce_frame(A4, B4, b"in vain")), Sent::Held);
    let mut asked = 0;
    for tick in 0..40 {
        asked += frames(&mut a, tick * 100 * MILLISECOND).len();
    }
    assert_eq!(asked, 3);
    assert_eq!((a.counters().neighbours_failed, a.counters().unsent), (1, 1));
}

#[test]
fn a_silent_neighbour_is_unreachable_for_a_second_and_then_asked_again() {
    let mut link = Link::new();
    link.loss = Box::new(|_, _| true);
    link.a.send_roce(0, &mut roce_frame(A4, B4, b""));
    link.pass(3 * SECOND);
    let mut frame = roce_frame(A4, B4, b"");
    assert_eq!(link.a.send_roce(link.now, &mut frame), Sent::Dropped(SendError::Unreachable));
    link.pass(SECOND + 1);
    link.loss = Box::new(|_, _| false);
    assert_eq!(link.a.send_roce(link.now, &mut frame), Sent::Held);
    link.pass(MILLISECOND);
    assert_eq!(link.roce.len(), 1);
    assert_eq!(link.a.next_timeout(link.now), None, "nothing left to do");
}

#[test]
fn packets_wait_in_bounded_number_for_a_bounded_number_of_neighbours() {
    let mut a = host_a();
    for n in 0..HELD_MAX {
        assert_eq!(a.send_roce(0, &mut roce_frame(A4, B4, &[n as u8])), Sent::Held);
    }
    let full = Sent::Dropped(SendError::QueueFull);
    assert_eq!(a.send_roce(0, &mut roce_frame(A4, B4, b"")), full);
    for n in 1..HOLDING_MAX {
        let (_, neighbour) = number(n as u32 + 10);
        assert_eq!(a.send_roce(0, &mut roce_frame(A4, neighbour, b"")), Sent::Held);
    }
    assert_eq!(a.send_roce(0, &mut roce_frame(A4, number(99).1, b"")), full);
    assert_eq!(a.counters().unsent, 2);
}

#[test]
fn destinations_beyond_the_link_go_to_the_gateway() {
    let gateway: IpAddr = "10.0.0.254".parse().unwrap();
    let far: IpAddr = "192.0.2.1".parse().unwrap();
    let mut gateway = Host::new(&HostConfig { gateway_v4: None, ..config(MAC_B, gateway, B6) }).unwrap();
    let mut a = host_a();
    assert_eq!(a.send_roce(0, &mut roce_frame(A4, far, b"")), Sent::Held);
    gateway.handle_frame(0, &frames(&mut a, 0)[0]);
    a.handle_frame(0, &frames(&mut gateway, 0)[0]);
    let released = frames(&mut a, 0);
    assert_eq!(released[0][..6], MAC_B.0);
    assert_eq!(released[0][HEADROOM..], roce_packet(A4, far, b""));
    let far6 = "2001:db8::1".parse().unwrap();
    assert_eq!(a.send_roce(0, &mut roce_frame(A6, far6, b"")), Sent::Dropped(SendError::NoRoute));
}

#[test]
fn destinations_beyond_the_link_go_to_the_ipv6_gateway_by_whichever_address_it_is_known() {
    let far: IpAddr = "2001:db8::1".parse().unwrap();
    let mut gateway = host_b();
    let IpAddr::V6(routable) = B6 else { panic!() };
    let IpAddr::V6(link_local) = HostAddress::link_local(MAC_B).address else { panic!() };
    for address in [routable, link_local] {
        let mut a = Host::new(&HostConfig { gateway_v6: Some(address), ..config(MAC_A, A4, A6) }).unwrap();
        assert_eq!(a.send_roce(0, &mut roce_frame(A6, far, b"")), Sent::Held);
        gateway.handle_frame(0, &frames(&mut a, 0)[0]);
        a.handle_frame(0, &frames(&mut gateway, 0)[0]);
        let released = frames(&mut a, 0);
        assert_eq!(released[0][..6], MAC_B.0);
        assert_eq!(released[0][HEADROOM..], roce_packet(A6, far, b""));
    }
}

#[test]
fn groups_need_no_question_and_our_own_addresses_no_link() {
    let mut a = host_a();
    let mut frame = roce_frame(A4, "239.0.0.1".parse().unwrap(), b"");
    assert_eq!(a.send_roce(0, &mut frame), Sent::Ready);
    assert_eq!(frame[..6], [0x01, 0, 0x5e, 0, 0, 1]);
    assert_eq!(a.send_roce(0, &mut roce_frame(A4, A4, b"")), Sent::Ours);
}

#[test]
fn what_is_no_packet_or_too_long_is_not_sent() {
    let mut a = host_a();
    for bytes in [&[][..], &[0; HEADROOM], &[0x45; HEADROOM + 19], &[0x60; HEADROOM + 39], &[0x75; 90]] {
        assert_eq!(a.send_roce(0, &mut bytes.to_vec()), Sent::Dropped(SendError::NoPacket));
    }
    let mut long = roce_frame(A4, B4, &[0; 1473]);
    assert_eq!(a.send_roce(0, &mut long), Sent::Dropped(SendError::TooLong));
    let mut longest = roce_frame(A4, B4, &[0; 1472]);
    assert_eq!(a.send_roce(0, &mut longest), Sent::Held);
}

#[test]
fn exactly_one_reply_goes_out_for_each_arp_request_for_us() {
    let mut b = host_b();
    for (target, replies) in [(B4, 1), (A4, 0), ("10.0.0.77".parse().unwrap(), 0)] {
        b.handle_frame(0, &arp(Operation::Request, MAC_A, A4, target));
        let answers = frames(&mut b, 0);
        assert_eq!(answers.len(), replies, "{target}");
        for answer in answers {
            assert_eq!(answer[..6], MAC_A.0);
            let reply = Arp::parse(&answer[14..]).unwrap();
            assert_eq!((reply.operation, reply.sender_mac), (Operation::Reply, MAC_B));
            assert_eq!((IpAddr::V4(reply.sender), IpAddr::V4(reply.target)), (B4, A4));
        }
    }
    // A probe before an address is taken into use.
    b.handle_frame(0, &arp(Operation::Request, MAC_A, Ipv4Addr::UNSPECIFIED.into(), B4));
    assert_eq!(frames(&mut b, 0).len(), 1);
    b.handle_frame(0, &arp(Operation::Reply, MAC_A, A4, B4));
    assert!(frames(&mut b, 0).is_empty(), "a reply is not answered");
}

#[test]
fn nobody_else_is_believed_about_our_own_address() {
    let mut b = host_b();
    b.handle_frame(0, &arp(Operation::Request, MAC_A, B4, B4));
    assert!(frames(&mut b, 0).is_empty());
    assert_eq!(b.counters().address_conflicts, 1);
    assert_eq!(b.next_hop_mac(B4), Some(MAC_B));
}

#[test]
fn an_unasked_reply_of_an_unknown_neighbour_is_not_remembered() {
    let mut b = host_b();
    b.handle_frame(0, &arp(Operation::Reply, MAC_A, A4, B4));
    b.handle_frame(0, &arp(Operation::Request, MAC_A, A4, A4));
    assert_eq!(b.next_hop_mac(A4), None);
    b.handle_frame(0, &arp(Operation::Request, MAC_A, "192.0.2.1".parse().unwrap(), B4));
    assert_eq!(b.neighbour_count(), 0, "not on the link");
}

#[test]
fn a_neighbour_that_moved_is_followed() {
    let moved = EthernetAddress([2, 0, 0, 0, 0, 0xdd]);
    let mut b = host_b();
    b.handle_frame(0, &arp(Operation::Request, MAC_A, A4, B4));
    assert_eq!(b.next_hop_mac(A4), Some(MAC_A));
    // Gratuitous: about itself, to everybody.
    b.handle_frame(0, &arp(Operation::Request, moved, A4, A4));
    assert_eq!(b.next_hop_mac(A4), Some(moved));
    assert_eq!(b.counters().neighbours_changed, 1);
}

#[test]
fn announcing_makes_neighbours_forget_an_old_mac() {
    let old = EthernetAddress([2, 0, 0, 0, 0, 0xdd]);
    let mut b = host_b();
    introduce(&mut b, 0, &mut Host::new(&config(old, A4, A6)).unwrap());
    assert_eq!((b.next_hop_mac(A4), b.next_hop_mac(A6)), (Some(old), Some(old)));
    let mut a = host_a();
    a.announce();
    for frame in frames(&mut a, 1) {
        b.handle_frame(1, &frame);
    }
    assert_eq!((b.next_hop_mac(A4), b.next_hop_mac(A6)), (Some(MAC_A), Some(MAC_A)));
    assert!(frames(&mut b, 1).is_empty());
}

#[test]
fn a_flood_of_made_up_neighbours_pushes_out_only_itself() {
    let mut b = host_on_a_wide_link();
    b.handle_frame(0, &arp(Operation::Request, MAC_A, A4, B4));
    frames(&mut b, 0);
    assert_eq!(b.send_roce(0, &mut roce_frame(B4, A4, b"")), Sent::Ready);
    for n in 10..20_000 {
        let (mac, address) = number(n);
        b.handle_frame(1, &arp(Operation::Request, mac, address, B4));
        assert!(b.neighbour_count() <= ENTRIES_MAX);
    }
    assert!(b.counters().replies_dropped > 0, "nobody took the replies out");
    assert!(frames(&mut b, 1).len() <= 64);
    assert_eq!(b.send_roce(1, &mut roce_frame(B4, A4, b"")), Sent::Ready, "still known");
    // And there is still room for one that is asked for.
    let (mac, wanted) = number(5);
    assert_eq!(b.send_roce(1, &mut roce_frame(B4, wanted, b"")), Sent::Held);
    b.handle_frame(2, &arp(Operation::Reply, mac, wanted, B4));
    assert_eq!(b.next_hop_mac(wanted), Some(mac));
    assert!(b.neighbour_count() <= ENTRIES_MAX);
}

#[test]
fn pings_from_made_up_neighbours_leave_room_for_our_own_questions() {
    let mut b = host_on_a_wide_link();
    let echo = [8, 0, 0xf7, 0xff, 0, 0, 0, 0];
    for n in 10..1000 {
        let (mac, address) = number(n);
        b.handle_frame(0, &ethernet(MAC_B, mac, 0x0800, &ip_packet(address, B4, 1, &echo)));
    }
    assert_eq!(frames(&mut b, 0).len(), HOLDING_MAX / 2, "questions");
    assert_eq!(b.send_roce(0, &mut roce_frame(B4, A4, b"")), Sent::Held);
}

#[test]
fn an_old_entry_serves_while_it_is_asked_about_and_traffic_keeps_it_young() {
    let (mut a, mut b) = (host_a(), host_b());
    introduce(&mut b, 0, &mut a);
    let mut frame = roce_frame(B4, A4, b"");
    // Packets from the neighbour confirm it.
    for second in (10..=120).step_by(10) {
        b.handle_frame(second * SECOND, &ethernet(MAC_B, MAC_A, 0x0800, &roce_packet(A4, B4, b"")));
        assert_eq!(b.send_roce(second * SECOND, &mut frame), Sent::Ready);
        assert!(frames(&mut b, second * SECOND).is_empty());
    }
    // Packets with its address from another station do not.
    let thief = EthernetAddress([2, 0, 0, 0, 0, 0xdd]);
    let now = 181 * SECOND;
    b.handle_frame(now, &ethernet(MAC_B, thief, 0x0800, &roce_packet(A4, B4, b"")));
    assert_eq!(b.send_roce(now, &mut frame), Sent::Ready);
    let question = frames(&mut b, now);
    assert_eq!(question.len(), 1);
    assert_eq!(question[0][..6], MAC_A.0, "asked directly first");
    a.handle_frame(now, &question[0]);
    b.handle_frame(now, &frames(&mut a, now)[0]);
    assert_eq!(b.next_timeout(now), None);
    assert_eq!(b.next_hop_mac(A4), Some(MAC_A));
}

#[test]
fn an_old_entry_without_an_answer_is_given_up() {
    let (mut a, mut b) = (host_a(), host_b());
    introduce(&mut b, 0, &mut a);
    let mut frame = roce_frame(B6, A6, b"");
    let mut questions = Vec::new();
    for tick in 0..35 {
        let now = 100 * SECOND + tick * 100 * MILLISECOND;
        let sent = b.send_roce(now, &mut frame);
        assert_eq!(sent, if tick <= 30 { Sent::Ready } else { Sent::Dropped(SendError::Unreachable) });
        questions.extend(frames(&mut b, now));
    }
    let stations: Vec<_> = questions.iter().map(|frame| frame[..2].to_vec()).collect();
    assert_eq!(stations, [[2, 0], [0x33, 0x33], [0x33, 0x33]], "it first, then everybody");
}

#[test]
fn a_neighbour_that_was_looked_for_ahead_is_known_when_the_first_packet_comes() {
    for (source, destination) in [(A4, B4), (A6, B6)] {
        let mut link = Link::new();
        assert_eq!(link.a.look_for(0, destination), Reach::Asking);
        assert_eq!(link.a.look_for(0, destination), Reach::Asking, "asked once");
        link.pass(10 * MILLISECOND);
        assert_eq!(link.sent.len(), 2, "a question and its answer");
        assert_eq!(link.a.reach(destination), Reach::Known);
        assert_eq!(link.a.settled_neighbours(), 1);
        assert_eq!(link.a.send_roce(link.now, &mut roce_frame(source, destination, b"")), Sent::Ready);
        assert_eq!(link.a.next_timeout(link.now), None);
    }
    let mut a = host_a();
    for known in [A4, "239.0.0.1".parse().unwrap(), "10.0.0.255".parse().unwrap()] {
        assert_eq!(a.look_for(0, known), Reach::Known, "{known}");
    }
    assert_eq!(a.look_for(0, "2001:db8::1".parse().unwrap()), Reach::NoRoute);
    assert!(frames(&mut a, 0).is_empty(), "nobody is asked for these");
}

#[test]
fn who_is_looked_for_again_after_silence_is_asked_at_once() {
    let mut link = Link::new();
    link.loss = Box::new(|_, _| true);
    link.a.look_for(0, B4);
    link.pass(2900 * MILLISECOND);
    assert_eq!((link.a.reach(B4), link.a.settled_neighbours()), (Reach::Asking, 0));
    link.pass(200 * MILLISECOND);
    assert_eq!((link.a.reach(B4), link.a.settled_neighbours(), link.sent.len()), (Reach::Silent, 1, 3));
    link.loss = Box::new(|_, _| false);
    assert_eq!(link.a.look_for(link.now, B4), Reach::Asking);
    link.pass(MILLISECOND);
    assert_eq!((link.a.reach(B4), link.a.settled_neighbours()), (Reach::Known, 2));
}

#[test]
fn looking_for_many_neighbours_fills_no_more_than_the_table() {
    let mut b = host_on_a_wide_link();
    for n in 10..2000 {
        b.look_for(0, number(n).1);
        assert!(b.neighbour_count() <= ENTRIES_MAX);
    }
    assert_eq!((b.reach(number(10).1), b.reach(number(1999).1)), (Reach::Silent, Reach::Asking));
    frames(&mut b, 0);
    for second in 1..5 {
        b.handle_timeout(second * SECOND);
        frames(&mut b, second * SECOND);
    }
    assert_eq!((b.neighbour_count(), b.next_timeout(5 * SECOND)), (0, None), "all are given up");
}
