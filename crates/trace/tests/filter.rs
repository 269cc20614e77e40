//! Expressions on fields: what they select, and how they are refused.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use rdmalab_trace::{DumpError, DumpOptions, Filter, MOST_TESTS, dump};

fn rping() -> Vec<u8> {
    fs::read(format!("{}/../../pcaps/rping.pcap", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The JSON objects that an expression selects from rping's capture.
fn selected(expression: &str) -> Vec<serde_json::Value> {
    let filter: Filter = expression.parse().unwrap_or_else(|error| panic!("{expression}: {error}"));
    let mut out = Vec::new();
    let options = DumpOptions { json: true, filter: Some(&filter), ..DumpOptions::default() };
    let summary = dump(&rping()[..], &mut out, options).unwrap();
    let objects: Vec<serde_json::Value> = out
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert_eq!(summary.packets, objects.len() as u64);
    assert_eq!(summary.packets + summary.passed_over, 29);
    objects
}

fn refused(expression: &str) -> String {
    expression.parse::<Filter>().expect_err(expression).to_string()
}

#[test]
fn a_number_selects_in_decimal_and_in_hexadecimal() {
    let all = selected("infiniband.bth.opcode");
    assert_eq!(all.len(), 29);
    let sends = selected("infiniband.bth.opcode == 4");
    assert!(!sends.is_empty() && sends.len() < 29);
    assert!(sends.iter().all(|packet| packet["infiniband.bth.opcode"] == 4));
    assert_eq!(selected("infiniband.bth.opcode==0x04"), sends);
    assert_eq!(selected("infiniband.bth.opcode != 4").len(), 29 - sends.len());
    assert_eq!(selected("! infiniband.bth.opcode == 4").len(), 29 - sends.len());
    assert_eq!(selected("infiniband.bth.opcode<4").len() + selected("infiniband.bth.opcode >= 4").len(), 29);
    assert_eq!(selected("infiniband.bth.opcode<=4").len() + selected("infiniband.bth.opcode > 4").len(), 29);
}

#[test]
fn and_binds_stronger_than_or_and_parentheses_strongest() {
    let frames = |expression: &str| -> Vec<u64> {
        selected(expression).iter().map(|packet| packet["frame.number"].as_u64().unwrap()).collect()
    };
    assert_eq!(
        frames("frame.number == 1 || frame.number == 2 && frame.number == 3 || frame.number == 4"),
        [1, 4]
    );
    assert_eq!(frames("(frame.number == 1 || frame.number == 2) && frame.number >= 2"), [2]);
    assert_eq!(frames(" !( frame.number>3||frame.number==2 ) "), [1, 3]);
    assert_eq!(frames("!!frame.number == 7"), [7]);
}

#[test]
fn addresses_and_text_and_seconds_select() {
    let all = selected("frame");
    let source = all[0]["ip.src"].as_str().unwrap();
    let from = selected(&format!("ip.src == {source}"));
    assert!(!from.is_empty() && from.len() < 29);
    assert_eq!(from.len() + selected(&format!("ip.src != {source}")).len(), 29);
    let ethernet = all[0]["eth.src"].as_str().unwrap();
    assert_eq!(selected(&format!("eth.src == {ethernet}")), from);
    assert_eq!(selected("rdmalab.icrc == ok").len(), 29);
    assert_eq!(selected(r#"rdmalab.icrc == "ok""#).len(), 29);
    assert_eq!(selected("frame.time_relative >= 0.000000").len(), 29);
    assert_eq!(selected("frame.time_relative < 0").len(), 0);
}

#[test]
fn a_name_alone_asks_for_the_field_or_any_of_its_header() {
    let with_reth = selected("infiniband.reth");
    assert!(!with_reth.is_empty() && with_reth.len() < 29);
    assert_eq!(selected("infiniband.reth.va"), with_reth);
    assert_eq!(selected("!infiniband.reth").len(), 29 - with_reth.len());
    assert!(selected("tcp").is_empty());
}

#[test]
fn any_of_several_values_suffices() {
    let file = fs::read(format!("{}/../../pcaps/siw_rping.pcap", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let filter: Filter = "iwarp_rdma.opcode".parse().unwrap();
    let options = DumpOptions { filter: Some(&filter), ..DumpOptions::default() };
    assert!(dump(&file[..], &mut std::io::sink(), options).unwrap().packets > 0);
}

#[test]
fn a_refusal_says_the_column_and_what_was_expected() {
    for (expression, says) in [
        ("", "column 1: the expression ends, the name of a field, `!` or `(` expected"),
        (
            "ip.src == ",
            "column 11: the expression ends, a number, an address, a word or text in quotes expected",
        ),
        (
            "ip.src = 1",
            "column 8: `=` found, `==`, `!=`, `<`, `<=`, `>`, `>=`, `&&`, `||` or the end expected",
        ),
        ("ip.src == 10.9.0.1 & frame", "column 20: `&` found, `&&`, `||` or the end expected"),
        ("(ip.src == 10.9.0.1", "column 20: the expression ends, `&&`, `||` or `)` expected"),
        ("ip.src && ", "column 11: the expression ends, the name of a field, `!` or `(` expected"),
        ("!", "column 2: the expression ends, the name of a field, `!` or `(` expected"),
        ("ip.src == \"é", "column 13: the expression ends, "),
        ("frame && ip.sorc == 1", "column 10: no field is named ip.sorc; there is ip.src"),
        ("infiniband.reth == 1", "column 1: no field is named infiniband.reth; there is infiniband.reth."),
    ] {
        let refused = refused(expression);
        assert!(refused.starts_with(says), "{expression}: {refused}");
    }
}

#[test]
fn length_depth_and_number_of_tests_have_limits() {
    assert!(refused(&format!("frame{}", " ".repeat(5000))).contains("at most 4096 bytes"));
    assert!(refused(&"(".repeat(4000)).contains("less deep"));
    assert!(refused(&"!".repeat(4000)).contains("less deep"));
    let tests = |count: usize| vec!["frame"; count].join("||");
    assert!(tests(MOST_TESTS).parse::<Filter>().is_ok());
    assert!(refused(&tests(MOST_TESTS + 1)).contains("at most 64 tests"));
}

#[test]
fn a_value_of_another_kind_is_refused_when_it_meets_the_field() {
    let filter: Filter = "frame && ip.src == 5".parse().unwrap();
    let options = DumpOptions { filter: Some(&filter), ..DumpOptions::default() };
    let error = dump(&rping()[..], &mut std::io::sink(), options).unwrap_err();
    assert!(matches!(error, DumpError::Filter(_)));
    assert_eq!(error.to_string(), "filter: column 10: ip.src is an IPv4 address, `5` is none");
}

/// Words in quotes in source text that look like names of fields.
fn quoted_names(source: &str, names: &mut BTreeSet<String>) {
    let fields =
        ["infiniband", "rdmalab", "ip", "ipv6", "tcp", "udp", "eth", "arp", "macc", "icmp", "icmpv6"];
    let more = ["vlan", "sll", "null", "frame", "iwarp_mpa", "iwarp_ddp", "iwarp_rdma"];
    for word in source.split('"') {
        let plain = word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._".contains(&b));
        let front = word.split('.').next().unwrap();
        if plain
            && !word.ends_with('.')
            && word.contains('.')
            && (fields.contains(&front) || more.contains(&front))
        {
            names.insert(word.to_owned());
        }
    }
    // Tables that several datagrams have, each below its own name.
    for (table, below) in [
        ("service_id_fields!(\"", &["prefix", "protocol", "dport"][..]),
        (
            "ip_cm_fields!(\"",
            &["majv", "minv", "ipv", "reserved", "sport", "sip4", "dip4", "sip6", "dip6", "private"],
        ),
    ] {
        for use_of_it in source.split(table).skip(1) {
            let name = use_of_it.split('"').next().unwrap();
            names.extend(below.iter().map(|last| format!("{name}.{last}")));
        }
    }
}

/// Those of a file, or of all files in a folder.
fn names_below(path: &Path, names: &mut BTreeSet<String>) {
    match fs::read_dir(path) {
        Ok(entries) => entries.for_each(|entry| names_below(&entry.unwrap().path(), names)),
        Err(_) => quoted_names(&fs::read_to_string(path).unwrap(), names),
    }
}

#[test]
fn the_list_of_names_is_that_of_the_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut names = BTreeSet::new();
    for path in ["src/fields.rs", "src/fields", "../wire/src/mad"] {
        names_below(&root.join(path), &mut names);
    }
    let listed = fs::read_to_string(root.join("src/filter/names.txt")).unwrap();
    let listed: Vec<&str> = listed.lines().collect();
    assert_eq!(listed, names.iter().map(String::as_str).collect::<Vec<_>>());
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in r#"([!()&|=<>" ]|ip\.src|frame|10\.9\.0\.1|0x1a|\PC){0,40}"#) {
        let _ = text.parse::<Filter>();
    }
}

/// The names of an object, and of the objects within.
fn keys(value: &serde_json::Value, all: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(object) => object.iter().for_each(|(name, value)| {
            all.insert(name.clone());
            keys(value, all);
        }),
        serde_json::Value::Array(values) => values.iter().for_each(|value| keys(value, all)),
        _ => {}
    }
}

#[test]
fn every_name_in_any_capture_is_known() {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(format!("{}/../../pcaps", env!("CARGO_MANIFEST_DIR"))).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "pcap") {
            let mut out = Vec::new();
            let options = DumpOptions { json: true, ..DumpOptions::default() };
            dump(&fs::read(path).unwrap()[..], &mut out, options).unwrap();
            for line in out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                keys(&serde_json::from_slice(line).unwrap(), &mut names);
            }
        }
    }
    // The packet's line is no field of it; what packets complete of iWARP is a list.
    names.remove("rdmalab.summary");
    assert!(names.len() > 100);
    for name in names {
        name.parse::<Filter>().unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}
