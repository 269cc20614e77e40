//! One JSON object per packet: the fields by name, and the packet's line as `rdmalab.summary`.
//!
//! Numbers that Wireshark prints in decimal are JSON numbers, everything else is the text that Wireshark
//! prints; numbers of 64 bits are text too, since most readers of JSON round them.
//!
//! A packet may complete several things of iWARP's: the array `rdmalab.iwarp` has an object for each, since a name
//! may stand only once in an object. For the same reason some names always have an array of their values.

use std::io;

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::dissect::Dissection;
use crate::fields::{self, Value};
use crate::line::Line;
use crate::record::Record;
use crate::streams::IwarpUnit;

/// One packet as one JSON object.
#[derive(Clone, Copy, Debug)]
pub struct Json<'r, 'a> {
    record: &'r Record<'a>,
    dissection: &'r Dissection<'a>,
    first: Option<i128>,
}

impl<'r, 'a> Json<'r, 'a> {
    /// The object of a record; `first` is the time of the capture's first packet, in nanoseconds.
    pub fn new(record: &'r Record<'a>, dissection: &'r Dissection<'a>, first: Option<i128>) -> Json<'r, 'a> {
        Json { record, dissection, first }
    }

    /// Writes the object on one line, without the line's end.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write(&self, out: impl io::Write) -> io::Result<()> {
        serde_json::to_writer(out, self).map_err(io::Error::from)
    }
}

impl Serialize for Json<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let mut repeated = Repeated::default();
        fields::walk_packet(self.record, self.dissection, self.first, &mut |name, value| {
            if repeated.keep(name, &value) { Ok(()) } else { map.serialize_entry(name, &value) }
        })?;
        repeated.write(&mut map)?;
        if !self.dissection.iwarp.is_empty() {
            map.serialize_entry("rdmalab.iwarp", &Units(&self.dissection.iwarp))?;
        }
        let line = Line::new(self.record, self.dissection, self.first);
        map.serialize_entry("rdmalab.summary", &format_args!("{line:#}"))?;
        map.end()
    }
}

/// What of iWARP a packet completed, as an array.
struct Units<'u>(&'u [IwarpUnit]);

impl Serialize for Units<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(Unit))
    }
}

/// One of them, as an object.
struct Unit<'u>(&'u IwarpUnit);

impl Serialize for Unit<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let mut repeated = Repeated::default();
        fields::walk_unit(self.0, &mut |name, value| {
            if repeated.keep(name, &value) { Ok(()) } else { map.serialize_entry(name, &value) }
        })?;
        repeated.write(&mut map)?;
        map.end()
    }
}

/// Names that a packet or an FPDU may have more than once: they have an array of their values, even of one.
const REPEATED: [&str; 4] = [
    "infiniband.reserved",
    "infiniband.cm.req.alt_reserved1",
    "iwarp_mpa.marker_res",
    "iwarp_mpa.marker_fpduptr",
];

/// Values of such names, as text.
#[derive(Default)]
struct Repeated([Vec<String>; REPEATED.len()]);

impl Repeated {
    /// Keeps the value if its name is one of these.
    fn keep(&mut self, name: &str, value: &Value<'_>) -> bool {
        match REPEATED.iter().zip(&mut self.0).find(|(repeated, _)| **repeated == name) {
            Some((_, values)) => {
                values.push(value.to_string());
                true
            }
            None => false,
        }
    }

    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let found = REPEATED.iter().zip(&self.0).filter(|(_, values)| !values.is_empty());
        found.into_iter().try_for_each(|(name, values)| map.serialize_entry(name, values))
    }
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Number(number) => serializer.serialize_u64(*number),
            Value::Flag(flag) => serializer.serialize_u64((*flag).into()),
            Value::Text(text) => serializer.serialize_str(text),
            other => serializer.collect_str(other),
        }
    }
}
