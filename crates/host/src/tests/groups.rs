//! Multicast groups: what is handed on, and what routers are told, byte for byte as a Linux 6.18 host with the same
//! addresses told it.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rdmalab_wire::EthernetAddress;
use rdmalab_wire::checksum::Sum;

use super::link::*;
use crate::{DropReason, GROUPS_MAX, GroupError, Handled, Host, HostAddress, HostConfig};

const MAC: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 1]);
pub(super) const G4: IpAddr = IpAddr::V4(Ipv4Addr::new(239, 1, 2, 3));
pub(super) const G6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xff0e, 0, 0, 0, 0, 0, 1, 2));
pub(super) const ALL4: IpAddr = IpAddr::V4(Ipv4Addr::new(224, 0, 0, 1));
pub(super) const ALL6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1));

/// IGMPv3 and MLDv2: joined, asked for all, left.
const JOINED4: &str = "01005e000016020000000001080046c00028000040000102f9f80a000001e0000016940400002200e8f9\
    0000000104000000ef010203";
const MEMBER4: &str = "01005e000016020000000001080046c00028000040000102f9f80a000001e0000016940400002200eaf9\
    0000000102000000ef010203";
const LEFT4: &str = "01005e000016020000000001080046c00028000040000102f9f80a000001e0000016940400002200e9f9\
    0000000103000000ef010203";
const JOINED6: &str = "33330000001602000000000186dd6000000000240001fe80000000000000000000fffe000001ff02000000000000\
    00000000000000163a000502000001008f0070fb0000000104000000ff0e0000000000000000000000010002";
const MEMBER6: &str = "33330000001602000000000186dd6000000000240001fe80000000000000000000fffe000001ff02000000000000\
    00000000000000163a000502000001008f0072fb0000000102000000ff0e0000000000000000000000010002";
const LEFT6: &str = "33330000001602000000000186dd6000000000240001fe80000000000000000000fffe000001ff02000000000000\
    00000000000000163a000502000001008f0071fb0000000103000000ff0e0000000000000000000000010002";
/// At the start: the group of its own address.
const OWN_JOINED6: &str = "33330000001602000000000186dd6000000000240001fe80000000000000000000fffe000001ff020000000000\
    0000000000000000163a000502000001008f0072070000000104000000ff0200000000000000000001ff000001";
/// Asked for all groups: that one too. (Linux tells the youngest first.)
const MEMBERS6: &str = "33330000001602000000000186dd6000000000380001fe80000000000000000000fffe000001ff0200000000000\
    000000000000000163a000502000001008f0072e00000000202000000ff0200000000000000000001ff00000102000000ff0e000000000000\
    0000000000010002";
/// IGMPv2 and MLDv1.
const OLD_MEMBER4: &str = "01005e010203020000000001080046c00020000040000102e9120a000001ef010203940400001600f8fa\
    ef010203";
const OLD_LEFT4: &str = "01005e000002020000000001080046c00020000040000102fa140a000001e0000002940400001700f7fa\
    ef010203";
const OLD_MEMBER6: &str = "33330001000202000000000186dd6000000000200001fe80000000000000000000fffe000001ff0e00000000\
    000000000000000100023a000502000001008300810700000000ff0e0000000000000000000000010002";
const OLD_OWN_MEMBER6: &str = "3333ff00000102000000000186dd6000000000200001fe80000000000000000000fffe000001ff020000\
    0000000000000001ff0000013a000502000001008300831f00000000ff0200000000000000000001ff000001";
const OLD_LEFT6: &str = "33330000000202000000000186dd6000000000200001fe80000000000000000000fffe000001ff0200000000000\
    000000000000000023a000502000001008400801400000000ff0e0000000000000000000000010002";

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().map(|digit| (digit as char).to_digit(16).unwrap() as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn host() -> Host {
    let addresses = vec![HostAddress::new(A4, 24), HostAddress::link_local(MAC)];
    Host::new(&HostConfig { addresses, every_group: false, ..HostConfig::new(MAC) }).unwrap()
}

/// Lets this much time pass from `start` and returns what is sent, with the moments.
fn told(host: &mut Host, start: u64, time: u64) -> Vec<(u64, Vec<u8>)> {
    let mut told = Vec::new();
    let mut now = start;
    loop {
        told.extend(frames(host, now).into_iter().map(|frame| (now - start, frame)));
        match host.next_timeout(now) {
            Some(next) if next <= start + time => {
                assert!(next > now, "time stands still");
                now = next;
            }
            _ => return told,
        }
    }
}

fn only_frames(told: Vec<(u64, Vec<u8>)>) -> Vec<Vec<u8>> {
    told.into_iter().map(|(_, frame)| frame).collect()
}

fn group_frame(source: IpAddr, group: IpAddr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let station = crate::addresses::group_address(group);
    let mut frame = ethernet(
        station,
        MAC_B,
        if group.is_ipv4() { 0x0800 } else { 0x86dd },
        &ip_packet(source, group, protocol, payload),
    );
    if group.is_ipv6() {
        frame[21] = 1;
    }
    frame
}

/// A question by IGMP about `group` with this Max Resp Code; `current` has IGMPv3's fields behind it.
pub(super) fn igmp_query(code: u8, to: IpAddr, group: IpAddr, current: bool) -> Vec<u8> {
    let IpAddr::V4(group) = group else { panic!("IPv4 only") };
    let mut message = vec![0x11, code, 0, 0];
    message.extend(group.octets());
    if current {
        message.extend([2, 125, 0, 0]);
    }
    let sum = Sum::new().bytes(&message).finish();
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    group_frame("0.0.0.0".parse().unwrap(), to, 2, &message)
}

fn mld_query_from(source: IpAddr, milliseconds: u16, to: IpAddr, group: IpAddr, current: bool) -> Vec<u8> {
    let (IpAddr::V6(source), IpAddr::V6(destination), IpAddr::V6(group)) = (source, to, group) else {
        panic!("IPv6 only")
    };
    let mut message = vec![130, 0, 0, 0];
    message.extend(milliseconds.to_be_bytes());
    message.extend([0, 0]);
    message.extend(group.octets());
    if current {
        message.extend([2, 125, 0, 0]);
    }
    let sum = Sum::new().bytes(&source.octets()).bytes(&destination.octets());
    let sum = sum.number(message.len() as u32).number(58).bytes(&message).finish();
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut payload = vec![58, 0, 5, 2, 0, 0, 1, 0];
    payload.extend(message);
    group_frame(source.into(), to, 0, &payload)
}

pub(super) fn mld_query(milliseconds: u16, to: IpAddr, group: IpAddr, current: bool) -> Vec<u8> {
    mld_query_from("fe80::2".parse().unwrap(), milliseconds, to, group, current)
}

pub(super) const ANY4: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
pub(super) const ANY6: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);

#[test]
fn joining_and_leaving_are_told_twice_within_a_second_as_linux_tells_them() {
    for (group, joined, left) in [(G4, JOINED4, LEFT4), (G6, JOINED6, LEFT6)] {
        let mut host = host();
        assert_eq!(frames(&mut host, 0), [[0; 0]; 0]);
        host.join(5 * SECOND, group).unwrap();
        let sent = told(&mut host, 5 * SECOND, 100 * SECOND);
        assert_eq!((sent[0].0, sent[1].0 < SECOND), (0, true));
        assert_eq!(only_frames(sent), [bytes(joined), bytes(joined)]);
        host.join(150 * SECOND, group).unwrap();
        host.leave(150 * SECOND, group).unwrap();
        assert_eq!(host.next_timeout(150 * SECOND), None, "it is in the group all the time");
        host.leave(200 * SECOND, group).unwrap();
        assert_eq!(only_frames(told(&mut host, 200 * SECOND, 100 * SECOND)), [bytes(left), bytes(left)]);
        assert_eq!(host.next_timeout(400 * SECOND), None);
    }
}

#[test]
fn whoever_asks_is_answered_once_within_the_time_as_linux_answers() {
    let mut host = host();
    host.join(0, G4).unwrap();
    host.join(0, G6).unwrap();
    told(&mut host, 0, 10 * SECOND);
    for (question, answer) in [
        (igmp_query(20, ALL4, ANY4, true), MEMBER4),
        (igmp_query(20, G4, G4, true), MEMBER4),
        (mld_query(2000, ALL6, ANY6, true), MEMBERS6),
        (mld_query(2000, G6, G6, true), MEMBER6),
    ] {
        for _ in 0..3 {
            assert_eq!(host.handle_frame(20 * SECOND, &question), Handled::Taken);
        }
        let sent = told(&mut host, 20 * SECOND, 100 * SECOND);
        assert!(sent[0].0 < 2 * SECOND, "after {} ns", sent[0].0);
        assert_eq!(only_frames(sent), [bytes(answer)]);
    }
    let elsewhere = igmp_query(20, ALL4, "239.1.2.4".parse().unwrap(), true);
    host.handle_frame(20 * SECOND, &elsewhere);
    assert_eq!(host.next_timeout(20 * SECOND), None, "nobody is in that group");
    assert_eq!(host.counters().received_queries, 13);
}

#[test]
fn whoever_asks_by_an_older_version_is_told_by_that_for_a_while() {
    let mut host = host();
    host.join(0, G4).unwrap();
    host.join(0, G6).unwrap();
    assert_eq!(frames(&mut host, 0).len(), 2);
    // What was about to be repeated is not.
    host.handle_frame(1, &igmp_query(20, ALL4, ANY4, false));
    let mut sent = only_frames(told(&mut host, SECOND, 2 * SECOND));
    sent.sort();
    assert_eq!(sent, [bytes(OLD_MEMBER4), bytes(JOINED6)]);
    host.handle_frame(10 * SECOND, &mld_query(2000, ALL6, ANY6, false));
    let mut sent = only_frames(told(&mut host, 10 * SECOND, 100 * SECOND));
    sent.sort();
    assert_eq!(sent, [bytes(OLD_MEMBER6), bytes(OLD_OWN_MEMBER6)]);

    host.leave(120 * SECOND, G4).unwrap();
    host.leave(120 * SECOND, G6).unwrap();
    let sent = only_frames(told(&mut host, 120 * SECOND, 30 * SECOND));
    assert_eq!(sent, [bytes(OLD_LEFT4), bytes(OLD_LEFT6)]);
    host.join(160 * SECOND, G4).unwrap();
    assert_eq!(
        only_frames(told(&mut host, 160 * SECOND, 30 * SECOND)),
        [bytes(OLD_MEMBER4), bytes(OLD_MEMBER4)]
    );
    // A question by the current version changes nothing as long as the other one may still be there.
    host.handle_frame(200 * SECOND, &igmp_query(20, ALL4, ANY4, true));
    assert_eq!(only_frames(told(&mut host, 200 * SECOND, 30 * SECOND)), [bytes(OLD_MEMBER4)]);
    host.leave(262 * SECOND, G4).unwrap();
    assert_eq!(frames(&mut host, 262 * SECOND), [bytes(LEFT4)]);
}

#[test]
fn the_groups_of_its_own_addresses_are_announced_and_those_of_all_nodes_never_told() {
    let mut host = host();
    host.join(0, ALL4).unwrap();
    host.join(0, ALL6).unwrap();
    host.join(0, "ff01::5".parse().unwrap()).unwrap();
    assert_eq!(host.next_timeout(0), None);
    host.announce();
    let sent = only_frames(told(&mut host, 0, 100 * SECOND));
    let reports: Vec<_> =
        sent.iter().filter(|frame| frame[..3] == [0x33, 0x33, 0] && frame[5] == 0x16).collect();
    assert_eq!(reports, [&bytes(OWN_JOINED6), &bytes(OWN_JOINED6)]);
    assert_eq!(sent.len(), 4, "besides, ARP and an advertisement");
    host.leave(0, ALL6).unwrap();
    assert_eq!(host.next_timeout(200 * SECOND), None);
}

#[test]
fn only_packets_for_joined_groups_are_handed_on_as_often_as_they_are_joined() {
    for (source, group) in [(B4, G4), (B6, G6)] {
        let mut host = host();
        let packet = roce_packet(source, group, b"InfiniBand");
        let frame = ethernet(
            crate::addresses::group_address(group),
            MAC_B,
            if group.is_ipv4() { 0x0800 } else { 0x86dd },
            &packet,
        );
        let (yes, no) = (Handled::Roce(&packet[..]), Handled::Dropped(DropReason::OtherAddress));
        assert_eq!(host.handle_frame(0, &frame), no);
        host.join(0, group).unwrap();
        host.join(0, group).unwrap();
        assert_eq!(host.handle_frame(0, &frame), yes);
        host.leave(0, group).unwrap();
        assert_eq!(host.handle_frame(0, &frame), yes);
        host.leave(0, group).unwrap();
        assert_eq!(host.handle_frame(0, &frame), no);
        assert_eq!(host.leave(0, group), Err(GroupError::NotJoined));
        assert_eq!(host.join(0, source), Err(GroupError::NotAGroup));
    }
    let own = "ff02::1:ff00:1".parse().unwrap();
    assert_eq!(host().leave(0, own), Err(GroupError::NotJoined), "which its address needs");
}

#[test]
fn so_many_groups_can_be_joined_and_all_are_told_in_reports_that_fit_the_link() {
    let mut host = host();
    let group = |n: usize| IpAddr::V6(Ipv6Addr::new(0xff0e, 0, 0, 0, 0, 0, 7, n as u16));
    for n in 0..GROUPS_MAX {
        host.join(0, group(n)).unwrap();
    }
    assert_eq!(host.join(0, group(GROUPS_MAX)), Err(GroupError::TooMany));
    let sent = frames(&mut host, 0);
    assert_eq!(sent.len(), 2);
    assert!(sent.iter().all(|frame| frame.len() <= 14 + 1280));
    // One that was left gives way at once.
    host.leave(0, group(3)).unwrap();
    host.join(0, group(GROUPS_MAX)).unwrap();
    assert_eq!(host.join(0, group(3)), Err(GroupError::TooMany));
    told(&mut host, 0, 10 * SECOND);
    host.handle_frame(20 * SECOND, &mld_query(0, ALL6, ANY6, true));
    let records: usize = only_frames(told(&mut host, 20 * SECOND, SECOND))
        .iter()
        .map(|frame| usize::from(u16::from_be_bytes([frame[68], frame[69]])))
        .sum();
    assert_eq!(records, GROUPS_MAX + 1);
}

#[test]
fn a_flood_of_questions_gets_few_answers() {
    let mut host = host();
    host.join(0, G4).unwrap();
    told(&mut host, 0, 10 * SECOND);
    let mut sent = 0;
    for n in 0..10_000 {
        let now = 20 * SECOND + n * SECOND / 10_000;
        host.handle_frame(now, &igmp_query(0, G4, G4, n % 2 == 0));
        sent += frames(&mut host, now).len();
    }
    // Each waits some moments of a tenth of a second, and those that come meanwhile get the same answer.
    assert!((10..50).contains(&sent), "{sent} answers");
}

#[test]
fn what_is_no_lawful_question_is_ignored_and_nothing_makes_it_panic() {
    let mut host = host();
    host.join(0, G4).unwrap();
    host.join(0, G6).unwrap();
    told(&mut host, 0, 10 * SECOND);
    let good4 = igmp_query(20, ALL4, ANY4, true);
    let good6 = mld_query(2000, ALL6, ANY6, true);
    let mut bad = vec![
        igmp_query(20, ALL4, "10.0.0.9".parse().unwrap(), true),
        igmp_query(20, G4, ANY4, true),
        mld_query(20, ALL6, "fd00::9".parse().unwrap(), true),
        mld_query(20, G6, ANY6, true),
        mld_query_from(B6, 20, ALL6, ANY6, true),
    ];
    let mut routed = good6.clone();
    routed[21] = 2;
    bad.push(routed);
    for at in 34..good4.len() {
        let mut damaged = good4.clone();
        damaged[at] ^= 1;
        bad.push(damaged);
    }
    for at in 62..good6.len() {
        let mut damaged = good6.clone();
        damaged[at] ^= 1;
        bad.push(damaged);
    }
    for good in [&good4, &good6] {
        bad.extend((0..good.len()).map(|length| good[..length].to_vec()));
    }
    for (case, frame) in bad.iter().enumerate() {
        let handled = host.handle_frame(20 * SECOND, frame);
        assert!(matches!(handled, Handled::Dropped(_)), "case {case}: {handled:?}");
    }
    assert_eq!(host.next_timeout(20 * SECOND), None);
    for good in [good4, good6] {
        assert_eq!(host.handle_frame(20 * SECOND, &good), Handled::Taken);
    }
    assert!(host.next_timeout(20 * SECOND).is_some());
}
