//! A conversation from a description, one packet of which may be changed.

use rdmalab_craft::trace::LinkType;
use rdmalab_craft::wire::{Address, Carried, Carrier, Frame as EthernetFrame, Mad};
use rdmalab_craft::{Capture, Ethernet, Exceptions, Frame, Limits, Packet, Payload, Spec, craft};
use rdmalab_lint::{Report, lint};

const FEW: Limits = Limits { packets: 10_000, bytes: 1 << 24 };

/// The first IP identification of a host, which counts what it sends; each further host begins so much further.
const FIRST_IDENTIFICATION: u16 = 1_000;

/// One packet, and when.
#[derive(Clone)]
pub struct Said {
    pub time: u64,
    pub packet: Packet,
    pub link: LinkType,
}

/// The packets of a description, as they can be changed and written again.
pub fn talk(spec: &str) -> Vec<Said> {
    let spec = Spec::parse(spec).unwrap_or_else(|error| panic!("{error}\n{spec}"));
    let mut talk = Vec::new();
    craft(&spec, FEW, &mut |frame| {
        talk.push(said(frame));
        Ok(())
    })
    .unwrap();
    number(&mut talk);
    talk
}

/// Gives packets the identifications of hosts that count what they send.
pub fn number(talk: &mut [Said]) {
    let mut hosts: Vec<(Address, u16)> = Vec::new();
    for said in talk {
        let host = said.packet.carrier.source();
        let at = hosts.iter().position(|(other, _)| *other == host).unwrap_or(hosts.len());
        if at == hosts.len() {
            hosts.push((host, FIRST_IDENTIFICATION * (at as u16 + 1)));
        }
        if let Carrier::RoceV2Ipv4(ip, _) = &mut said.packet.carrier {
            ip.identification = hosts[at].1;
        }
        hosts[at].1 += 1;
    }
}

fn said(frame: &Frame<'_>) -> Said {
    let (carried, ethernet) = match frame.link_type {
        LinkType::ETHERNET => {
            let outer = EthernetFrame::parse(frame.data).unwrap();
            let header = rdmalab_craft::wire::EthernetHeader::decode(frame.data.first_chunk().unwrap());
            let vlan = outer.vlan.iter().flatten().copied().collect();
            let ethernet = Ethernet {
                source: header.source,
                destination: header.destination,
                vlan,
                ..Ethernet::default()
            };
            (Carried::in_frame(&outer).unwrap().unwrap(), Some(ethernet))
        }
        _ => (Carried::in_link_packet(frame.data).unwrap().unwrap(), None),
    };
    let found = carried.packet();
    let packet = Packet {
        ethernet,
        carrier: carried.carrier,
        opcode: found.opcode.unwrap(),
        bth: found.bth.unwrap(),
        headers: found.headers,
        payload: Payload::of(found.payload),
        exceptions: Exceptions::default(),
    };
    Said { time: frame.time, packet, link: frame.link_type }
}

/// A capture of a conversation.
pub fn capture(talk: &[Said]) -> Vec<u8> {
    let mut capture = Capture::pcapng(Vec::new()).unwrap();
    let mut bytes = Vec::new();
    for said in talk {
        said.packet.encode(&mut bytes).unwrap();
        capture.write(&Frame::new(said.time, said.link, &bytes)).unwrap();
    }
    capture.finish().unwrap()
}

/// What is found in a conversation.
pub fn judge(talk: &[Said]) -> Report {
    lint(&capture(talk)[..], &mut ()).unwrap()
}

impl Said {
    /// Its payload as bytes.
    pub fn payload(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let headers = self.packet.encode(&mut bytes).map(|()| {
            let carried_behind = if self.packet.ethernet.is_some() { 14 } else { 0 };
            let vlan = self.packet.ethernet.as_ref().map_or(0, |ethernet| 4 * ethernet.vlan.len());
            carried_behind
                + vlan
                + self.packet.carrier.header_length()
                + 12
                + self.packet.headers.set().length()
        });
        bytes[headers.unwrap()..][..self.packet.payload.length()].to_vec()
    }

    /// Changes bytes of its management datagram.
    pub fn change_mad(&mut self, at: usize, byte: u8) {
        let mut mad = self.payload();
        assert_eq!(mad.len(), Mad::LENGTH);
        assert_ne!(mad[at], byte, "nothing changes");
        mad[at] = byte;
        self.packet.payload = Payload::Bytes(mad);
    }

    /// Flips a bit of the first payload byte.
    pub fn change_payload(&mut self) {
        let mut bytes = self.payload();
        bytes[0] ^= 1;
        self.packet.payload = Payload::Bytes(bytes);
    }
}
