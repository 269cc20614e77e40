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

use std::time::Duration;

pub(crate) use answerer::Answerer;
pub use client::connect;

/// The RDMA-CM port that the program listens on.
pub const DEFAULT_PORT: u16 = 7471;

/// Messages of a connection that are under way at once, and receives that are posted.
const WINDOW: u32 = 64;

/// How long a server may take for its part, if nothing else is said.
pub const PATIENCE: Duration = Duration::from_secs(60);
