//! The messages of connection management in a capture, in order.

use std::fs::File;
use std::net::IpAddr;
use std::path::Path;

use rdmalab_trace::Reader;
use rdmalab_wire::mad::CmMad;
use rdmalab_wire::{Datagram, Mad, Packet, Qpn, roce_v2};

pub struct Heard {
    pub frame: u64,
    pub source: IpAddr,
    pub destination: IpAddr,
    pub mad: CmMad,
}

pub fn messages(name: &str) -> Vec<Heard> {
    let mut found = Vec::new();
    each_packet(name, |frame, _, datagram, packet| {
        if packet.bth.destination != Qpn::GSI {
            return;
        }
        let Mad::Cm(mad) = Mad::parse(packet.payload).unwrap() else { panic!("frame {frame}") };
        found.push(Heard { frame, source: datagram.source, destination: datagram.destination, mad });
    });
    found
}

/// The UDP source ports of one host's packets that are not the management's.
pub fn source_ports(name: &str, host: IpAddr) -> Vec<u16> {
    let mut found = Vec::new();
    each_packet(name, |_, network, datagram, packet| {
        if packet.bth.destination != Qpn::GSI && datagram.source == host {
            let udp = if host.is_ipv4() { 20 } else { 40 };
            found.push(u16::from_be_bytes([network[udp], network[udp + 1]]));
        }
    });
    found.sort_unstable();
    found.dedup();
    found
}

fn each_packet(name: &str, mut act: impl FnMut(u64, &[u8], &Datagram<'_>, &Packet<'_>)) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pcaps").join(name).with_extension("pcap");
    let mut reader = Reader::new(File::open(path).unwrap()).unwrap();
    while let Some(record) = reader.next().unwrap() {
        let Some(network) = roce_v2(record.data) else { continue };
        let datagram = Datagram::parse(network).unwrap();
        act(record.frame, network, &datagram, &Packet::parse(datagram.ib).unwrap());
    }
}
