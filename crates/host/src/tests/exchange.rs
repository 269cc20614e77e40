//! Pings, and who else gets an answer.

use core::net::IpAddr;

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{Icmpv4Message, Icmpv4Packet, Icmpv4Repr, Icmpv6Message, Icmpv6Packet, Icmpv6Repr};

use super::link::*;
use crate::Handled;

fn echo_request(source: IpAddr, destination: IpAddr, data: &[u8]) -> Vec<u8> {
    let checksums = ChecksumCapabilities::default();
    match (source, destination) {
        (IpAddr::V4(_), _) => {
            let echo = Icmpv4Repr::EchoRequest { ident: 1, seq_no: 2, data };
            let mut bytes = vec![0; echo.buffer_len()];
            echo.emit(&mut Icmpv4Packet::new_unchecked(&mut bytes), &checksums);
            ip_packet(source, destination, 1, &bytes)
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let echo = Icmpv6Repr::EchoRequest { ident: 1, seq_no: 2, data };
            let mut bytes = vec![0; echo.buffer_len()];
            echo.emit(&from, &to, &mut Icmpv6Packet::new_unchecked(&mut bytes), &checksums);
            ip_packet(source, destination, 58, &bytes)
        }
        _ => panic!("two families"),
    }
}

fn ethertype(address: IpAddr) -> u16 {
    if address.is_ipv4() { 0x0800 } else { 0x86dd }
}

#[test]
fn a_ping_is_answered_with_the_same_data() {
    for (source, destination) in [(A4, B4), (A6, B6)] {
        let (mut a, mut b) = (host_a(), host_b());
        introduce(&mut b, 0, &mut a);
        let request = echo_request(source, destination, b"is anybody there?");
        let frame = ethernet(MAC_B, MAC_A, ethertype(destination), &request);
        assert_eq!(b.handle_frame(1, &frame), Handled::Taken);
        let answers = frames(&mut b, 1);
        assert_eq!(answers.len(), 1);
        assert_eq!(answers[0][..6], MAC_A.0);
        assert_eq!(answers[0][6..12], MAC_B.0);
        if source.is_ipv4() {
            let reply = Icmpv4Packet::new_checked(&answers[0][34..]).unwrap();
            assert_eq!(reply.msg_type(), Icmpv4Message::EchoReply);
            assert_eq!((reply.echo_ident(), reply.echo_seq_no()), (1, 2));
            assert_eq!(reply.data(), b"is anybody there?");
            assert!(reply.verify_checksum());
        } else {
            let reply = Icmpv6Packet::new_checked(&answers[0][54..]).unwrap();
            assert_eq!(reply.msg_type(), Icmpv6Message::EchoReply);
            assert_eq!(reply.payload(), b"is anybody there?");
        }
    }
}

#[test]
fn a_ping_from_a_stranger_is_answered_once_the_stranger_has_told_its_mac() {
    let mut link = Link::new();
    let request = echo_request(A4, B4, b"hello");
    link.b.handle_frame(0, &ethernet(MAC_B, MAC_A, 0x0800, &request));
    link.pass(MILLISECOND);
    let kinds: Vec<u16> = link.sent.iter().map(|f| u16::from_be_bytes([f[12], f[13]])).collect();
    assert_eq!(kinds, [0x0806, 0x0806, 0x0800], "question, answer, echo reply");
}

#[test]
fn pings_to_other_addresses_groups_and_broadcast_get_no_answer() {
    for destination in ["10.0.0.3", "10.0.0.255", "255.255.255.255", "224.0.0.1"] {
        let mut b = host_b();
        let request = echo_request(A4, destination.parse().unwrap(), b"hello");
        for station in [MAC_B, rdmalab_wire::EthernetAddress::BROADCAST] {
            let frame = ethernet(station, MAC_A, 0x0800, &request);
            let handled = b.handle_frame(0, &frame);
            assert!(matches!(handled, Handled::Dropped(_)), "{destination}");
        }
        assert!(frames(&mut b, 0).is_empty());
    }
    for destination in ["fd00::3", "ff02::1", "ff02::1:ff00:2"] {
        let mut b = host_b();
        let request = echo_request(A6, destination.parse().unwrap(), b"hello");
        b.handle_frame(0, &ethernet(MAC_B, MAC_A, 0x86dd, &request));
        assert!(frames(&mut b, 0).is_empty(), "{destination}");
    }
}

#[test]
fn a_closed_udp_port_is_unreachable_but_the_port_of_roce_never_is() {
    for (source, destination) in [(A4, B4), (A6, B6)] {
        let (mut a, mut b) = (host_a(), host_b());
        introduce(&mut b, 0, &mut a);
        let kind = ethertype(source);
        let mut answers = |packet: Vec<u8>| {
            b.handle_frame(1, &ethernet(MAC_B, MAC_A, kind, &packet));
            frames(&mut b, 1)
        };
        for payload in [&b""[..], b"x", &[0xff; 40]] {
            assert!(answers(roce_packet(source, destination, payload)).is_empty());
        }
        if source.is_ipv4() {
            let answer = answers(udp_packet(source, destination, 4790, b"hello"));
            let icmp = Icmpv4Packet::new_checked(&answer[0][34..]).unwrap();
            assert_eq!((icmp.msg_type(), icmp.msg_code()), (Icmpv4Message::DstUnreachable, 3));
        }
    }
}

#[test]
fn equal_seeds_give_equal_frames() {
    let run = || {
        let mut link = Link::new();
        let listener = link.b.listen(80).unwrap();
        let stream = link.a.connect((B4, 80).into()).unwrap();
        let mut rest = vec![5; 100_000];
        link.loss = Box::new(|number, _| number % 13 == 5);
        let mut accepted = None;
        link.run(60 * SECOND, |link| {
            let written = link.a.write(stream, &rest).unwrap();
            rest.drain(..written);
            accepted = accepted.or_else(|| link.b.accept(listener));
            let mut into = [0; 4096];
            if let Some(accepted) = accepted {
                while let Ok(crate::Read::Bytes(_)) = link.b.read(accepted, &mut into) {}
            }
            rest.is_empty()
        });
        link.sent
    };
    assert_eq!(run(), run());
}
