//! The rings that hold posted work until it completes.
//!
//! Everything is allocated when a queue is made: posting and completing never allocate. A place in a ring is named by
//! its distance from the oldest request.

mod receive;
mod ring;
mod send;

pub use receive::{ReceiveQueue, ReceiveWork};
pub use send::{SendQueue, SendWork};
