//! What is wrong with what the peer sent, and what follows from it.

use rdmalab_verbs::{CompletionStatus, RemoteFault};
use rdmalab_wire::iwarp::{HeaderFault, TerminateError};

/// The connection ends: a Terminate message goes out, and all work is flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// What the peer is told.
    pub(crate) error: TerminateError,
    /// What of the segment that is to blame goes back with it.
    pub(crate) includes: Includes,
    /// How the receive that is being filled ends.
    pub(crate) receive: CompletionStatus,
    /// How the oldest request ends.
    pub(crate) request: CompletionStatus,
}

/// Headers in a Terminate message (RFC 5040 §4.8: those of DDP's errors and of RDMAP's that a segment is to blame for; the
/// request's where the memory that it asks for is the matter).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Includes {
    Nothing,
    /// Length and DDP header.
    Segment,
    /// The header of a READ request or an atomic request besides.
    Request,
}

impl Fault {
    /// An error that no segment is to blame for.
    pub(crate) const fn new(error: TerminateError) -> Self {
        Self {
            error,
            includes: Includes::Nothing,
            receive: CompletionStatus::WorkRequestFlushed,
            request: CompletionStatus::WorkRequestFlushed,
        }
    }

    /// An error that the segment at hand is to blame for.
    pub(crate) const fn of_segment(error: TerminateError) -> Self {
        Self { includes: Includes::Segment, ..Self::new(error) }
    }

    /// An error of what a READ or atomic request asks for.
    pub(crate) const fn of_request(error: TerminateError) -> Self {
        Self { includes: Includes::Request, ..Self::new(error) }
    }

    /// Our own memory or queues have failed.
    pub(crate) const fn of_ours() -> Self {
        Self::new(TerminateError::RDMAP_LOCAL_CATASTROPHIC)
    }

    /// The receive that is being filled ends so.
    pub(crate) const fn with_receive(self, receive: CompletionStatus) -> Self {
        Self { receive, ..self }
    }

    /// The oldest request ends so.
    pub(crate) const fn with_request(self, request: CompletionStatus) -> Self {
        Self { request, ..self }
    }
}

impl From<HeaderFault> for Fault {
    fn from(fault: HeaderFault) -> Self {
        Self::of_segment(fault.terminate_error())
    }
}

/// The error of a tagged segment that may not go where it names (RFC 5041 §7, and RFC 5040 §7 for rights).
pub(crate) fn of_tagged(fault: RemoteFault, offset: u64, length: usize) -> TerminateError {
    match fault {
        RemoteFault::UnknownKey => TerminateError::DDP_INVALID_STAG,
        RemoteFault::ProtectionDomain | RemoteFault::QueuePair => TerminateError::DDP_STAG_OF_OTHER_STREAM,
        RemoteFault::Access => TerminateError::RDMAP_ACCESS,
        RemoteFault::Bounds if wraps(offset, length as u64) => TerminateError::DDP_OFFSET_WRAP,
        RemoteFault::Bounds => TerminateError::DDP_BOUNDS,
    }
}

/// The error of a READ or atomic request for memory that it may not have (RFC 5040 §7, RFC 7306 §8).
pub(crate) fn of_source(fault: RemoteFault, offset: u64, length: u64) -> TerminateError {
    match fault {
        RemoteFault::UnknownKey => TerminateError::RDMAP_INVALID_STAG,
        RemoteFault::ProtectionDomain | RemoteFault::QueuePair => TerminateError::RDMAP_STAG_OF_OTHER_STREAM,
        RemoteFault::Access => TerminateError::RDMAP_ACCESS,
        RemoteFault::Bounds if wraps(offset, length) => TerminateError::RDMAP_OFFSET_WRAP,
        RemoteFault::Bounds => TerminateError::RDMAP_BOUNDS,
    }
}

fn wraps(offset: u64, length: u64) -> bool {
    offset.checked_add(length).is_none()
}
