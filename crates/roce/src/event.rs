//! What an endpoint tells besides completions.

use rdmalab_wire::{Psn, Qpn};

/// Why a requester went back and sends packets again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RetryCause {
    /// The peer saw a gap and said so.
    SequenceError,
    /// A later acknowledgement or response showed that a response is missing.
    ImpliedNak,
    /// Nothing came within the local ACK timeout.
    Timeout,
    /// The peer was not ready to receive.
    RnrNak,
}

impl core::fmt::Display for RetryCause {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(match self {
            Self::SequenceError => "PSN sequence error NAK",
            Self::ImpliedNak => "implied NAK",
            Self::Timeout => "local ACK timeout",
            Self::RnrNak => "RNR NAK",
        })
    }
}

/// An asynchronous event (`ibv_async_event`), or a notice for those who watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The first packet came while the queue pair was in RTR (`IBV_EVENT_COMM_EST`).
    CommunicationEstablished(Qpn),
    /// All requests begun before SQD are done (`IBV_EVENT_SQ_DRAINED`).
    SendQueueDrained(Qpn),
    /// The peer broke the protocol; the queue pair is in ERR (`IBV_EVENT_QP_REQ_ERR`).
    RequestError(Qpn),
    /// The peer violated access rights; the queue pair is in ERR (`IBV_EVENT_QP_ACCESS_ERR`).
    AccessError(Qpn),
    /// Our own part failed; the queue pair is in ERR (`IBV_EVENT_QP_FATAL`).
    Fatal(Qpn),
    /// A queue pair with a shared receive queue is in ERR and takes no more receives from it
    /// (`IBV_EVENT_QP_LAST_WQE_REACHED`).
    LastReceiveReached(Qpn),
    /// Not of the verbs: a requester sends again from a PSN on. Only where
    /// [`report_retries`](crate::EndpointConfig::report_retries) is set.
    Retry {
        /// Whose.
        queue_pair: Qpn,
        /// The first packet sent again.
        psn: Psn,
        /// Why.
        cause: RetryCause,
    },
}
