//! The live tests' laboratory: a real Linux RDMA stack in a guest, a network of its own for it, and judges.
//!
//! A test is hosted by a [`Venue`], which gives it a [`Network`] with a [`Guest`] on it; it runs programs in the guest and
//! programs of ours beside it, and has the [`Capture`] judged. Nothing of it
//! leaves the network namespace, and everything (processes, namespaces, files) goes when its owner is dropped,
//! after a failed test too. Every wait ends: at its limit the test fails and says what it waited for.
//!
//! This is a test harness: past [`Lab::ready`], what goes wrong is a panic that says what and shows the logs.
#![forbid(unsafe_code)]

mod capture;
mod conduct;
pub mod conversation;
pub mod corpus;
mod deviations;
mod excuse;
mod guest;
mod initramfs;
mod kernel;
mod lab;
pub mod matrix;
mod network;
mod packages;
mod process;
mod program;
mod venue;

pub use capture::{Capture, Verdict, Way};
pub use conduct::Conduct;
pub use excuse::Excuse;
pub use guest::{Adapter, Guest, GuestConfig, GuestState, Job, Stuck};
pub use lab::Lab;
pub use network::Network;
pub use process::{Output, Process};
pub use program::{program, siw_end, verbs_end};
pub use venue::{Place, Venue};
