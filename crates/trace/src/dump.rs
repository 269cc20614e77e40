//! A whole capture, printed: a line or a JSON object for each packet, and counts at the end.

use core::fmt;
use std::io::{self, Read, Write};

use crate::dissect::{Dissection, Icrc};
use crate::json::Json;
use crate::line::Line;
use crate::read::{ReadError, Reader};

/// How many frame numbers of each kind of trouble are kept.
const FIRST: usize = 10;
/// How much is printed before it is handed on, in bytes.
const CHUNK: usize = 64 * 1024;

/// How a capture is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DumpOptions {
    /// JSON objects, one on each line, in place of lines for people.
    pub json: bool,
    /// Hand on each line at once: for a person, or another program, who watches a capture that goes on.
    pub flush_each: bool,
}

/// What was in a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// All packets.
    pub packets: u64,
    /// RoCE v2 packets.
    pub roce: u64,
    /// Those whose ICRC is right.
    pub icrc_right: u64,
    /// Those whose ICRC is wrong.
    pub icrc_wrong: Trouble,
    /// Those whose ICRC nobody can tell: cut by the capture, or with broken headers in front.
    pub icrc_unknown: u64,
    /// Packets of any kind that are broken.
    pub malformed: Trouble,
}

/// How many packets have some trouble, and the first of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// How many.
    pub count: u64,
    /// Frame numbers of the first ten.
    pub first: Vec<u64>,
}

/// Why a capture was not printed to its end.
#[derive(Debug)]
pub enum DumpError {
    /// It could not be read to its end.
    Read {
        /// Why, and where.
        error: ReadError,
        /// What was in it before that; all of this has been printed.
        summary: Box<Summary>,
    },
    /// The output did not take it.
    Write(io::Error),
}

/// Prints every packet of a capture.
///
/// # Errors
/// If the capture is damaged or cut: after all packets before the damage have been printed. If printing
/// fails.
pub fn dump(input: impl Read, out: &mut impl Write, options: DumpOptions) -> Result<Summary, DumpError> {
    let mut summary = Summary::default();
    let mut text = Vec::with_capacity(CHUNK + 4096);
    let result = print(input, out, options, &mut summary, &mut text);
    // What is left is printed even if the capture is damaged.
    let written = out.write_all(&text).and_then(|()| out.flush());
    match result {
        Err(Stop::Read(error)) => {
            written.map_err(DumpError::Write)?;
            Err(DumpError::Read { error, summary: Box::new(summary) })
        }
        Err(Stop::Write(error)) => Err(DumpError::Write(error)),
        Ok(()) => written.map_err(DumpError::Write).map(|()| summary),
    }
}

/// Why printing stopped.
enum Stop {
    Read(ReadError),
    Write(io::Error),
}

fn print(
    input: impl Read,
    out: &mut impl Write,
    options: DumpOptions,
    summary: &mut Summary,
    text: &mut Vec<u8>,
) -> Result<(), Stop> {
    let mut reader = Reader::new(input).map_err(Stop::Read)?;
    let mut first = None;
    while let Some(record) = reader.next().map_err(Stop::Read)? {
        first = first.or(record.time);
        let dissection = Dissection::of(&record);
        summary.count(record.frame, &dissection);
        if options.json {
            Json::new(&record, &dissection, first).write(&mut *text).map_err(Stop::Write)?;
        } else {
            // A vector takes everything.
            let _ =
                fmt::write(&mut Appended(text), format_args!("{}", Line::new(&record, &dissection, first)));
        }
        text.push(b'\n');
        if text.len() >= CHUNK || options.flush_each {
            let written = out.write_all(text);
            text.clear();
            written.map_err(Stop::Write)?;
            if options.flush_each {
                out.flush().map_err(Stop::Write)?;
            }
        }
    }
    Ok(())
}

/// Appends text to bytes, without the detour that `io::Write` makes for formatted text.
struct Appended<'t>(&'t mut Vec<u8>);

impl fmt::Write for Appended<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

impl Trouble {
    fn add(&mut self, frame: u64) {
        self.count += 1;
        if self.first.len() < FIRST {
            self.first.push(frame);
        }
    }
}

impl Summary {
    /// Counts one more packet.
    pub fn count(&mut self, frame: u64, dissection: &Dissection<'_>) {
        self.packets += 1;
        if dissection.malformed.is_some() {
            self.malformed.add(frame);
        }
        let Some(roce) = dissection.roce() else { return };
        self.roce += 1;
        match roce.icrc {
            Icrc::Right => self.icrc_right += 1,
            Icrc::Wrong { .. } => self.icrc_wrong.add(frame),
            Icrc::Cut | Icrc::Broken => self.icrc_unknown += 1,
        }
    }

    /// Whether no packet is broken and no ICRC wrong.
    pub fn is_fine(&self) -> bool {
        self.icrc_wrong.count == 0 && self.malformed.count == 0
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} packets, {} of them RoCE v2: ICRC right in {}",
            self.packets, self.roce, self.icrc_right
        )?;
        if self.icrc_wrong.count > 0 {
            write!(f, ", WRONG in {}", self.icrc_wrong)?;
        }
        if self.icrc_unknown > 0 {
            write!(f, ", not known of {}", self.icrc_unknown)?;
        }
        if self.malformed.count > 0 {
            write!(f, "; malformed: {}", self.malformed)?;
        }
        Ok(())
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.count)?;
        let mut before = " (frame ";
        for frame in &self.first {
            write!(f, "{before}{frame}")?;
            before = ", ";
        }
        match self.first.len() {
            0 => Ok(()),
            shown if (shown as u64) < self.count => f.write_str(", …)"),
            _ => f.write_str(")"),
        }
    }
}

impl fmt::Display for DumpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DumpError::Read { error, .. } => error.fmt(f),
            DumpError::Write(error) => write!(f, "printing failed: {error}"),
        }
    }
}

impl std::error::Error for DumpError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            DumpError::Read { error, .. } => std::error::Error::source(error),
            DumpError::Write(error) => Some(error),
        }
    }
}
