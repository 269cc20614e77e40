//! What a client says to each datagram service of a server that is to send datagrams, too: its queue pair's number as
//! immediate data behind four bytes that mean nothing. Seen of `ib_send_lat -c UD -R` and `ib_send_bw -c UD -R -b`; a real
//! server waits for it, since the question for a service does not tell it. We learn the number from the conversation.

use std::time::Duration;

use rdmalab_device::{
    Completion, CompletionQueue, CompletionStatus, ImmDt, Operation, Path, ProtectionDomain, QKey,
    QueuePairType, SendFlags, SendRequest, Sge,
};

use super::Made;
use crate::perf::error::PerfError;
use crate::perf::options::{Measure, Options};

/// Its bytes.
pub(in crate::perf) const LENGTH: u32 = 4;
/// The queue key of all datagram services of rdma_cm.
pub(in crate::perf) const QUEUE_KEY: QKey = QKey::new(0x0123_4567);

/// Whether servers of a test are greeted.
pub(in crate::perf) fn is_due(options: &Options) -> bool {
    let both_send = options.bidirectional || options.measure == Measure::Latency;
    options.managed && options.kind == QueuePairType::Ud && both_send
}

/// Whether a message that was received is a greeting. The tests' own have no immediate data.
pub(in crate::perf) fn is_one(completion: &Completion) -> bool {
    completion.immediate.is_some()
}

/// Greets a service with the bytes of an element, and waits until that has gone.
pub(in crate::perf) fn send(
    domain: &ProtectionDomain,
    completions: &CompletionQueue,
    made: &Made,
    element: Sge,
    patience: Option<Duration>,
) -> Result<(), PerfError> {
    let (Some(service), (Some(own), Some(peer))) = (made.service, made.identifier.ends()?) else {
        return Ok(());
    };
    let way = domain.address_handle(Path::new(own.ip(), peer.ip()))?;
    made.queue_pair.post_send(&SendRequest {
        operation: Operation::SendWithImmediate(ImmDt::new(made.queue_pair.number().value().to_be_bytes())),
        target: way.target(service, QUEUE_KEY),
        elements: &[element],
        flags: SendFlags::SIGNALED,
        ..SendRequest::default()
    })?;
    match completions.wait(patience)? {
        Some(Completion { status: CompletionStatus::Success, .. }) => Ok(()),
        Some(Completion { status, .. }) => {
            Err(PerfError::Failed { queue_pair: 0, request: "greeting", number: 1, status })
        }
        None => Err(PerfError::Silence { what: "a completion", patience: patience.unwrap_or_default() }),
    }
}
