//! `FIELDS.md` against the code: every name of ours that a packet can have is listed there, and every listed one exists.

#[path = "support/crafted.rs"]
#[allow(dead_code)]
mod crafted;
#[path = "support/frames.rs"]
#[allow(dead_code)]
mod frames;

use std::collections::BTreeSet;

use crafted::{
    Side, carried, ethernet, every_segment, fpdus, grh, infiniband, opcodes, opening, said, start_up,
};
use frames::{capture, hex};
use rdmalab_trace::{DumpOptions, LinkType, dump};
use rdmalab_wire::Carrier;
use rdmalab_wire::iwarp::{Framing, MpaKind};
use serde_json::Value;

/// The names of an object, and of the objects within.
fn names(value: &Value, all: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => object.iter().for_each(|(name, value)| {
            all.insert(name.clone());
            names(value, all);
        }),
        Value::Array(values) => values.iter().for_each(|value| names(value, all)),
        _ => {}
    }
}

fn names_in(file: &[u8], all: &mut BTreeSet<String>) {
    let mut out = Vec::new();
    dump(file, &mut out, DumpOptions { json: true, ..DumpOptions::default() }).unwrap();
    for line in out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        names(&serde_json::from_slice(line).unwrap(), all);
    }
}

/// Packets with all that there is, right and wrong.
fn packets() -> Vec<Vec<u8>> {
    let [v4, _] = crafted::roce_v2();
    let mut packets: Vec<Vec<u8>> =
        opcodes().map(|row| ethernet(0x0800, &carried(v4, &infiniband(row)))).collect();
    let mut wrong = packets[0].clone();
    *wrong.last_mut().unwrap() ^= 1;
    packets.push(wrong);
    packets.extend(crafted::management().map(|packet| ethernet(0x0800, &carried(v4, &packet))));
    let longer = [crafted::management().next().unwrap(), vec![0; 4]].concat();
    packets.push(ethernet(0x0800, &carried(v4, &longer)));
    packets.push([&packets[0][..12], &hex("88a8 6005 8100 2006"), &packets[0][12..]].concat());
    packets.push([&packets[0][..12], &hex("9100 6005 8100 2006 8100 2007"), &packets[0][12..]].concat());
    packets.push(ethernet(0x0800, &hex("45")));
    // The markers of the first connection are wrong, the CRC of the second.
    for (port, damage) in [(40_000, 515), (40_001, 100)] {
        let framing = Framing { markers: true, crc: true };
        let mut request = start_up(MpaKind::Request, true, true);
        // Revision 2 with what it adds.
        request[16] |= 0x10;
        request[17] = 2;
        request[19] = 4;
        request.extend([0, 0]);
        packets.extend(opening(port));
        packets.push(said(Side::Initiator, port, 0, &request));
        packets.push(said(Side::Responder, port, 0, &start_up(MpaKind::Reply, true, true)));
        let mut stream = fpdus(&every_segment(), framing).concat();
        stream[damage] ^= 0x40;
        packets.push(said(Side::Initiator, port, request.len(), &stream));
        // Bytes are missing, and the responder has them.
        let at = request.len() + stream.len();
        packets.push(said(Side::Initiator, port, at + 10, b"x"));
        let all = crafted::FIRST[0].wrapping_add(1).wrapping_add(at as u32 + 11);
        packets.push(crafted::segment(Side::Responder, port, crafted::ACK, 1023, all, &[]));
        packets.push(said(Side::Initiator, port, at + 11, b"x"));
    }
    packets
}

#[test]
fn every_name_of_ours_is_listed_and_every_listed_one_exists() {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(format!("{}/../../pcaps", env!("CARGO_MANIFEST_DIR"))).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "pcap") {
            names_in(&std::fs::read(path).unwrap(), &mut found);
        }
    }
    let packets = packets();
    names_in(&capture(LinkType::ETHERNET, packets.iter().map(Vec::as_slice)), &mut found);
    let mut native = carried(Carrier::native(4, 5).with_grh(grh()), &packets[0][42..packets[0].len() - 4]);
    *native.last_mut().unwrap() ^= 1;
    names_in(&capture(LinkType::INFINIBAND, [&native[..]]), &mut found);
    let mut writer = rdmalab_trace::Writer::new(Vec::new()).unwrap();
    let interface = writer.interface("x").unwrap();
    writer.write(rdmalab_trace::Entry::new(interface, 0, &packets[0][..60]).original_length(70)).unwrap();
    writer.write(rdmalab_trace::Entry::new(interface, 0, &packets[0][..30]).original_length(70)).unwrap();
    names_in(&writer.finish().unwrap(), &mut found);

    let listed: Vec<&str> = include_str!("../FIELDS.md")
        .lines()
        .filter(|line| line.starts_with("| `"))
        .flat_map(|line| line.split('|').nth(1).unwrap().split(','))
        .map(|name| name.trim().trim_matches('`'))
        .collect();
    let fits = |listed: &str, name: &str| {
        listed.strip_suffix('*').map_or(listed == name, |front| name.starts_with(front))
    };
    let unlisted: Vec<&String> = found
        .iter()
        .filter(|name| name.starts_with("rdmalab.") && !listed.iter().any(|listed| fits(listed, name)))
        .collect();
    assert!(unlisted.is_empty(), "{unlisted:?}");
    let missing: Vec<&&str> =
        listed.iter().filter(|listed| !found.iter().any(|name| fits(listed, name))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
