//! Who asked whom what in a capture, and what the answers were.

use std::fs::File;
use std::net::IpAddr;
use std::path::Path;

use rdmalab_trace::Reader;
use rdmalab_wire::{Datagram, NakCode, Packet, Qpn, Syndrome, Transport, roce_v2};

/// A packet from its IP header on, and where it stands in the capture.
pub struct Heard {
    pub frame: u64,
    pub bytes: Vec<u8>,
}

impl Heard {
    pub fn datagram(&self) -> Datagram<'_> {
        Datagram::parse(&self.bytes).unwrap()
    }

    pub fn packet(&self) -> Packet<'_> {
        Packet::parse(self.datagram().ib).unwrap()
    }

    pub fn syndrome(&self) -> Option<Syndrome> {
        self.packet().body.aeth().map(|aeth| aeth.syndrome)
    }

    pub fn is_sequence_nak(&self) -> bool {
        self.syndrome() == Some(Syndrome::Nak(NakCode::PsnSequenceError))
    }
}

/// One side's requests to the other, and the other's answers, each in the order of the capture.
pub struct Conversation {
    pub requester: IpAddr,
    pub responder: IpAddr,
    /// The queue pair of both: rxe numbers them alike on both hosts, and so no capture needs two numbers.
    pub queue_pair: Qpn,
    pub requests: Vec<Heard>,
    pub answers: Vec<Heard>,
}

/// One direction of an unreliable flow: what one side sends to a queue pair of the other.
pub struct Flow {
    pub sender: IpAddr,
    pub receiver: IpAddr,
    /// Of both, as above.
    pub queue_pair: Qpn,
    pub packets: Vec<Heard>,
}

/// All RoCE v2 packets of a capture.
fn packets(name: &str) -> Vec<Heard> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pcaps").join(name).with_extension("pcap");
    let mut reader = Reader::new(File::open(path).unwrap()).unwrap();
    let mut found = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        let Some(network) = roce_v2(record.data) else { continue };
        let heard = Heard { frame: record.frame, bytes: network.to_vec() };
        heard.datagram().verify_icrc().unwrap();
        found.push(heard);
    }
    found
}

/// The reliable connections in a capture, once for each side that asks.
pub fn conversations(name: &str) -> Vec<Conversation> {
    let mut found: Vec<Conversation> = Vec::new();
    for heard in packets(name) {
        let datagram = heard.datagram();
        let packet = heard.packet();
        if packet.transport != Transport::Rc {
            continue;
        }
        let is_answer = packet.body.is_response();
        let (from, to) = (datagram.source, datagram.destination);
        let (requester, responder) = if is_answer { (to, from) } else { (from, to) };
        let queue_pair = packet.bth.destination;
        let same = |other: &Conversation| other.requester == requester && other.queue_pair == queue_pair;
        let place = found.iter().position(same).unwrap_or_else(|| {
            found.push(Conversation {
                requester,
                responder,
                queue_pair,
                requests: Vec::new(),
                answers: Vec::new(),
            });
            found.len() - 1
        });
        let conversation = &mut found[place];
        if is_answer { &mut conversation.answers } else { &mut conversation.requests }.push(heard);
    }
    found
}

/// The packets of a capture that belong to no reliable connection, by who sent them to which queue pair.
pub fn flows(name: &str) -> Vec<Flow> {
    let mut found: Vec<Flow> = Vec::new();
    for heard in packets(name) {
        let (sender, receiver) = (heard.datagram().source, heard.datagram().destination);
        let packet = heard.packet();
        if packet.transport == Transport::Rc {
            continue;
        }
        let queue_pair = packet.bth.destination;
        match found.iter_mut().find(|flow| flow.sender == sender && flow.queue_pair == queue_pair) {
            Some(flow) => flow.packets.push(heard),
            None => found.push(Flow { sender, receiver, queue_pair, packets: vec![heard] }),
        }
    }
    found
}
