//! Bytes to typed headers and back: everything RoCE v2 puts on an Ethernet, from the Ethernet header to
//! the invariant CRC.
//!
//! This crate never allocates, never reads a clock, never keeps state between two packets, and never
//! panics, whatever bytes it is handed. A header of fixed size decodes from an array of that size, so that
//! running off its end cannot be written; only the functions named `parse` take slices, and they answer
//! with a [`ParseError`] that says in which layer, at which byte, and what was wrong.
//!
//! From the outside in:
//!
//! * [`Frame`] finds the network layer behind the Ethernet header and its VLAN tags.
//! * [`Datagram`] checks IP and UDP and finds the InfiniBand packet; it also verifies the ICRC.
//! * [`Packet`] is one legal InfiniBand packet: base header, transport, body, payload. Its opcode is
//!   computed from transport and body, so that they cannot disagree. [`RawPacket`] shows what can be found
//!   in any bytes, broken ones too.
//! * [`NetworkHeader`] is the way back: the IP and UDP headers of one flow, finished for each packet
//!   together with the ICRC.
//! * [`Mad`] is a management datagram, the payload of packets to queue pair 1: the messages by which
//!   connections are made.
//!
//! A packet made and read:
//!
//! ```
//! use rdmalab_wire::{Body, Bth, Datagram, Ecn, NetworkHeader, Packet, Psn, Qpn, Transport};
//!
//! let flow = NetworkHeader::new(
//!     [10, 9, 0, 1].into(),
//!     [10, 9, 0, 2].into(),
//!     0xc000, // UDP source port
//!     0,      // DSCP
//!     Ecn::Ect0,
//!     64, // time to live
//! )
//! .unwrap();
//! let packet = Packet {
//!     bth: Bth { ack_request: true, ..Bth::new(Qpn::new(0x11), Psn::new(7)) },
//!     transport: Transport::Rc,
//!     body: Body::SendOnly,
//!     payload: b"hello",
//! };
//!
//! let mut bytes = vec![0; flow.length() + packet.encoded_length() + 4];
//! packet.encode(&mut bytes[flow.length()..])?;
//! flow.finish(&mut bytes, 1)?;
//!
//! let datagram = Datagram::parse(&bytes)?;
//! datagram.verify_icrc()?;
//! assert_eq!(Packet::parse(datagram.ib)?.to_string(), "SEND_ONLY psn=7 len=5 ackreq");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//!
//! RoCE v1 and native InfiniBand links are not read. IPv6 extension headers and IP fragments are refused.
//! Reliable Datagram, Extended Reliable Connection, congestion notification, FLUSH and ATOMIC WRITE
//! packets are in the opcode table and in [`RawPacket`], not yet in [`Packet`].
#![no_std]
#![forbid(unsafe_code)]

mod display;
mod error;
mod reader;
mod writer;

pub mod aeth;
pub mod atomic_ack_eth;
pub mod atomic_eth;
pub mod bth;
pub mod checksum;
pub mod deth;
pub mod ecn;
pub mod ethernet;
pub mod feth;
pub mod frame;
pub mod gid;
pub mod header_set;
pub mod icrc;
pub mod ieth;
pub mod imm_dt;
pub mod ipv4;
pub mod ipv6;
pub mod iwarp;
pub mod mad;
pub mod numbers;
pub mod opcode;
pub mod packet;
pub mod path_mtu;
pub mod raw_packet;
pub mod rdeth;
pub mod reth;
pub mod rocev2;
pub mod timers;
pub mod udp;
pub mod xrceth;

pub use aeth::{Aeth, NakCode, Syndrome};
pub use atomic_ack_eth::AtomicAckEth;
pub use atomic_eth::AtomicEth;
pub use bth::Bth;
pub use deth::Deth;
pub use ecn::Ecn;
pub use error::{EncodeError, Fault, Layer, ParseError};
pub use ethernet::{EthernetAddress, EthernetHeader, VlanTag};
pub use feth::Feth;
pub use frame::{Frame, is_roce_v2, roce_v2};
pub use gid::Gid;
pub use header_set::{Header, HeaderSet};
pub use icrc::{icrc_ipv4, icrc_ipv6};
pub use ieth::Ieth;
pub use imm_dt::ImmDt;
pub use ipv4::Ipv4Header;
pub use ipv6::Ipv6Header;
pub use mad::{CmMad, CmMessage, Mad, MadHeader, RawMad, ServiceId};
pub use numbers::{Msn, PKey, Psn, QKey, Qpn, RKey};
pub use opcode::{Opcode, OpcodeRow, PayloadRule, Position, TransportKind, row};
pub use packet::{Body, Packet, Transport, encode_headers, pad_count};
pub use path_mtu::PathMtu;
pub use raw_packet::{Headers, RawPacket};
pub use rdeth::Rdeth;
pub use reth::Reth;
pub use rocev2::{Datagram, NetworkHeader};
pub use timers::{ack_timeout_nanoseconds, credits_from_code, credits_to_code, rnr_timer_nanoseconds};
pub use udp::{ROCE_V2_PORT, UdpHeader};
pub use xrceth::Xrceth;
