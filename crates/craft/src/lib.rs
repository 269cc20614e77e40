//! Packets from a description, right or wrong, and descriptions from captures.
//!
//! What a description leaves out is computed: lengths, pads, checksums, numbers that go on. What it gives is
//! taken, however wrong. [`Spec`] is the description as a TOML file has it (SPEC.md tells how one is written);
//! [`craft()`] makes its frames one by one, [`describe`] makes a description of a capture that crafts the same
//! frames again.
//!
//! Without a file, the same parts are put together in Rust: a [`Flow`] makes a [`Packet`], an [`Exchange`] all
//! packets of an operation; [`Capture`] writes them.
//!
//! ```
//! use rdmalab_craft::{Capture, CarriedBy, Checksum, Exchange, Flow, Frame, Host, Operation, Way};
//! use rdmalab_craft::trace::LinkType;
//! use rdmalab_craft::wire::EthernetAddress;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let a = Host::new(EthernetAddress([2, 0, 0, 0, 0, 1]), [10, 0, 0, 1].into());
//! let b = Host::new(EthernetAddress([2, 0, 0, 0, 0, 2]), [10, 0, 0, 2].into());
//! let mut flow = Flow::new(&a, &b, CarriedBy::RoceV2).ok_or("two families of addresses")?;
//!
//! let mut capture = Capture::pcapng(Vec::new())?;
//! let (mut bytes, mut time) = (Vec::new(), 0);
//! // A WRITE of 10000 bytes with its ACK, whose ICRC is wrong.
//! Exchange::new(Operation::Write, 10_000).run(&mut flow, Way::Forth, &mut |way, packet| {
//!     let mut packet = packet.clone();
//!     if way == Way::Back {
//!         packet.exceptions.icrc = Checksum::Wrong;
//!     }
//!     packet.encode(&mut bytes)?;
//!     time += 1_000;
//!     capture.write(&Frame::new(time, LinkType::ETHERNET, &bytes))?;
//!     Ok::<(), Box<dyn std::error::Error>>(())
//! })?;
//! let file = capture.finish()?;
//! # let mut reader = rdmalab_craft::trace::Reader::new(&file[..])?;
//! # let mut packets = 0;
//! # while reader.next()?.is_some() { packets += 1 }
//! # assert_eq!(packets, 11);
//! # Ok(()) }
//! ```
//!
//! This crate never touches a network and never reads a clock, and never panics, whatever a description says.
//! Memory does not grow with what is made, only with the description; [`Limits`] bound how much that is.

#![forbid(unsafe_code)]

mod build;
mod build_stream;
mod checksum;
mod connect;
mod craft;
mod describe;
mod effect;
mod error;
mod exchange;
mod fields;
mod flow;
mod limits;
mod mad;
mod output;
mod packet;
mod payload;
pub mod spec;
mod stream;
mod value;

pub use checksum::Checksum;
pub use craft::craft;
pub use describe::{DescribeError, Described, describe};
pub use error::{CraftError, SpecError};
pub use exchange::{Exchange, Operation};
pub use fields::{
    AethFields, AtomicAckEthFields, AtomicEthFields, BthFields, DethFields, FethFields, Fields, GrhFields,
    IethFields, Ipv4Fields, Ipv6Fields, LrhFields, RdethFields, RethFields, UdpFields, VlanFields,
    XrcethFields,
};
pub use flow::{CarriedBy, Flow, Host, Side, Way};
pub use limits::{LONGEST_PACKET, LONGEST_SPEC, Limits, MOST_FLOWS, MOST_INTERFACES};
pub use output::{Capture, Frame, OutputError};
pub use packet::{Ethernet, Exceptions, Packet, PacketError, Patch};
pub use payload::Payload;
pub use rdmalab_trace as trace;
pub use rdmalab_wire as wire;
pub use spec::Spec;
pub use stream::{EachFrame, Stream};
pub use value::{Bits, Bytes, Given, Time, Value, Wide, Written};
