//! `ucmatose`: connections, and the same number of messages over each of them there and back again.
//!
//! Seen: the server sends all its messages first, as soon as the connection stands; when the client has them, it sends as
//! many back; when the server has those, it ends the connection. Nothing tells the other side how many messages there are
//! (`-C`) and how long they are (`-S`): both must be told alike. What is in them does not matter. A client calls with an
//! RNR retry count of 0: its receives must be posted before the connection stands, and so are ours.
//!
//! `cmtime` calls the same port, makes all its connections, ends them again, and takes no messages.

mod answerer;
mod client;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

pub(crate) use answerer::Answerer;
pub use client::connect;

/// The RDMA-CM port that the program listens on.
pub const DEFAULT_PORT: u16 = 7471;

/// Messages of a connection that are under way at once, and receives that are posted.
const WINDOW: u32 = 64;

/// What a client does.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whom it calls (`-s`).
    pub server: SocketAddr,
    /// From which of our addresses (`-b`); the first that fits, if not given.
    pub source: Option<IpAddr>,
    /// Connections (`-c`).
    pub connections: u32,
    /// Messages over each (`-C`).
    pub messages: u32,
    /// Bytes of each (`-S`).
    pub size: u32,
    /// How long the server may take for its part.
    pub patience: Option<Duration>,
}

impl Options {
    /// One connection, ten messages of 100 bytes, as the real program's.
    pub fn new(server: SocketAddr) -> Self {
        Self {
            server,
            source: None,
            connections: 1,
            messages: 10,
            size: 100,
            patience: Some(Duration::from_secs(60)),
        }
    }
}
