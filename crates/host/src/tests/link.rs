//! A link between two hosts that loses what it is told to lose, and frames made by hand.

use std::collections::VecDeque;

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rdmalab_wire::{EthernetAddress, EthernetHeader, Ipv4Header, Ipv6Header, UdpHeader};

use crate::{HEADROOM, Handled, Host, HostAddress, HostConfig};

pub(super) const MILLISECOND: u64 = 1_000_000;
pub(super) const SECOND: u64 = 1_000_000_000;

pub(super) const MAC_A: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 0xa]);
pub(super) const MAC_B: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 0xb]);
pub(super) const A4: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
pub(super) const B4: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
pub(super) const A6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1));
pub(super) const B6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2));

/// Time a frame is under way.
const LATENCY: u64 = 50_000;

pub(super) fn config(mac: EthernetAddress, v4: IpAddr, v6: IpAddr) -> HostConfig {
    HostConfig {
        addresses: vec![HostAddress::new(v4, 24), HostAddress::new(v6, 64), HostAddress::link_local(mac)],
        gateway_v4: Some(Ipv4Addr::new(10, 0, 0, 254)),
        seed: 7,
        ..HostConfig::new(mac)
    }
}

pub(super) fn host_a() -> Host {
    Host::new(&config(MAC_A, A4, A6)).unwrap()
}

pub(super) fn host_b() -> Host {
    Host::new(&config(MAC_B, B4, B6)).unwrap()
}

/// All frames a host wants to send now.
pub(super) fn frames(host: &mut Host, now: u64) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let mut frame = Vec::new();
    while host.poll_frame(now, &mut frame) {
        all.push(frame.clone());
        assert!(all.len() < 20_000, "frames without end");
    }
    all
}

/// Lets `host` learn by ARP or NDP where `peer` is: `peer` asks for it.
pub(super) fn introduce(host: &mut Host, now: u64, peer: &mut Host) {
    for (from, to) in [(B4, A4), (A4, B4), (B6, A6), (A6, B6)] {
        if peer.addresses().iter().any(|own| own.address == from) {
            let mut packet = roce_frame(from, to, b"");
            assert_eq!(peer.send_roce(now, &mut packet), crate::Sent::Held);
        }
    }
    for question in frames(peer, now) {
        host.handle_frame(now, &question);
    }
    for answer in frames(host, now) {
        peer.handle_frame(now, &answer);
    }
    frames(peer, now);
}

/// Decides over the frame with this number (both directions counted together): true loses it.
type Loss = Box<dyn FnMut(usize, &[u8]) -> bool>;

/// Two hosts and the frames between them.
pub(super) struct Link {
    pub(super) now: u64,
    pub(super) a: Host,
    pub(super) b: Host,
    under_way: VecDeque<(u64, bool, Vec<u8>)>,
    pub(super) loss: Loss,
    pub(super) sent: Vec<Vec<u8>>,
    pub(super) lost: usize,
    /// RoCE packets that arrived, in order, and whether at b.
    pub(super) roce: Vec<(bool, Vec<u8>)>,
}

impl Link {
    pub(super) fn new() -> Self {
        Self::between(host_a(), host_b())
    }

    pub(super) fn between(a: Host, b: Host) -> Self {
        let (under_way, sent, roce) = Default::default();
        Self { now: 0, a, b, under_way, loss: Box::new(|_, _| false), sent, lost: 0, roce }
    }

    fn collect(&mut self) {
        for (to_b, host) in [(true, &mut self.a), (false, &mut self.b)] {
            for frame in frames(host, self.now) {
                let lost = (self.loss)(self.sent.len(), &frame);
                self.sent.push(frame.clone());
                if lost {
                    self.lost += 1;
                } else {
                    self.under_way.push_back((self.now + LATENCY, to_b, frame));
                }
            }
        }
    }

    /// Lets time pass until `done` holds or `until` has come. Returns whether `done` held.
    pub(super) fn run(&mut self, until: u64, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        loop {
            self.collect();
            if done(self) {
                return true;
            }
            // What `done` posted goes out at this very moment.
            self.collect();
            let next = [
                self.under_way.front().map(|(at, ..)| *at),
                self.a.next_timeout(self.now),
                self.b.next_timeout(self.now),
            ];
            let Some(next) = next.into_iter().flatten().min().filter(|next| *next <= until) else {
                self.now = self.now.max(until);
                return false;
            };
            assert!(
                next > self.now || self.under_way.front().is_some_and(|(at, ..)| *at <= self.now),
                "time stands still"
            );
            self.now = next;
            self.a.handle_timeout(self.now);
            self.b.handle_timeout(self.now);
            while let Some((at, to_b, frame)) = self.under_way.pop_front() {
                if at > self.now {
                    self.under_way.push_front((at, to_b, frame));
                    break;
                }
                let host = if to_b { &mut self.b } else { &mut self.a };
                if let Handled::Roce(packet) = host.handle_frame(self.now, &frame) {
                    self.roce.push((to_b, packet.to_vec()));
                }
            }
        }
    }

    /// Lets this much time pass.
    pub(super) fn pass(&mut self, time: u64) {
        let until = self.now + time;
        self.run(until, |_| false);
    }
}

/// An Ethernet frame from its parts.
pub(super) fn ethernet(
    destination: EthernetAddress,
    source: EthernetAddress,
    ethertype: u16,
    payload: &[u8],
) -> Vec<u8> {
    let mut frame = EthernetHeader { destination, source, ethertype }.encode().to_vec();
    frame.extend_from_slice(payload);
    frame
}

/// An IP packet of any protocol.
pub(super) fn ip_packet(source: IpAddr, destination: IpAddr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let mut header = Ipv4Header::decode(&[0; 20]);
            header.total_length = (20 + payload.len()) as u16;
            header.ttl = 64;
            header.protocol = protocol;
            header.source = source;
            header.destination = destination;
            header.with_checksum().encode().to_vec()
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let mut header = Ipv6Header::decode(&[0; 40]);
            header.payload_length = payload.len() as u16;
            header.next_header = protocol;
            header.hop_limit = 64;
            header.source = source;
            header.destination = destination;
            header.encode().to_vec()
        }
        _ => panic!("two families"),
    };
    packet.extend_from_slice(payload);
    packet
}

/// A UDP datagram to the port of RoCE v2 (no InfiniBand inside), as an IP packet.
pub(super) fn roce_packet(source: IpAddr, destination: IpAddr, payload: &[u8]) -> Vec<u8> {
    udp_packet(source, destination, 4791, payload)
}

pub(super) fn udp_packet(source: IpAddr, destination: IpAddr, port: u16, payload: &[u8]) -> Vec<u8> {
    let length = (8 + payload.len()) as u16;
    let mut udp =
        UdpHeader { source_port: 0xc000, destination_port: port, length, checksum: 0 }.encode().to_vec();
    udp.extend_from_slice(payload);
    ip_packet(source, destination, 17, &udp)
}

/// The same behind its headroom, for `send_roce`.
pub(super) fn roce_frame(source: IpAddr, destination: IpAddr, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0xee; HEADROOM];
    frame.extend_from_slice(&roce_packet(source, destination, payload));
    frame
}
