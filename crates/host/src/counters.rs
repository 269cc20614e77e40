//! What a host has counted: frames by what became of them, and what it gave up on.

use core::fmt;

/// Why a received frame was dropped. Each has a counter in [`Counters`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// Shorter than its headers, or a length, version or IPv4 header checksum that is wrong; ARP that is not for IPv4
    /// over Ethernet; neighbour discovery that breaks a rule of RFC 4861 §7.1.
    Malformed,
    /// For another station, or a group we are not in.
    OtherStation,
    /// It carries our own MAC as its source: a loop, or somebody with our address.
    FromOurselves,
    /// It belongs to another VLAN, or to none while the host is in one, or to one while the host is in none.
    OtherVlan,
    /// Neither IPv4, IPv6 nor ARP.
    UnknownProtocol,
    /// The IP destination is not ours.
    OtherAddress,
    /// The IP source is none another host can have: ours, a group, broadcast, loopback or unspecified.
    BadSource,
    /// An IP fragment. Nothing is put together again: TCP does not fragment, RoCE must not.
    Fragment,
    /// Of no use to this host: neighbour discovery by routers, redirects, IPv6 hop-by-hop options, and a TCP SYN that
    /// crosses our own.
    Ignored,
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "malformed",
            Self::OtherStation => "for another station",
            Self::FromOurselves => "from our own MAC",
            Self::OtherVlan => "of another VLAN",
            Self::UnknownProtocol => "unknown protocol",
            Self::OtherAddress => "for another address",
            Self::BadSource => "impossible source address",
            Self::Fragment => "IP fragment",
            Self::Ignored => "of no use to a host",
        })
    }
}

/// Counts since the start; they wrap around never in practice (64 bits).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames handed in.
    pub received: u64,
    /// Of these, RoCE v2 packets handed on.
    pub received_roce: u64,
    /// Of these, ARP and neighbour discovery packets looked at.
    pub received_neighbour: u64,
    /// Of these, questions about multicast groups (IGMP, MLD).
    pub received_queries: u64,
    /// Of these, packets given to the IP stack (ICMP, TCP, anything unknown that is for us).
    pub received_ip: u64,
    /// Dropped: [`DropReason::Malformed`].
    pub malformed: u64,
    /// Dropped: [`DropReason::OtherStation`].
    pub other_station: u64,
    /// Dropped: [`DropReason::FromOurselves`].
    pub from_ourselves: u64,
    /// Dropped: [`DropReason::OtherVlan`].
    pub other_vlan: u64,
    /// Dropped: [`DropReason::UnknownProtocol`].
    pub unknown_protocol: u64,
    /// Dropped: [`DropReason::OtherAddress`].
    pub other_address: u64,
    /// Dropped: [`DropReason::BadSource`].
    pub bad_source: u64,
    /// Dropped: [`DropReason::Fragment`].
    pub fragments: u64,
    /// Dropped: [`DropReason::Ignored`].
    pub ignored: u64,
    /// ARP or neighbour discovery packets in which another station claims one of our addresses.
    pub address_conflicts: u64,
    /// Times a known neighbour's MAC changed.
    pub neighbours_changed: u64,
    /// Neighbours that answered none of our questions.
    pub neighbours_failed: u64,
    /// Packets thrown away before they were sent: neighbour silent, no route, queue full.
    pub unsent: u64,
    /// Replies (ICMP, TCP, ARP, NDP) thrown away because nobody took frames out.
    pub replies_dropped: u64,
}

impl Counters {
    pub(crate) fn count(&mut self, reason: DropReason) {
        *match reason {
            DropReason::Malformed => &mut self.malformed,
            DropReason::OtherStation => &mut self.other_station,
            DropReason::FromOurselves => &mut self.from_ourselves,
            DropReason::OtherVlan => &mut self.other_vlan,
            DropReason::UnknownProtocol => &mut self.unknown_protocol,
            DropReason::OtherAddress => &mut self.other_address,
            DropReason::BadSource => &mut self.bad_source,
            DropReason::Fragment => &mut self.fragments,
            DropReason::Ignored => &mut self.ignored,
        } += 1;
    }

    /// All frames dropped on receipt, for whatever reason.
    pub fn dropped(&self) -> u64 {
        self.malformed
            + self.other_station
            + self.from_ourselves
            + self.other_vlan
            + self.unknown_protocol
            + self.other_address
            + self.bad_source
            + self.fragments
            + self.ignored
    }
}
