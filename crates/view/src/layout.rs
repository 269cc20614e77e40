//! How the fields of packets are laid out. A layout is a list of groups, each with the byte of the frame it begins at; a group is
//! a list of fields, whose places count from there. Both are kept once, however many packets have them.
//!
//! A field of a group is read from the frame, or stands in a column that the page has anyway, or is a word that all packets
//! of the group share, or else is one of the packet's *extra* texts, taken in their order.

use std::collections::HashMap;

use rdmalab_trace::{Dissection, Field, Place, Reading, Record, Value, fields};
use serde_json::{Value as Json, json};

use crate::texts::Distinct;

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Form {
    Decimal,
    Hexadecimal(u8),
    Ethernet,
    Ipv4,
    Ipv6,
    Bytes,
}

/// Where the page has a value from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum From {
    /// Bits at a place.
    Frame(Form),
    /// A column: the name says which.
    Column,
    /// The same word in all packets of the group.
    Word(String),
    /// The packet's next extra text.
    Extra,
}

/// A field in its group; the place counts from the group's first byte.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Entry {
    name: &'static str,
    place: Option<Place>,
    from: From,
}

/// Fields of one header.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Group {
    entries: Vec<Entry>,
    /// Whether it begins something of iWARP's.
    begins_unit: bool,
}

/// All layouts of a capture.
#[derive(Debug, Default)]
pub(crate) struct Layouts {
    groups: Distinct<Group>,
    /// Groups, and the bytes they begin at.
    layouts: Distinct<Vec<(u32, u32)>>,
    extras: Distinct<Vec<String>>,
    /// Which header a field is of, by its name.
    headers: HashMap<&'static str, &'static str>,
}

/// What a packet's fields tell of it besides.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told {
    pub layout: u32,
    pub extras: u32,
    /// TCP: ports, sequence number, bytes, and whether it begins or ends the stream.
    pub tcp: Option<Tcp>,
    pub queue_pair: Option<u32>,
    pub psn: Option<u32>,
}

/// What of a TCP segment following needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tcp {
    pub ports: [u16; 2],
    pub sequence: u32,
    pub length: u32,
    pub begins: bool,
    pub ends: bool,
}

/// Fields whose value is in a column.
const COLUMNS: [&str; 5] =
    ["frame.number", "frame.time_epoch", "frame.time_relative", "frame.len", "frame.cap_len"];
/// Fields that have one of few words.
const WORDS: [&str; 4] = ["rdmalab.opcode_name", "rdmalab.icrc", "rdmalab.vcrc", "rdmalab.iwarp_mpa.crc"];

impl Layouts {
    /// Looks at all fields of a packet. `has_time` says that the column has its time.
    pub(crate) fn packet(
        &mut self,
        record: &Record<'_>,
        dissection: &Dissection<'_>,
        first: Option<i128>,
        has_time: bool,
    ) -> Told {
        let mut told = Told::default();
        let mut open: Vec<(Group, &'static str)> = Vec::with_capacity(8);
        let mut extras = Vec::new();
        let mut unit = None;
        fields(record, dissection, first, &mut |field| {
            told.note(field);
            let header = *self.headers.entry(field.name).or_insert_with(|| header(field.name));
            let begins_unit = field.unit != unit;
            unit = field.unit;
            let is_new = open.last().is_none_or(|(_, above)| !header.is_empty() && header != *above);
            if is_new || begins_unit || stands_alone(field.name) {
                open.push((Group { entries: Vec::with_capacity(16), begins_unit }, header));
            }
            let from = from(field, has_time);
            if from == From::Extra {
                extras.push(field.value.to_string());
            }
            if let Some((group, _)) = open.last_mut() {
                group.entries.push(Entry { name: field.name, place: field.place, from });
            }
        });
        let layout: Vec<(u32, u32)> = open.into_iter().map(|(group, _)| self.closed(group)).collect();
        told.layout = self.layouts.number(&layout);
        told.extras = self.extras.number(&extras);
        told
    }

    /// The number of a group, and the byte that its places count from.
    fn closed(&mut self, mut group: Group) -> (u32, u32) {
        let places = group.entries.iter().filter_map(|entry| entry.place);
        let base = places.map(|place| place.bit / 8).min().unwrap_or(0);
        for place in group.entries.iter_mut().filter_map(|entry| entry.place.as_mut()) {
            place.bit -= base * 8;
        }
        // A frame has at most a megabyte.
        (self.groups.number(&group), base as u32)
    }

    /// For the page: names, places, ways of writing.
    pub(crate) fn json(&self) -> Json {
        let mut names = Distinct::<&'static str>::default();
        let groups: Vec<Json> = self
            .groups
            .all
            .iter()
            .map(|group| {
                let entries = group.entries.iter().map(|entry| entry.json(names.number(&entry.name)));
                json!([u8::from(group.begins_unit), entries.collect::<Vec<_>>()])
            })
            .collect();
        let layouts: Vec<Vec<u32>> = self
            .layouts
            .all
            .iter()
            .map(|layout| layout.iter().flat_map(|(a, b)| [*a, *b]).collect())
            .collect();
        json!({ "names": names.all, "groups": groups, "layouts": layouts, "extras": self.extras.all })
    }
}

impl Entry {
    /// `[name, from, what, bit, bits, times]`, the last three only of a field that has a place.
    fn json(&self, name: u32) -> Json {
        let (from, what) = match &self.from {
            From::Frame(form) => match form {
                Form::Decimal => (0, Json::from(0)),
                Form::Hexadecimal(digits) => (1, Json::from(*digits)),
                Form::Ethernet => (2, Json::from(0)),
                Form::Ipv4 => (3, Json::from(0)),
                Form::Ipv6 => (4, Json::from(0)),
                Form::Bytes => (5, Json::from(0)),
            },
            From::Column => (6, Json::from(0)),
            From::Word(word) => (7, Json::from(word.as_str())),
            From::Extra => (8, Json::from(0)),
        };
        match self.place {
            None => json!([name, from, what]),
            Some(Place { bit, bits, reading }) => {
                // Zero of what counts bytes.
                let times = match reading {
                    Reading::Times(times) => times,
                    Reading::Length => 0,
                    Reading::About => 1,
                };
                json!([name, from, what, bit, bits, times])
            }
        }
    }
}

impl Told {
    fn note(&mut self, field: &Field<'_>) {
        let Value::Number(number) = field.value else {
            match (field.name, field.value) {
                ("infiniband.bth.destqp", Value::Hex(number, _)) => {
                    self.queue_pair = u32::try_from(number).ok()
                }
                ("tcp.flags.syn", Value::Flag(is_set)) => self.tcp.get_or_insert_default().begins = is_set,
                ("tcp.flags.fin", Value::Flag(is_set)) => self.tcp.get_or_insert_default().ends = is_set,
                _ => {}
            }
            return;
        };
        match field.name {
            "infiniband.bth.psn" => self.psn = u32::try_from(number).ok(),
            "tcp.srcport" => self.tcp.get_or_insert_default().ports[0] = number as u16,
            "tcp.dstport" => self.tcp.get_or_insert_default().ports[1] = number as u16,
            "tcp.seq_raw" => self.tcp.get_or_insert_default().sequence = number as u32,
            "tcp.len" => self.tcp.get_or_insert_default().length = number as u32,
            _ => {}
        }
    }
}

fn from(field: &Field<'_>, has_time: bool) -> From {
    let is_time = matches!(field.value, Value::Time(_));
    if COLUMNS.contains(&field.name) && (has_time || !is_time) {
        return From::Column;
    }
    match field.place.map(|place| place.reading) {
        Some(Reading::Times(_)) => {}
        Some(Reading::Length) => return From::Frame(Form::Decimal),
        Some(Reading::About) | None => return unread(field),
    }
    From::Frame(match field.value {
        Value::Number(_) | Value::Wide(_) | Value::Flag(_) => Form::Decimal,
        Value::Hex(_, digits) => Form::Hexadecimal(digits),
        Value::Ethernet(_) => Form::Ethernet,
        Value::Ipv4(_) => Form::Ipv4,
        Value::Ipv6(_) => Form::Ipv6,
        Value::Bytes(_) => Form::Bytes,
        Value::Time(_) | Value::Text(_) => return unread(field),
    })
}

/// What does not stand in the frame.
fn unread(field: &Field<'_>) -> From {
    match field.value {
        Value::Text(word) if WORDS.contains(&field.name) => From::Word(word.to_owned()),
        _ => From::Extra,
    }
}

/// Fields whose length is different from packet to packet: with others, there would be as many groups as lengths.
fn stands_alone(name: &str) -> bool {
    matches!(name, "rdmalab.payload_length" | "infiniband.invariant.crc" | "tcp.len" | "tcp.seq_raw")
}

/// The header that a field is of, by its name; empty if it is of the one above.
fn header(name: &'static str) -> &'static str {
    let parts = match name.split('.').next() {
        Some("rdmalab") => return "",
        Some("infiniband") => 2,
        _ => 1,
    };
    let end = name.match_indices('.').nth(parts - 1).map_or(name.len(), |(at, _)| at);
    name.get(..end).unwrap_or(name)
}
