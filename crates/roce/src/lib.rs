//! The InfiniBand transport over datagrams, as RoCE v2 carries it: a sans-IO engine.
//!
//! An [`Endpoint`] is one port with many reliable connected (RC) queue pairs. Packets come in as slices that begin with
//! an IP header ([`Endpoint::handle_packet`]); packets go out into a [`Batch`] ([`Endpoint::poll`]); time is handed in
//! as nanoseconds; completions go into the queues of a [`Context`](rdmalab_verbs::Context) that is lent for each call.
//! The engine never reads a clock, opens a socket, starts a thread or draws a random number, so the same code runs
//! live, in simulation and under a fuzzer, and cannot tell which.
//!
//! A queue pair owns a requester that turns work requests into packets and watches for what comes back,
//! and a responder that judges the peer's requests and answers them. They share nothing but the path.
//!
//! # Limits
//!
//! Only RC; no XRC, UC or UD yet. No end-to-end credits (acknowledgements say so), no congestion control, no
//! memory windows, no SEND with invalidate: a peer that uses it is told that its request is invalid.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod batch;
mod config;
#[allow(dead_code, unused_imports, reason = "requesters and responders do not use it yet")]
mod congestion;
mod counters;
mod endpoint;
mod event;
mod outlet;
mod queue_pair;
mod requester;
mod responder;
mod timer_heap;

pub use batch::Batch;
pub use config::{CreateError, EndpointConfig, QueuePairConfig};
pub use congestion::{CongestionControl, DcqcnConfig};
pub use counters::{Counters, Discard};
pub use endpoint::Endpoint;
pub use event::{Event, RetryCause};
