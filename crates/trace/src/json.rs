//! One JSON object per packet: the fields by name, and the packet's line as `rdmalab.summary`.
//!
//! Numbers that Wireshark prints in decimal are JSON numbers, everything else is the text that Wireshark
//! prints; numbers of 64 bits are text too, since most readers of JSON round them.

use std::io;

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::dissect::Dissection;
use crate::fields::{self, Value};
use crate::line::Line;
use crate::record::Record;

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
        fields::walk(self.record, self.dissection, self.first, &mut |name, value| {
            map.serialize_entry(name, &value)
        })?;
        let line = Line::new(self.record, self.dissection, self.first);
        map.serialize_entry("rdmalab.summary", &format_args!("{line:#}"))?;
        map.end()
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
