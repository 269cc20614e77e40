//! The flows of a capture: one direction of a connection each, of RoCE as `rdmalab-lint` follows them, or of TCP.

use std::collections::HashMap;

use rdmalab_lint::{FlowReport, Report};

use crate::kind::Kind;
use crate::model::Packet;

/// A flow.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    /// Its number in reports; TCP without iWARP has none.
    pub number: Option<u64>,
    /// The addresses of who sends its requests, or its bytes, and of who takes them.
    pub addresses: (u32, u32),
    /// The queue pair that its requests go to, or the port of TCP.
    pub to: Option<u32>,
    /// The one that they come from.
    pub from: Option<u32>,
    pub is_tcp: bool,
    /// The connection that it is of: the place of the first flow of it.
    pub connection: u32,
    /// Its row in the report: of flows, or of TCP, of streams.
    pub row: Option<usize>,
    pub packets: u64,
}

/// An address and a port of TCP there.
type Port = (u32, u16);

/// Flows as they come up.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    pub all: Vec<Flow>,
    by_number: HashMap<u64, u32>,
    by_ports: HashMap<(Port, Port), u32>,
}

impl Flows {
    /// The flow that a packet was placed in; what goes back is an answer, or notifies who sends the flow's packets.
    pub(crate) fn placed(
        &mut self,
        number: u64,
        goes_back: bool,
        (source, destination): (u32, u32),
        queue_pair: Option<u32>,
    ) -> u32 {
        let addresses = if goes_back { (destination, source) } else { (source, destination) };
        let to = queue_pair.filter(|_| !goes_back);
        let next = self.all.len() as u32;
        let place = *self.by_number.entry(number).or_insert(next);
        if place == next {
            self.add(Flow {
                number: Some(number),
                addresses,
                to,
                from: None,
                is_tcp: false,
                connection: place,
                row: None,
                packets: 0,
            });
        }
        self.count(place, to);
        place
    }

    /// The flow of a segment of TCP.
    pub(crate) fn of_segment(&mut self, addresses: (u32, u32), ports: [u16; 2]) -> u32 {
        let (from, to) = ((addresses.0, ports[0]), (addresses.1, ports[1]));
        let next = self.all.len() as u32;
        let place = *self.by_ports.entry((from, to)).or_insert(next);
        if place == next {
            let connection = self.by_ports.get(&(to, from)).copied().unwrap_or(place);
            self.add(Flow {
                number: None,
                addresses,
                to: Some(ports[1].into()),
                from: Some(ports[0].into()),
                is_tcp: true,
                connection,
                row: None,
                packets: 0,
            });
        }
        self.count(place, None);
        place
    }

    /// A direction of TCP has this number in reports. One that begins anew gets another; it is shown with the first.
    pub(crate) fn is_numbered(&mut self, place: u32, number: u64) {
        self.by_number.insert(number, place);
        if let Some(flow) = self.all.get_mut(place as usize) {
            flow.number = flow.number.or(Some(number));
        }
    }

    /// The place of a flow by its number in reports.
    pub(crate) fn numbered(&self, number: u64) -> Option<u32> {
        self.by_number.get(&number).copied()
    }

    /// Takes what only the end tells: which flows belong together, and their queue pairs.
    pub(crate) fn finish(mut self, report: &Report) -> Vec<Flow> {
        for (row, flow) in report.flows.iter().enumerate() {
            let Some(place) = self.numbered(flow.number) else { continue };
            let peer = flow.peer.and_then(|peer| self.numbered(peer));
            if let Some(known) = self.all.get_mut(place as usize) {
                known.take(row, flow, place, peer);
            }
        }
        for (row, stream) in report.streams.iter().enumerate() {
            let Some(place) = self.numbered(stream.number) else { continue };
            if let Some(known) = self.all.get_mut(place as usize) {
                known.row = Some(row);
            }
        }
        self.all
    }

    fn add(&mut self, flow: Flow) {
        self.all.push(flow);
    }

    fn count(&mut self, place: u32, to: Option<u32>) {
        if let Some(flow) = self.all.get_mut(place as usize) {
            flow.packets += 1;
            flow.to = flow.to.or(to);
        }
    }
}

/// Of notifications that came before anybody knew which queue pairs belong together, the flows whose senders they are for.
pub(crate) fn notify(packets: &mut [Packet], pairs: &[(u32, u32)], flows: &mut [Flow]) {
    let mut senders: HashMap<(u32, u32, u32), usize> = HashMap::new();
    for (place, flow) in flows.iter().enumerate().filter(|(_, flow)| !flow.is_tcp) {
        if let Some(pair) = flow.from {
            senders.entry((flow.addresses.0, pair, flow.addresses.1)).or_insert(place);
        }
    }
    let is_unknown = |packet: &&mut Packet| packet.kind == Kind::Congestion && packet.flow.is_none();
    for packet in packets.iter_mut().filter(is_unknown) {
        let ends = pairs.get(packet.pair as usize).zip(packet.queue_pair);
        let place = ends.and_then(|((from, to), pair)| senders.get(&(*to, pair, *from)).copied());
        if let Some((place, flow)) = place.and_then(|place| Some((place, flows.get_mut(place)?))) {
            flow.packets += 1;
            packet.flow = Some(place as u32);
        }
    }
}

impl Flow {
    fn take(&mut self, row: usize, report: &FlowReport, place: u32, peer: Option<u32>) {
        self.row = Some(row);
        self.to = Some(report.queue_pair.value());
        self.from = report.source_queue_pair.map(|pair| pair.value());
        self.connection = peer.map_or(place, |peer| peer.min(place));
    }
}
