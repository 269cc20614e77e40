//! The exchanges of the well-known RDMA test programs, so that the real ones can be on the other side.
//!
//! Each program is written against `rdmalab-device` as an application would be.
#![forbid(unsafe_code)]

mod calling;
mod client_options;
mod connect_error;
mod herald;
mod meeting;
pub mod perf;
pub mod pingpong;
mod reasons;
mod report;
pub mod rping;
pub mod serve;
pub mod ucmatose;
pub mod udaddy;

pub use calling::Stop;
pub use client_options::ClientOptions;
pub use connect_error::ConnectError;
pub use herald::Herald;
pub use meeting::NoSuchGid;
pub use report::Report;
