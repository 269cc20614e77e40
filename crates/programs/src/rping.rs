//! `rping`: the server fetches a buffer of the client's by RDMA READ and puts it back by RDMA WRITE.
//!
//! One ping, seen in `pcaps/rping.pcap`:
//!
//! | client | server |
//! |---|---|
//! | SEND: where the source is (16 bytes, `advert`) | |
//! | | READ of the source |
//! | | SEND: go ahead |
//! | SEND: where the sink is | |
//! | | WRITE into the sink |
//! | | SEND: done |
//!
//! The client ends the connection after its last ping; the server of the real program calls that an error of its own and
//! is content all the same. The server keeps two receives posted and the client one: nobody has more than one message
//! under way.

mod advert;
mod answerer;
mod client;
mod text;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

pub(crate) use answerer::Answerer;
pub use client::connect;

use crate::calling::Stop;
use crate::herald::Herald;
use crate::report::Report;

/// The RDMA-CM port that the program listens on if nothing else is said.
pub const DEFAULT_PORT: u16 = 7174;
/// The sizes that the real program takes. Its server takes none above its own (`-S`), ours any.
pub const SIZES: std::ops::RangeInclusive<u32> = 23..=65535;

/// How a client is to ping.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whom (`-a`, `-p`).
    pub server: SocketAddr,
    /// From which of our addresses (`-I`); the first that fits, if not given.
    pub source: Option<IpAddr>,
    /// Pings (`-C`); without end, if not given.
    pub count: Option<u64>,
    /// Bytes of a ping (`-S`), of [`SIZES`].
    pub size: u32,
    /// What comes back is compared with what was sent (`-V`).
    pub validate: bool,
    /// How long the server may take for its part.
    pub patience: Option<Duration>,
    /// Set when the client is to end, behind the ping that is under way: it then ends its connection.
    pub stop: Stop,
    /// Is told what is waited for.
    pub herald: Herald,
}

impl Options {
    /// Pings of 100 bytes without end, as the real program's.
    pub fn new(server: SocketAddr) -> Self {
        Self {
            server,
            source: None,
            count: None,
            size: 100,
            validate: false,
            patience: Some(Duration::from_secs(60)),
            stop: Stop::default(),
            herald: Herald::default(),
        }
    }
}

/// What came of it.
pub type RpingReport = Report;
