//! Captures: reading them, writing them, and telling what is in them.
//!
//! [`Reader`] reads pcap and pcapng from any stream, [`Unpacked`] takes gzip or zstd off it, [`Writer`] writes pcapng.
//! [`Dissection`] takes a packet apart, [`Line`] prints it on one line, [`Tree`] with all its fields, [`Json`] as one
//! object; [`Filter`] chooses packets by their fields; [`dump`] does so with a whole capture.
//!
//! [`fields`] tells each field with its place in the frame, for those who show a packet's bytes.
//!
//! A packet alone does not tell what of iWARP is in it; [`Streams`] follows TCP connections through a capture and does.
//! Fields have Wireshark's names; `FIELDS.md` lists those that are ours, `DIFFERENCES.md` where values are.
//!
//! This crate never touches a network, never reads a clock, and never panics, whatever bytes a file holds.
//! Memory does not grow with the size of a capture, but for the TCP connections being followed, which have a limit.
//!
//! ```
//! use rdmalab_trace::{Direction, DumpOptions, Entry, Writer, dump};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut capture = Writer::new(Vec::new())?;
//! let interface = capture.interface("left")?;
//! let frame = [0xff; 60];
//! capture.write(Entry::new(interface, 1_500, &frame).direction(Direction::Out).comment("lost by rule 1"))?;
//! let file = capture.finish()?;
//!
//! let mut lines = Vec::new();
//! let summary = dump(&file[..], &mut lines, DumpOptions::default())?;
//! assert_eq!(summary.packets, 1);
//! assert_eq!(
//!     String::from_utf8(lines)?,
//!     "    1    0.000000000 ff:ff:ff:ff:ff:ff > ff:ff:ff:ff:ff:ff EtherType 0xffff len=46 # lost by rule 1\n"
//! );
//! # Ok(()) }
//! ```

#![forbid(unsafe_code)]

mod dissect;
mod dump;
mod fields;
mod filter;
mod input;
mod json;
mod line;
mod places;
mod read;
mod record;
mod streams;
mod tree;
mod write;

pub use dissect::{
    Cooked, Dissection, Fragment, Icrc, LayerName, Malformed, Network, Roce, StandIn, TcpSegment, Unread,
    Vcrc,
};
pub use dump::{DumpError, DumpOptions, Fpdus, Summary, Trouble, dump};
pub use fields::Value;
pub use filter::{Filter, FilterError, LONGEST_FILTER, MOST_TESTS};
pub use input::{LARGEST_WINDOW, Packing, Unpacked};
pub use json::Json;
pub use line::Line;
pub use places::{Field, Place, Reading, fields};
pub use read::options::Comments;
pub use read::{Format, LONGEST_BLOCK, LONGEST_PACKET, MOST_INTERFACES, ReadError, ReadFault, Reader};
pub use record::{Direction, LinkType, Record};
pub use streams::{
    Fpdu, IwarpUnit, Left, MOST_BYTES, MOST_CONNECTIONS, MOST_HELD, MOST_SEARCHED, StartUp, Streams,
};
pub use tree::{Tree, header_of};
pub use write::{Entry, InterfaceId, WriteError, Writer};
