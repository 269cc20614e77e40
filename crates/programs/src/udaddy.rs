//! `udaddy`: a datagram service that is asked for, and datagrams there and back again.
//!
//! Seen (`pcaps/udaddy.pcap`): the client asks which queue pair is behind the service (SIDR), then sends all its datagrams
//! (`-C`), each with its own queue pair's number as immediate data; the server answers with as many of the same length.
//! Datagrams that are lost stay lost: the real programs then wait for ever. Nothing ends the exchange on the wire.
//!
//! Our server answers each datagram when it comes, which a client cannot tell from the real server's way, and so need not
//! be told how many there are.

mod answerer;
mod client;

use std::time::Duration;

pub(crate) use answerer::Answerer;
pub use client::connect;

/// The RDMA-CM port, of the space UDP, that the program listens on.
pub const DEFAULT_PORT: u16 = 7174;

/// Bytes in front of a received datagram.
const AREA: u32 = 40;

/// How long an answer may take, if nothing else is said. Then datagrams are taken for lost.
pub const PATIENCE: Duration = Duration::from_secs(5);
