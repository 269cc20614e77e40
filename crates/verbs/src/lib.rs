//! What an application asks of an RDMA device and what it gets back: protection domains, memory regions and windows and
//! their keys, work requests, completion queues, shared receive queues, address handles, queue pair attributes and the
//! tables of states.
//!
//! A [`Context`] owns the tables that queue pairs share. It is *lent* to a protocol engine for the length of each call,
//! so there is no lock and no reference counting below the device. Nothing here knows a packet, a clock or a thread.

#![no_std]
#![deny(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod access;
mod address_handle;
mod attributes;
mod completion;
mod completion_queue;
mod context;
mod error;
mod event;
mod fault;
mod keys;
mod limits;
mod memory;
mod modify;
mod path;
mod queue_pair_type;
mod queues;
mod region;
mod shared_receive_queue;
mod state;
mod table;
mod transition;
mod work;
mod xrc_domain;

pub use access::Access;
pub use address_handle::{AddressHandle, AddressHandleId};
pub use attributes::{AttributeSet, Attributes, Capabilities};
pub use completion::{Completion, CompletionKind, CompletionStatus};
pub use completion_queue::{CompletionQueueId, NotifyOn};
pub use context::{Attachment, Context, Invalidation, ProtectionDomainId};
pub use error::{ArmError, CreateError, LimitReached, NoSuchObject, RegisterError, RemoveError};
pub use event::ContextEvent;
pub use fault::{BindFault, FastRegisterFault, InvalidateFault, LocalFault, RemoteFault};
pub use limits::Limits;
pub use memory::{Atomic64, HeapMemory, Memory, MemoryFault, RawMemory};
pub use modify::ModifyError;
pub use path::Path;
pub use queue_pair_type::QueuePairType;
pub use queues::{ReceiveQueue, ReceiveWork, SendQueue, SendWork};
pub use region::{Accessor, Region, WindowType};
pub use shared_receive_queue::{SharedReceiveQueue, SharedReceiveQueueConfig, SharedReceiveQueueId, XrcUse};
pub use state::State;
pub use table::{Full, Handle, Table};
pub use transition::{Transition, transition, transitions};
pub use work::{
    FastRegistration, Operation, Placement, PostError, ReceiveRequest, RemoteAddress, Selectivity, SendFlags,
    SendRequest, Sge, Target, WindowBinding,
};
pub use xrc_domain::XrcDomainId;
