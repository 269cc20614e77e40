//! What is done with each kind of frame.

use core::net::{IpAddr, Ipv6Addr};

use rdmalab_wire::EthernetAddress;

use super::link::*;
use crate::{DropReason, Handled};

const GROUP: EthernetAddress = EthernetAddress([0x01, 0, 0x5e, 0, 0, 1]);

fn to_b(ethertype: u16, payload: &[u8]) -> Vec<u8> {
    ethernet(MAC_B, MAC_A, ethertype, payload)
}

#[test]
fn roce_packets_for_us_are_handed_on_without_padding_and_without_a_copy() {
    for (source, destination, ethertype) in [(A4, B4, 0x0800), (A6, B6, 0x86dd)] {
        let packet = roce_packet(source, destination, b"InfiniBand");
        for station in [MAC_B, EthernetAddress::BROADCAST, GROUP] {
            let mut frame = ethernet(station, MAC_A, ethertype, &packet);
            frame.extend_from_slice(&[0; 9]);
            let mut host = host_b();
            let Handled::Roce(found) = host.handle_frame(0, &frame) else { panic!("not handed on") };
            assert_eq!(found, packet);
            assert_eq!(found.as_ptr(), frame[14..].as_ptr());
            assert_eq!(host.counters().received_roce, 1);
            assert!(frames(&mut host, 0).is_empty());
        }
    }
}

#[test]
fn roce_packets_for_a_multicast_group_are_handed_on_and_nothing_else_is() {
    for (source, group, ethertype) in [(A4, "224.1.2.3", 0x0800), (A6, "ff0e::1:2", 0x86dd)] {
        let group: IpAddr = group.parse().unwrap();
        let station = match group {
            IpAddr::V4(_) => EthernetAddress([0x01, 0, 0x5e, 1, 2, 3]),
            IpAddr::V6(_) => EthernetAddress([0x33, 0x33, 0, 1, 0, 2]),
        };
        let packet = roce_packet(source, group, b"InfiniBand");
        let frame = ethernet(station, MAC_A, ethertype, &packet);
        assert_eq!(host_b().handle_frame(0, &frame), Handled::Roce(&packet));
        let in_a_frame_for_us = ethernet(MAC_B, MAC_A, ethertype, &packet);
        let other_port = ip_packet(source, group, 17, &[0, 1, 0, 2, 0, 8, 0, 0]);
        let ping = ip_packet(source, group, if group.is_ipv4() { 1 } else { 58 }, &[8, 0, 0, 0, 0, 0, 0, 0]);
        for frame in [
            in_a_frame_for_us,
            ethernet(station, MAC_A, ethertype, &other_port),
            ethernet(station, MAC_A, ethertype, &ping),
        ] {
            let mut host = host_b();
            assert_eq!(host.handle_frame(0, &frame), Handled::Dropped(DropReason::OtherAddress));
            assert!(frames(&mut host, 0).is_empty());
        }
    }
}

#[test]
fn roce_packets_with_ip_options_are_handed_on() {
    let mut packet = roce_packet(A4, B4, b"InfiniBand");
    packet.splice(20..20, [1; 4]);
    packet[0] = 0x46;
    packet[3] += 4;
    packet[10..12].fill(0);
    let sum = rdmalab_wire::checksum::ipv4_header(&packet[..24]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    assert_eq!(host_b().handle_frame(0, &to_b(0x0800, &packet)), Handled::Roce(&packet));
}

#[test]
fn a_priority_tag_is_looked_through_and_a_vlan_tag_is_not() {
    let packet = roce_packet(A4, B4, b"InfiniBand");
    for (id, expected) in [(0, Handled::Roce(&packet[..])), (5, Handled::Dropped(DropReason::OtherVlan))] {
        let mut tagged = vec![0xe0, id, 0x08, 0x00];
        tagged.extend_from_slice(&packet);
        assert_eq!(host_b().handle_frame(0, &to_b(0x8100, &tagged)), expected);
    }
}

#[test]
fn what_is_not_for_us_is_dropped_with_its_reason() {
    let other_mac = EthernetAddress([2, 0, 0, 0, 0, 0xcc]);
    let c4: IpAddr = "10.0.0.3".parse().unwrap();
    let c6: IpAddr = "fd00::3".parse().unwrap();
    let packet = roce_packet(A4, B4, b"InfiniBand");
    let mut fragment = packet.clone();
    fragment[6] = 0x20;
    fragment[10..12].fill(0);
    let sum = rdmalab_wire::checksum::ipv4_header(&fragment[..20]);
    fragment[10..12].copy_from_slice(&sum.to_be_bytes());
    let mut damaged = packet.clone();
    damaged[8] ^= 1;
    let mut long = packet.clone();
    long[3] += 1;
    let ip_version_5 = ip_packet(A4, B4, 17, &[0; 8]).iter().map(|b| b | 0x10).collect::<Vec<_>>();
    let cases = [
        (ethernet(other_mac, MAC_A, 0x0800, &packet), DropReason::OtherStation),
        (ethernet(MAC_B, MAC_B, 0x0800, &packet), DropReason::FromOurselves),
        (ethernet(MAC_B, GROUP, 0x0800, &packet), DropReason::Malformed),
        (to_b(0x8915, &packet), DropReason::UnknownProtocol),
        (to_b(0x0800, &roce_packet(A4, c4, b"")), DropReason::OtherAddress),
        (to_b(0x86dd, &roce_packet(A6, c6, b"")), DropReason::OtherAddress),
        (to_b(0x0800, &roce_packet(A4, "224.0.0.1".parse().unwrap(), b"")), DropReason::OtherAddress),
        (to_b(0x0800, &roce_packet(B4, B4, b"")), DropReason::BadSource),
        (to_b(0x0800, &roce_packet("255.255.255.255".parse().unwrap(), B4, b"")), DropReason::BadSource),
        (to_b(0x0800, &roce_packet("10.0.0.255".parse().unwrap(), B4, b"")), DropReason::BadSource),
        (to_b(0x86dd, &roce_packet("ff02::1".parse().unwrap(), B6, b"")), DropReason::BadSource),
        (to_b(0x86dd, &roce_packet(Ipv6Addr::UNSPECIFIED.into(), B6, b"")), DropReason::BadSource),
        (to_b(0x0800, &fragment), DropReason::Fragment),
        (to_b(0x86dd, &ip_packet(A6, B6, 44, &[17, 0, 0, 1, 0, 0, 0, 1])), DropReason::Fragment),
        (to_b(0x0800, &damaged), DropReason::Malformed),
        (to_b(0x0800, &long), DropReason::Malformed),
        (to_b(0x0800, &ip_version_5), DropReason::Malformed),
        (to_b(0x0800, &ip_packet(A4, B4, 17, &[0; 3])), DropReason::Malformed),
        (to_b(0x0800, &ip_packet(A4, B4, 6, &[0; 13])), DropReason::Malformed),
        (to_b(0x0806, &[0; 28]), DropReason::Malformed),
        (to_b(0x86dd, &ip_packet(A6, B6, 58, &[134, 0, 0, 0])), DropReason::Ignored),
        (to_b(0x86dd, &ip_packet(A6, B6, 58, &[135, 0, 0, 0])), DropReason::Malformed),
        (
            to_b(0x86dd, &ip_packet(A6, B6, 0, &[17, 0, 1, 4, 0, 0, 0, 0, 0, 1, 0x12, 0xb7])),
            DropReason::Ignored,
        ),
    ];
    for (index, (frame, reason)) in cases.iter().enumerate() {
        let mut host = host_b();
        assert_eq!(host.handle_frame(0, frame), Handled::Dropped(*reason), "case {index}");
        assert_eq!(host.counters().dropped(), 1);
        assert!(frames(&mut host, 0).is_empty(), "case {index} answered");
    }
}

#[test]
fn every_truncation_of_a_roce_frame_is_malformed() {
    for (source, destination, ethertype) in [(A4, B4, 0x0800), (A6, B6, 0x86dd)] {
        let frame = to_b(ethertype, &roce_packet(source, destination, b"InfiniBand"));
        let mut host = host_b();
        for length in 0..frame.len() {
            let handled = host.handle_frame(0, &frame[..length]);
            assert_eq!(handled, Handled::Dropped(DropReason::Malformed), "{length} bytes");
        }
    }
}

#[test]
fn a_host_can_move_to_another_thread() {
    fn movable<T: Send + 'static>(_: T) {}
    movable(host_b());
}
