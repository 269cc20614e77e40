//! Captures in which nobody does wrong: of real peers, and crafted ones.

use std::fs;
use std::path::Path;

use rdmalab_craft::{Limits, Spec, craft};
use rdmalab_lint::{Report, RuleId, lint};
use rdmalab_trace::{Entry, LinkType, Reader, Writer};

#[path = "../rules/conversations.rs"]
mod conversations;

/// One packet of a capture.
#[derive(Clone)]
pub struct Packet {
    pub time: u64,
    pub link: LinkType,
    /// Bytes on the wire; more than `data` if cut.
    pub length: usize,
    pub data: Vec<u8>,
}

/// A capture, and what its peers are known to break.
pub struct Sound {
    pub name: String,
    pub packets: Vec<Packet>,
    pub known: &'static [RuleId],
}

/// siw's sends as soon as its application posts (docs/SIW.md).
const KNOWN: [(&str, &[RuleId]); 1] = [("siw_rstream", &[RuleId::MpaFirst])];

/// Headers that no other conversation has.
const HEADERS: &str = r#"
packet = [
    { opcode = "RC_SEND_ONLY_IMM", payload = { length = 8 } },
    { opcode = "RC_SEND_ONLY_INV", payload = { length = 8 } },
    { opcode = "RC_WRITE_ONLY_IMM", reth = { length = 8 }, payload = { length = 8 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 2 }, aeth = { msn = 3 } },
    { opcode = "RC_FLUSH" },
    { opcode = "RC_READ_RESPONSE_ONLY", reply = true, bth = { psn = 3 }, aeth = { msn = 4 } },
    { opcode = "RC_ATOMIC_WRITE", reth = { length = 8 } },
    { opcode = "RC_READ_RESPONSE_ONLY", reply = true, bth = { psn = 4 }, aeth = { msn = 5 } },
    { opcode = "XRC_SEND_ONLY", payload = { length = 8 } },
    { opcode = "RD_SEND_ONLY", payload = { length = 8 } },
]
"#;

const CRAFTED: [(&str, &str); 24] = [
    ("HEADERS", HEADERS),
    ("ORDINARY", conversations::ORDINARY),
    ("IPV6", conversations::IPV6),
    ("NATIVE", conversations::NATIVE),
    ("LOST", conversations::LOST),
    ("NOT_READY", conversations::NOT_READY),
    ("READ_AGAIN", conversations::READ_AGAIN),
    ("ATOMIC_AGAIN", conversations::ATOMIC_AGAIN),
    ("PATIENT", conversations::PATIENT),
    ("CREDITED", conversations::CREDITED),
    ("SENDS", conversations::SENDS),
    ("CONGESTED", conversations::CONGESTED),
    ("CALLED_TWICE", conversations::CALLED_TWICE),
    ("READS_AT_ONCE", conversations::READS_AT_ONCE),
    ("CALLED_AGAIN", conversations::CALLED_AGAIN),
    ("REJECTED", conversations::REJECTED),
    ("FOUND", conversations::FOUND),
    ("NOT_READY_CALLED", conversations::NOT_READY_CALLED),
    ("CREDITED_CALLED", conversations::CREDITED_CALLED),
    ("ASKED", conversations::ASKED),
    ("RECURRING", conversations::RECURRING),
    ("MIGRATED", conversations::MIGRATED),
    ("AGAIN_FROM_THE_FIRST", conversations::AGAIN_FROM_THE_FIRST),
    ("COUNTED", conversations::COUNTED),
];

const FEW: Limits = Limits { packets: 1_000, bytes: 1 << 20 };

/// Captures of real peers.
pub fn of_real_peers() -> Vec<Sound> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pcaps");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "pcap"));
    paths.sort();
    let sound = |path: &Path| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let known = KNOWN.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, rules)| rules);
        Sound { packets: packets(&fs::read(path).unwrap()), known, name }
    };
    paths.iter().map(|path| sound(path)).collect()
}

/// Crafted ones: each feature once.
pub fn crafted() -> Vec<Sound> {
    CRAFTED
        .iter()
        .map(|(name, spec)| {
            let mut packets = Vec::new();
            craft(&Spec::parse(spec).unwrap(), FEW, &mut |frame| {
                packets.push(Packet {
                    time: frame.time,
                    link: frame.link_type,
                    length: frame.data.len(),
                    data: frame.data.to_vec(),
                });
                Ok(())
            })
            .unwrap();
            Sound { name: (*name).to_owned(), packets, known: &[] }
        })
        .collect()
}

fn packets(file: &[u8]) -> Vec<Packet> {
    let mut reader = Reader::new(file).unwrap();
    let mut packets = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        packets.push(Packet {
            time: record.time.unwrap() as u64,
            link: record.link_type,
            length: record.data.len(),
            data: record.data.to_vec(),
        });
    }
    packets
}

/// What is found in a capture of these packets.
pub fn judge(packets: &[Packet]) -> Report {
    lint(&file(packets)[..], &mut ()).unwrap()
}

/// A capture of these packets.
pub fn file(packets: &[Packet]) -> Vec<u8> {
    let mut file = Writer::new(Vec::new()).unwrap();
    let mut interface = None;
    for packet in packets {
        let link = packet.link;
        let id = match interface {
            Some((known, id)) if known == link => id,
            _ => file.interface_of("eth0", link).unwrap(),
        };
        interface = Some((link, id));
        let entry = Entry::new(id, packet.time, &packet.data);
        file.write(entry.original_length(packet.length as u32)).unwrap();
    }
    file.finish().unwrap()
}
