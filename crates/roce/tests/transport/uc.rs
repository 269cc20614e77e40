//! Unreliable connections: what goes out, what comes in, and what is lost. One file for each behaviour.

mod completions;
mod local_work;
mod lost_packets;
mod operations;
mod receives;
mod refused_requests;
mod segmentation;
mod send_errors;
mod silence;
mod writes;

use rdmalab_verbs::QueuePairType;

use crate::script::Script;

fn uc() -> Script {
    Script::of(QueuePairType::Uc)
}
