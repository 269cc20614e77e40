//! A network host that exists only in memory: Ethernet frames in, Ethernet frames out.
//!
//! [`Host`] has a MAC and IP addresses of its own. It answers ARP, neighbour solicitations and pings, resolves its
//! neighbours, opens and accepts TCP connections for out-of-band exchanges (smoltcp), and hands RoCE v2 packets that
//! are for it past all of that without a copy.
//!
//! It never reads a clock, opens a socket, starts a thread or draws a random number: time is handed in as nanoseconds
//! since any moment (never going back), and what is random about TCP follows from a seed. So the same host runs on a
//! TAP device, in a simulation and under a fuzzer, and same inputs give same frames.
//!
//! How to drive it, in any order and any number of times:
//!
//! * [`Host::handle_frame`] for each frame received, and [`Host::handle_timeout`] when
//!   [`Host::next_timeout`] has come;
//! * [`Host::look_for`], [`Host::send_roce`] and the TCP calls as the application pleases;
//! * then [`Host::poll_frame`] until it gives no more.
//!
//! Nothing a peer sends can make it panic, and every table and queue has a limit.
//!
//! # Not supported
//!
//! More than one VLAN, **IP fragments** in either direction (a ping longer than the MTU gets no answer), **multicast** for
//! anything but RoCE, groups joined for single sources, IPv6 extension headers, router discovery and address configuration, path MTU discovery, duplicate
//! address detection, TCP simultaneous open, connections of a host to itself.
#![forbid(unsafe_code)]

mod addresses;
mod arp;
mod config;
mod counters;
mod host;
mod membership;
mod ndp;
mod neighbours;
mod receive;
mod send;
mod stack;
mod station;
mod tcp;
#[cfg(test)]
mod tests;

pub use config::{AddressError, ConfigError, HostAddress, HostConfig, MAX_ADDRESSES, SMALLEST_MTU};
pub use counters::{Counters, DropReason};
pub use host::{HEADROOM, Handled, Host};
pub use membership::{GROUPS_MAX, GroupError};
pub use send::{Reach, SendError, Sent};
pub use tcp::stream::{
    CloseReason, ConnectError, ListenError, ListenerId, Read, StreamError, StreamId, StreamState,
};
pub use tcp::{LISTENERS_MAX, STREAMS_MAX};
