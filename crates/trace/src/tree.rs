//! One packet as a tree: its line, below it each header, below that each field, in the order of the wire.
//!
//! Names and values are those of the JSON object, so that a line of the tree can be copied into a filter:
//!
//! ```text
//!     1    0.000000 10.9.0.1 > 10.9.0.2 RoCE …
//!   infiniband.bth
//!     infiniband.bth.opcode == 4
//! ```
//!
//! Fields that are ours stand below the header that they belong to.

use core::fmt::{self, Display, Formatter, Write};

use crate::dissect::Dissection;
use crate::fields::{self, Value};
use crate::line::Line;
use crate::record::Record;

/// One packet as a tree, each line with its end.
#[derive(Clone, Copy, Debug)]
pub struct Tree<'r, 'a> {
    record: &'r Record<'a>,
    dissection: &'r Dissection<'a>,
    first: Option<i128>,
}

impl<'r, 'a> Tree<'r, 'a> {
    /// The tree of a record; `first` is the time of the capture's first packet, in nanoseconds.
    pub fn new(record: &'r Record<'a>, dissection: &'r Dissection<'a>, first: Option<i128>) -> Tree<'r, 'a> {
        Tree { record, dissection, first }
    }
}

impl Display for Tree<'_, '_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", Line::new(self.record, self.dissection, self.first))?;
        let mut above = "";
        fields::walk_packet(self.record, self.dissection, self.first, &mut |name, value| {
            field(f, &mut above, name, &value)
        })?;
        for unit in &self.dissection.iwarp {
            // Each begins anew, also behind another of its kind.
            let mut above = "";
            fields::walk_unit(unit, &mut |name, value| field(f, &mut above, name, &value))?;
        }
        Ok(())
    }
}

fn field(
    f: &mut Formatter<'_>,
    above: &mut &'static str,
    name: &'static str,
    value: &Value<'_>,
) -> fmt::Result {
    let header = header_of(name);
    if !header.is_empty() && header != *above {
        *above = header;
        writeln!(f, "  {header}")?;
    }
    write!(f, "    {name} == ")?;
    match value {
        // What a file says must not move the cursor of who reads it.
        Value::Text(text) => writeln!(f, "\"{}\"", Quoted(text)),
        value => writeln!(f, "{value}"),
    }
}

/// The header that a field is of, by its name, as "infiniband.bth" of "infiniband.bth.psn"; empty if it is of the one above.
pub fn header_of(name: &'static str) -> &'static str {
    let parts = match name.split('.').next() {
        Some("rdmalab") => return "",
        Some("infiniband") => 2,
        _ => 1,
    };
    let end = name.match_indices('.').nth(parts - 1).map_or(name.len(), |(at, _)| at);
    name.get(..end).unwrap_or(name)
}

/// Text without control characters, as a filter takes it.
struct Quoted<'t>(&'t str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '"' | '\\' => write!(f, "\\{c}"),
            c if c.is_control() => write!(f, "{}", c.escape_default()),
            c => f.write_char(c),
        })
    }
}
