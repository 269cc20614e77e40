//! The InfiniBand transport over datagrams, as RoCE v2 carries it: a sans-IO engine.
//!
//! An [`Endpoint`] is one port with many queue pairs: reliable connected (RC), unreliable connected (UC), unreliable
//! datagram (UD), and the two ends of extended reliable connections (XRC). Packets come in as slices that begin with
//! an IP header ([`Endpoint::handle_packet`]); packets go out into a [`Batch`] ([`Endpoint::poll`]); time is handed in
//! as nanoseconds; completions go into the queues of a [`Context`](rdmalab_verbs::Context) that is lent for each call.
//! The engine never reads a clock, opens a socket, starts a thread or draws a random number, so the same code runs
//! live, in simulation and under a fuzzer, and cannot tell which.
//!
//! A queue pair owns two halves: one turns work requests into packets and watches for what comes back, one
//! judges the peer's requests and answers them. They share nothing but the path.
//!
//! # Limits
//!
//! No reliable datagrams (RD), no automatic path migration, no selective repeat (the specification has none). Multicast
//! datagrams do not come back to their own port. FLUSH finds everything placed already: memory here is as lasting as the
//! process.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod assembly;
mod batch;
mod config;
mod congestion;
mod counters;
mod datagram_receiver;
mod endpoint;
mod event;
mod halves;
mod ip_layer;
mod multicast;
mod outlet;
mod port;
mod profile;
mod queue_pair;
mod receives;
mod requester;
mod responder;
mod ring;
mod settings;
mod timer_heap;
mod unreliable_receiver;
mod unreliable_sender;

pub use batch::Batch;
pub use config::{CreateError, EndpointConfig, QueuePairConfig};
pub use congestion::{CongestionControl, DcqcnConfig};
pub use counters::{Counters, Discard, Served};
pub use endpoint::Endpoint;
pub use event::{Event, RetryCause};
pub use ip_layer::IpLayer;
pub use multicast::MulticastError;
pub use profile::{Notifications, Profile};
