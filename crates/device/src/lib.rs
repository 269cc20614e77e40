//! An RDMA device without hardware.
//!
//! * [`Port`] is the RoCE transport with the tables of an application, sans-IO: IP packets in and out, time handed in.
//! * [`Adapter`] is the device itself, sans-IO: an emulated host with its address and a port in it. Frames in, frames out.
//! * [`Network`] joins two adapters by a simulated link and runs them in virtual time. Same seed, same frames.
//! * [`Device`] runs one adapter in a thread of its own over a live back end, and gives out handles that any thread may
//!   use: [`ProtectionDomain`], [`MemoryRegion`], [`MemoryWindow`], [`FastRegion`], [`CompletionQueue`],
//!   [`CompletionChannel`], [`QueuePair`], [`SharedReceiveQueue`], [`XrcDomain`], [`AddressHandle`], and TCP streams for what applications exchange beside
//!   RDMA.
//!
//! # Limits
//!
//! Live back ends: TAP devices, interfaces shared with the kernel, UDP sockets, a cable in memory. Connections are made by
//! address and port ([`EventChannel`], [`Identifier`], in the shape of librdmacm) or by the application itself (`modify`).
#![forbid(unsafe_code)]

mod adapter;
mod connections;
mod emulated_streams;
mod event;
mod general_services;
mod inquiries;
mod iwarp;
mod network;
mod port;
mod recorder;

#[cfg(feature = "net")]
mod live;

pub use adapter::{Adapter, AdapterConfig, Progress};
pub use connections::{
    AddressError, CallFailure, CmChannel, CmError, CmEvent, CmEventKind, CmId, ConnectionParameters,
    Connections, Offer,
};
pub use event::DeviceEvent;
pub use iwarp::{IwarpCounters, IwarpSettings, Transport};
pub use network::{Arrival, Network, NetworkConfig, Passage};
pub use port::Port;
pub use recorder::{RecordError, Recorder};

#[cfg(feature = "net")]
pub use live::{
    AddressHandle, Call, CallListener, ChannelEvent, CompletionChannel, CompletionQueue, Connection, Device,
    DeviceConfig, DeviceError, EventChannel, FastRegion, Identifier, Listener, MemoryRegion, MemoryWindow,
    Meter, ProtectionDomain, QueuePair, QueuePairOptions, RefusedRequest, SharedReceiveQueue,
    SharedReceiveQueueOptions, Stopper, Stream, XrcDomain,
};

pub use rdmalab_cm::DisconnectCause;
pub use rdmalab_host::{ConfigError, HostAddress, HostConfig};
pub use rdmalab_iwarp::{Profile as IwarpProfile, StartUpFault};
#[cfg(feature = "net")]
pub use rdmalab_net::NetError;
pub use rdmalab_roce::{
    CongestionControl, Counters, CreateError, DcqcnConfig, Discard, Event, MulticastError, Notifications,
    Profile, QueuePairConfig, RetryCause, Served,
};
pub use rdmalab_verbs::{
    Access, AddressHandleId, Attributes, Capabilities, Completion, CompletionKind, CompletionQueueId,
    CompletionStatus, ContextEvent, FastRegistration, HeapMemory, Memory, MemoryFault, ModifyError, NotifyOn,
    Operation, Path, Placement, PostError, ProtectionDomainId, QueuePairType, ReceiveRequest, RemoteAddress,
    Selectivity, SendFlags, SendRequest, Sge, SharedReceiveQueueConfig, SharedReceiveQueueId, State, Target,
    WindowBinding, WindowType, XrcDomainId, XrcUse,
};
pub use rdmalab_wire::mad::{PortSpace, RejReason, SidrStatus};
pub use rdmalab_wire::{EthernetAddress, Gid, ImmDt, PKey, PathMtu, Psn, QKey, Qpn, RKey, VlanTag};
