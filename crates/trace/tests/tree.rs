//! Trees: what they look like, and that they have every field.

use std::collections::BTreeSet;
use std::fs;

use rdmalab_trace::{DumpOptions, Entry, Filter, Writer, dump};

fn printed(name: &str, options: DumpOptions) -> String {
    let file = fs::read(format!("{}/../../pcaps/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let mut out = Vec::new();
    dump(&file[..], &mut out, options).unwrap();
    String::from_utf8(out).unwrap()
}

const TREE: DumpOptions = DumpOptions { json: false, tree: true, filter: None, flush_each: false };

#[test]
fn fields_stand_below_their_header_and_headers_below_the_line() {
    let filter: Filter = "frame.number == 1".parse().unwrap();
    let tree = printed("rping.pcap", DumpOptions { filter: Some(&filter), ..TREE });
    let line = printed("rping.pcap", DumpOptions { filter: Some(&filter), ..DumpOptions::default() });
    assert!(tree.starts_with(&line));
    let headers: Vec<&str> =
        tree.lines().skip(1).filter(|line| !line.starts_with("    ") && !line.is_empty()).collect();
    let expected = ["  frame", "  eth", "  ip", "  udp", "  infiniband.bth"];
    assert_eq!(headers[..5], expected, "{tree}");
    assert!(tree.contains("\n  infiniband.bth\n    infiniband.bth.opcode == "), "{tree}");
}

#[test]
fn every_field_of_the_json_object_stands_in_the_tree_and_selects_its_packet() {
    let tree = printed("rping.pcap", TREE);
    let json = printed("rping.pcap", DumpOptions { json: true, ..DumpOptions::default() });
    let mut names = BTreeSet::new();
    for line in json.lines() {
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).unwrap();
        names.extend(object.keys().cloned());
    }
    names.remove("rdmalab.summary");
    let in_tree: BTreeSet<String> = tree
        .lines()
        .filter_map(|line| line.strip_prefix("    ")?.split_once(" == "))
        .map(|(name, _)| name.to_owned())
        .filter(|name| !name.starts_with(' '))
        .collect();
    assert_eq!(in_tree, names);
    // A line of the tree is a filter.
    let mut field_lines: Vec<&str> =
        tree.lines().filter(|line| line.starts_with("    ") && line.contains(" == ")).collect();
    field_lines.truncate(120);
    for line in field_lines {
        let filter: Filter = line.trim().parse().unwrap_or_else(|error| panic!("{line}: {error}"));
        let options = DumpOptions { filter: Some(&filter), ..DumpOptions::default() };
        assert!(!printed("rping.pcap", options).is_empty(), "{line}");
    }
}

#[test]
fn each_fpdu_of_a_segment_begins_anew() {
    let tree = printed("siw_rping.pcap", TREE);
    assert!(tree.contains("\n  iwarp_mpa\n    iwarp_mpa.ulpdulength == "));
    assert!(tree.contains("\n  iwarp_ddp\n") && tree.contains("\n  iwarp_rdma\n"));
}

#[test]
fn text_of_a_file_never_moves_the_cursor() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let interface = writer.interface("x\u{1b}[2J").unwrap();
    writer.write(Entry::new(interface, 0, &[0; 60]).comment("a\n\"b\"\u{7}")).unwrap();
    let mut out = Vec::new();
    dump(&writer.finish().unwrap()[..], &mut out, TREE).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    assert!(text.contains(r#"    frame.comment == "a\n\"b\"\u{7}""#), "{text}");
}
