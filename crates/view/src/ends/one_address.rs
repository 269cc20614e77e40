//! Two ends that have one address, as on a host that talks with itself: what tells them apart.
//!
//! Packets name the queue pair or the port that they go to. Which of these names are of the same end, and which of opposite ones,
//! conversations tell: an answer goes to the end opposite to the one it comes from, a datagram names both queue pairs, a segment
//! both ports, and messages of connection management both communication IDs and the queue pairs that they connect. So all names
//! fall into groups with two sides each. On which side of the ladder the sides of a group stand, its first packet says: who asks
//! first stands on the left.
//!
//! Numbers are given out again: where what a packet tells of a name contradicts what was known, it is the name of a new end.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rdmalab_trace::{Dissection, Roce};
use rdmalab_wire::{CmMessage, Qpn};

use super::groups::Groups;
use super::name::{Name, words};
use crate::kind::Kind;

/// A packet that goes to the end of a name, or comes from it.
#[derive(Clone, Copy, Debug)]
struct Way {
    to: bool,
    name: Name,
    /// It goes to who asked.
    is_answer: bool,
}

/// All names of ends that share their address with another one, and the packets between such ends.
#[derive(Debug, Default)]
pub(super) struct OneAddress {
    /// The node of each name at its address.
    nodes: HashMap<(u32, Name), u32>,
    groups: Groups,
    /// Packets by place, with the nodes of their names.
    ways: Vec<(u32, u32, Way)>,
}

/// What is known of them in the end.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Packets by place, and whether each goes from the left to the right.
    pub directions: Vec<(u32, bool)>,
    /// By address, what names the end on the left and the one on the right.
    pub names: BTreeMap<u32, [String; 2]>,
}

impl OneAddress {
    /// A packet whose source and destination are one address. `flow` is the flow that it is placed in.
    pub(super) fn packet(
        &mut self,
        place: u32,
        address: u32,
        dissection: &Dissection<'_>,
        kind: Kind,
        flow: Option<u32>,
    ) {
        let mut at = At { all: self, address };
        let way = match (dissection.tcp(), dissection.roce()) {
            (Some(tcp), _) => {
                let [from, to] = [tcp.source, tcp.destination].map(|(_, port)| Name::Port(port));
                at.are_opposite(from, to);
                Way { to: true, name: to, is_answer: tcp.syn && tcp.acknowledgment.is_some() }
            }
            (None, Some(roce)) => match roce.mad().and_then(|mad| mad.message()) {
                Some(message) => at.message(&message),
                None => match at.of_roce(roce, kind, flow) {
                    Some(way) => way,
                    None => return,
                },
            },
            (None, None) => return,
        };
        let node = at.node(way.name);
        self.ways.push((place, node, way));
    }

    /// Two queue pairs of an address that nothing connects with any other are connected with each other: unreliable connections
    /// have no answers.
    fn tie_the_last(&mut self) {
        let mut groups: BTreeMap<(u32, u32), Vec<Name>> = BTreeMap::new();
        for ((address, name), node) in self.nodes.clone() {
            let (first, _) = self.groups.first(node);
            groups.entry((address, first)).or_default().push(name);
        }
        let mut alone: BTreeMap<u32, Vec<Name>> = BTreeMap::new();
        for ((address, _), mut names) in groups {
            names.retain(|name| !matches!(name, Name::Flow(_)));
            if let [only @ Name::QueuePair(_)] = names[..] {
                alone.entry(address).or_default().push(only);
            }
        }
        for (address, names) in alone {
            if let [one, other] = names[..] {
                At { all: self, address }.tie(one, other, true);
            }
        }
    }

    /// What all of it came to.
    pub(super) fn told(mut self) -> Told {
        self.tie_the_last();
        let mut told = Told::default();
        // Of each group, whether its first node is on the right.
        let mut is_right: HashMap<u32, bool> = HashMap::new();
        for (place, node, way) in std::mem::take(&mut self.ways) {
            let (first, is_opposite) = self.groups.first(node);
            let by_this = (way.to != way.is_answer) != is_opposite;
            let is_there = *is_right.entry(first).or_insert(by_this) != is_opposite;
            told.directions.push((place, is_there == way.to));
        }
        let mut names: BTreeMap<u32, [BTreeSet<Name>; 2]> = BTreeMap::new();
        for ((address, name), node) in std::mem::take(&mut self.nodes) {
            let (first, is_opposite) = self.groups.first(node);
            let side = is_right.get(&first).map(|right| usize::from(*right != is_opposite));
            let of_address = names.entry(address).or_default();
            if let Some(of_side) = side.and_then(|side| of_address.get_mut(side)) {
                of_side.insert(name);
            }
        }
        told.names =
            names.into_iter().map(|(address, sides)| (address, sides.map(|side| words(&side)))).collect();
        told
    }
}

/// The name of a queue pair's end, unless everybody has one of this number.
fn queue_pair(number: Qpn) -> Option<Name> {
    (number.value() > Qpn::GSI.value()).then_some(Name::QueuePair(number.value()))
}

/// Names at one address.
struct At<'o> {
    all: &'o mut OneAddress,
    address: u32,
}

impl At<'_> {
    /// A packet to a queue pair; nothing is known of one that names none of its own.
    fn of_roce(&mut self, roce: &Roce<'_>, kind: Kind, flow: Option<u32>) -> Option<Way> {
        let name = queue_pair(roce.packet.bth?.destination)?;
        let is_answer = kind.is_answer();
        if let Some(from) = roce.packet.headers.deth.and_then(|deth| queue_pair(deth.source)) {
            self.are_opposite(from, name);
        } else if let Some(flow) = flow.filter(|_| kind != Kind::Congestion) {
            self.tie(Name::Flow(flow), name, is_answer);
        }
        Some(Way { to: true, name, is_answer })
    }

    /// A message of connection management, which names both ends as far as its sender knows them.
    fn message(&mut self, message: &CmMessage) -> Way {
        let (local, remote, is_answer) = match message {
            CmMessage::Req(req) => {
                let name = Name::Communication(req.local_communication_id);
                if let Some(queue_pair) = queue_pair(req.local_qpn) {
                    self.tie(queue_pair, name, false);
                }
                return Way { to: false, name, is_answer: false };
            }
            CmMessage::Rep(rep) => {
                let name = Name::Communication(rep.local_communication_id);
                if let Some(queue_pair) = queue_pair(rep.local_qpn) {
                    self.tie(queue_pair, name, false);
                }
                (rep.local_communication_id, rep.remote_communication_id, true)
            }
            CmMessage::SidrReq(question) => {
                return Way { to: false, name: Name::Question(question.request_id), is_answer: false };
            }
            CmMessage::SidrRep(answer) => {
                let name = Name::Question(answer.request_id);
                // Who refuses names none.
                if let Some(queue_pair) = queue_pair(answer.qpn) {
                    self.tie(name, queue_pair, true);
                }
                return Way { to: true, name, is_answer: true };
            }
            CmMessage::Rtu(rtu) => (rtu.local_communication_id, rtu.remote_communication_id, false),
            CmMessage::Dreq(dreq) => (dreq.local_communication_id, dreq.remote_communication_id, false),
            CmMessage::Drep(drep) => (drep.local_communication_id, drep.remote_communication_id, true),
            CmMessage::Mra(mra) => (mra.local_communication_id, mra.remote_communication_id, true),
            CmMessage::Rej(rej) => (rej.local_communication_id, rej.remote_communication_id, true),
            CmMessage::Lap(lap) => (lap.local_communication_id, lap.remote_communication_id, false),
            CmMessage::Apr(apr) => (apr.local_communication_id, apr.remote_communication_id, true),
        };
        // Who has none yet names 0.
        if local != 0 && remote != 0 {
            self.are_opposite(Name::Communication(remote), Name::Communication(local));
        }
        match local {
            0 => Way { to: true, name: Name::Communication(remote), is_answer },
            _ => Way { to: false, name: Name::Communication(local), is_answer },
        }
    }

    fn node(&mut self, name: Name) -> u32 {
        let OneAddress { nodes, groups, .. } = &mut *self.all;
        *nodes.entry((self.address, name)).or_insert_with(|| groups.add())
    }

    fn are_opposite(&mut self, one: Name, other: Name) {
        if one != other {
            self.tie(one, other, true);
        }
    }

    /// Two names are of the same end, or of opposite ones. If that cannot be, the second is a new end's.
    fn tie(&mut self, one: Name, other: Name, are_opposite: bool) {
        let [first, second] = [one, other].map(|name| self.node(name));
        if !self.all.groups.join(first, second, are_opposite) {
            self.all.nodes.remove(&(self.address, other));
            let second = self.node(other);
            self.all.groups.join(first, second, are_opposite);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where packets to these names go; each is `from`, if that is known, and `to`.
    fn directions(packets: &[(Option<Name>, Name, bool)]) -> Vec<bool> {
        let mut all = OneAddress::default();
        for (place, (from, to, is_answer)) in (0..).zip(packets) {
            let mut at = At { all: &mut all, address: 0 };
            if let Some(from) = from {
                at.are_opposite(*from, *to);
            }
            let node = at.node(*to);
            all.ways.push((place, node, Way { to: true, name: *to, is_answer: *is_answer }));
        }
        all.told().directions.into_iter().map(|(_, right)| right).collect()
    }

    const A: Name = Name::QueuePair(17);
    const B: Name = Name::QueuePair(18);
    const C: Name = Name::QueuePair(19);

    #[test]
    fn who_asks_first_stands_on_the_left_also_if_the_capture_begins_with_an_answer() {
        assert_eq!(
            directions(&[(Some(A), B, false), (None, A, true), (None, A, false)]),
            [true, false, false]
        );
        assert_eq!(
            directions(&[(Some(A), B, true), (None, A, false), (None, B, true)]),
            [false, true, false]
        );
    }

    #[test]
    fn what_only_a_later_packet_tells_holds_for_earlier_ones() {
        assert_eq!(
            directions(&[(None, A, false), (None, B, false), (Some(A), B, false)]),
            [true, false, false]
        );
    }

    #[test]
    fn two_queue_pairs_that_nothing_connects_with_others_are_connected_with_each_other() {
        assert_eq!(directions(&[(None, A, false), (None, B, false)]), [true, false]);
        // Of three nobody knows which.
        assert_eq!(directions(&[(None, A, false), (None, B, false), (None, C, false)]), [true; 3]);
    }

    #[test]
    fn a_number_that_is_given_out_again_is_a_new_ends() {
        // Three that are opposite to each other are two and a new one.
        let packets = [(Some(A), B, false), (Some(B), C, false), (Some(A), C, false), (None, C, false)];
        assert_eq!(directions(&packets), [true, false, true, true]);
    }
}
