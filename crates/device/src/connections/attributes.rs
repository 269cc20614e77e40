//! What a negotiated connection comes to for a queue pair: the attributes of its changes of state.

use rdmalab_verbs::{Access, Attributes, Path, QueuePairType, State};
use rdmalab_wire::{PathMtu, Psn, QKey, Qpn};

/// What does not matter for a receiver that is not ready: the peer waits 0.64 ms.
const MIN_RNR_TIMER: u8 = 12;

/// One side of a connection, as both have agreed on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Agreement {
    pub(super) path: Path,
    pub(super) path_mtu: PathMtu,
    pub(super) destination: Qpn,
    pub(super) receive_psn: Psn,
    pub(super) send_psn: Psn,
    /// READs and atomics that we answer at once, and have outstanding at once.
    pub(super) answered_reads: u8,
    pub(super) outstanding_reads: u8,
    pub(super) timeout: u8,
    pub(super) retry_count: u8,
    pub(super) rnr_retry: u8,
}

/// From RESET to INIT, with every right: what peers may do, regions say.
pub(super) fn init(kind: QueuePairType) -> Attributes {
    let init = Attributes { state: Some(State::Init), partition_index: Some(0), ..Attributes::default() };
    match kind {
        QueuePairType::Ud => Attributes { queue_key: Some(RDMA_UDP_QKEY), ..init },
        _ => Attributes { access: Some(Access::FULL), ..init },
    }
}

/// The queue key of all datagram queue pairs that RDMA-CM makes (seen).
pub(super) const RDMA_UDP_QKEY: QKey = QKey::new(0x0123_4567);

/// The rest of the way of a datagram queue pair.
pub(super) fn datagram(psn: Psn) -> [Attributes; 2] {
    [
        Attributes { state: Some(State::Rtr), ..Attributes::default() },
        Attributes { state: Some(State::Rts), send_psn: Some(psn), ..Attributes::default() },
    ]
}

impl Agreement {
    /// From INIT to RTR.
    pub(super) fn rtr(&self, kind: QueuePairType) -> Attributes {
        let answers = kind.is_reliable() && kind.receives();
        Attributes {
            state: Some(State::Rtr),
            path: Some(self.path),
            path_mtu: Some(self.path_mtu),
            destination: Some(self.destination),
            receive_psn: Some(self.receive_psn),
            max_destination_reads: answers.then_some(self.answered_reads),
            min_rnr_timer: answers.then_some(MIN_RNR_TIMER),
            ..Attributes::default()
        }
    }

    /// From RTR to RTS.
    pub(super) fn rts(&self, kind: QueuePairType) -> Attributes {
        let asks = kind.is_reliable() && kind != QueuePairType::XrcTarget;
        Attributes {
            state: Some(State::Rts),
            send_psn: Some(self.send_psn),
            timeout: kind.is_reliable().then_some(self.timeout),
            retry_count: asks.then_some(self.retry_count),
            rnr_retry: asks.then_some(self.rnr_retry),
            max_reads: asks.then_some(self.outstanding_reads),
            ..Attributes::default()
        }
    }
}
