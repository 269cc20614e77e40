//! Our JSON against tshark's, packet by packet, field by field, in both directions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use rdmalab_trace::{DumpOptions, dump};
use serde_json::Value;

use crate::tshark;

/// Where the two differ: a row of the tables in `DIFFERENCES.md`.
struct Difference {
    opcode: &'static str,
    field: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Both have it, with values that may differ.
    Value,
    /// Only we have it.
    OnlyOurs,
    /// Only tshark has it.
    OnlyTheirs,
}

fn differences() -> Vec<Difference> {
    let rows = include_str!("../../DIFFERENCES.md").lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let columns: Vec<&str> =
            row.trim_matches('|').split('|').map(|column| column.trim().trim_matches('`')).collect();
        let [opcode, field, kind, reason] = columns[..] else { panic!("not a difference: {row}") };
        assert!(!reason.is_empty(), "{row}");
        let kind = match kind {
            "value" => Kind::Value,
            "ours" => Kind::OnlyOurs,
            "theirs" => Kind::OnlyTheirs,
            other => panic!("{other} in {row}"),
        };
        Difference { opcode, field, kind }
    })
    .collect()
}

/// Whether `name` is what `pattern` says, whose `*` at the end stands for anything.
fn fits(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |front| name.starts_with(front))
}

/// The names listed as ours; a `*` at the end stands for anything.
static OURS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let listed = include_str!("../../FIELDS.md").lines().filter(|line| line.starts_with("| `"));
    let names = listed.flat_map(|line| line.split('|').nth(1).unwrap_or_default().split(','));
    names.map(|name| name.trim().trim_matches('`')).collect()
});

fn is_ours(name: &str) -> bool {
    OURS.iter().any(|listed| fits(listed, name))
}

/// Whether the field is of a protocol that we take apart to the last bit.
fn is_taken_apart(name: &str) -> bool {
    ["infiniband.", "iwarp_mpa.", "iwarp_ddp.", "iwarp_rdma.", "macc.", "vlan.", "sll.", "null."]
        .iter()
        .any(|front| name.starts_with(front))
}

/// Every field of nested objects, by name: all values it has there.
pub(crate) fn flatten(value: &Value, fields: &mut BTreeMap<String, Vec<String>>) {
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

/// What was compared.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    pub(crate) packets: usize,
    /// Values that are the same.
    pub(crate) same: usize,
    /// Differences that the table has.
    pub(crate) known: usize,
    /// Its rows that were needed, by number.
    pub(crate) rows: BTreeSet<usize>,
}

impl std::fmt::Display for Counted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Counted { packets, same, known, .. } = self;
        write!(f, "{packets} packets: {same} values are the same, {known} fields differ as listed")
    }
}

/// How many rows the table has.
pub(crate) fn rows() -> usize {
    differences().len()
}

/// Compares every packet of a capture; panics with all differences that the table does not have.
pub(crate) fn compare(path: &Path) -> Counted {
    compare_two(path, path)
}

/// The same with two captures of the same packets, the second of which is tshark's: then only what is taken apart to
/// the last bit is compared.
pub(crate) fn compare_two(path: &Path, path_for_tshark: &Path) -> Counted {
    let is_one = path == path_for_tshark;
    let text = path_for_tshark.to_str().unwrap();
    // Without this, tshark looks for FPDUs in each segment as it comes.
    let theirs = tshark::run(
        "tshark",
        &[
            "-r",
            text,
            "-o",
            "tcp.reassemble_out_of_order:TRUE",
            "--no-duplicate-keys",
            "--disable-heuristic",
            "rpcrdma_infiniband",
            "-T",
            "json",
        ],
    );
    let theirs: Vec<Value> = serde_json::from_str(&theirs).unwrap();
    let mut ours = Vec::new();
    let options = DumpOptions { json: true, ..DumpOptions::default() };
    dump(std::fs::File::open(path).unwrap(), &mut ours, options).unwrap();
    let ours = String::from_utf8(ours).unwrap();
    let ours: Vec<Value> = ours.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(ours.len(), theirs.len(), "{text}");
    let capture = path.file_stem().unwrap().to_str().unwrap();
    let table = differences();
    let mut counted = Counted { packets: ours.len(), ..Counted::default() };
    let mut unknown = BTreeMap::new();
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let frame = ours["frame.number"].as_u64().unwrap();
        let units = ours["rdmalab.iwarp"].as_array().into_iter().flatten();
        let named = std::iter::once(ours).chain(units);
        let opcodes: Vec<&str> =
            named.map(|named| named["rdmalab.opcode_name"].as_str().unwrap_or_default()).collect();
        let (mut our_fields, mut their_fields) = (BTreeMap::new(), BTreeMap::new());
        flatten(ours, &mut our_fields);
        flatten(&theirs["_source"]["layers"], &mut their_fields);
        our_fields.retain(|name, _| !is_ours(name) && (is_one || is_taken_apart(name)));
        let names: BTreeSet<&String> = our_fields.keys().chain(their_fields.keys()).collect();
        for name in names {
            let kind = match (our_fields.get(name), their_fields.get(name)) {
                (Some(ours), Some(theirs)) => {
                    // These tshark has under one name twice: a header and its field, or those of several headers.
                    let has_more = ["infiniband.ieth", "infiniband.immdt", "infiniband.reserved"]
                        .contains(&name.as_str());
                    let is_same = if name.starts_with("vlan.") {
                        // Of several tags the innermost one has the name here.
                        ours.last() == theirs.last()
                    } else if has_more {
                        ours.iter().all(|value| theirs.contains(value))
                    } else {
                        ours == theirs
                    };
                    if is_same {
                        counted.same += ours.len();
                        continue;
                    }
                    Kind::Value
                }
                (Some(_), None) => Kind::OnlyOurs,
                (None, Some(_)) if is_taken_apart(name) => Kind::OnlyTheirs,
                (None, _) => continue,
            };
            let row = table.iter().position(|known| {
                opcodes.iter().any(|opcode| fits(known.opcode, opcode))
                    && fits(known.field, name)
                    && known.kind == kind
            });
            if let Some(row) = row {
                counted.known += 1;
                counted.rows.insert(row);
            } else {
                let values = (our_fields.get(name), their_fields.get(name));
                unknown.entry((name.clone(), kind as u8)).or_insert_with(Vec::new).push(format!(
                    "{capture} {frame} {name} {kind:?}: {values:?}\n    {}",
                    ours["rdmalab.summary"]
                ));
            }
        }
    }
    let first: Vec<String> = unknown.values().map(|all| format!("{} times: {}", all.len(), all[0])).collect();
    assert!(first.is_empty(), "{}", first.join("\n"));
    counted
}
