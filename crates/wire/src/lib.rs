//! Bytes to typed headers and back: everything RoCE v1, RoCE v2 and iWARP put on an Ethernet, and what a
//! native InfiniBand link carries.
//!
//! This crate never allocates, never reads a clock, never keeps state between two packets, and never
//! panics, whatever bytes it is handed. A header of fixed size decodes from an array of that size, so that
//! running off its end cannot be written; only the functions that parse or find take slices, and they answer
//! with a [`ParseError`] that says in which layer, at which byte, and what was wrong.
//!
//! From the outside in:
//!
//! * [`Frame`] finds the network layer behind the Ethernet header and its VLAN tags.
//! * [`Carried`] finds the InfiniBand packet in a frame or in the packet of a native link, whatever
//!   [`Carrier`] brought it, broken ones too; it verifies ICRC and VCRC.
//! * [`Datagram`] is the transport's way: RoCE v2 alone, and in order or refused.
//! * [`Packet`] is one legal InfiniBand packet: base header, transport, body, payload. Its opcode is
//!   computed from transport and body, so that they cannot disagree. [`RawPacket`] shows what can be found
//!   in any bytes, broken ones too.
//! * [`NetworkHeader`] is the way back: the IP and UDP headers of one flow, finished for each packet
//!   together with the ICRC.
//! * [`iwarp`] is the other half: what RDMA over TCP puts into a stream.
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
//! IPv6 extension headers and all but the first fragment of an IP packet are not looked into, nor are the raw
//! packets of native InfiniBand links. FLUSH and ATOMIC WRITE are known over reliable connections only.
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
pub mod carrier;
pub mod checksum;
pub mod deth;
pub mod ecn;
pub mod ethernet;
pub mod feth;
pub mod frame;
pub mod gid;
pub mod grh;
pub mod header_set;
pub mod icrc;
pub mod ieth;
pub mod imm_dt;
pub mod ipv4;
pub mod ipv6;
pub mod iwarp;
pub mod lrh;
pub mod mad;
pub mod numbers;
pub mod opcode;
pub mod packet;
pub mod path_mtu;
pub mod pause;
pub mod raw_packet;
pub mod rdeth;
pub mod reth;
pub mod rocev2;
pub mod timers;
pub mod udp;
pub mod vcrc;
pub mod xrceth;

pub use aeth::{Aeth, NakCode, Syndrome};
pub use atomic_ack_eth::AtomicAckEth;
pub use atomic_eth::AtomicEth;
pub use bth::Bth;
pub use carrier::{Address, Carried, Carrier};
pub use deth::Deth;
pub use ecn::Ecn;
pub use error::{EncodeError, Fault, Layer, ParseError};
pub use ethernet::{EthernetAddress, EthernetHeader, VlanTag};
pub use feth::Feth;
pub use frame::{Frame, is_roce_v2, roce_v2};
pub use gid::Gid;
pub use grh::Grh;
pub use header_set::{Header, HeaderSet};
pub use icrc::{icrc_global, icrc_ipv4, icrc_ipv6, icrc_local};
pub use ieth::Ieth;
pub use imm_dt::ImmDt;
pub use ipv4::Ipv4Header;
pub use ipv6::Ipv6Header;
pub use lrh::{LinkNextHeader, Lrh};
pub use mad::{CmMad, CmMessage, Mad, MadHeader, RawMad, ServiceId};
pub use numbers::{Msn, PKey, Psn, QKey, Qpn, RKey};
pub use opcode::{Opcode, OpcodeRow, PayloadRule, Position, TransportKind, row};
pub use packet::{Body, Packet, Transport, encode_headers, pad_count};
pub use path_mtu::PathMtu;
pub use pause::{Pause, PriorityPause};
pub use raw_packet::{Headers, RawPacket};
pub use rdeth::Rdeth;
pub use reth::Reth;
pub use rocev2::{Datagram, NetworkHeader};
pub use timers::{ack_timeout_nanoseconds, credits_from_code, credits_to_code, rnr_timer_nanoseconds};
pub use udp::{ROCE_V2_PORT, UdpHeader};
pub use vcrc::vcrc;
pub use xrceth::Xrceth;
