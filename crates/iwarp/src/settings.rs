//! What a queue pair was made with, as plain values.

use rdmalab_verbs::{
    Access, Accessor, Attachment, Completion, CompletionKind, CompletionQueueId, CompletionStatus, Context,
    SharedReceiveQueueId,
};
use rdmalab_wire::Qpn;

use crate::config::{Identity, QueuePairConfig};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) number: Qpn,
    pub(crate) accessor: Accessor,
    pub(crate) send_queue: CompletionQueueId,
    pub(crate) receive_queue: CompletionQueueId,
    pub(crate) shared: Option<SharedReceiveQueueId>,
    pub(crate) signals_all: bool,
    pub(crate) access: Access,
}

impl Settings {
    pub(crate) fn new(identity: Identity, config: &QueuePairConfig) -> Self {
        Self {
            number: identity.number,
            accessor: Accessor { protection_domain: config.protection_domain, queue_pair: identity.accessor },
            send_queue: config.send_queue,
            receive_queue: config.receive_queue,
            shared: config.shared_receive_queue,
            signals_all: config.signals_all,
            access: config.access,
        }
    }

    /// The objects that the queue pair holds on to.
    pub(crate) fn attachment(&self) -> Attachment {
        Attachment {
            protection_domain: Some(self.accessor.protection_domain),
            send_queue: Some(self.send_queue),
            receive_queue: Some(self.receive_queue),
            shared: self.shared,
            xrc_domain: None,
        }
    }

    /// Whether completions are lost, since one of the queues they go to has overrun.
    pub(crate) fn has_overrun(&self, context: &Context) -> bool {
        context.is_overrun(self.send_queue) || context.is_overrun(self.receive_queue)
    }

    /// The completion of a receive, but for its number.
    pub(crate) fn receive(&self, status: CompletionStatus) -> Completion {
        Completion { status, kind: CompletionKind::Receive, queue_pair: self.number, ..Completion::default() }
    }
}
