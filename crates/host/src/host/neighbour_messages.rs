//! ARP and neighbour discovery: what is answered, what is believed, what is asked.

use core::net::{IpAddr, Ipv4Addr};

use rdmalab_wire::EthernetAddress;
use rdmalab_wire::ethernet::{ETHERTYPE_ARP, ETHERTYPE_IPV6};

use super::{Host, REPLIES_MAX};
use crate::addresses::{group_address, solicited_node};
use crate::arp::{Arp, Operation};
use crate::counters::DropReason;
use crate::ndp::{self, Ndp, Neighbour};
use crate::neighbours::Question;
use crate::receive::ALL_NODES;

impl Host {
    /// Tells the link our addresses unasked (gratuitous ARP, RFC 5227 §3; unsolicited advertisements, RFC 4861
    /// §7.2.6), so that neighbours that knew another MAC for them forget it. Call it after the start or after the link
    /// came back, or not at all. The groups that the host is in are told as well.
    pub fn announce(&mut self) {
        self.memberships.announce();
        for index in 0..self.addresses.list().len() {
            match self.addresses.list()[index].address {
                IpAddr::V4(own) => {
                    let arp = Arp {
                        operation: Operation::Request,
                        sender_mac: self.station.mac,
                        sender: own,
                        target_mac: EthernetAddress([0; 6]),
                        target: own,
                    };
                    self.send_arp(EthernetAddress::BROADCAST, arp);
                }
                IpAddr::V6(own) => {
                    let about = Neighbour {
                        source: own,
                        destination: ALL_NODES,
                        target: own,
                        mac: Some(self.station.mac),
                    };
                    let message = Ndp::Advertisement { about, solicited: false, overrides: true };
                    self.send_ndp(group_address(ALL_NODES.into()), message);
                }
            }
        }
    }

    pub(super) fn handle_arp(&mut self, now: u64, packet: &[u8]) -> Result<(), DropReason> {
        let arp = Arp::parse(packet).ok_or(DropReason::Malformed)?;
        self.counters.received_neighbour += 1;
        if arp.sender_mac.is_multicast() || arp.sender_mac.0 == [0; 6] {
            return Err(DropReason::Malformed);
        }
        let sender = IpAddr::V4(arp.sender);
        let for_us = self.addresses.is_ours(arp.target.into());
        if self.addresses.is_ours(sender) {
            self.counters.address_conflicts += 1;
            return Err(DropReason::BadSource);
        }
        // A probe for duplicates comes from 0.0.0.0 (RFC 5227 §2.1): it is answered, and nothing is learned from it.
        if arp.sender != Ipv4Addr::UNSPECIFIED {
            if !self.addresses.is_foreign_unicast(sender) || !self.addresses.on_link(sender) {
                return Err(DropReason::BadSource);
            }
            match arp.operation {
                Operation::Request if for_us => {
                    self.neighbours.learn_from_request(now, sender, arp.sender_mac)
                }
                _ => self.neighbours.learn(now, sender, arp.sender_mac, true),
            }
        }
        if for_us && arp.operation == Operation::Request {
            let reply = Arp {
                operation: Operation::Reply,
                sender_mac: self.station.mac,
                sender: arp.target,
                target_mac: arp.sender_mac,
                target: arp.sender,
            };
            self.send_arp(arp.sender_mac, reply);
        }
        Ok(())
    }

    /// `from` is the station that sent the frame.
    pub(super) fn handle_ndp(
        &mut self,
        now: u64,
        packet: &[u8],
        from: EthernetAddress,
    ) -> Result<(), DropReason> {
        let Some(message) = Ndp::parse(packet) else {
            let routers = packet.get(40).is_some_and(|kind| ndp::is_routing(*kind));
            return Err(if routers { DropReason::Ignored } else { DropReason::Malformed });
        };
        self.counters.received_neighbour += 1;
        match message {
            Ndp::Solicitation(about) => self.handle_solicitation(now, about, from),
            Ndp::Advertisement { about, solicited, overrides } => {
                self.handle_advertisement(now, about, solicited, overrides)
            }
        }
    }

    fn handle_solicitation(
        &mut self,
        now: u64,
        about: Neighbour,
        from: EthernetAddress,
    ) -> Result<(), DropReason> {
        if !self.addresses.is_ours(about.target.into()) {
            return Err(DropReason::OtherAddress);
        }
        let own = Neighbour { source: about.target, mac: Some(self.station.mac), ..about };
        if about.source.is_unspecified() {
            // Somebody is about to take one of our addresses: everybody is told that it is taken.
            let answer = Neighbour { destination: ALL_NODES, ..own };
            let message = Ndp::Advertisement { about: answer, solicited: false, overrides: true };
            self.send_ndp(group_address(ALL_NODES.into()), message);
            return Ok(());
        }
        let source = IpAddr::V6(about.source);
        if self.addresses.is_ours(source) {
            self.counters.address_conflicts += 1;
            return Err(DropReason::BadSource);
        }
        if !self.addresses.is_foreign_unicast(source) || !self.addresses.on_link(source) {
            return Err(DropReason::BadSource);
        }
        if let Some(mac) = about.mac {
            self.neighbours.learn_from_request(now, source, mac);
        }
        let answer = Neighbour { destination: about.source, ..own };
        let message = Ndp::Advertisement { about: answer, solicited: true, overrides: true };
        self.send_ndp(about.mac.unwrap_or(from), message);
        Ok(())
    }

    fn handle_advertisement(
        &mut self,
        now: u64,
        about: Neighbour,
        solicited: bool,
        overrides: bool,
    ) -> Result<(), DropReason> {
        let target = IpAddr::V6(about.target);
        if self.addresses.is_ours(target) {
            self.counters.address_conflicts += 1;
            return Err(DropReason::BadSource);
        }
        if !self.addresses.is_foreign_unicast(target) || !self.addresses.on_link(target) {
            return Err(DropReason::BadSource);
        }
        match about.mac {
            Some(mac) => self.neighbours.learn(now, target, mac, overrides),
            // An answer to a station's own address may leave its MAC out: it says "still here" (RFC 4861 §7.2.5).
            None if solicited => {
                if let Some(known) = self.neighbours.known(target) {
                    self.neighbours.confirm(now, target, known);
                }
            }
            None => {}
        }
        Ok(())
    }

    /// Puts a question about a neighbour on the link.
    pub(super) fn ask(&mut self, question: Question) {
        match (question.target, self.addresses.source_for(question.target)) {
            (IpAddr::V4(target), Some(IpAddr::V4(sender))) => {
                let target_mac = EthernetAddress([0; 6]);
                let operation = Operation::Request;
                let arp = Arp { operation, sender_mac: self.station.mac, sender, target_mac, target };
                self.send_arp(question.at.unwrap_or(EthernetAddress::BROADCAST), arp);
            }
            (IpAddr::V6(target), Some(IpAddr::V6(source))) => {
                let group = solicited_node(target);
                let destination = if question.at.is_some() { target } else { group };
                let about = Neighbour { source, destination, target, mac: Some(self.station.mac) };
                self.send_ndp(question.at.unwrap_or(group_address(group.into())), Ndp::Solicitation(about));
            }
            // Without an address of the family no next hop of it is ever found.
            _ => {}
        }
    }

    fn send_arp(&mut self, to: EthernetAddress, arp: Arp) {
        let Some(mut frame) = self.control_frame(to, ETHERTYPE_ARP) else { return };
        arp.encode(&mut frame);
        self.frames.push_back(frame);
    }

    fn send_ndp(&mut self, to: EthernetAddress, message: Ndp) {
        let Some(mut frame) = self.control_frame(to, ETHERTYPE_IPV6) else { return };
        message.encode(&mut frame);
        self.frames.push_back(frame);
    }

    /// A frame with only its Ethernet header, unless too many wait.
    pub(super) fn control_frame(&mut self, to: EthernetAddress, ethertype: u16) -> Option<Vec<u8>> {
        if self.frames.len() >= REPLIES_MAX {
            self.counters.replies_dropped += 1;
            return None;
        }
        let mut frame = self.stack.buffer();
        frame.resize(self.station.headroom(), 0);
        self.station.address(&mut frame, to, ethertype);
        Some(frame)
    }
}
