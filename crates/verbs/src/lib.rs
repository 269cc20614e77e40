//! What an application asks of an RDMA device and what it gets back: protection domains, memory regions and their
//! keys, work requests, completion queues, queue pair attributes and the state table.
//!
//! A [`Context`] owns the tables that queue pairs share. It is *lent* to a protocol engine for the length of each call,
//! so there is no lock and no reference counting below the device. Nothing here knows a packet, a clock or a thread.

#![no_std]
#![deny(unsafe_code)]

extern crate alloc;

mod access;
mod attributes;
mod completion;
mod completion_queue;
mod context;
mod error;
mod memory;
mod queues;
mod region;
mod state;
mod table;
mod work;

pub use access::Access;
pub use attributes::{AttributeSet, Attributes, Capabilities, Path};
pub use completion::{Completion, CompletionKind, CompletionStatus};
pub use completion_queue::CompletionQueueId;
pub use context::{Context, Limits, ProtectionDomainId};
pub use error::{LimitReached, NoSuchObject, RegisterError, RemoveError};
pub use memory::{Atomic64, HeapMemory, Memory, MemoryFault, RawMemory};
pub use queues::{ReceiveQueue, ReceiveWork, SendQueue, SendWork};
pub use region::{LocalFault, Region, RemoteFault};
pub use state::{ModifyError, State, Transition, transition, transitions};
pub use table::{Full, Handle, Table};
pub use work::{Operation, PostError, ReceiveRequest, RemoteAddress, SendFlags, SendRequest, Sge};
