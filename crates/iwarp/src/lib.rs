//! iWARP, RDMA over a byte stream: MPA (RFC 5044, RFC 6581), DDP (RFC 5041) and RDMAP (RFC 5040, RFC 7306), sans-IO.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod negotiated;
mod profile;
mod start_up;

pub use negotiated::{Negotiated, ReadyToReceive, Role};
pub use profile::Profile;
pub use start_up::{
    Asked, Initiator, PrivateDataTooLong, ReadySet, Refusal, Reply, Request, Responder, StartUpFault, Terms,
};
