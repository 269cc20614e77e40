//! What can be overheard of a host: its queue pairs, who talks to them, and where they are in their conversations.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;

use rdmalab_trace::Reader;
use rdmalab_wire::{Datagram, Frame, RawPacket};

/// Packets that are listened to at most, and for how many seconds: long enough for those who say little.
const PACKETS: &str = "100000";
const SECONDS: &str = "2.5";

/// One queue pair of the host.
#[derive(Debug, Clone, Copy)]
pub struct Flow {
    pub peer: Ipv4Addr,
    pub queue_pair: u32,
    /// The last PSN that came to it.
    pub psn: u32,
    /// A key of the host's that the peer has used, and where; 0 if none was.
    pub key: u32,
    pub address: u64,
}

/// Listens for a while to what comes to `target`.
pub fn overhear(interface: &str, target: Ipv4Addr) -> Result<Vec<Flow>, String> {
    let filter = format!("udp port 4791 and dst host {target}");
    let said = Command::new("timeout")
        .args([SECONDS, "tcpdump", "-i", interface, "-c", PACKETS, "-s0", "-U", "-w-", "-Z", "root", &filter])
        .output()
        .map_err(|error| format!("tcpdump: {error}"))?;
    let mut flows = BTreeMap::new();
    for (source, ib) in packets(&said.stdout) {
        let raw = RawPacket::parse(&ib);
        let (Some(bth), Some(IpAddr::V4(peer))) = (raw.bth, source) else { continue };
        let queue_pair = bth.destination.value();
        let new = Flow { peer, queue_pair, psn: 0, key: 0, address: 0 };
        let flow = flows.entry((peer, queue_pair)).or_insert(new);
        flow.psn = bth.psn.value();
        if let Some(reth) = raw.headers.reth {
            (flow.key, flow.address) = (reth.key.value(), reth.virtual_address);
        }
    }
    Ok(flows.into_values().collect())
}

/// The RoCE packets of a capture, as far as it can be read: from whom, and the InfiniBand packet to the end of its padding.
pub fn packets(capture: &[u8]) -> impl Iterator<Item = (Option<IpAddr>, Vec<u8>)> {
    let mut reader = Reader::new(capture).ok();
    std::iter::from_fn(move || {
        loop {
            let record = reader.as_mut()?.next().ok()??;
            if let Some(found) = roce(record.data) {
                return Some(found);
            }
        }
    })
}

fn roce(frame: &[u8]) -> Option<(Option<IpAddr>, Vec<u8>)> {
    let network = Frame::parse(frame).ok()?.network;
    let datagram = Datagram::parse(network).ok()?;
    let source = network.get(12..16).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
    let is_v4 = network.first().is_some_and(|byte| byte >> 4 == 4);
    let covered = datagram.ib.len().checked_sub(4)?;
    Some((source.filter(|_| is_v4).map(IpAddr::from), datagram.ib.get(..covered)?.to_vec()))
}
