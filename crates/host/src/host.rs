//! The host itself: joins the tables, the stack and the queues of frames.

mod groups;
mod neighbour_messages;
mod streams;

use std::collections::VecDeque;

use core::net::IpAddr;

use rdmalab_wire::{EthernetAddress, EthernetHeader};

use crate::addresses::{Addresses, NextHop};
use crate::config::{ConfigError, HostAddress, HostConfig};
use crate::counters::{Counters, DropReason};
use crate::membership::Memberships;
use crate::neighbours::{Neighbours, Origin};
use crate::receive::{self, Received, Sender};
use crate::send::{self, Reach, SendError, Sent};
use crate::stack::Stack;
use crate::station::Station;
use crate::tcp::Tcp;
use crate::tcp::incoming::Verdict;
use crate::tcp::segment::{Outgoing, Segment};

/// Bytes that [`Host::send_roce`] needs in front of the IP packet, if the host tags nothing; else it is
/// [`Host::headroom`].
pub const HEADROOM: usize = EthernetHeader::LENGTH;

/// Replies that may wait to be taken out.
const REPLIES_MAX: usize = 64;

/// What became of a received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled<'f> {
    /// A RoCE v2 packet for one of our addresses or for a multicast group, from its IP header to its end, padding cut off. UDP and all that is
    /// behind it has not been looked at, but for the destination port.
    Roce(&'f [u8]),
    /// The host itself dealt with it.
    Taken,
    /// Of no use; counted.
    Dropped(DropReason),
}

/// An emulated network host. See the [crate] for how to drive it.
pub struct Host {
    station: Station,
    mtu: usize,
    /// Whether RoCE packets for groups that were not joined are handed on too.
    every_group: bool,
    addresses: Addresses,
    neighbours: Neighbours,
    stack: Stack,
    tcp: Tcp,
    memberships: Memberships,
    /// Complete frames on their way out.
    frames: VecDeque<Vec<u8>>,
    counters: Counters,
}

impl Host {
    /// A host that has not said anything yet.
    pub fn new(config: &HostConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        let station = Station::new(config.mac, config.vlan);
        let addresses = Addresses::new(config);
        Ok(Self {
            station,
            mtu: config.mtu,
            memberships: Memberships::new(config, addresses.solicited_nodes()),
            every_group: config.every_group,
            addresses,
            neighbours: Neighbours::default(),
            stack: Stack::new(config, station.headroom()),
            tcp: Tcp::new(config.seed),
            frames: VecDeque::new(),
            counters: Counters::default(),
        })
    }

    /// The link-layer address.
    pub fn mac(&self) -> EthernetAddress {
        self.station.mac
    }

    /// Bytes that [`send_roce`](Self::send_roce) needs in front of the IP packet: 14, or 18 in a VLAN.
    pub fn headroom(&self) -> usize {
        self.station.headroom()
    }

    /// MTU of the link in bytes, from the IP header on.
    pub fn mtu(&self) -> usize {
        self.mtu
    }

    /// The addresses, in the order they were configured.
    pub fn addresses(&self) -> &[HostAddress] {
        self.addresses.list()
    }

    /// The address this host talks to `destination` from; `None` without one of the same family.
    pub fn source_address(&self, destination: IpAddr) -> Option<IpAddr> {
        self.addresses.source_for(destination)
    }

    /// The MAC that packets to `destination` go to at present, as far as it is known.
    pub fn next_hop_mac(&self, destination: IpAddr) -> Option<EthernetAddress> {
        match self.addresses.next_hop(destination) {
            NextHop::Ours => Some(self.station.mac),
            NextHop::Group(mac) => Some(mac),
            NextHop::Neighbour(neighbour) => self.neighbours.known(neighbour),
            NextHop::None => None,
        }
    }

    /// Looks for the next hop to where packets will go soon, so that they need not wait: [`send_roce`](Self::send_roce)
    /// keeps few of them. It is asked for up to three times, a second apart; [`reach`](Self::reach) tells what came of it.
    pub fn look_for(&mut self, now: u64, destination: IpAddr) -> Reach {
        match self.addresses.next_hop(destination) {
            NextHop::Ours | NextHop::Group(_) => Reach::Known,
            NextHop::Neighbour(neighbour) => self.neighbours.look_for(now, neighbour),
            NextHop::None => Reach::NoRoute,
        }
    }

    /// How it stands with a destination that was [looked for](Self::look_for).
    pub fn reach(&self, destination: IpAddr) -> Reach {
        match self.addresses.next_hop(destination) {
            NextHop::Ours | NextHop::Group(_) => Reach::Known,
            NextHop::Neighbour(neighbour) => self.neighbours.reach(neighbour),
            NextHop::None => Reach::NoRoute,
        }
    }

    /// A number that changes whenever a next hop that was asked for is found or given up.
    pub fn settled_neighbours(&self) -> u64 {
        self.neighbours.settled()
    }

    /// Neighbours in the table, known or asked for; never more than 256.
    pub fn neighbour_count(&self) -> usize {
        self.neighbours.len()
    }

    /// What was counted since the start.
    pub fn counters(&self) -> Counters {
        Counters {
            neighbours_changed: self.neighbours.changed,
            neighbours_failed: self.neighbours.failed,
            replies_dropped: self.counters.replies_dropped + self.stack.replies_dropped(),
            ..self.counters
        }
    }

    /// One frame from the link, from its Ethernet header on and without checksum (FCS).
    pub fn handle_frame<'f>(&mut self, now: u64, frame: &'f [u8]) -> Handled<'f> {
        self.counters.received += 1;
        let outcome = match receive::sort(&self.station, &self.addresses, frame, |group| {
            self.every_group || self.memberships.is_joined(group)
        }) {
            Ok(Received::Roce { packet, from }) => {
                self.counters.received_roce += 1;
                self.neighbours.confirm(now, from.address, from.mac);
                return Handled::Roce(packet);
            }
            Ok(Received::Ip { packet, from, tcp_at }) => self.handle_ip(now, packet, from, tcp_at),
            Ok(Received::Arp(packet)) => self.handle_arp(now, packet),
            Ok(Received::Ndp { packet, mac }) => self.handle_ndp(now, packet, mac),
            Ok(Received::Igmp { message, destination }) => self.handle_igmp(now, message, destination),
            Ok(Received::Mld { header, message }) => self.handle_mld(now, &header, message),
            Err(reason) => Err(reason),
        };
        match outcome {
            Ok(()) => Handled::Taken,
            Err(reason) => {
                self.counters.count(reason);
                Handled::Dropped(reason)
            }
        }
    }

    fn handle_ip(
        &mut self,
        now: u64,
        packet: &[u8],
        from: Sender,
        tcp_at: Option<usize>,
    ) -> Result<(), DropReason> {
        if let Some(tcp_at) = tcp_at {
            let segment = Segment::parse(packet, from, tcp_at).ok_or(DropReason::Malformed)?;
            match self.tcp.before_segment(&mut self.stack, &segment) {
                Verdict::Drop => return Err(DropReason::Ignored),
                Verdict::Pass => self.stack.handle_packet(now, packet),
                Verdict::OpenWindow => {
                    let mut copy = self.stack.buffer();
                    copy.extend_from_slice(packet);
                    Segment::open_window(&mut copy, tcp_at);
                    self.stack.handle_packet(now, &copy);
                    self.stack.recycle(copy);
                }
            }
            self.tcp.after_segment(now, &mut self.stack);
        } else {
            self.stack.handle_packet(now, packet);
        }
        self.counters.received_ip += 1;
        self.neighbours.confirm(now, from.address, from.mac);
        self.route_outgoing(now, Origin::Reply);
        Ok(())
    }

    /// One RoCE v2 packet for the link: `frame` is [`headroom`](Self::headroom) bytes of any content and the IP packet behind them.
    ///
    /// A packet for a neighbour that is not known yet is copied and comes out of [`poll_frame`](Self::poll_frame)
    /// later; as long as earlier packets to the same neighbour wait there, later ones queue behind them. Dropping is
    /// told, and counted as `unsent`; to the transport it is one of the losses it must survive anyway.
    pub fn send_roce(&mut self, now: u64, frame: &mut [u8]) -> Sent {
        let sent = self.try_send_roce(now, frame).unwrap_or_else(Sent::Dropped);
        self.counters.unsent += u64::from(matches!(sent, Sent::Dropped(_)));
        sent
    }

    fn try_send_roce(&mut self, now: u64, frame: &mut [u8]) -> Result<Sent, SendError> {
        let packet = frame.get(self.headroom()..).ok_or(SendError::NoPacket)?;
        let (ethertype, destination) = send::destination(packet).ok_or(SendError::NoPacket)?;
        if packet.len() > self.mtu {
            return Err(SendError::TooLong);
        }
        let mac = match self.addresses.next_hop(destination) {
            NextHop::Ours => return Ok(Sent::Ours),
            NextHop::None => return Err(SendError::NoRoute),
            NextHop::Group(mac) => mac,
            NextHop::Neighbour(neighbour) => match self.neighbours.resolve(now, neighbour) {
                Some(mac) => mac,
                None => {
                    self.neighbours.prepare(now, neighbour, Origin::Own)?;
                    let mut copy = self.stack.buffer();
                    copy.extend_from_slice(frame);
                    self.neighbours.hold(neighbour, copy);
                    return Ok(Sent::Held);
                }
            },
        };
        self.station.address(frame, mac, ethertype);
        Ok(Sent::Ready)
    }

    /// The next frame of the host's own: ARP, NDP, ICMP, TCP, and RoCE packets that had to wait. `false`: none now.
    ///
    /// `out` is replaced by the frame; handing in the same vector again saves allocations. Timers that have run out
    /// by `now` are seen to first.
    pub fn poll_frame(&mut self, now: u64, out: &mut Vec<u8>) -> bool {
        loop {
            if let Some(frame) = self.frames.pop_front() {
                let used = core::mem::replace(out, frame);
                self.stack.recycle(used);
                return true;
            }
            self.handle_timeout(now);
            if let Some(question) = self.neighbours.next_question() {
                self.ask(question);
            } else if let Some((mac, packet)) = self.neighbours.next_released() {
                self.frame(packet, mac);
            } else if let Some(report) = self.memberships.next_report(now) {
                self.tell(&report);
            } else if self.tcp.is_due(now) {
                self.tcp.poll(now, &mut self.stack);
                self.route_outgoing(now, Origin::Own);
            } else {
                return false;
            }
        }
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) and [`poll_frame`](Self::poll_frame) next; not after
    /// `now` if frames wait already.
    pub fn next_timeout(&self, now: u64) -> Option<u64> {
        if !self.frames.is_empty() || self.neighbours.has_output() {
            return Some(now);
        }
        let timers =
            [self.neighbours.next_timeout(), self.memberships.next_timeout(), self.tcp.next_timeout(now)];
        timers.into_iter().flatten().min()
    }

    /// Sees to the timers that have run out by `now`. Frames that result come out of [`poll_frame`](Self::poll_frame).
    pub fn handle_timeout(&mut self, now: u64) {
        if self.neighbours.next_timeout().is_none_or(|at| at > now) {
            return;
        }
        for (neighbour, lost) in self.neighbours.handle_timeout(now) {
            self.counters.unsent += lost as u64;
            self.tcp.neighbour_failed(&mut self.stack, &self.addresses, neighbour);
        }
    }

    /// Sends what the stack has put out to where it belongs.
    fn route_outgoing(&mut self, now: u64, origin: Origin) {
        while let Some(packet) = self.stack.next_outgoing() {
            if let Some(segment) = packet.get(self.headroom()..).and_then(Outgoing::parse) {
                self.tcp.note_outgoing(&self.stack, &segment);
            }
            if let Err(buffer) = self.route(now, packet, origin) {
                self.counters.unsent += 1;
                self.stack.recycle(buffer);
            }
        }
    }

    /// Gives the buffer back if the packet could not be sent.
    fn route(&mut self, now: u64, packet: Vec<u8>, origin: Origin) -> Result<(), Vec<u8>> {
        let destination = packet.get(self.headroom()..).and_then(send::destination);
        let Some((_, destination)) = destination else { return Err(packet) };
        if origin == Origin::Reply && self.frames.len() >= REPLIES_MAX {
            self.counters.replies_dropped += 1;
            self.stack.recycle(packet);
            return Ok(());
        }
        let NextHop::Neighbour(neighbour) = self.addresses.next_hop(destination) else { return Err(packet) };
        if let Some(mac) = self.neighbours.resolve(now, neighbour) {
            self.frame(packet, mac);
            return Ok(());
        }
        if self.neighbours.prepare(now, neighbour, origin).is_err() {
            return Err(packet);
        }
        self.neighbours.hold(neighbour, packet);
        Ok(())
    }

    /// Completes a packet behind its headroom and puts it among the frames.
    fn frame(&mut self, mut packet: Vec<u8>, to: EthernetAddress) {
        let destination = packet.get(self.headroom()..).and_then(send::destination);
        if let Some((ethertype, _)) = destination {
            self.station.address(&mut packet, to, ethertype);
            self.frames.push_back(packet);
        }
    }
}
