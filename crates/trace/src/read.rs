//! Reads capture files of both formats from any stream, one packet at a time.
//!
//! Never holds more of a file than a window of it, never allocates for a packet, never panics whatever the
//! bytes are. Everything a file can make large has a limit: [`LONGEST_PACKET`], [`LONGEST_BLOCK`],
//! [`MOST_INTERFACES`]. All whole packets before a damage are given before the error.

mod classic;
mod error;
mod interface;
pub(crate) mod options;
mod pcapng;
mod source;

use std::io::Read;
use std::ops::Range;

use crate::record::{Direction, LinkType, Record};
use classic::Classic;
pub use error::{ReadError, ReadFault};
use options::{Comments, Options};
use pcapng::Section;
use source::Source;

/// Longest packet that is read, in bytes. Four times what capture programs keep at most.
pub const LONGEST_PACKET: u32 = 1024 * 1024;
/// Longest block of a pcapng file that is read, in bytes; as in Wireshark.
pub const LONGEST_BLOCK: u32 = 16 * 1024 * 1024;
/// Most interfaces that a section of a pcapng file may describe.
pub const MOST_INTERFACES: u32 = 65_536;

/// The byte order of a file or section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Big,
    Little,
}

impl Order {
    /// Zero where the bytes end before; callers have looked.
    #[inline]
    fn u32_at(self, bytes: &[u8], at: usize) -> u32 {
        let array = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>().copied()).unwrap_or_default();
        match self {
            Order::Big => u32::from_be_bytes(array),
            Order::Little => u32::from_le_bytes(array),
        }
    }

    #[inline]
    fn u16_at(self, bytes: &[u8], at: usize) -> u16 {
        let array = bytes.get(at..).and_then(|rest| rest.first_chunk::<2>().copied()).unwrap_or_default();
        match self {
            Order::Big => u16::from_be_bytes(array),
            Order::Little => u16::from_le_bytes(array),
        }
    }
}

/// The formats that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Classic capture file with microseconds or nanoseconds.
    Pcap,
    /// Next generation capture file.
    Pcapng,
}

/// One packet as the readers of both formats find it; ranges are of the last `length` bytes consumed.
struct Found {
    length: usize,
    bytes: Range<usize>,
    options: Range<usize>,
    interface: u32,
    original: u32,
    time: Option<i128>,
    direction: Option<Direction>,
}

#[derive(Debug)]
enum State {
    Classic(Classic),
    Pcapng(Section),
}

/// Reads the packets of a capture.
///
/// An iterator that lends: each record borrows from the reader until the next is asked for.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut reader = rdmalab_trace::Reader::new(std::fs::File::open("rping.pcap")?)?;
/// while let Some(record) = reader.next()? {
///     println!("{} {} bytes", record.frame, record.data.len());
/// }
/// # Ok(()) }
/// ```
pub struct Reader<R> {
    source: Source<R>,
    state: State,
    packets: u64,
    ended: bool,
}

impl<R: Read> Reader<R> {
    /// Reads what stands in front of the packets.
    ///
    /// # Errors
    /// If the input is no capture, or one whose beginning is damaged. A pcapng file's first block is only
    /// looked at by [`next`](Reader::next).
    pub fn new(input: R) -> Result<Reader<R>, ReadError> {
        let mut source = Source::new(input);
        let state = open(&mut source).map_err(|fault| ReadError {
            offset: source.offset(),
            packets_before: 0,
            fault,
        })?;
        Ok(Reader { source, state, packets: 0, ended: false })
    }

    /// The format of the file.
    pub fn format(&self) -> Format {
        match self.state {
            State::Classic(_) => Format::Pcap,
            State::Pcapng(_) => Format::Pcapng,
        }
    }

    /// The next packet, or None after the last. After an error there are no more packets.
    ///
    /// # Errors
    /// If the file is damaged or cut here, or reading it failed.
    #[allow(clippy::should_implement_trait)] // it lends, an Iterator cannot
    #[inline]
    pub fn next(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        if self.ended {
            return Ok(None);
        }
        let found = match &mut self.state {
            State::Classic(classic) => classic.next(&mut self.source),
            State::Pcapng(section) => section.next(&mut self.source),
        };
        let found = match found {
            Ok(Some(found)) => found,
            Ok(None) => {
                self.ended = true;
                return Ok(None);
            }
            Err(fault) => {
                self.ended = true;
                let (offset, packets_before) = (self.source.offset(), self.packets);
                return Err(ReadError { offset, packets_before, fault });
            }
        };
        self.packets += 1;
        let (order, interface) = match &self.state {
            State::Classic(classic) => (Order::Little, Some(&classic.interface)),
            State::Pcapng(section) => (section.order, section.interfaces.get(found.interface as usize)),
        };
        let bytes = self.source.consumed(found.length);
        Ok(Some(Record {
            frame: self.packets,
            offset: self.source.offset() - found.length as u64,
            time: found.time,
            finer_than_microseconds: interface.is_some_and(|i| i.clock.finer_than_microseconds()),
            link_type: interface.map_or(LinkType(0), |i| i.link_type),
            interface: found.interface,
            interface_name: interface.and_then(|i| i.name.as_deref()),
            direction: found.direction,
            original_length: found.original,
            data: bytes.get(found.bytes).unwrap_or_default(),
            comments: Comments(Options::new(
                bytes.get(found.options).unwrap_or_default(),
                order == Order::Big,
            )),
        }))
    }
}

fn open<R: Read>(source: &mut Source<R>) -> Result<State, ReadFault> {
    let whole = source.fill(4).map_err(ReadFault::Io)?;
    let Some(&magic) = source.window().first_chunk::<4>().filter(|_| whole) else {
        let have = source.window().len() as u64;
        return Err(match have {
            0 => ReadFault::Empty,
            _ => ReadFault::Cut { what: "the file header", need: 4, have },
        });
    };
    if Section::recognize(magic) {
        return Ok(State::Pcapng(Section::new()));
    }
    if let Some(kind) = Classic::recognize(magic) {
        return Classic::open(source, kind).map(State::Classic);
    }
    Err(match magic {
        [0x1f, 0x8b, ..] => ReadFault::Compressed { with: "gzip" },
        [0x28, 0xb5, 0x2f, 0xfd] => ReadFault::Compressed { with: "zstd" },
        [0x04, 0x22, 0x4d, 0x18] => ReadFault::Compressed { with: "lz4" },
        [0xfd, b'7', b'z', b'X'] => ReadFault::Compressed { with: "xz" },
        [b'B', b'Z', b'h', _] => ReadFault::Compressed { with: "bzip2" },
        found => ReadFault::NotACapture { found },
    })
}

/// Has `length` bytes in the window or says what is cut.
#[inline]
fn need<R: Read>(source: &mut Source<R>, length: usize, what: &'static str) -> Result<(), ReadFault> {
    if source.fill(length).map_err(ReadFault::Io)? {
        return Ok(());
    }
    Err(ReadFault::Cut { what, need: length as u64, have: source.window().len() as u64 })
}

/// As [`need`], but false if the file ends exactly here.
#[inline]
fn need_or_end<R: Read>(
    source: &mut Source<R>,
    length: usize,
    what: &'static str,
) -> Result<bool, ReadFault> {
    if source.fill(length).map_err(ReadFault::Io)? {
        return Ok(true);
    }
    match source.window().len() as u64 {
        0 => Ok(false),
        have => Err(ReadFault::Cut { what, need: length as u64, have }),
    }
}

#[cold]
fn too_long(what: &'static str, found: u32, bound: u32) -> ReadFault {
    ReadFault::Length { what, found: found.into(), rule: "at most are read", bound: bound.into() }
}
