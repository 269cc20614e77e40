//! Why a live device, or one of its handles, could not do something.

use std::net::SocketAddr;
use std::sync::Arc;

use rdmalab_host::{CloseReason, ConfigError, ConnectError, GroupError, ListenError};
use rdmalab_net::NetError;
use rdmalab_roce::{CreateError, MulticastError};
use rdmalab_verbs::{ArmError, LimitReached, ModifyError, PostError, RegisterError};

use crate::connections::{AddressError, CmError, CmEventKind};
use crate::recorder::RecordError;

/// An error of a live device. Cheap to copy, since every handle may have to report the one that stopped the device.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The operating system or the network device.
    #[error("{0}")]
    Net(#[source] Arc<NetError>),
    /// The addresses or the MTU make no sense.
    #[error("{0}")]
    Config(#[source] Arc<ConfigError>),
    /// The kernel has that address itself, and would answer for it too.
    #[error(
        "{address} is an address of the kernel on {device}: an emulated host needs one of its own; take another, or \
         remove it with `ip address del {address} dev {device}`"
    )]
    KernelsAddress {
        /// The address.
        address: std::net::IpAddr,
        /// The interface that has it.
        device: String,
    },
    /// Rules or a recording were asked for, over the kernel's TCP.
    #[error(
        "iWARP over sockets has the kernel's TCP, whose segments are not ours to mistreat or to record: a TAP device or an \
         interface gives an emulated host of its own"
    )]
    KernelsTcp,
    /// A device needs an address.
    #[error("a device needs an address")]
    NoAddress,
    /// The capture cannot be written.
    #[error("{0}")]
    Record(#[source] Arc<RecordError>),
    /// The engine's thread could not be started.
    #[error("cannot start the device's thread: {0}")]
    Thread(#[source] Arc<std::io::Error>),
    /// A table is full.
    #[error("{0}")]
    Limit(#[from] LimitReached),
    /// Memory was not registered.
    #[error("{0}")]
    Register(#[from] RegisterError),
    /// A queue pair was not made.
    #[error("{0}")]
    Create(#[from] CreateError),
    /// A shared receive queue or an address handle was not made.
    #[error("{0}")]
    CreateShared(#[from] rdmalab_verbs::CreateError),
    /// The limit of a shared receive queue was not armed.
    #[error("{0}")]
    Arm(#[from] ArmError),
    /// A queue pair was not attached to a multicast group, or not detached.
    #[error("{0}")]
    Multicast(#[from] MulticastError),
    /// The emulated host did not join a multicast group.
    #[error("{0}")]
    Group(#[from] GroupError),
    /// A queue or a domain of another device was handed over.
    #[error("a queue or domain of another device was handed over; all must be of one")]
    OtherDevice,
    /// A queue pair's state or attributes were not changed.
    #[error("{0}")]
    Modify(#[from] ModifyError),
    /// A connection could not be made, or changed.
    #[error("{0}")]
    Connection(#[from] CmError),
    /// The connection did not come about.
    #[error("no connection: {0}")]
    NoConnection(Box<CmEventKind>),
    /// A completion queue cannot be armed.
    #[error("the completion queue has no channel that could tell: make one, and the queue with it")]
    NoChannel,
    /// Packets to an address would go nowhere.
    #[error("cannot reach {peer}: {reason}")]
    Unreachable {
        /// Whose address.
        peer: std::net::IpAddr,
        /// Why not.
        reason: AddressError,
    },
    /// A work request was not taken.
    #[error("{0}")]
    Post(#[from] PostError),
    /// A port cannot be listened on.
    #[error("{0}")]
    Listen(#[from] ListenError),
    /// A connection cannot be tried.
    #[error("cannot connect to {peer}: {reason}")]
    Connect {
        /// Whom to.
        peer: SocketAddr,
        /// Why not.
        reason: ConnectError,
    },
    /// A connection was tried and did not come about.
    #[error("no connection to {peer}: {reason}")]
    NotConnected {
        /// Whom to.
        peer: SocketAddr,
        /// Why not.
        reason: CloseReason,
    },
    /// The kernel refused a TCP connection.
    #[error("cannot {action} {at}: {source}")]
    Tcp {
        /// What was tried.
        action: &'static str,
        /// Where.
        at: SocketAddr,
        /// What the kernel answered.
        source: Arc<std::io::Error>,
    },
    /// The device has no emulated host.
    #[error("the device has no emulated host: the kernel does its TCP")]
    NoHost,
    /// The device was closed.
    #[error("the device was closed")]
    Stopped,
    /// Nothing came within the time allowed.
    #[error("{what} did not come within {seconds} s")]
    TimedOut {
        /// What was waited for.
        what: &'static str,
        /// How long.
        seconds: u64,
    },
}

impl DeviceError {
    /// The kernel's TCP as a whole.
    pub(super) fn streams(source: std::io::Error) -> Self {
        let device = "TCP".to_owned();
        NetError::System { device, action: "wait for its streams", source }.into()
    }

    pub(super) fn tcp(action: &'static str, at: SocketAddr, source: std::io::Error) -> Self {
        Self::Tcp { action, at, source: Arc::new(source) }
    }
}

impl From<NetError> for DeviceError {
    fn from(error: NetError) -> Self {
        Self::Net(Arc::new(error))
    }
}

impl From<ConfigError> for DeviceError {
    fn from(error: ConfigError) -> Self {
        Self::Config(Arc::new(error))
    }
}

impl From<RecordError> for DeviceError {
    fn from(error: RecordError) -> Self {
        Self::Record(Arc::new(error))
    }
}
