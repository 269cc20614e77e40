//! A whole capture, printed: a line, a tree or a JSON object for each packet, and counts at the end.

mod summary;

use core::fmt;
use std::io::{self, Read, Write};

use crate::filter::{Filter, FilterError};
use crate::input::{Packing, Unpacked};
use crate::json::Json;
use crate::line::{Line, quick};
use crate::read::{ReadError, ReadFault, Reader};
use crate::streams::Streams;
use crate::tree::Tree;

pub use summary::{Fpdus, Summary, Trouble};

/// How much is printed before it is handed on, in bytes.
const CHUNK: usize = 64 * 1024;

/// How a capture is printed.
#[derive(Clone, Copy, Debug, Default)]
pub struct DumpOptions<'f> {
    /// JSON objects, one on each line, in place of lines for people.
    pub json: bool,
    /// A tree of all fields below each line; nothing to JSON, which has them anyway.
    pub tree: bool,
    /// Print and count only the packets that fulfil this.
    pub filter: Option<&'f Filter>,
    /// Hand on each line at once: for a person, or another program, who watches a capture that goes on.
    pub flush_each: bool,
}

/// Why a capture was not printed to its end.
#[derive(Debug)]
pub enum DumpError {
    /// It could not be read to its end.
    Read {
        /// Why, and where.
        error: ReadError,
        /// How the file is packed; its offsets are then those of what comes out.
        packing: Option<Packing>,
        /// What was in it before that; all of this has been printed.
        summary: Box<Summary>,
    },
    /// The filter compares a field with something of another kind.
    Filter(FilterError),
    /// The output did not take it.
    Write(io::Error),
}

/// Prints every packet of a capture, which may be packed with gzip or zstd.
///
/// # Errors
/// If the capture is damaged or cut: after all packets before the damage have been printed. If printing
/// fails. If the filter compares a field with a value of another kind.
pub fn dump(input: impl Read, out: &mut impl Write, options: DumpOptions<'_>) -> Result<Summary, DumpError> {
    let mut summary = Summary::default();
    let mut text = Vec::with_capacity(CHUNK + 4096);
    let mut streams = Streams::new();
    let result = print(input, out, options, &mut streams, &mut summary, &mut text);
    summary.end(&streams);
    // What is left is printed even if the capture is damaged.
    let written = out.write_all(&text).and_then(|()| out.flush());
    match result {
        Err(Stop::Read(error, packing)) => {
            written.map_err(DumpError::Write)?;
            Err(DumpError::Read { error, packing, summary: Box::new(summary) })
        }
        Err(Stop::Filter(error)) => {
            written.map_err(DumpError::Write)?;
            Err(DumpError::Filter(error))
        }
        Err(Stop::Write(error)) => Err(DumpError::Write(error)),
        Ok(()) => written.map_err(DumpError::Write).map(|()| summary),
    }
}

/// Why printing stopped.
enum Stop {
    Read(ReadError, Option<Packing>),
    Filter(FilterError),
    Write(io::Error),
}

fn print(
    input: impl Read,
    out: &mut impl Write,
    options: DumpOptions<'_>,
    streams: &mut Streams,
    summary: &mut Summary,
    text: &mut Vec<u8>,
) -> Result<(), Stop> {
    let input = Unpacked::new(input).map_err(|error| {
        Stop::Read(ReadError { offset: 0, packets_before: 0, fault: ReadFault::Io(error) }, None)
    })?;
    let packing = input.packing();
    let unread = |error| Stop::Read(error, packing);
    let mut reader = Reader::new(input).map_err(unread)?;
    let mut first = None;
    while let Some(record) = reader.next().map_err(unread)? {
        first = first.or(record.time);
        let dissection = streams.dissect(&record);
        if let Some(filter) = options.filter
            && !filter.matches(&record, &dissection, first).map_err(Stop::Filter)?
        {
            summary.passed_over += 1;
            continue;
        }
        summary.count(record.frame, &dissection);
        if options.json {
            Json::new(&record, &dissection, first).write(&mut *text).map_err(Stop::Write)?;
        } else if options.tree {
            let _ =
                fmt::write(&mut Appended(text), format_args!("{}", Tree::new(&record, &dissection, first)));
        } else if !quick::write(&record, &dissection, first, text) {
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

impl fmt::Display for DumpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DumpError::Read { error, packing: None, .. } => error.fmt(f),
            DumpError::Read { error, packing: Some(packing), .. } => {
                if error.packets_before > 0 {
                    write!(f, "after packet {}, ", error.packets_before)?;
                }
                write!(f, "at offset {} of what {packing} unpacks to: {}", error.offset, error.fault)
            }
            DumpError::Filter(error) => write!(f, "filter: {error}"),
            DumpError::Write(error) => write!(f, "printing failed: {error}"),
        }
    }
}

impl std::error::Error for DumpError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            DumpError::Read { error, .. } => std::error::Error::source(error),
            DumpError::Filter(error) => Some(error),
            DumpError::Write(error) => Some(error),
        }
    }
}
