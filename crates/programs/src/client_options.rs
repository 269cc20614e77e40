//! What a client of ucmatose or udaddy is told: their options are the same.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::calling::Stop;
use crate::herald::Herald;

/// What a client does.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Whom it calls, or asks (`-s`).
    pub server: SocketAddr,
    /// From which of our addresses (`-b`); the first that fits, if not given.
    pub source: Option<IpAddr>,
    /// Connections, or datagram services that it asks for (`-c`).
    pub connections: u32,
    /// Messages over each (`-C`).
    pub messages: u32,
    /// Bytes of each (`-S`); of a datagram at most the path MTU.
    pub size: u32,
    /// How long the server may take for its part. Then datagrams are taken for lost.
    pub patience: Option<Duration>,
    /// Set when the client is to end: it then ends its connections, and fails with
    /// [`ConnectError::Interrupted`](crate::ConnectError::Interrupted).
    pub stop: Stop,
    /// Is told what is waited for.
    pub herald: Herald,
}

impl ClientOptions {
    /// One connection, ten messages of 100 bytes, as the real programs'.
    pub fn new(server: SocketAddr, patience: Duration) -> Self {
        Self {
            server,
            source: None,
            connections: 1,
            messages: 10,
            size: 100,
            patience: Some(patience),
            stop: Stop::default(),
            herald: Herald::default(),
        }
    }
}
