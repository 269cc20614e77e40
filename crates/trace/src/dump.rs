//! A whole capture, printed: a line, a tree or a JSON object for each packet, and counts at the end.

use core::fmt;
use std::io::{self, Read, Write};

use rdmalab_wire::Carrier;
use rdmalab_wire::iwarp::CrcVerdict;

use crate::dissect::{Dissection, Icrc, Vcrc};
use crate::filter::{Filter, FilterError};
use crate::input::{Packing, Unpacked};
use crate::json::Json;
use crate::line::{Line, quick};
use crate::read::{ReadError, ReadFault, Reader};
use crate::streams::{IwarpUnit, Streams};
use crate::tree::Tree;

/// How many frame numbers of each kind of trouble are kept.
const FIRST: usize = 10;
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

/// What was in a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// All packets, but those that the filter passed over.
    pub packets: u64,
    /// Packets that the filter passed over.
    pub passed_over: u64,
    /// InfiniBand packets: of RoCE, either version, and of native links.
    pub roce: u64,
    /// Those of them that are not RoCE v2.
    pub not_roce_v2: u64,
    /// Those whose ICRC is right.
    pub icrc_right: u64,
    /// Those whose ICRC is wrong.
    pub icrc_wrong: Trouble,
    /// Those of native links whose VCRC is wrong.
    pub vcrc_wrong: Trouble,
    /// Those whose ICRC nobody can tell: cut by the capture, or with broken headers in front.
    pub icrc_unknown: u64,
    /// FPDUs of iWARP, by the state of their CRC.
    pub fpdus: Fpdus,
    /// Bytes of iWARP's TCP connections that the capture does not have: lost, cut off, or given up. No fault of those
    /// who spoke.
    pub iwarp_bytes_missing: u64,
    /// Bytes behind missing ones of which nothing was made, as the capture ends there.
    pub iwarp_bytes_waiting: u64,
    /// TCP connections that were forgotten because too many were followed at once: of iWARP in them something may be
    /// missing.
    pub streams_forgotten: u64,
    /// How often bytes missing in a TCP connection were given up because too many behind them were held.
    pub gaps_given_up: u64,
    /// Packets of any kind that are broken.
    pub malformed: Trouble,
}

/// How many FPDUs there were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fpdus {
    /// Those whose CRC is right.
    pub crc_right: u64,
    /// Those without a CRC, where none was agreed on.
    pub crc_absent: u64,
    /// Those whose CRC is wrong: the packets that completed one.
    pub crc_wrong: Trouble,
    /// Those of which nobody can tell: the capture does not have all of their bytes.
    pub crc_unknown: u64,
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
        for unit in &dissection.iwarp {
            let missing = match unit {
                IwarpUnit::Fpdu(fpdu) => fpdu.not_captured,
                IwarpUnit::Gap { bytes, .. } => *bytes,
                IwarpUnit::StartUp(_) => 0,
            };
            self.iwarp_bytes_missing = self.iwarp_bytes_missing.saturating_add(missing);
            let IwarpUnit::Fpdu(fpdu) = unit else { continue };
            match fpdu.crc_verdict() {
                CrcVerdict::Right => self.fpdus.crc_right += 1,
                CrcVerdict::Absent => self.fpdus.crc_absent += 1,
                CrcVerdict::Wrong => self.fpdus.crc_wrong.add(frame),
                CrcVerdict::Unchecked => self.fpdus.crc_unknown += 1,
            }
        }
        let Some(roce) = dissection.roce() else { return };
        self.roce += 1;
        if !matches!(roce.carrier, Carrier::RoceV2Ipv4(..) | Carrier::RoceV2Ipv6(..)) {
            self.not_roce_v2 += 1;
        }
        match roce.icrc {
            Icrc::Right => self.icrc_right += 1,
            Icrc::Wrong { .. } => self.icrc_wrong.add(frame),
            Icrc::Cut | Icrc::Broken => self.icrc_unknown += 1,
        }
        if matches!(roce.vcrc, Some(Vcrc::Wrong { .. })) {
            self.vcrc_wrong.add(frame);
        }
    }

    /// What the streams tell at the end.
    fn end(&mut self, streams: &Streams) {
        self.streams_forgotten = streams.forgotten();
        self.gaps_given_up = streams.given_up();
        self.iwarp_bytes_missing = self.iwarp_bytes_missing.saturating_add(streams.missing_at_end());
        self.iwarp_bytes_waiting = streams.waiting_at_end();
    }

    /// Whether no packet is broken and no ICRC, VCRC or CRC of an FPDU wrong.
    pub fn is_fine(&self) -> bool {
        self.icrc_wrong.count == 0
            && self.vcrc_wrong.count == 0
            && self.fpdus.crc_wrong.count == 0
            && self.malformed.count == 0
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} packets{}, {} of them {}: ICRC right in {}",
            self.packets,
            PassedOver(self.passed_over),
            self.roce,
            if self.not_roce_v2 == 0 { "RoCE v2" } else { "RoCE or InfiniBand" },
            self.icrc_right
        )?;
        if self.icrc_wrong.count > 0 {
            write!(f, ", WRONG in {}", self.icrc_wrong)?;
        }
        if self.icrc_unknown > 0 {
            write!(f, ", not known of {}", self.icrc_unknown)?;
        }
        if self.vcrc_wrong.count > 0 {
            write!(f, "; VCRC WRONG in {}", self.vcrc_wrong)?;
        }
        let Fpdus { crc_right, crc_absent, crc_wrong, crc_unknown } = &self.fpdus;
        let all = crc_right + crc_absent + crc_wrong.count + crc_unknown;
        if all > 0 {
            write!(f, "; {all} FPDUs: CRC right in {crc_right}, absent in {crc_absent}")?;
            if crc_wrong.count > 0 {
                write!(f, ", WRONG in {crc_wrong}")?;
            }
            if *crc_unknown > 0 {
                write!(f, ", not known of {crc_unknown}")?;
            }
        }
        if self.iwarp_bytes_missing > 0 {
            write!(f, "; {} bytes of iWARP not captured", self.iwarp_bytes_missing)?;
        }
        if self.iwarp_bytes_waiting > 0 {
            write!(f, ", {} behind them left alone at the end", self.iwarp_bytes_waiting)?;
        }
        if self.streams_forgotten > 0 {
            write!(f, "; {} TCP connections forgotten: too many at once", self.streams_forgotten)?;
        }
        if self.gaps_given_up > 0 {
            write!(f, "; bytes missing in TCP connections given up {} times", self.gaps_given_up)?;
        }
        if self.malformed.count > 0 {
            write!(f, "; malformed: {}", self.malformed)?;
        }
        Ok(())
    }
}

/// Said of them only if there are any.
struct PassedOver(u64);

impl fmt::Display for PassedOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 { Ok(()) } else { write!(f, " ({} more passed over by the filter)", self.0) }
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
