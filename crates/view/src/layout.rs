//! How the fields of packets are laid out. A layout is a list of groups, each with the byte of the frame it begins at; a group is
//! a list of fields, whose places count from there. Both are kept once, however many packets have them.
//!
//! A field of a group is read from the frame, or stands in a column that the page has anyway, or is a word that all packets
//! of the group share, or else is one of the packet's *extra* texts, taken in their order.

mod names;

use std::hash::{Hash, Hasher};

use rdmalab_trace::{Dissection, Field, Place, Reading, Record, Value, fields};
use serde_json::{Value as Json, json};

use crate::texts::Distinct;

use names::{About, Name, Names, Tells};

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
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    name: Name,
    place: Option<Place>,
    from: From,
}

/// Of all fields of all packets: so it is short. How a value is read hardly differs where name and place are the same.
impl Hash for Entry {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        state.write_usize(self.place.map_or(usize::MAX, |place| place.bit ^ place.bits.rotate_left(32)));
    }
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
    names: Names,
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
            let name = Name(field.name);
            let about = self.names.about(name);
            told.note(about.tells, field.value);
            let begins_unit = field.unit != unit;
            unit = field.unit;
            let header = about.header;
            let is_new = open.last().is_none_or(|(_, above)| !header.is_empty() && header != *above);
            if is_new || begins_unit || about.stands_alone {
                open.push((Group { entries: Vec::with_capacity(16), begins_unit }, header));
            }
            let from = from(field, about, has_time);
            if from == From::Extra {
                extras.push(field.value.to_string());
            }
            if let Some((group, _)) = open.last_mut() {
                group.entries.push(Entry { name, place: field.place, from });
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
                let entries = group.entries.iter().map(|entry| entry.json(names.number(&entry.name.0)));
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
    fn note(&mut self, tells: Tells, value: Value<'_>) {
        let number = match value {
            Value::Number(number) | Value::Hex(number, _) => number,
            Value::Flag(is_set) => is_set.into(),
            _ => return,
        };
        match tells {
            Tells::Nothing => {}
            Tells::QueuePair => self.queue_pair = u32::try_from(number).ok(),
            Tells::Psn => self.psn = u32::try_from(number).ok(),
            Tells::From => self.tcp().ports[0] = number as u16,
            Tells::To => self.tcp().ports[1] = number as u16,
            Tells::Sequence => self.tcp().sequence = number as u32,
            Tells::Length => self.tcp().length = number as u32,
            Tells::Begins => self.tcp().begins = number == 1,
            Tells::Ends => self.tcp().ends = number == 1,
        }
    }

    fn tcp(&mut self) -> &mut Tcp {
        self.tcp.get_or_insert_default()
    }
}

fn from(field: &Field<'_>, about: About, has_time: bool) -> From {
    let is_time = matches!(field.value, Value::Time(_));
    if about.is_column && (has_time || !is_time) {
        return From::Column;
    }
    match field.place.map(|place| place.reading) {
        Some(Reading::Times(_)) => {}
        Some(Reading::Length) => return From::Frame(Form::Decimal),
        Some(Reading::About) | None => return unread(field, about),
    }
    From::Frame(match field.value {
        Value::Number(_) | Value::Wide(_) | Value::Flag(_) => Form::Decimal,
        Value::Hex(_, digits) => Form::Hexadecimal(digits),
        Value::Ethernet(_) => Form::Ethernet,
        Value::Ipv4(_) => Form::Ipv4,
        Value::Ipv6(_) => Form::Ipv6,
        Value::Bytes(_) => Form::Bytes,
        Value::Time(_) | Value::Text(_) => return unread(field, about),
    })
}

/// What does not stand in the frame.
fn unread(field: &Field<'_>, about: About) -> From {
    match field.value {
        Value::Text(word) if about.is_word => From::Word(word.to_owned()),
        _ => From::Extra,
    }
}
