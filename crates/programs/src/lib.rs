//! The exchanges of the well-known RDMA test programs, so that the real ones can be on the other side.
//!
//! Each program is written against `rdmalab-device` as an application would be.
#![forbid(unsafe_code)]

mod calling;
mod connect_error;
pub mod perf;
pub mod pingpong;
mod report;
pub mod rping;
pub mod serve;
pub mod ucmatose;
pub mod udaddy;

pub use connect_error::ConnectError;
pub use report::Report;
