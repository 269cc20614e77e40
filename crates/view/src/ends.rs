//! The ends of the ladder: who sends and who receives, by the addresses that lines have; two ends with one address, by what
//! else tells them apart.

mod groups;
mod name;
mod one_address;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr};

use rdmalab_lint::Role;
use rdmalab_trace::{Dissection, Line};
use rdmalab_wire::EthernetAddress;

use crate::flows::Flow;
use crate::kind::Kind;
use crate::model::Packet;
use crate::texts::Distinct;

use one_address::OneAddress;

/// Who sends to whom, and who has which Ethernet address.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    /// Addresses as lines have them, each once.
    pub addresses: Distinct<String>,
    /// Pairs of them.
    pub pairs: Distinct<(u32, u32)>,
    /// By Ethernet address, in words: some of the addresses behind it.
    stations: HashMap<String, Vec<u32>>,
    /// The Ethernet address that packets of an address came from first.
    station_of: HashMap<u32, String>,
    /// Addresses that send or receive RDMA.
    talkers: HashSet<u32>,
    one_address: OneAddress,
    /// Addresses that two ends have: that of the end on the right, which is told apart by a number of its own.
    right_of: BTreeMap<u32, u32>,
    /// What stands behind an address where two ends have it.
    names: HashMap<u32, String>,
}

/// An Ethernet address as text has so many characters.
const ETHERNET_TEXT: usize = 17;
/// Ethernet addresses that are looked behind at most, and addresses behind one: those of the hosts of a link, not of a flood.
const MOST_STATIONS: usize = 65_536;
const MOST_BEHIND: usize = 8;

impl Ends {
    /// The number of the pair of addresses of a line; `is_rdma` says that its packet is of RDMA.
    pub(crate) fn pair(&mut self, line: &Line<'_, '_>, dissection: &Dissection<'_>, is_rdma: bool) -> u32 {
        let text = line.addresses().to_string();
        let (source, destination) = text.trim_start().split_once(" > ").unwrap_or(("?", "?"));
        let pair = (self.addresses.number(source), self.addresses.number(destination));
        if is_rdma {
            self.talkers.extend([pair.0, pair.1]);
        }
        if let Some(header) = &dissection.ethernet {
            self.stands_behind(pair.0, header.source);
            // Who is only sent to is behind an address as well.
            if is_rdma && !header.destination.is_multicast() {
                self.stands_behind(pair.1, header.destination);
            }
        }
        self.pairs.number(&pair)
    }

    /// An address is behind an Ethernet address.
    fn stands_behind(&mut self, address: u32, station: EthernetAddress) {
        if self.station_of.contains_key(&address) || self.station_of.len() >= MOST_STATIONS {
            return;
        }
        // That of a loopback interface, which is nobody's.
        if station == EthernetAddress([0; 6]) {
            return;
        }
        let station = station.to_string();
        let behind = self.stations.entry(station.clone()).or_default();
        if behind.len() < MOST_BEHIND {
            behind.push(address);
        }
        self.station_of.insert(address, station);
    }

    /// A packet whose addresses may be the same; `flow` and `role` are those that it is placed with.
    pub(crate) fn packet(
        &mut self,
        place: u32,
        pair: u32,
        dissection: &Dissection<'_>,
        kind: Kind,
        (flow, role): (Option<u32>, Option<Role>),
    ) {
        if let Some((address, destination)) = self.pairs.all.get(pair as usize).copied()
            && address == destination
        {
            // An answer that answers nothing known stands in the flow that it goes with.
            let flow = flow.filter(|_| role != Some(Role::Unpaired));
            self.one_address.packet(place, address, dissection, kind, flow);
        }
    }

    /// Tells the ends apart that have one address: from now on they have two, which read alike.
    pub(crate) fn part(&mut self, packets: &mut [Packet], flows: &mut [Flow]) {
        let told = std::mem::take(&mut self.one_address).told();
        let is_talker = |address: &u32| self.talkers.contains(address);
        let are_two = |(one, other): &&(u32, u32)| one != other && is_talker(one) && is_talker(other);
        let with_others: HashSet<u32> =
            self.pairs.all.iter().filter(are_two).flat_map(|(one, other)| [*one, *other]).collect();
        for (left, [left_name, right_name]) in told.names {
            // Who talks with others as well is more than the end of what the host tells itself.
            let left_name = if with_others.contains(&left) { String::new() } else { left_name };
            let right = self.addresses.all.len() as u32;
            let text = self.addresses.all.get(left as usize).cloned().unwrap_or_default();
            self.addresses.all.push(text);
            self.right_of.insert(left, right);
            if self.talkers.contains(&left) {
                self.talkers.insert(right);
            }
            self.names.extend([(left, left_name), (right, right_name)]);
        }
        let mut directions = told.directions.into_iter().peekable();
        let mut is_parted = HashSet::new();
        for (place, packet) in (0..).zip(packets) {
            let goes_right = directions.next_if(|(told, _)| *told == place).is_none_or(|(_, right)| right);
            let pair = self.pairs.all.get(packet.pair as usize).copied();
            let Some((left, right)) = pair
                .filter(|(source, destination)| source == destination)
                .and_then(|(address, _)| Some((address, *self.right_of.get(&address)?)))
            else {
                continue;
            };
            let pair = if goes_right { (left, right) } else { (right, left) };
            packet.pair = self.pairs.number(&pair);
            if let Some(number) = packet.flow.filter(|_| packet.kind != Kind::Congestion)
                && let Some(flow) = flows.get_mut(number as usize)
                && is_parted.insert(number)
            {
                let is_answer = packet.role == Some(Role::Response);
                flow.addresses = if is_answer { (pair.1, pair.0) } else { pair };
            }
        }
    }

    /// The line of the ladder for each address, and the names of the lines. Who does not talk RDMA stands with the only one
    /// behind the same Ethernet address who does: ARP and neighbour discovery with the host that they are for. `None` is
    /// everybody: groups and broadcasts.
    pub(crate) fn lines(&self) -> (Vec<Option<u32>>, Vec<String>) {
        let senders: HashSet<u32> = self.pairs.all.iter().map(|(source, _)| *source).collect();
        let mut names = Vec::new();
        let mut places: HashMap<u32, u32> = HashMap::new();
        let mut of_address = Vec::with_capacity(self.addresses.all.len());
        for (number, address) in (0..).zip(&self.addresses.all) {
            let host = self.host(number, address);
            let name = self.addresses.all.get(host as usize).unwrap_or(address);
            // Who sends is somebody, whatever the address.
            if is_group(name) && !senders.contains(&number) {
                of_address.push(None);
                continue;
            }
            if !places.contains_key(&host) {
                // Two ends with one address stand beside each other.
                for end in [Some(host), self.right_of.get(&host).copied()].into_iter().flatten() {
                    places.insert(end, names.len() as u32);
                    names.push(format!("{name}{}", self.names.get(&end).map_or("", String::as_str)));
                }
            }
            of_address.push(places.get(&host).copied());
        }
        (of_address, names)
    }

    fn host(&self, number: u32, address: &str) -> u32 {
        if self.talkers.contains(&number) || !is_of_link(address) {
            return number;
        }
        // An Ethernet address that only receives is no source of any packet.
        let station = self.station_of.get(&number).map_or(address, String::as_str);
        let behind = self.stations.get(station).into_iter().flatten();
        let text = |number: u32| self.addresses.all.get(number as usize).map_or("", String::as_str);
        // Behind a router's are many, and it is none of them.
        let mut hosts = behind.filter(|other| self.talkers.contains(other) || !is_of_link(text(**other)));
        match (hosts.next(), hosts.next()) {
            (Some(only), None) if self.talkers.contains(only) => *only,
            _ => number,
        }
    }
}

/// Whether an address means a host of this link only, which has others besides: of Ethernet, of IPv6 for the link, or that of
/// who has none yet.
fn is_of_link(address: &str) -> bool {
    match address.parse() {
        Ok(IpAddr::V4(ip)) => ip.is_unspecified(),
        Ok(IpAddr::V6(ip)) => ip.is_unspecified() || ip.is_unicast_link_local(),
        Err(_) => address.len() == ETHERNET_TEXT && address.split(':').count() == 6,
    }
}

/// Whether an address is a group's: of Ethernet, IPv4 or IPv6.
fn is_group(address: &str) -> bool {
    if let Ok(ip) = address.parse::<IpAddr>() {
        return ip.is_multicast() || ip == IpAddr::V4(Ipv4Addr::BROADCAST);
    }
    let first = address.split(':').next().filter(|_| address.len() == ETHERNET_TEXT);
    first.and_then(|first| u8::from_str_radix(first, 16).ok()).is_some_and(|first| first & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_known_by_their_addresses() {
        for group in ["224.0.0.1", "255.255.255.255", "ff02::1", "ff:ff:ff:ff:ff:ff", "33:33:00:00:00:01"] {
            assert!(is_group(group), "{group}");
        }
        for one in ["10.0.0.1", "fe80::1", "02:00:0a:00:00:01", "lid:0x0004", "?"] {
            assert!(!is_group(one), "{one}");
        }
    }

    #[test]
    fn what_a_host_has_besides_its_addresses_is_of_the_link() {
        for besides in ["fe80::1", "::", "0.0.0.0", "02:00:0a:00:00:01"] {
            assert!(is_of_link(besides), "{besides}");
        }
        for own in ["10.0.0.1", "127.0.0.1", "fd00::1", "lid:0x0004", "?", "::1"] {
            assert!(!is_of_link(own), "{own}");
        }
    }
}
