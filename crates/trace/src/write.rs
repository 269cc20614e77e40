//! Writes pcapng: nanoseconds, named interfaces, directions, a comment on each packet that has one.
//!
//! The bytes depend on nothing but what is handed in: no clock is read, no machine, user or version is named.
//! So a simulation with one seed gives one file.

use core::fmt;
use std::io::{self, Write};

use crate::read::options::{COMMENT, END, EPB_FLAGS, IF_NAME, IF_TSRESOL, SHB_USERAPPL};
use crate::record::{Direction, LinkType};

/// The name of the writing program that the files give.
const PROGRAM: &str = "rdmalab";
/// Longest value of an option, in bytes: its length has 16 bits.
const LONGEST_OPTION: usize = u16::MAX as usize;
/// Longest packet that is written, in bytes: what [`Reader`](crate::Reader) reads.
const LONGEST_PACKET: usize = crate::read::LONGEST_PACKET as usize;

/// Writes a pcapng file to anything. Each call is one `write_all`; hand in a `BufWriter` for a file.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    interfaces: u32,
    packets: u64,
    /// Kept between calls, so that none allocates.
    block: Vec<u8>,
}

/// An interface of a [`Writer`], to name with each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InterfaceId(u32);

/// One packet to write.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    interface: InterfaceId,
    time: u64,
    data: &'a [u8],
    original_length: Option<u32>,
    direction: Option<Direction>,
    comment: Option<&'a str>,
}

impl<'a> Entry<'a> {
    /// A whole packet, seen on `interface` at `time` nanoseconds (since 1970, or since the start of a
    /// simulation).
    pub fn new(interface: InterfaceId, time: u64, data: &'a [u8]) -> Entry<'a> {
        Entry { interface, time, data, original_length: None, direction: None, comment: None }
    }

    /// Says which way it went.
    pub fn direction(mut self, direction: Direction) -> Entry<'a> {
        self.direction = Some(direction);
        self
    }

    /// Puts a comment on it, which Wireshark shows. An empty one is none.
    pub fn comment(mut self, comment: &'a str) -> Entry<'a> {
        self.comment = Some(comment).filter(|comment| !comment.is_empty());
        self
    }

    /// Says that the packet was longer than the data, in bytes.
    pub fn original_length(mut self, length: u32) -> Entry<'a> {
        self.original_length = Some(length);
        self
    }
}

/// Why a capture could not be written.
#[derive(Debug)]
pub enum WriteError {
    /// The operating system failed to write packet `packet` (0: what stands in front of the first).
    Io {
        /// Number of the packet, as readers count.
        packet: u64,
        /// What went wrong.
        error: io::Error,
    },
    /// The packet's interface belongs to another writer.
    UnknownInterface(InterfaceId),
    /// Something is longer than a file can hold.
    TooLong {
        /// What is too long.
        what: &'static str,
        /// Its length in bytes.
        length: usize,
        /// The most that goes, in bytes.
        limit: usize,
    },
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::Io { packet: 0, error } => {
                write!(f, "writing the capture's beginning failed: {error}")
            }
            WriteError::Io { packet, error } => write!(f, "writing packet {packet} failed: {error}"),
            WriteError::UnknownInterface(InterfaceId(index)) => {
                write!(f, "interface {index} is not of this capture")
            }
            WriteError::TooLong { what, length, limit } => {
                write!(f, "{what} of {length} bytes, {limit} at most can be written")
            }
        }
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            WriteError::Io { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl<W: Write> Writer<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// If writing fails.
    pub fn new(out: W) -> Result<Writer<W>, WriteError> {
        let mut writer = Writer { out, interfaces: 0, packets: 0, block: Vec::new() };
        writer.begin(0x0a0d_0d0a);
        writer.u32(0x1a2b_3c4d);
        writer.u16(1);
        writer.u16(0);
        writer.bytes(&(-1i64).to_le_bytes()); // section length: not known beforehand
        writer.option(SHB_USERAPPL, PROGRAM.as_bytes());
        writer.option(END, &[]);
        writer.end()?;
        Ok(writer)
    }

    /// Describes an Ethernet interface, to be used for packets from now on.
    ///
    /// # Errors
    /// If the name is too long or writing fails.
    pub fn interface(&mut self, name: &str) -> Result<InterfaceId, WriteError> {
        self.interface_of(name, LinkType::ETHERNET)
    }

    /// Describes an interface of another kind.
    ///
    /// # Errors
    /// If the name is too long or writing fails.
    pub fn interface_of(&mut self, name: &str, link_type: LinkType) -> Result<InterfaceId, WriteError> {
        fits("the interface name", name.len(), LONGEST_OPTION)?;
        self.begin(1);
        self.u16(link_type.0);
        self.u16(0);
        self.u32(0); // no limit to the length of packets
        self.option(IF_NAME, name.as_bytes());
        self.option(IF_TSRESOL, &[9]); // 10^-9 seconds
        self.option(END, &[]);
        self.end()?;
        let id = InterfaceId(self.interfaces);
        self.interfaces += 1;
        Ok(id)
    }

    /// Writes one packet.
    ///
    /// # Errors
    /// If the packet or its comment is too long, the interface not of this file, or writing fails. Nothing
    /// is written then, except that a failed write may have written a part.
    pub fn write(&mut self, entry: Entry<'_>) -> Result<(), WriteError> {
        if entry.interface.0 >= self.interfaces {
            return Err(WriteError::UnknownInterface(entry.interface));
        }
        fits("the packet", entry.data.len(), LONGEST_PACKET)?;
        fits("the comment", entry.comment.map_or(0, str::len), LONGEST_OPTION)?;
        let length = entry.data.len() as u32;
        self.packets += 1;
        self.begin(6);
        self.u32(entry.interface.0);
        self.u32((entry.time >> 32) as u32);
        self.u32(entry.time as u32);
        self.u32(length);
        self.u32(entry.original_length.unwrap_or(length).max(length));
        self.bytes(entry.data);
        if let Some(comment) = entry.comment {
            self.option(COMMENT, comment.as_bytes());
        }
        if let Some(direction) = entry.direction {
            let flags: u32 = match direction {
                Direction::In => 1,
                Direction::Out => 2,
            };
            self.option(EPB_FLAGS, &flags.to_le_bytes());
        }
        if entry.comment.is_some() || entry.direction.is_some() {
            self.option(END, &[]);
        }
        self.end()
    }

    /// Hands everything on and gives the stream back.
    ///
    /// # Errors
    /// If flushing fails.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.flush()?;
        Ok(self.out)
    }

    /// Hands on what waits on the way.
    ///
    /// # Errors
    /// If flushing fails.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.out.flush().map_err(|error| WriteError::Io { packet: self.packets, error })
    }

    /// What it writes to.
    pub fn out(&self) -> &W {
        &self.out
    }

    /// How many packets were written.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.u32(kind);
        self.u32(0); // the length, when it is known
    }

    /// Puts the length in front and behind, and writes the block.
    fn end(&mut self) -> Result<(), WriteError> {
        let length = (self.block.len() as u32 + 4).to_le_bytes();
        self.block.extend_from_slice(&length);
        self.block[4..8].copy_from_slice(&length);
        self.out.write_all(&self.block).map_err(|error| WriteError::Io { packet: self.packets, error })
    }

    fn u16(&mut self, value: u16) {
        self.block.extend_from_slice(&value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.block.extend_from_slice(&value.to_le_bytes());
    }

    /// With zeros up to a multiple of four.
    fn bytes(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    /// `value` is not longer than [`LONGEST_OPTION`].
    fn option(&mut self, code: u16, value: &[u8]) {
        self.u16(code);
        self.u16(value.len() as u16);
        self.bytes(value);
    }
}

fn fits(what: &'static str, length: usize, limit: usize) -> Result<(), WriteError> {
    if length > limit { Err(WriteError::TooLong { what, length, limit }) } else { Ok(()) }
}
