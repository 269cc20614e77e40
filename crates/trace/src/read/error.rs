//! What can be wrong with a capture file, where, and after how many good packets.

use core::fmt;
use std::io;

/// Why a capture could not be read any further. All packets before it have been given.
#[derive(Debug)]
pub struct ReadError {
    /// Where the thing that is wrong stands, in bytes from the start of the file.
    pub offset: u64,
    /// How many whole packets stand before it.
    pub packets_before: u64,
    /// What is wrong.
    pub fault: ReadFault,
}

/// What is wrong with a capture file.
#[derive(Debug)]
pub enum ReadFault {
    /// The operating system failed to read.
    Io(io::Error),
    /// There is not one byte.
    Empty,
    /// The first bytes are of no capture format that is known here.
    NotACapture {
        /// The first four bytes, as they stand.
        found: [u8; 4],
    },
    /// The file is a compressed one.
    Compressed {
        /// The program that made it.
        with: &'static str,
    },
    /// The file ends in the middle of something.
    Cut {
        /// What is not whole.
        what: &'static str,
        /// Bytes it takes.
        need: u64,
        /// Bytes that are there.
        have: u64,
    },
    /// A format version that may mean something else.
    Version {
        /// Major version found.
        major: u16,
        /// Minor version found.
        minor: u16,
    },
    /// The byte-order mark of a section header is neither of the two that there are.
    ByteOrder {
        /// The four bytes, as they stand.
        found: [u8; 4],
    },
    /// A length that cannot be.
    Length {
        /// What has this length.
        what: &'static str,
        /// The length as found, in bytes.
        found: u64,
        /// What is asked of it.
        rule: &'static str,
        /// The bound the rule speaks of, in bytes.
        bound: u64,
    },
    /// The two lengths of a block, in front and behind, are not the same.
    LengthsDiffer {
        /// The one in front, in bytes.
        front: u32,
        /// The one behind, in bytes.
        behind: u32,
    },
    /// A packet names an interface that the file has not described.
    UnknownInterface {
        /// The interface's index.
        interface: u32,
        /// How many are described in this section.
        described: u32,
    },
    /// A section describes more interfaces than are kept.
    TooManyInterfaces {
        /// How many are kept.
        limit: u32,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.packets_before {
            0 => write!(f, "at file offset {}: ", self.offset)?,
            n => write!(f, "after packet {n}, at file offset {}: ", self.offset)?,
        }
        self.fault.fmt(f)
    }
}

impl fmt::Display for ReadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadFault::Io(error) => write!(f, "reading failed: {error}"),
            ReadFault::Empty => f.write_str("the capture is empty, not even a file header"),
            ReadFault::NotACapture { found: [a, b, c, d] } => {
                write!(f, "neither pcap nor pcapng: it begins with the bytes {a:02x} {b:02x} {c:02x} {d:02x}")
            }
            ReadFault::Compressed { with } => {
                write!(f, "compressed with {with}; unpack it first, as in `{with} -dc FILE | rdmalab dump -`")
            }
            ReadFault::Cut { what, need, have } => {
                write!(f, "the file is cut: {what} takes {need} bytes, {have} are there")
            }
            ReadFault::Version { major, minor } => {
                write!(f, "format version {major}.{minor} is not known")
            }
            ReadFault::ByteOrder { found: [a, b, c, d] } => {
                write!(f, "damaged section header: byte-order mark is {a:02x} {b:02x} {c:02x} {d:02x}")
            }
            ReadFault::Length { what, found, rule, bound } => {
                write!(f, "damaged: {what} is {found} bytes long, {rule} {bound}")
            }
            ReadFault::LengthsDiffer { front, behind } => {
                write!(f, "damaged: the block is {front} bytes long at its front, {behind} at its end")
            }
            ReadFault::UnknownInterface { interface, described } => {
                write!(f, "damaged: packet of interface {interface}, but {described} are described so far")
            }
            ReadFault::TooManyInterfaces { limit } => {
                write!(f, "more than {limit} interfaces in one section")
            }
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.fault {
            ReadFault::Io(error) => Some(error),
            _ => None,
        }
    }
}
