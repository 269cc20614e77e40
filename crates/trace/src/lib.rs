//! Captures: reading them, writing them, and telling what is in them.
//!
//! [`Reader`] reads pcap and pcapng from any stream, [`Writer`] writes pcapng.
//!
//! This crate never touches a network, never reads a clock, and never panics, whatever bytes a file holds.

#![forbid(unsafe_code)]

mod read;
mod record;
mod write;

pub use read::options::Comments;
pub use read::{Format, LONGEST_BLOCK, LONGEST_PACKET, MOST_INTERFACES, ReadError, ReadFault, Reader};
pub use record::{Direction, LinkType, Record};
pub use write::{Entry, InterfaceId, WriteError, Writer};
