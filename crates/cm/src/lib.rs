//! Sans-IO InfiniBand communication management: how queue pairs on two hosts find each other and agree on a connection.
//!
//! A [`Cm`] is the communication manager of one port. It is handed the management datagrams that come to queue pair 1
//! ([`Cm::handle_mad`]), gives those to send ([`Cm::poll_transmit`]), tells what happens ([`Cm::poll_event`]), and is told what
//! to do by commands whose shape is librdmacm's. It sends again what is not answered, answers again what is repeated, and
//! remembers what has ended until nothing of it can be under way. It never touches a queue pair, reads no clock, and
//! resolves no address: its owner does.
//!
//! ```text
//!  caller                                        called
//!  connect ──────────── REQ ───────────────────▶ Event::ConnectRequest
//!  Event::ConnectResponse ◀──────── REP ──────── accept (queue pair in RTR or RTS)
//!  confirm (queue pair in RTS) ──── RTU ───────▶ Event::Established (queue pair to RTS, if it is not)
//!                           or the first packet: communication_established
//!  disconnect ───────── DREQ ──────────────────▶ Event::Disconnected
//!  Event::Disconnected ◀─────────── DREP ───────
//!  Event::TimeWaitExit                           Event::TimeWaitExit
//!
//!  resolve_service ──── SIDR_REQ ──────────────▶ Event::ServiceRequest
//!  Event::ServiceResolved ◀──────── SIDR_REP ─── answer
//! ```
//!
//! A call, both ends in one process:
//!
//! ```
//! use rdmalab_cm::{AcceptRequest, Cm, Config, ConnectRequest, Event, Listen, ListenKind, Route, Target};
//! use rdmalab_wire::mad::{PortSpace, ServiceId};
//! use rdmalab_wire::{PKey, Psn, Qpn};
//!
//! let route = Route::new([10, 9, 0, 2].into(), [10, 9, 0, 1].into(), PKey::DEFAULT);
//! let back = Route::new(route.peer, route.local, PKey::DEFAULT);
//! let (mut caller, mut called) = (Cm::new(Config::new(2), 2), Cm::new(Config::new(1), 1));
//!
//! let service_id = ServiceId::rdma_ip(PortSpace::Tcp, 7174);
//! called.listen(&Listen { service_id, address: None, kind: ListenKind::Connections, backlog: 8 })?;
//! let source_port = caller.ports().take(PortSpace::Tcp, None)?;
//! let target = Target::Ip { space: PortSpace::Tcp, port: 7174, source_port };
//! let id = caller.connect(0, &ConnectRequest::new(route, target, Qpn::new(0x11), Psn::new(5)))?;
//!
//! let req = caller.poll_transmit().unwrap();
//! called.handle_mad(0, back, &req.bytes);
//! let Some(Event::ConnectRequest { id: theirs, call, .. }) = called.poll_event() else { panic!() };
//! assert_eq!((call.qpn, call.starting_psn), (Qpn::new(0x11), Psn::new(5)));
//! called.accept(0, theirs, &AcceptRequest::new(&call, Qpn::new(0x22), Psn::new(9)))?;
//!
//! let rep = called.poll_transmit().unwrap();
//! caller.handle_mad(0, route, &rep.bytes);
//! assert!(matches!(caller.poll_event(), Some(Event::ConnectResponse { .. })));
//! caller.confirm(id, &[])?;
//!
//! let rtu = caller.poll_transmit().unwrap();
//! called.handle_mad(0, back, &rtu.bytes);
//! assert!(matches!(called.poll_event(), Some(Event::Established { .. })));
//! # Ok::<(), rdmalab_cm::CommandError>(())
//! ```
//!
//! # What a host must do
//!
//! * One [`Cm`] for each port; a [`Config::ca_guid`] that no other host has, and a seed that differs from run to run, or peers
//!   that were connected take the new calls for old ones repeated.
//! * Datagrams go from and to [`Qpn::GSI`](rdmalab_wire::Qpn::GSI) with [`QKey::GSI`](rdmalab_wire::QKey::GSI); ICRC, partition
//!   and queue key are checked before [`Cm::handle_mad`].
//! * The queue pair of an accepted call receives from [`Cm::accept`] on, so that the first packet is not lost; what it receives
//!   first is reported by [`Cm::communication_established`].
//! * A queue pair is used again after [`Event::TimeWaitExit`], or after a rejection without time-wait.
//!
//! # What bounds it
//!
//! Whatever strangers can fill has a limit in [`Limits`], and what does not fit has a counter in [`Counters`]. Finding
//! anything is a search in an ordered map. All maps are ordered, so that the same inputs give the same bytes.
//!
//! # Where the rules are from
//!
//! The messages and states are the InfiniBand specification's, which is not public; the rules are named in words. On stale
//! connections it is quoted in <https://lkml.indiana.edu/hypermail/linux/kernel/1610.3/05626.html>, on reasons of rejections in
//! <https://lists.openfabrics.org/pipermail/general/2005-February/004481.html>. Values that Linux sends are those of captures.
//!
//! # Limits
//!
//! Not here: alternate paths (refused), redirection (reported as a rejection, never followed), Reliable Datagram, two hosts
//! that call each other at once for one connection.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod call;
mod cm;
mod config;
mod connection;
mod connections;
mod counters;
mod error;
mod event;
mod ids;
mod ip_service;
mod listeners;
mod ports;
mod request;
mod resolution;
mod resolutions;
mod route;
mod seed;
mod timers;

pub use call::{ConnectionCall, ConnectionReply, IpCall};
pub use cm::Cm;
pub use config::{Config, Limits};
pub use counters::Counters;
pub use error::CommandError;
pub use event::{DisconnectCause, EstablishedBy, Event, Missing, Rejection};
pub use ids::{ConnectionId, ListenerId, ResolutionId};
pub use ip_service::udp_source_port;
pub use listeners::{Listen, ListenKind};
pub use ports::Ports;
pub use request::{AcceptRequest, ConnectRequest, PathSettings, RejectRequest, Service, Target};
pub use resolution::{AnswerRequest, ResolveRequest, ServiceAnswer, ServiceCall, ServiceRefusal};
pub use route::{Outgoing, Route};
