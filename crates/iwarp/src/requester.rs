//! The requester: turns work requests into messages and takes back what the peer answers.
//!
//! Requests sit in the send queue, oldest first. The first `begun` of them were sent, or carried out if they are local, and
//! are done but for those that wait for an answer and those behind them: completions come in the order of posting. The one
//! behind is being sent, or is the next.
//!
//! Invariants: whenever nobody is inside, the oldest of the begun requests is a READ or an atomic that waits for its answer,
//! so that answers, which come in the order of the requests (RFC 5040 §5.5), are always for it; `reads` counts those among
//! the begun that wait.

mod complete;
mod responses;
mod transmit;

use rdmalab_verbs::{
    Accessor, CompletionStatus, Context, Invalidation, Operation, PostError, QueuePairType, SendFlags,
    SendQueue, SendRequest, SendWork,
};

use crate::negotiated::{Negotiated, ReadyToReceive, Role};

pub(crate) use transmit::Step;

/// Longest message.
const MAX_MESSAGE: u32 = 1 << 31;

/// How far the request behind the begun ones is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    /// So many bytes of its message were sent, and not all.
    Message(u32),
    /// Its WRITE was sent, and not the immediate data behind.
    Immediate,
}

#[derive(Debug)]
pub(crate) struct Requester {
    queue: SendQueue,
    begun: u32,
    stage: Stage,
    /// The next request cannot be begun, because of its own memory or key: wait until it is the oldest, then fail it.
    blocked: bool,
    reads: u16,
    /// READs and atomics that may wait for their answers at once (ORD).
    most_reads: u16,
    /// Bytes that came of the oldest READ's answer.
    received: u32,
    /// The number of the next message in the queue of the SENDs, and in that of the READ requests.
    send_msn: u32,
    request_msn: u32,
    /// Atomics sent, and answered. The former names an atomic in its answer, the latter numbers the answers.
    atomics: u32,
    answered: u32,
    /// To be sent before anything else (RFC 6581 §9.2).
    ready: Option<ReadyToReceive>,
    /// The ready-to-receive READ waits for its answer.
    ready_is_read: bool,
    /// The operations of RFC 7306 may be used.
    rfc7306: bool,
}

impl Requester {
    pub(crate) fn new(queue: SendQueue) -> Self {
        Self {
            queue,
            begun: 0,
            stage: Stage::Waiting,
            blocked: false,
            reads: 0,
            most_reads: 0,
            received: 0,
            send_msn: 1,
            request_msn: 1,
            atomics: 0,
            answered: 0,
            ready: None,
            ready_is_read: false,
            rfc7306: true,
        }
    }

    pub(crate) fn start(&mut self, negotiated: &Negotiated, rfc7306: bool) {
        self.most_reads = negotiated.ord;
        self.rfc7306 = rfc7306;
        self.ready = negotiated.ready_to_receive.filter(|_| negotiated.role == Role::Initiator);
    }

    pub(crate) fn post(&mut self, request: &SendRequest<'_>) -> Result<(), PostError> {
        let operation = &request.operation;
        request.check(QueuePairType::Rc)?;
        if !self.can(operation) {
            return Err(PostError::NotOverIwarp { operation: operation.name() });
        }
        if operation.is_read_or_atomic() && self.most_reads == 0 {
            return Err(PostError::NoReadsNegotiated);
        }
        self.queue.push(request, MAX_MESSAGE)
    }

    /// Whether iWARP has the operation, and the peer knows it.
    fn can(&self, operation: &Operation) -> bool {
        match operation {
            Operation::SendWithImmediate(_) | Operation::Flush { .. } | Operation::AtomicWrite { .. } => {
                false
            }
            Operation::RdmaWriteWithImmediate(..) => self.rfc7306,
            _ => self.rfc7306 || !operation.is_atomic(),
        }
    }

    /// Whether nothing is left to be sent or to be answered.
    pub(crate) fn is_drained(&self) -> bool {
        self.queue.is_empty() && !self.owes_ready() && !self.ready_is_read
    }

    /// Whether the peer owes an answer.
    pub(crate) fn awaits_answer(&self) -> bool {
        self.reads > 0 || self.ready_is_read
    }

    /// Whether the ready-to-receive message is still to be sent.
    pub(crate) fn owes_ready(&self) -> bool {
        self.ready.is_some()
    }

    /// Whether a message was begun and not ended.
    pub(crate) fn is_in_message(&self) -> bool {
        self.stage != Stage::Waiting
    }

    /// Whether there is something to be sent, or local work to be done, now.
    pub(crate) fn may_send(&self) -> bool {
        if self.owes_ready() || self.is_in_message() {
            return true;
        }
        if self.blocked && self.begun > 0 {
            return false;
        }
        let Some((work, _)) = self.queue.get(self.begun as usize) else { return false };
        if work.flags.contains(SendFlags::FENCE) && self.reads > 0 {
            return false;
        }
        !work.operation.is_read_or_atomic() || self.reads + u16::from(self.ready_is_read) < self.most_reads
    }

    /// The number of the READ or atomic request that waits longest.
    fn oldest_request_msn(&self) -> u32 {
        self.request_msn.wrapping_sub(u32::from(self.reads))
    }
}

/// Messages that a request puts into the queue of the SENDs.
fn takes_send_msn(work: &SendWork) -> bool {
    work.operation.consumes_receive()
}

/// Does what a local request asks for.
fn carry_out(
    operation: &Operation,
    context: &mut Context,
    accessor: &Accessor,
) -> Result<(), CompletionStatus> {
    match operation {
        Operation::LocalInvalidate(key) => context
            .invalidate(accessor, *key, Invalidation::Local)
            .map_err(|_| CompletionStatus::LocalQueuePairOperationError),
        Operation::FastRegister(registration) => context
            .fast_register(accessor, registration)
            .map_err(|_| CompletionStatus::LocalQueuePairOperationError),
        Operation::BindWindow(binding) => {
            context.bind_window(accessor, binding).map_err(|_| CompletionStatus::MemoryWindowBindError)
        }
        _ => Ok(()),
    }
}
