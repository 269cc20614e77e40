//! Captures: reading them, writing them, and telling what is in them.
//!
//! [`Reader`] reads pcap and pcapng from any stream, [`Writer`] writes pcapng. [`Dissection`] takes a packet
//! apart, [`Line`] prints it on one line, [`Json`] as one object; [`dump`] does so with a whole capture.
//!
//! This crate never touches a network, never reads a clock, and never panics, whatever bytes a file holds.
//! Memory does not grow with the size of a capture.

#![forbid(unsafe_code)]

mod dissect;
mod dump;
mod fields;
mod json;
mod line;
mod read;
mod record;
mod write;

pub use dissect::{Dissection, Icrc, LayerName, Malformed, Network, Roce};
pub use dump::{DumpError, DumpOptions, Summary, Trouble, dump};
pub use fields::Value;
pub use json::Json;
pub use line::Line;
pub use read::options::Comments;
pub use read::{Format, LONGEST_BLOCK, LONGEST_PACKET, MOST_INTERFACES, ReadError, ReadFault, Reader};
pub use record::{Direction, LinkType, Record};
pub use write::{Entry, InterfaceId, WriteError, Writer};
