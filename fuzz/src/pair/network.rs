//! The two hosts and the packets between them.

use std::collections::VecDeque;

use rdmalab_verbs::State;
use rdmalab_wire::{Bth, Ecn, NetworkHeader};

use super::forge;
use super::host::Host;
use super::input::{Forged, Input, Step};

/// Packets that may be under way; more are lost.
const MOST_FLYING: usize = 256;

pub struct Network {
    hosts: [Host; 2],
    /// For whom, and what.
    flying: VecDeque<(usize, Vec<u8>)>,
    now: u64,
}

impl Network {
    pub fn new(input: &Input) -> Self {
        let mut hosts = [Host::new(input, 0), Host::new(input, 1)];
        let [a, b] = &mut hosts;
        a.meet(b.face());
        b.meet(a.face());
        let mut network = Self { hosts, flying: VecDeque::new(), now: 0 };
        network.send();
        network
    }

    pub fn step(&mut self, step: &Step) {
        match *step {
            Step::Send { side, kind, length, local, remote, flags } => {
                self.hosts[usize::from(side)].send(kind, length, local, remote, flags);
            }
            Step::Receive { side, length, local, elements } => {
                self.hosts[usize::from(side)].receive(length, local, elements);
            }
            Step::Deliver { count } => self.deliver(count),
            Step::Lose { which } => {
                if let Some(place) = self.place(which) {
                    self.flying.remove(place);
                }
            }
            Step::Repeat { which } => {
                if let Some(place) = self.place(which) {
                    let again = self.flying[place].clone();
                    self.launch(again);
                }
            }
            Step::Delay { which } => {
                if let Some(late) = self.place(which).and_then(|place| self.flying.remove(place)) {
                    self.flying.push_back(late);
                }
            }
            Step::Change { which, at, bits } => self.rewrite(which, Some((at, bits))),
            Step::Mark { which } => self.rewrite(which, None),
            Step::Forge { side, ref packet } => self.forge(usize::from(side), packet),
            Step::Bytes { side, ref bytes } => {
                self.hosts[usize::from(side)].handle_packet(self.now, bytes);
            }
            Step::Wait { code } => self.wait(code),
            Step::Modify { side, second, change } => {
                self.hosts[usize::from(side)].change(self.now, second, change);
            }
            Step::Region { side } => self.hosts[usize::from(side)].change_region(),
            Step::Renew { side, which } => self.hosts[usize::from(side)].renew(which),
        }
        self.send();
    }

    fn place(&self, which: u8) -> Option<usize> {
        usize::from(which).checked_rem(self.flying.len())
    }

    fn launch(&mut self, packet: (usize, Vec<u8>)) {
        if self.flying.len() < MOST_FLYING {
            self.flying.push_back(packet);
        }
    }

    /// Takes what both have to send.
    fn send(&mut self) {
        for from in 0..2 {
            for packet in self.hosts[from].poll(self.now) {
                self.launch((1 - from, packet));
            }
        }
    }

    fn deliver(&mut self, count: u8) {
        for _ in 0..count {
            let Some((to, packet)) = self.flying.pop_front() else { return };
            self.hosts[to].handle_packet(self.now, &packet);
            self.hosts[to].check();
            self.send();
        }
    }

    /// Changes a byte of a packet behind the network header, or marks it as having met congestion.
    fn rewrite(&mut self, which: u8, change: Option<(u8, u8)>) {
        let Some(place) = self.place(which) else { return };
        let (to, packet) = &mut self.flying[place];
        let ecn = if change.is_none() { Ecn::Ce } else { Ecn::NotEct };
        let header = header(1 - *to, ecn);
        let end = packet.len().saturating_sub(4);
        if let Some((at, bits)) = change
            && let Some(ib) = packet.get_mut(header.length()..end)
            && let Some(at) = usize::from(at).checked_rem(ib.len().min(Bth::LENGTH + 28))
        {
            ib[at] ^= bits;
        }
        header.finish(packet, 1).expect("it was a packet before");
    }

    fn forge(&mut self, victim: usize, packet: &Forged) {
        let (mut aim, keys) = (self.hosts[victim].aim(packet), &self.hosts[victim]);
        (aim.key, aim.address) = keys.resolve(packet.place);
        aim.source = self.hosts[1 - victim].face().sender;
        let ecn = if packet.flags & 0x20 != 0 { Ecn::Ce } else { Ecn::NotEct };
        if let Some(bytes) = forge::build(&header(1 - victim, ecn), packet, &aim) {
            self.hosts[victim].handle_packet(self.now, &bytes);
        }
    }

    fn wait(&mut self, code: Option<u8>) {
        let next = self.hosts.iter().filter_map(Host::next_timeout).min();
        self.now = match code {
            Some(code) => self.now.saturating_add(1 << (code % 44)),
            None => next.unwrap_or(self.now).max(self.now),
        };
        for host in &mut self.hosts {
            host.handle_timeout(self.now);
        }
    }

    /// What holds after every step.
    pub fn check(&mut self) {
        for host in &mut self.hosts {
            host.check();
        }
    }

    /// Lets things go on for a while, then ends everything.
    pub fn end(&mut self) {
        for _ in 0..32 {
            self.deliver(64);
            self.wait(None);
            self.send();
            self.check();
        }
        for host in &mut self.hosts {
            host.end(self.now);
            assert!(host.states().all(|state| state == State::Err));
        }
    }
}

/// The network header of packets that a host sends.
fn header(from: usize, ecn: Ecn) -> NetworkHeader {
    let (source, destination) = (super::host::address(from), super::host::address(1 - from));
    NetworkHeader::new(source, destination, 0xc001, 0, ecn, 64).expect("one family")
}
