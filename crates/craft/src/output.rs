//! Where crafted frames go: a pcapng or a classic pcap file.
//!
//! A classic file has nanoseconds and one link type; it knows no interfaces, directions and comments.

use core::fmt;
use std::io::{self, Write};

use rdmalab_trace::{Direction, Entry, InterfaceId, LinkType, WriteError, Writer};

use crate::limits::{LONGEST_PACKET, MOST_INTERFACES};

/// One frame for a capture.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Nanoseconds since 1970.
    pub time: u64,
    /// What the bytes begin with.
    pub link_type: LinkType,
    /// What the capture keeps of the frame.
    pub data: &'a [u8],
    /// How long it was, in bytes.
    pub original_length: u32,
    /// The interface's name.
    pub interface: &'a str,
    /// Which way it went.
    pub direction: Option<Direction>,
    /// A comment; empty for none.
    pub comment: &'a str,
}

impl<'a> Frame<'a> {
    /// A whole frame on an interface without a name.
    pub fn new(time: u64, link_type: LinkType, data: &'a [u8]) -> Self {
        let original_length = u32::try_from(data.len()).unwrap_or(u32::MAX);
        Frame { time, link_type, data, original_length, interface: "", direction: None, comment: "" }
    }
}

/// Why a frame could not be written.
#[derive(Debug)]
pub enum OutputError {
    /// A pcapng file.
    Pcapng(WriteError),
    /// A classic file.
    Pcap(io::Error),
    /// A frame of another link type than the first, in a classic file.
    LinkTypes {
        /// The file's.
        file: LinkType,
        /// The frame's.
        frame: LinkType,
    },
    /// More interfaces than are kept.
    Interfaces,
    /// A time that a classic file cannot hold, in seconds since 1970.
    Time(u64),
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OutputError::Pcapng(error) => error.fmt(f),
            OutputError::Pcap(error) => write!(f, "writing failed: {error}"),
            OutputError::LinkTypes { file, frame } => {
                write!(f, "{frame} packets do not go into a pcap file of {file}; write a .pcapng file")
            }
            OutputError::Interfaces => write!(f, "more than {MOST_INTERFACES} interfaces"),
            OutputError::Time(seconds) => {
                write!(f, "a pcap file ends in the year 2106, {seconds} s are later; write a .pcapng file")
            }
        }
    }
}

impl std::error::Error for OutputError {}

impl OutputError {
    /// Whether the frame asks for what no file of this kind holds, so that it is the description that is wrong.
    pub fn is_of_the_frame(&self) -> bool {
        match self {
            OutputError::Pcapng(error) => matches!(error, WriteError::TooLong { .. }),
            OutputError::Pcap(_) => false,
            OutputError::LinkTypes { .. } | OutputError::Interfaces | OutputError::Time(_) => true,
        }
    }
}

/// A capture file that is being written.
#[derive(Debug)]
pub struct Capture<W> {
    format: Format<W>,
}

#[derive(Debug)]
enum Format<W> {
    Pcapng { writer: Writer<W>, interfaces: Vec<(String, LinkType, InterfaceId)> },
    Pcap { out: W, link_type: Option<LinkType> },
}

impl<W: Write> Capture<W> {
    /// Begins a pcapng file. Hand in a `BufWriter` for a file.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn pcapng(out: W) -> Result<Self, OutputError> {
        let writer = Writer::new(out).map_err(OutputError::Pcapng)?;
        Ok(Capture { format: Format::Pcapng { writer, interfaces: Vec::new() } })
    }

    /// Begins a classic file. Its head is written with the first frame.
    pub fn pcap(out: W) -> Self {
        Capture { format: Format::Pcap { out, link_type: None } }
    }

    /// Writes one frame.
    ///
    /// # Errors
    ///
    /// What the file cannot hold, or if writing fails.
    pub fn write(&mut self, frame: &Frame<'_>) -> Result<(), OutputError> {
        match &mut self.format {
            Format::Pcapng { writer, interfaces } => {
                let known = interfaces
                    .iter()
                    .find(|(name, link_type, _)| *link_type == frame.link_type && name == frame.interface);
                let id = match known {
                    Some((.., id)) => *id,
                    None if interfaces.len() >= MOST_INTERFACES => return Err(OutputError::Interfaces),
                    None => {
                        let made = writer.interface_of(frame.interface, frame.link_type);
                        let id = made.map_err(OutputError::Pcapng)?;
                        interfaces.push((frame.interface.to_owned(), frame.link_type, id));
                        id
                    }
                };
                let mut entry = Entry::new(id, frame.time, frame.data).original_length(frame.original_length);
                entry = entry.comment(frame.comment);
                if let Some(direction) = frame.direction {
                    entry = entry.direction(direction);
                }
                writer.write(entry).map_err(OutputError::Pcapng)
            }
            Format::Pcap { out, link_type } => {
                match *link_type {
                    None => {
                        pcap_head(out, frame.link_type).map_err(OutputError::Pcap)?;
                        *link_type = Some(frame.link_type);
                    }
                    Some(file) if file != frame.link_type => {
                        return Err(OutputError::LinkTypes { file, frame: frame.link_type });
                    }
                    Some(_) => {}
                }
                let seconds = frame.time / 1_000_000_000;
                let seconds = u32::try_from(seconds).map_err(|_| OutputError::Time(seconds))?;
                let nanoseconds = (frame.time % 1_000_000_000) as u32;
                let length = frame.data.len() as u32;
                let mut head = [0; 16];
                let fields = [seconds, nanoseconds, length, frame.original_length.max(length)];
                for (place, field) in head.as_chunks_mut::<4>().0.iter_mut().zip(fields) {
                    *place = field.to_le_bytes();
                }
                out.write_all(&head).and_then(|()| out.write_all(frame.data)).map_err(OutputError::Pcap)
            }
        }
    }

    /// Hands everything on and gives the stream back. A classic file without a frame is one of Ethernet.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn finish(self) -> Result<W, OutputError> {
        match self.format {
            Format::Pcapng { writer, .. } => writer.finish().map_err(OutputError::Pcapng),
            Format::Pcap { mut out, link_type } => {
                if link_type.is_none() {
                    pcap_head(&mut out, LinkType::ETHERNET).map_err(OutputError::Pcap)?;
                }
                out.flush().map_err(OutputError::Pcap)?;
                Ok(out)
            }
        }
    }
}

/// The head of a classic file, little end first, with nanoseconds.
fn pcap_head(out: &mut impl Write, link_type: LinkType) -> io::Result<()> {
    let mut head = Vec::with_capacity(24);
    head.extend_from_slice(&0xa1b2_3c4d_u32.to_le_bytes());
    head.extend_from_slice(&[2, 0, 4, 0]);
    head.extend_from_slice(&[0; 8]);
    head.extend_from_slice(&(LONGEST_PACKET as u32).to_le_bytes());
    head.extend_from_slice(&u32::from(link_type.0).to_le_bytes());
    out.write_all(&head)
}
