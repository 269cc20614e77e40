//! Extended reliable connections: an initiator that names the peer's shared receive queues, and a target whose messages
//! land in them. One file for each behaviour.

mod completions;
mod duplicates;
mod initiator;
mod memory;
mod operations;
mod overrun;
mod rights;
mod rnr;
mod several_targets;
mod shared_queues;
mod target;

use rdmalab_verbs::{
    CompletionQueueId, ProtectionDomainId, QueuePairType, SharedReceiveQueueConfig, SharedReceiveQueueId,
    XrcDomainId, XrcUse,
};

use crate::script::*;

fn setup() -> Setup {
    Setup { kind: QueuePairType::XrcTarget, ..Setup::default() }
}

fn target() -> Script {
    Script::with(setup())
}

fn initiator() -> Script {
    Script::of(QueuePairType::XrcInitiator)
}

/// A shared receive queue for XRC.
fn queue(
    t: &mut Script,
    protection_domain: ProtectionDomainId,
    domain: XrcDomainId,
    completions: CompletionQueueId,
) -> SharedReceiveQueueId {
    let config = SharedReceiveQueueConfig {
        xrc: Some(XrcUse { domain, completions }),
        ..SharedReceiveQueueConfig::default()
    };
    t.side.context.create_shared_receive_queue(protection_domain, &config).unwrap()
}
