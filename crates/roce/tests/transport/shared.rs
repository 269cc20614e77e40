//! Shared receive queues: what the queue pairs that draw from one have to do with each other. One file for each behaviour.

mod bad_receives;
mod events;
mod flush;
mod limit;
mod posting;
mod rnr;
mod turns;

use rdmalab_verbs::QueuePairType;

use crate::script::*;

/// The kinds of queue pairs that can be made with a shared receive queue.
const KINDS: [QueuePairType; 3] = [QueuePairType::Rc, QueuePairType::Uc, QueuePairType::Ud];

fn setup(kind: QueuePairType) -> Setup {
    Setup { kind, shared: true, ..Setup::default() }
}

fn sharing(kind: QueuePairType) -> Script {
    Script::with(setup(kind))
}

/// Bytes that a receive needs besides those of a message.
fn extra(kind: QueuePairType) -> usize {
    if kind == QueuePairType::Ud { 40 } else { 0 }
}
