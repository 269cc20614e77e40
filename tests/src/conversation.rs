//! What the two ends of a verbs conversation agree on: the operations, the memory, the lines they exchange.
//!
//! `peers/verbs_peer.py`, which is the other end in a guest, describes all of it at its head. Here is an end of ours:
//! what to carry out, what each byte of memory must be when that is done, and [`converse`], which does it.

mod end;
mod lines;
mod memory;
mod operation;

pub use end::converse;
pub use lines::{Introduction, Wish};
pub use memory::{Side, compare, expected, pattern};
pub use operation::{KeyKind, Kind, Operation, Refusal, operations};
