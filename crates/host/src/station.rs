//! The host as a station of its link: its MAC address, its VLAN, and the Ethernet header of what it sends.
//!
//! Pure; nothing changes after the start. Packets have [`headroom`](Station::headroom) free bytes in front, exactly what
//! the header takes.

use rdmalab_wire::ethernet::ETHERTYPE_VLAN;
use rdmalab_wire::{EthernetAddress, EthernetHeader, VlanTag};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Station {
    pub(crate) mac: EthernetAddress,
    vlan: Option<VlanTag>,
}

impl Station {
    pub(crate) fn new(mac: EthernetAddress, vlan: Option<VlanTag>) -> Self {
        Self { mac, vlan }
    }

    /// Bytes in front of an IP packet: the Ethernet header, and the tag if there is one.
    pub(crate) fn headroom(&self) -> usize {
        EthernetHeader::LENGTH + if self.vlan.is_some() { VlanTag::LENGTH } else { 0 }
    }

    /// Whether a frame with this VLAN identifier (0: none, perhaps a tag that only tells a priority) is for a station of
    /// our VLAN.
    pub(crate) fn is_in(&self, vlan: u16) -> bool {
        self.vlan.map_or(0, |own| own.id) == vlan
    }

    /// Writes the header into the first bytes of `frame`.
    pub(crate) fn address(&self, frame: &mut [u8], to: EthernetAddress, ethertype: u16) {
        let header = |ethertype| EthernetHeader { destination: to, source: self.mac, ethertype }.encode();
        let Some((first, rest)) = frame.split_first_chunk_mut() else { return };
        match self.vlan {
            None => *first = header(ethertype),
            Some(tag) => {
                *first = header(ETHERTYPE_VLAN);
                if let Some(place) = rest.first_chunk_mut() {
                    *place = tag.encode(ethertype);
                }
            }
        }
    }
}
