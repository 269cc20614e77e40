//! Field by field against Wireshark: everything it names in every MAD of the captures and of some crafted ones,
//! by name, value and offset, and nothing that it does not name. `wireshark.txt` says how its side was made.

use std::net::Ipv4Addr;

use rdmalab_wire::RawMad;

use crate::mads;

/// One field as Wireshark has it.
#[derive(Debug)]
struct Seen {
    offset: usize,
    name: &'static str,
    value: &'static str,
}

struct Dissected {
    title: String,
    bytes: Vec<u8>,
    fields: Vec<Seen>,
}

fn dissected() -> Vec<Dissected> {
    let mut packets: Vec<Dissected> = Vec::new();
    for line in include_str!("wireshark.txt").lines().filter(|line| !line.starts_with('#')) {
        let (first, rest) = line.split_once(' ').unwrap();
        if first == "packet" {
            let (capture, frame) = rest.split_once(' ').unwrap();
            let frame: usize = frame.parse().unwrap();
            let bytes = match capture {
                "crafted" => Vec::new(),
                _ => mads(capture).into_iter().find(|(number, _)| *number == frame).unwrap().1,
            };
            packets.push(Dissected { title: rest.into(), bytes, fields: Vec::new() });
            continue;
        }
        let packet = packets.last_mut().unwrap();
        if first == "bytes" {
            let byte = |at| u8::from_str_radix(&rest[at..at + 2], 16).unwrap();
            packet.bytes = (0..rest.len()).step_by(2).map(byte).collect();
        } else {
            let (name, value) = rest.split_once(' ').unwrap();
            packet.fields.push(Seen { offset: first.parse().unwrap(), name, value });
        }
    }
    packets
}

/// Where Wireshark 4.0 differs, what it says.
///
/// * Of the 32 bits of flow label, reserved and packet rate it reads the flow label from the first 24, so that
///   four bits are missing, and the two others from the first eight.
/// * Of the six reserved bits behind the rejected message it shows two.
/// * Whether a GID is an IPv4 address it asks the packet's IP header, not the GID.
fn differs(seen: &Seen, bytes: &[u8]) -> Option<String> {
    if seen.name == "infiniband.cm.rej.reserved0" {
        return Some(format!("{:#04x}", bytes[seen.offset] & 0x03));
    }
    let (_, name) = seen.name.strip_prefix("infiniband.cm.req.")?.split_once('_')?;
    let word = bytes.get(seen.offset..seen.offset + 4)?;
    let value = match name {
        "flowlabel" => u32::from_be_bytes([0, word[0], word[1], word[2]]) >> 8 >> 4,
        "reserved0" => u32::from(word[0]) >> 6,
        "pktrate" => u32::from(word[0]) & 0x3f,
        "localgid_ipv4" | "remotegid_ipv4" if bytes[seen.offset - 2..seen.offset] != [0xff, 0xff] => {
            return Some(Ipv4Addr::from_octets(word.try_into().unwrap()).to_string());
        }
        _ => return None,
    };
    Some(format!("{value:#010x}"))
}

#[test]
fn every_field_has_wiresharks_name_value_and_offset() {
    let (mut packets, mut same, mut different) = (0, 0, 0);
    for packet in dissected() {
        let mad = RawMad::parse(&packet.bytes);
        assert_eq!(mad.error, None);
        let mut ours = Vec::new();
        for group in mad.field_groups() {
            for field in group.fields.iter().filter(|field| field.known_to_wireshark) {
                let (name, text) = field.text(&packet.bytes[group.base..]).unwrap();
                // An IPv4 address in a GID begins behind the GID's first bytes.
                let offset = group.base + field.byte + if name.ends_with("gid_ipv4") { 12 } else { 0 };
                ours.push((offset, name, text.to_string()));
            }
        }
        for seen in &packet.fields {
            let index = if let Some(theirs) = differs(seen, &packet.bytes) {
                assert_eq!(theirs, seen.value, "{}: {seen:?}", packet.title);
                different += 1;
                let name = seen.name.trim_end_matches("_ipv4");
                ours.iter().position(|(_, ours, _)| *ours == name)
            } else {
                same += 1;
                let theirs = (seen.offset, seen.name, seen.value);
                ours.iter().position(|(offset, name, text)| (*offset, *name, text.as_str()) == theirs)
            };
            let index = index.unwrap_or_else(|| panic!("{}: {seen:?} is not among {ours:?}", packet.title));
            ours.remove(index);
        }
        // The data as a whole are not in the list; they would only repeat the fields.
        assert_eq!(ours.iter().map(|(_, name, _)| *name).collect::<Vec<_>>(), ["infiniband.mad.data"]);
        packets += 1;
    }
    assert_eq!((packets, same, different), (45, 1281, 78));
}
