//! Wireshark as judge of the JSON: each of our fields that has one of its names has its value too.

#[path = "support/frames.rs"]
mod frames;
#[path = "support/tshark.rs"]
mod tshark;

use std::collections::BTreeMap;
use std::path::Path;

use frames::hex;
use rdmalab_trace::{Direction, DumpOptions, Entry, Reader, Writer, dump};
use serde_json::Value;

/// Captures with every header there is, small enough to compare whole.
const CAPTURES: [&str; 12] = [
    "atomic_cs",
    "atomic_fa",
    "hardware",
    "rc_pingpong",
    "rc_pingpong_v6",
    "rping",
    "rping_v6",
    "rstream",
    "siw_rping",
    "ud_pingpong",
    "udaddy",
    "write_bw_cm",
];

/// Capture, frame and field where the two differ, and why.
const DIFFERENCES: [(&str, u64, &str, &str); 1] = [(
    "hardware",
    1,
    "infiniband.invariant.crc",
    "Wireshark 4.0 knows CNP by the opcode 0x80 and calls 0x81 unknown, so that it looks for no ICRC",
)];

/// Fields that Wireshark 4.0 misreads: the same only by chance.
const MAY_DIFFER: [(&str, &str); 7] = [
    ("infiniband.cm.req.prim_flowlabel", "read from 24 bits, so that four are missing"),
    ("infiniband.cm.req.prim_reserved0", "read from the flow label's first byte"),
    ("infiniband.cm.req.prim_pktrate", "read from the flow label's first byte"),
    ("infiniband.cm.req.alt_flowlabel", "read from 24 bits, so that four are missing"),
    ("infiniband.cm.req.alt_reserved0", "read from the flow label's first byte"),
    ("infiniband.cm.req.alt_pktrate", "read from the flow label's first byte"),
    ("infiniband.cm.rej.reserved0", "two of six bits"),
];

/// Whether the name is listed as one of ours.
fn is_ours(name: &str) -> bool {
    let listed = include_str!("../FIELDS.md").lines().filter(|line| line.starts_with("| `"));
    let mut names = listed.flat_map(|line| line.split('|').nth(1).unwrap_or_default().split(','));
    names.any(|listed| {
        let listed = listed.trim().trim_matches('`');
        listed.strip_suffix('*').map_or(listed == name, |front| name.starts_with(front))
    })
}

/// Every field of nested objects, by name: all values it has there.
fn flatten(value: &Value, fields: &mut BTreeMap<String, Vec<String>>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                match value {
                    Value::String(text) => fields.entry(name.clone()).or_default().push(text.clone()),
                    Value::Number(number) => fields.entry(name.clone()).or_default().push(number.to_string()),
                    Value::Array(values) if values.iter().all(Value::is_string) => {
                        let texts = values.iter().filter_map(|value| value.as_str().map(String::from));
                        fields.entry(name.clone()).or_default().extend(texts);
                    }
                    nested => flatten(nested, fields),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| flatten(value, fields)),
        _ => {}
    }
}

/// Packets and fields compared.
fn compare(path: &Path) -> (usize, usize) {
    let text = path.to_str().unwrap();
    let theirs = tshark::run(
        "tshark",
        &["-r", text, "--no-duplicate-keys", "--disable-heuristic", "rpcrdma_infiniband", "-T", "json"],
    );
    let theirs: Vec<Value> = serde_json::from_str(&theirs).unwrap();
    let mut ours = Vec::new();
    let options = DumpOptions { json: true, ..DumpOptions::default() };
    dump(std::fs::File::open(path).unwrap(), &mut ours, options).unwrap();
    let ours = String::from_utf8(ours).unwrap();
    let ours: Vec<Value> = ours.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(ours.len(), theirs.len(), "{text}");
    let mut compared = 0;
    let capture = path.file_stem().unwrap().to_str().unwrap();
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let mut fields = BTreeMap::new();
        flatten(&theirs["_source"]["layers"], &mut fields);
        let mut values = BTreeMap::new();
        flatten(ours, &mut values);
        let known = values.into_iter().filter(|(name, _)| !is_ours(name));
        for (name, value) in
            known.flat_map(|(name, values)| values.into_iter().map(move |v| (name.clone(), v)))
        {
            let same = fields.get(&name).is_some_and(|values| values.contains(&value));
            let differs = DIFFERENCES.iter().any(|(file, frame, field, _)| {
                *file == capture && ours["frame.number"] == *frame && *field == name
            });
            let may_differ = MAY_DIFFER.iter().any(|(field, _)| *field == name);
            assert!(
                same != differs || may_differ,
                "{text}: {name} is {value} in {}, not {:?}",
                ours["rdmalab.summary"],
                fields.get(&name)
            );
            compared += usize::from(same);
        }
    }
    (ours.len(), compared)
}

#[test]
fn fields_of_wireshark_s_names_have_wireshark_s_values() {
    if !tshark::is_there() {
        return;
    }
    let (mut packets, mut fields) = (0, 0);
    for name in CAPTURES {
        let path = format!("{}/../../pcaps/{name}.pcap", env!("CARGO_MANIFEST_DIR"));
        let (more_packets, more_fields) = compare(Path::new(&path));
        packets += more_packets;
        fields += more_fields;
    }
    println!("{packets} packets, {fields} fields compared");
    assert_eq!(packets, 435);
    assert!(fields > 10_000, "{fields}");
}

#[test]
fn what_no_capture_of_a_peer_has_is_judged_too() {
    if !tshark::is_there() {
        return;
    }
    let path = format!("{}/../../pcaps/rping.pcap", env!("CARGO_MANIFEST_DIR"));
    let mut reader = Reader::new(std::fs::File::open(path).unwrap()).unwrap();
    let request = reader.next().unwrap().unwrap().data.to_vec();
    let ipv4 = "020000000002 020000000001 0800 45000020 00000000 4001669e 0a090001 0a090002";
    let tagged = [&request[..12], &hex("8100 6005"), &request[12..]].concat();
    let frames = [
        hex("ffffffffffff 020000000001 0806 0001 0800 0604 0001 020000000001 0a090001 000000000000 0a090002"),
        hex("020000000002 020000000001 0806 0001 0800 0604 0002 020000000001 0a090001 020000000002 0a090002"),
        hex(&format!("{ipv4} 0800 0000 1234 0007 61626364")),
        hex(&format!("{ipv4} 0000 0000 1234 0007 61626364")),
        tagged,
        request,
    ];
    let mut writer = Writer::new(Vec::new()).unwrap();
    let left = writer.interface("left").unwrap();
    let right = writer.interface("right").unwrap();
    for (index, frame) in frames.iter().enumerate() {
        let (interface, direction) =
            if index % 2 == 0 { (left, Direction::In) } else { (right, Direction::Out) };
        let entry = Entry::new(interface, index as u64 * 1_000_000_001, frame).direction(direction);
        writer.write(if index == 3 { entry.comment("answered") } else { entry }).unwrap();
    }
    let path = tshark::scratch("judged.pcapng", &writer.finish().unwrap());
    let (packets, fields) = compare(&path);
    assert_eq!(packets, 6);
    assert!(fields > 120, "{fields}");
}
