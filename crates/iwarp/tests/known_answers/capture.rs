//! Who said what over iWARP in a capture.

use std::fs::File;
use std::net::IpAddr;
use std::path::Path;

use rdmalab_iwarp::Role;
use rdmalab_trace::{IwarpUnit, Network, Reader, Streams};
use rdmalab_wire::iwarp::{Header, MpaFrame};

/// A start-up frame or an FPDU.
pub struct Said {
    pub frame: u64,
    pub by: Role,
    pub what: What,
}

pub enum What {
    StartUp(Vec<u8>),
    Segment {
        ulpdu: Vec<u8>,
        /// As found.
        crc: u32,
        is_padded_by_zeros: bool,
    },
}

impl Said {
    /// The header, if it is a segment that has one.
    pub fn header(&self) -> Option<Header> {
        match &self.what {
            What::Segment { ulpdu, .. } => Header::parse(ulpdu).ok(),
            What::StartUp(_) => None,
        }
    }

    /// What is behind the header of a segment.
    pub fn payload(&self) -> &[u8] {
        match (&self.what, self.header()) {
            (What::Segment { ulpdu, .. }, Some(header)) => &ulpdu[header.length()..],
            _ => &[],
        }
    }
}

/// All that both sides of a TCP connection said, in the order in which it was complete.
pub struct Conversation {
    initiator: (IpAddr, u16),
    responder: (IpAddr, u16),
    pub said: Vec<Said>,
}

impl Conversation {
    /// The start-up frame of a side.
    pub fn start_up(&self, role: Role) -> MpaFrame<'_> {
        let frame = self.said.iter().find_map(|said| match &said.what {
            What::StartUp(bytes) if said.by == role => MpaFrame::parse(bytes).unwrap(),
            _ => None,
        });
        frame.unwrap().0
    }

    /// How many FPDUs have something else than zeros for their padding.
    pub fn bad_pads(&self) -> usize {
        let is_bad = |said: &&Said| matches!(said.what, What::Segment { is_padded_by_zeros: false, .. });
        self.said.iter().filter(is_bad).count()
    }
}

/// The connections of a capture that speak iWARP.
pub fn conversations(name: &str) -> Vec<Conversation> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pcaps").join(name).with_extension("pcap");
    let mut reader = Reader::new(File::open(path).unwrap()).unwrap();
    let mut streams = Streams::new();
    let mut found: Vec<Conversation> = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        let dissection = streams.dissect(&record);
        let Some((from, to)) = ends(&dissection.network, record.data) else { continue };
        for unit in dissection.iwarp {
            let what = match unit {
                IwarpUnit::StartUp(frame) => What::StartUp(frame.bytes().to_vec()),
                IwarpUnit::Fpdu(fpdu) => {
                    assert_eq!(fpdu.not_captured, 0, "{name}, frame {}", record.frame);
                    assert!(fpdu.markers.is_empty());
                    let is_padded_by_zeros = fpdu.pad.iter().all(|byte| *byte == 0);
                    What::Segment { ulpdu: fpdu.ulpdu, crc: fpdu.crc.found, is_padded_by_zeros }
                }
                IwarpUnit::Gap { bytes, .. } => {
                    panic!("{name}, frame {}: {bytes} bytes are missing", record.frame)
                }
            };
            let is_between = |known: &&mut Conversation| {
                let ends = [known.initiator, known.responder];
                ends.contains(&from) && ends.contains(&to)
            };
            let known = match found.iter_mut().find(is_between) {
                Some(known) => known,
                // Who speaks first is the initiator.
                None => {
                    found.push(Conversation { initiator: from, responder: to, said: Vec::new() });
                    found.last_mut().unwrap()
                }
            };
            let by = if from == known.initiator { Role::Initiator } else { Role::Responder };
            known.said.push(Said { frame: record.frame, by, what });
        }
    }
    found
}

/// Source and destination, of the packets that there are in these captures: Ethernet, IPv4 without options, TCP.
fn ends(network: &Option<Network>, frame: &[u8]) -> Option<((IpAddr, u16), (IpAddr, u16))> {
    let Some(Network::V4 { header, .. }) = network else { return None };
    let port = |at: usize| Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?));
    Some(((header.source.into(), port(34)?), (header.destination.into(), port(36)?)))
}
