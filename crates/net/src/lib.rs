//! The operating system: TAP devices, waiting for them, and clocks.
//!
//! This crate moves bytes between the program and Linux and decides nothing: it does not look into a
//! frame (but to finish what the kernel left to hardware), keeps no protocol state and starts no thread. Everything above it is handed bytes and a time.
//!
//! - [`Tap`] is an Ethernet device whose far side is this program.
//! - [`DatagramSocket`] is a UDP socket whose IPv4 identifications are known.
//! - [`begin_connect`] begins a TCP connection from an address of ours, [`has_ended`] tells whether its peer has gone.
//! - [`TcpSockets`] are many TCP sockets that never block.
//! - [`PacketSocket`] is an interface of the kernel's, used beside it.
//! - [`kernel_addresses`] lists what the kernel answers for itself.
//! - [`Signal`] is a flag that others can wait for.
//! - [`Poller`] waits for a device, for another thread's [`Waker`], or for a moment.
//! - [`MonotonicClock`] and [`WallClock`] are u64 counts of nanoseconds.
//!
//! Nothing here blocks but [`Poller::wait`] and [`Poller::wait_for_wake`]. Errors name the device and say
//! what to do about it.

#![deny(unsafe_code)]

mod addresses;
mod clock;
mod error;
mod packet;
mod poller;
mod signal;
mod tap;
mod tcp;
mod tcp_sockets;
mod udp;

pub use addresses::{kernel_addresses, scope};
pub use clock::{MonotonicClock, WallClock};
pub use error::NetError;
pub use packet::{PacketLosses, PacketSocket};
pub use poller::{Interest, Poller, Ready, Waker, use_precise_timers};
pub use signal::Signal;
pub use tap::{FRAME_CAPACITY, Tap};
pub use tcp::{begin_connect, has_ended};
pub use tcp_sockets::{AcceptedTcp, TcpEvent, TcpRead, TcpSockets};
pub use udp::{ARRIVAL_MAX, Arrival, DatagramSocket, SEGMENTS_MAX, SEND_MAX};
