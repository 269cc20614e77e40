//! iWARP, RDMA over a byte stream: MPA (RFC 5044, RFC 6581), DDP (RFC 5041) and RDMAP (RFC 5040, RFC 7306), sans-IO.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod config;
mod event;
mod fault;
mod inbound;
mod negotiated;
mod outlet;
mod profile;
mod queue_pair;
mod receives;
mod requester;
mod responder;
mod settings;
mod start_up;
mod terminate;

pub use config::{CreateError, Identity, QueuePairConfig, StreamSettings};
pub use event::{End, Event, TerminatedBy};
pub use negotiated::{Negotiated, ReadyToReceive, Role};
pub use profile::Profile;
pub use queue_pair::QueuePair;
pub use start_up::{
    Asked, Initiator, PrivateDataTooLong, ReadySet, Refusal, Reply, Request, Responder, StartUpFault, Terms,
};
