//! The exchanges of the well-known RDMA test programs, so that the real ones can be on the other side.
//!
//! Each program is written against `rdmalab-device` as an application would be.
#![forbid(unsafe_code)]

pub mod perf;
pub mod pingpong;
